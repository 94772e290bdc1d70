//! `axiomrl train`: from a run file to a run folder.

use crate::failure::Failure;
use crate::options::{Overrides, Running};
use crate::seeds::{self, Plan};
use crate::{pool, report, signals};
use axiomrl_algos::RunConfig;
use axiomrl_run::configs;
use axiomrl_run::session::{SessionError, build_agent, training_env};
use axiomrl_run::train::{TrainOptions, Trainer};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Trains an agent
#[derive(Args)]
pub struct Train {
    /// A packaged config (`axiomrl configs` lists them) or the path of a run file
    #[arg(value_name = "CONFIG", required_unless_present = "config")]
    source: Option<String>,
    /// The same, for those used to naming it
    #[arg(long, value_name = "CONFIG", conflicts_with = "source")]
    config: Option<String>,
    #[command(flatten)]
    overrides: Overrides,
    /// Trains once per seed, each in a process of its own, and prints mean, IQM and spread
    #[arg(long, value_name = "1,2,3", value_delimiter = ',', conflicts_with = "seed")]
    seeds: Vec<u64>,
    /// Seeds trained at the same time [default: one per core]
    #[arg(long, value_name = "N", requires = "seeds")]
    jobs: Option<NonZeroUsize>,
    /// The run folder, exactly; with --seeds the folder in which theirs are made
    #[arg(long, value_name = "PATH")]
    run_dir: Option<PathBuf>,
    #[command(flatten)]
    running: Running,
}

impl Train {
    pub fn run(self) -> Result<(), Failure> {
        let source = self.source.or(self.config).unwrap_or_default();
        let assignments = self.overrides.assignments();
        let config = configs::read(&source, &assignments)?;
        if self.seeds.is_empty() {
            return train(config, self.run_dir, &self.running);
        }
        // Every process would find the same mistake: better to hear of it once, and before anything is written.
        check_fit(&config)?;
        seeds::run(&Plan {
            source,
            assignments,
            seeds: distinct(&self.seeds)?,
            jobs: self.jobs.map(NonZeroUsize::get),
            threads: self.running.threads.map(NonZeroUsize::get),
            run_dir: self.run_dir,
            quiet: self.running.quiet,
            json: self.running.json,
        })
    }
}

fn train(config: RunConfig, run_dir: Option<PathBuf>, running: &Running) -> Result<(), Failure> {
    let stop = signals::stop_flag()?;
    if running.stop_on_eof {
        signals::stop_on_eof(&stop);
    }
    let options = TrainOptions { run_dir, quiet: running.quiet, stop };
    let outcome = pool::run(running.threads, || Ok(Trainer::start(config.clone(), options)?.run()?))?;
    report::finished(&config, &outcome, running.json)
}

fn check_fit(config: &RunConfig) -> Result<(), Failure> {
    let env = training_env(config).map_err(SessionError::from)?;
    build_agent(config, env.as_ref())?;
    Ok(())
}

/// The same seed twice would be the same run twice, in the same folder.
fn distinct(seeds: &[u64]) -> Result<Vec<u64>, Failure> {
    let mut sorted = seeds.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Failure::bad_input(format!("--seeds names {} twice; give each seed once", pair[0]))),
        None => Ok(seeds.to_vec()),
    }
}
