//! `axiomrl train`: from a run file to a run folder.

use crate::failure::Failure;
use crate::options::{Overrides, Running};
use crate::seeds::{self, Plan};
use crate::{catalogue, pool, quick, report, signals};
use axiomrl_algos::{ConfigError, RunConfig};
use axiomrl_envs::names::short;
use axiomrl_run::configs::{self, ConfigsError};
use axiomrl_run::experiment::Experiment;
use axiomrl_run::train::{TrainOptions, Trainer};
use axiomrl_run::yaml;
use clap::Args;
use std::fs::{self, File};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Trains an agent
#[derive(Args)]
pub struct Train {
    /// A packaged config (`axiomrl configs` lists them) or the path of a run file, which may be a pipe; with --env also the name
    /// of an algorithm
    #[arg(value_name = "CONFIG", required_unless_present = "config")]
    source: Option<String>,
    /// The same, for those used to naming it
    #[arg(long, value_name = "CONFIG", conflicts_with = "source")]
    config: Option<String>,
    /// Trains in this environment, built in or Gymnasium's: an algorithm without a run file, or a config in place of its own
    #[arg(long, value_name = "ID", conflicts_with = "config")]
    env: Option<String>,
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

/// What is wrong with `--env` is said of `--env`: nobody has written the assignment that it amounts to.
fn named(error: ConfigsError, meant: &str, env: &str) -> Failure {
    match error {
        ConfigsError::Config(ConfigError::Override { assignment, message }) if assignment == short(meant) => {
            Failure::bad_input(format!("`--env {}`: {message}", short(env)))
        }
        other => other.into(),
    }
}

impl Train {
    pub fn run(self) -> Result<(), Failure> {
        let source = self.source.or(self.config).unwrap_or_default();
        let assignments = self.overrides.assignments();
        let experiment = match &self.env {
            Some(env) if is_algorithm(&source) => quick::read(&source, env, &assignments, self.running.quiet)?,
            // What is assigned after it counts.
            Some(env) => {
                let meant = format!("env_id={}", serde_json::Value::from(env.as_str()));
                let all = [vec![meant.clone()], assignments.clone()].concat();
                configs::read(catalogue(), &source, &all).map_err(|error| named(error, &meant, env))?
            }
            None => configs::read(catalogue(), &source, &assignments)?,
        };
        if self.seeds.is_empty() {
            return train(experiment, self.run_dir, &self.running);
        }
        // A pipe can be read once, and every process reads the run file: they get what this one understood.
        let copy = if self.env.is_some() || is_stream(&source) { Some(RunFile::of(&experiment.config)?) } else { None };
        let (source, assignments) = match &copy {
            Some(copy) => (copy.0.display().to_string(), Vec::new()),
            None => (source, assignments),
        };
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

/// Names of algorithms have no slash and no ending; a mistyped one is told as such, with the nearest.
fn is_algorithm(source: &str) -> bool {
    !source.contains(['/', '.']) && !Path::new(source).exists()
}

fn is_stream(source: &str) -> bool {
    let path = Path::new(source);
    path.exists() && !path.is_file() && !path.is_dir()
}

/// A run file that goes away with its owner.
struct RunFile(PathBuf);

impl RunFile {
    fn of(config: &RunConfig) -> Result<Self, Failure> {
        let text = yaml::to_yaml(&serde_json::to_value(config).map_err(Failure::other)?);
        let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = std::env::temp_dir().join(format!("axiomrl-{}-{moment}.yaml", std::process::id()));
        let failed = |error| Failure::other(format!("cannot write {}: {error}", path.display()));
        // Only a new file: others may write to that folder too.
        let mut file = File::options().write(true).create_new(true).open(&path).map_err(failed)?;
        let written = file.write_all(text.as_bytes()).map_err(failed);
        let own = Self(path);
        written.map(|()| own)
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        // A file left in the folder for such files is no reason to fail a run that is done.
        let _ = fs::remove_file(&self.0);
    }
}

fn train(experiment: Experiment, run_dir: Option<PathBuf>, running: &Running) -> Result<(), Failure> {
    let stop = signals::stop_flag()?;
    if running.stop_on_eof {
        signals::stop_on_eof(&stop);
    }
    let config = experiment.config.clone();
    let options = TrainOptions { run_dir, quiet: running.quiet, stop, ..TrainOptions::default() };
    let outcome = pool::run(running.threads, || Ok(Trainer::new(experiment, options, Vec::new())?.run()?))?;
    report::finished(&config, &outcome, running.json)
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
