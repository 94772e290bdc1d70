//! Options that several commands share.

use crate::pool::{MAX_THREADS, THREADS_ARE_FOR};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// What a user changes of a run file without editing it.
#[derive(Args)]
pub struct Overrides {
    /// Changes one setting, e.g. --set algo_kwargs.gamma=0.98 (the value is YAML; may be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Everything random follows from it
    #[arg(long)]
    pub seed: Option<u64>,
    /// Environment steps to train for
    #[arg(long, value_name = "STEPS")]
    total_timesteps: Option<u64>,
    /// Environments stepped together
    #[arg(long, value_name = "N")]
    num_envs: Option<usize>,
    /// Episodes of each evaluation
    #[arg(long, value_name = "N")]
    eval_episodes: Option<usize>,
    /// Where run folders are made
    #[arg(long, value_name = "PATH")]
    output_dir: Option<String>,
    /// Where tensors live: auto or cpu
    #[arg(long)]
    device: Option<String>,
}

impl Overrides {
    /// All of them as `key=value`, in the order in which they are to be applied.
    pub fn assignments(&self) -> Vec<String> {
        // As JSON, which is YAML too: a folder called `007` stays text.
        let text = |value: &String| serde_json::Value::from(value.as_str()).to_string();
        let named = [
            ("seed", self.seed.map(|v| v.to_string())),
            ("total_timesteps", self.total_timesteps.map(|v| v.to_string())),
            ("num_envs", self.num_envs.map(|v| v.to_string())),
            ("eval_episodes", self.eval_episodes.map(|v| v.to_string())),
            ("output_dir", self.output_dir.as_ref().map(text)),
            ("device", self.device.as_ref().map(text)),
        ];
        let named = named.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        self.set.iter().cloned().chain(named).collect()
    }
}

/// How a run is carried out and shown.
#[derive(Args)]
pub struct Running {
    /// Threads to compute with, 1 to 256; the result is the same with any number [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads, long_help = threads_help())]
    pub threads: Option<NonZeroUsize>,
    /// Shows no progress
    #[arg(long)]
    pub quiet: bool,
    /// Prints one JSON object at the end, for programs
    #[arg(long)]
    pub json: bool,
    /// Stops cleanly when standard input is closed: how a run of many seeds ends its children
    #[arg(long, hide = true)]
    pub stop_on_eof: bool,
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse::<NonZeroUsize>().ok().filter(|number| number.get() <= MAX_THREADS);
    number.ok_or_else(|| format!("give a whole number from 1 to {MAX_THREADS}"))
}

fn threads_help() -> String {
    format!("Threads to compute with, 1 to {MAX_THREADS}: {THREADS_ARE_FOR} [default: one per core]")
}

/// A trained policy on disk.
#[derive(Args)]
pub struct PolicySource {
    /// A run folder or a checkpoint folder
    #[arg(value_name = "RUN|CHECKPOINT")]
    path: PathBuf,
    /// Which checkpoint of a run folder: last, best or step_<n> [default: best, or last where there is no best]
    #[arg(long, value_name = "NAME")]
    checkpoint: Option<String>,
}

impl PolicySource {
    pub fn new(path: PathBuf, checkpoint: Option<String>) -> Self {
        Self { path, checkpoint }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn checkpoint(&self) -> Option<&str> {
        self.checkpoint.as_deref()
    }
}
