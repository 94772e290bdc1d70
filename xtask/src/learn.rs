//! `cargo xtask learn`: the acceptance matrix, trained for real.

mod check;
mod controls;
mod matrix;
mod record;
mod report;
pub mod seeds;
pub mod statistics;

use crate::binary::Binary;
use crate::docs;
use crate::queue::work_off;
use crate::scratch::Scratch;
use crate::shell::root;
use anyhow::{Result, bail};
use clap::Args;
use matrix::{MATRIX, Row};
use record::{Record, Records};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Episodes of the evaluation that decides.
const EPISODES: usize = 20;

/// Trains the acceptance matrix and records it under `benchmarks/`
///
/// Ends with exit code 1 if a mark is missed or a control, which must fail, meets its mark.
#[derive(Args)]
pub struct Learn {
    /// Only these algorithms or configs, e.g. dqn,ppo/cartpole
    #[arg(long, value_name = "ALGO[/ENV]", value_delimiter = ',')]
    only: Vec<String>,
    /// Every row is trained once per seed; for tuning, 1 to 5
    #[arg(long, value_delimiter = ',', default_value = "1,2,3")]
    seeds: Vec<u64>,
    /// Instead: this many seeds that follow from the name of the config, so that nobody has chosen them
    #[arg(long, value_name = "COUNT", conflicts_with = "seeds")]
    test_seeds: Option<usize>,
    /// Leave out runs that are recorded already
    #[arg(long)]
    missing: bool,
    /// Leave out the rows that must miss their marks
    #[arg(long)]
    no_controls: bool,
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Runs at the same time, one thread each
    #[arg(long, default_value = "2")]
    jobs: NonZeroUsize,
    /// Only the quick rows, with the first seed
    #[arg(long)]
    fast: bool,
    /// Trains nothing: judges what is recorded. Every name needs a row with test seeds, and 95 % of these rows must be met
    #[arg(long, conflicts_with_all = ["only", "seeds", "test_seeds", "missing", "no_controls", "binary", "fast"])]
    check: bool,
}

/// One run to make.
struct Job {
    row: &'static Row,
    seed: u64,
}

impl Learn {
    pub fn run(self) -> Result<()> {
        if self.check {
            return check::check(&root());
        }
        let mut jobs = self.jobs()?;
        let folder = root().join("benchmarks");
        let mut records = Records::read(&folder.join("learn.json"))?;
        if self.missing {
            jobs.retain(|job| records.of(job.row).iter().all(|record| record.seed != job.seed));
        }
        let binary = match &self.binary {
            None => Binary::build()?,
            Some(program) => Binary::copy_of(program, "binary")?,
        };
        binary.make_datasets()?;
        let scratch = Scratch::new("learn")?;
        let done = run_all(&binary, &jobs, self.jobs.get(), scratch.path(), &mut records)?;
        report::write(&folder.join("learn.md"), &records)?;
        // The README says what has been shown to learn, and that may just have changed.
        docs::update(&binary)?;
        judge(&done)
    }

    fn jobs(&self) -> Result<Vec<Job>> {
        let seeds = |row: &Row| match self.test_seeds {
            None if self.fast => self.seeds[..1].to_vec(),
            None => self.seeds.clone(),
            Some(count) => seeds::of(row.config, row.seen, count),
        };
        let named = |row: &Row| self.only.is_empty() || self.only.iter().any(|only| row.matches(only));
        let allowed = |row: &Row| (row.fast || !self.fast) && !(self.no_controls && row.control.is_some());
        let wanted = |row: &&Row| allowed(row) && named(row);
        let rows: Vec<&'static Row> = MATRIX.iter().filter(wanted).collect();
        if rows.is_empty() {
            let known: Vec<&str> = MATRIX.iter().filter(|row| row.control.is_none()).map(|row| row.config).collect();
            bail!("no row of the matrix fits; there are {}", known.join(", "));
        }
        Ok(rows.into_iter().flat_map(|row| seeds(row).into_iter().map(move |seed| Job { row, seed })).collect())
    }
}

/// Trains all jobs, some at a time, and writes every result down as soon as it is there.
fn run_all(
    binary: &Binary,
    jobs: &[Job],
    at_once: usize,
    folder: &Path,
    records: &mut Records,
) -> Result<Vec<(&'static Row, Record)>> {
    let mut done = Vec::new();
    work_off(
        jobs,
        at_once,
        |job| run(binary, job, folder),
        |job, record| {
            println!("{}", report::line(job.row, &record));
            records.put(record.clone())?;
            done.push((job.row, record));
            Ok(())
        },
    )?;
    Ok(done)
}

fn run(binary: &Binary, job: &Job, folder: &Path) -> Result<Record> {
    let Job { row, seed } = job;
    let name = format!("{}-{}-{seed}", row.config.replace('/', "-"), row.control.map_or("run", |control| control.name));
    let run_dir = folder.join(name);
    let mut args: Vec<String> = vec![row.config.into()];
    for (option, value) in [
        ("--seed", seed.to_string()),
        ("--threads", "1".to_owned()),
        ("--eval-episodes", EPISODES.to_string()),
        ("--run-dir", run_dir.display().to_string()),
    ] {
        args.extend([option.to_owned(), value]);
    }
    for set in row.control.into_iter().flat_map(|control| control.set) {
        args.extend(["--set".to_owned(), (*set).to_owned()]);
    }
    let begun = Instant::now();
    let mut summary = binary.train(&args)?;
    let seconds = begun.elapsed().as_secs_f64().round();
    if row.sampled {
        let run = run_dir.display().to_string();
        let episodes = EPISODES.to_string();
        let args = ["eval", &run, "--checkpoint", "last", "--stochastic", "--episodes", &episodes, "--json"];
        let found = binary.json(&args)?;
        summary.sampled = found["mean_reward"].as_f64().zip(found["std_reward"].as_f64());
    }
    let log = std::fs::read_to_string(run_dir.join("metrics.jsonl")).unwrap_or_default();
    // Stores are large and there are many runs.
    let _ = std::fs::remove_dir_all(&run_dir);
    let steps_to_mark = record::first_met(&log, row.mark);
    Ok(Record { steps_to_mark, seconds: Some(seconds), ..Record::new(row, &summary)? })
}

/// A mark must be met by every tuning seed, or by 90 % of the test seeds, and missed by every control.
fn judge(done: &[(&'static Row, Record)]) -> Result<()> {
    let of_row = |row: &Row| -> Vec<&Record> {
        done.iter().filter(|(other, _)| std::ptr::eq(*other, row)).map(|(_, record)| record).collect()
    };
    let wrong: Vec<String> = done
        .iter()
        .filter(|(row, record)| !row.as_it_should(record.passed))
        .filter(|(row, _)| row.control.is_some() || !report::is_met(&of_row(row)))
        .map(|(row, r)| report::line(row, r))
        .collect();
    if !wrong.is_empty() {
        bail!("{} of {} runs did not end as they should:\n{}", wrong.len(), done.len(), wrong.join("\n"));
    }
    println!("all rows of {} runs ended as they should", done.len());
    Ok(())
}
