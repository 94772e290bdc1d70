//! `cargo xtask mutants`: would the tests notice if a formula or a wire were wrong?

mod actor_critic;
mod memory;
mod models;
mod networks;
mod policy_gradient;
mod prior_data;
mod report;
mod run;
mod value;
mod weave;
mod world_models;

use crate::copy::copy;
use crate::queue::work_off;
use crate::shell::root;
use anyhow::{Result, bail, ensure};
use clap::Args;
use run::{Binaries, Outcome, Tests};
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

/// An error that somebody could make.
pub struct Mutant {
    name: &'static str,
    /// What is wrong then, in words.
    what: &'static str,
    /// Within `crates`.
    file: &'static str,
    find: &'static str,
    replace: &'static str,
    form: Form,
    /// Which of how many places that read so.
    place: (usize, usize),
    /// The tests that should notice: beginnings or parts of their names, any of which may match.
    filter: &'static str,
    target: Target,
}

#[derive(Clone, Copy)]
pub enum Form {
    Expression,
    Statements,
}

/// The part of the file's own package that has the tests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    Lib,
    Test(&'static str),
}

/// What most rows of the tables have in common.
const EXPRESSION: Mutant = Mutant {
    name: "",
    what: "",
    file: "",
    find: "",
    replace: "",
    form: Form::Expression,
    place: (1, 1),
    filter: "",
    target: Target::Lib,
};

const STATEMENTS: Mutant = Mutant { form: Form::Statements, ..EXPRESSION };

impl Mutant {
    fn package(&self) -> &'static str {
        self.file.split('/').next().unwrap_or_default()
    }

    fn tests(&self) -> Tests {
        Tests { package: self.package(), target: self.target, filter: self.filter }
    }
}

fn all() -> Vec<&'static Mutant> {
    let families = [
        value::MUTANTS,
        memory::MUTANTS,
        actor_critic::MUTANTS,
        policy_gradient::MUTANTS,
        prior_data::MUTANTS,
        models::MUTANTS,
        world_models::MUTANTS,
        networks::MUTANTS,
    ];
    families.into_iter().flatten().collect()
}

/// Makes one error after the other in a copy of the repository and asks whether a test fails; writes `benchmarks/mutants.md`
///
/// All errors are built into one copy (`target/mutants`) and switched on one at a time when tests run. Minutes, so not part of the
/// tests.
#[derive(Args)]
pub struct Mutants {
    /// Only these; nothing is written then
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Show what there is, and do nothing
    #[arg(long)]
    list: bool,
    /// How many are tried beside each other [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

impl Mutants {
    pub fn run(self) -> Result<()> {
        let all = all();
        let chosen = self.chosen(&all)?;
        if self.list {
            chosen.iter().for_each(|mutant| println!("{:<34} {}", mutant.name, mutant.what));
            return Ok(());
        }
        let folder = root().join("target").join("mutants");
        copy(&root(), &folder, |file, text| weave::woven(file, text, &all))?;
        let tests = all.iter().map(|mutant| mutant.tests()).collect::<Vec<_>>();
        let binaries = Binaries::build(&folder, &tests)?;
        let jobs = self.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into));
        let limits = limits(&binaries, &chosen, jobs)?;
        let results = in_parallel(jobs, &chosen, |mutant| {
            let (outcome, time) = binaries.run(&mutant.tests(), Some(mutant.name), limits[&mutant.tests()])?;
            println!("{:>6.1} s  {:<34} {}", time.as_secs_f64(), mutant.name, report::verdict(&outcome));
            Ok((*mutant, outcome, time))
        })?;
        if self.only.is_empty() {
            report::write(&results)?;
        }
        let survivors: Vec<_> =
            results.iter().filter(|(_, outcome, _)| !outcome.caught()).map(|(mutant, ..)| mutant.name).collect();
        println!("\n{} of {} are caught", results.len() - survivors.len(), results.len());
        ensure!(survivors.is_empty(), "no test notices {}", survivors.join(", "));
        Ok(())
    }

    fn chosen(&self, all: &[&'static Mutant]) -> Result<Vec<&'static Mutant>> {
        if let Some(unknown) = self.only.iter().find(|name| all.iter().all(|mutant| mutant.name != **name)) {
            bail!("there is no mutation `{unknown}`; `cargo xtask mutants --list` shows all");
        }
        let wanted = |name| self.only.is_empty() || self.only.iter().any(|only| only == name);
        Ok(all.iter().copied().filter(|mutant| wanted(mutant.name)).collect())
    }
}

/// How long each group of tests may take, by the time it takes with nothing changed; then it must pass.
fn limits(binaries: &Binaries, chosen: &[&Mutant], jobs: usize) -> Result<BTreeMap<Tests, Duration>> {
    let mut groups: Vec<Tests> = chosen.iter().map(|mutant| mutant.tests()).collect();
    groups.sort();
    groups.dedup();
    let limits = in_parallel(jobs, &groups, |tests| {
        let (outcome, time) = binaries.run(tests, None, Duration::from_secs(600))?;
        match outcome {
            Outcome::Passed(0) => bail!("no test is called as `{}` in {} says", tests.filter, tests.package),
            Outcome::Passed(count) => {
                println!("{:>6.1} s  {count:>4} tests of `{}`, nothing changed", time.as_secs_f64(), tests.filter);
            }
            failed => bail!("with nothing changed: `{}` {}", tests.filter, report::verdict(&failed)),
        }
        Ok((tests.clone(), time * 10 + Duration::from_secs(60)))
    })?;
    Ok(limits.into_iter().collect())
}

/// Works on all of them, `jobs` at a time; gives what came out, in their order, or the first error.
fn in_parallel<T: Sync, R: Send>(jobs: usize, all: &[T], work: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let (numbers, mut done): (Vec<usize>, _) = ((0..all.len()).collect(), BTreeMap::new());
    work_off(
        &numbers,
        jobs.max(1),
        |&at| work(&all[at]),
        |&at, result| {
            done.insert(at, result);
            Ok(())
        },
    )?;
    Ok(done.into_values().collect())
}

#[cfg(test)]
mod tests;
