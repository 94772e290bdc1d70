//! `cargo xtask parity`: the same tasks with the same settings, trained by ours and by Stable-Baselines3.

mod record;
mod report;
mod runs;
mod work;
mod works;

use crate::bench::peers::peer::scripts;
use crate::bench::peers::venv::Venv;
use crate::binary::Binary;
use crate::learn::seeds;
use crate::queue::work_off;
use crate::scratch::Scratch;
use crate::shell::root;
use anyhow::{Context, Result, bail};
use clap::Args;
use record::{Runs, Side};
use report::Verdict;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use work::Work;

/// Episodes of the evaluation after training.
const EPISODES: usize = 20;

/// What the report says of the other side.
const PACKAGES: [&str; 3] = ["stable-baselines3", "sb3-contrib", "torch"];

/// Trains tasks with the same settings, budget and seeds by ours and by Stable-Baselines3, and records both under `benchmarks/`
///
/// Every run is written down as soon as it is there, so this may be stopped and gone on with (--missing). Ends with exit code 1
/// if the other side is ahead with confidence anywhere.
#[derive(Args)]
pub struct Parity {
    /// Only these works, by the names in `benchmarks/parity.md`
    #[arg(long, value_name = "WORK", value_delimiter = ',')]
    only: Vec<String>,
    /// Runs of each side; their seeds follow from the name of the work
    #[arg(long, default_value = "10")]
    seeds: NonZeroUsize,
    /// Leave out runs that are recorded already
    #[arg(long)]
    missing: bool,
    /// Runs at the same time, one thread each
    #[arg(long, default_value = "1")]
    jobs: NonZeroUsize,
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// The Python that makes the virtual environment of the other side, under `target/`
    #[arg(long, default_value = "python3")]
    python: String,
}

/// One run to make.
struct Job {
    work: &'static Work,
    side: Side,
    seed: u64,
}

/// The other side, installed.
struct Other {
    python: PathBuf,
}

impl Parity {
    pub fn run(self) -> Result<()> {
        let works = work::named(&self.only)?;
        let folder = root().join("benchmarks");
        let mut runs = Runs::read(&folder.join("parity.json"))?;
        let mut jobs = jobs(&works, self.seeds.get());
        if self.missing {
            jobs.retain(|job| !runs.has(job.work, job.side, job.seed));
        }
        if !jobs.is_empty() {
            let other = self.install(&works)?;
            let binary = match &self.binary {
                None => Binary::build()?,
                Some(program) => Binary::copy_of(program, "parity")?,
            };
            let scratch = Scratch::new("parity-runs")?;
            let run = |job: &Job| match job.side {
                Side::Ours => runs::ours(&binary, &other, job.work, job.seed, scratch.path()),
                Side::Theirs => runs::theirs(&other, job.work, job.seed),
            };
            let versions = versions()?;
            let keep = |_: &Job, run| {
                println!("{}", report::line(&run));
                runs.put(run)?;
                report::write(&folder.join("parity.md"), &runs, &versions)
            };
            work_off(&jobs, self.jobs.get(), run, keep)?;
        }
        report::write(&folder.join("parity.md"), &runs, &versions()?)?;
        judge(&works, &runs)
    }

    fn install(&self, works: &[&Work]) -> Result<Other> {
        let mut files = vec![scripts().join("requirements-torch.txt")];
        if works.iter().any(|work| work.is_foreign()) {
            files.push(scripts().join("requirements-parity.txt"));
        }
        let venv = Venv::ready(&self.python, &files).with_context(|| {
            format!(
                "the other side cannot be installed with `{}`; name a Python 3.10 or newer that has the `venv` module with \
                 --python, and let it reach the packages of benchmarks/peers/requirements-*.txt (LunarLander alone needs \
                 Box2D: --only leaves it out)",
                self.python
            )
        })?;
        Ok(Other { python: venv.python() })
    }
}

/// Both sides of a seed follow each other: the machine is the same for them.
fn jobs(works: &[&'static Work], count: usize) -> Vec<Job> {
    let both = |work, seed| [Side::Ours, Side::Theirs].map(|side| Job { work, side, seed });
    works
        .iter()
        .flat_map(|&work| seeds::of(work.id, 0, count).into_iter().flat_map(move |seed| both(work, seed)))
        .collect()
}

/// The pinned versions of what matters.
fn versions() -> Result<String> {
    let path = scripts().join("requirements-torch.txt");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let of =
        |package: &&str| text.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("==")).map(str::trim);
    let words: Vec<String> =
        PACKAGES.iter().filter_map(|package| Some(format!("{package} {}", of(package)?))).collect();
    Ok(words.join(", "))
}

fn judge(works: &[&Work], runs: &Runs) -> Result<()> {
    let behind: Vec<&str> =
        works.iter().filter(|work| report::verdict(work, runs) == Some(Verdict::Theirs)).map(|work| work.id).collect();
    if !behind.is_empty() {
        bail!("the other side is ahead with confidence: {}", behind.join(", "));
    }
    println!("nowhere is the other side ahead with confidence; benchmarks/parity.md has the numbers");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_train_on_the_same_seeds_which_follow_from_the_name() {
        let works = work::named(&["td3_pendulum".to_owned(), "sac_pendulum".to_owned()]).unwrap();
        let found = jobs(&works, 3);
        assert_eq!(found.len(), 12);
        assert!(found.chunks(2).all(|pair| pair[0].seed == pair[1].seed && pair[0].side != pair[1].side));
        assert_ne!(found[0].seed, found[6].seed);
    }

    #[test]
    fn the_versions_are_the_pinned_ones() {
        let found = versions().unwrap();
        assert!(found.starts_with("stable-baselines3 2.") && found.contains(", torch 2."), "{found}");
    }

    #[test]
    fn without_python_the_remedy_is_said() {
        let parity = Parity {
            only: Vec::new(),
            seeds: NonZeroUsize::MIN,
            missing: false,
            jobs: NonZeroUsize::MIN,
            binary: None,
            python: "no-such-python".into(),
        };
        let error = format!("{:#}", parity.install(&[]).err().expect("there is no such program"));
        assert!(error.contains("--python") && error.contains("no-such-python"), "{error}");
    }
}
