//! What a run writes down while it goes on, in the formats that other tools read.
//!
//! All logs follow one rule: `truncate_after(step)` drops whatever was written past a checkpoint, so that a resumed
//! run leaves the same files as one that never stopped. For this to hold a run logs, then calls [`Loggers::sync`],
//! then saves its checkpoint. Only wall-clock values differ between identical runs.

pub mod csv;
pub mod evaluations;
pub mod jsonl;
mod lines;
pub mod monitor;
mod npz;
pub mod tensorboard;
#[cfg(test)]
mod tests;

use crate::run_dir::RunDir;
use std::io;
use std::path::{Path, PathBuf};

/// A log that cannot be opened, written or read back.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the log {}: {source}; free some space, or move a damaged file out of the way", .path.display())]
pub struct LogError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// All logs of a run.
#[derive(Debug)]
pub struct Loggers {
    csv: csv::ProgressCsv,
    jsonl: jsonl::MetricsJsonl,
    monitor: monitor::Monitor,
    evaluations: evaluations::Evaluations,
    tensorboard: tensorboard::TensorBoard,
    run: RunDir,
}

impl Loggers {
    /// Opens the logs of a run, making those that are not there. `started` is when the run was created, in seconds
    /// since 1970. A resumed run calls [`Loggers::truncate_after`] before anything else.
    pub fn open(run: &RunDir, env_id: &str, started: f64) -> Result<Self, LogError> {
        Ok(Self {
            csv: csv::ProgressCsv::open(&run.progress_csv()).map_err(at(&run.progress_csv()))?,
            jsonl: jsonl::MetricsJsonl::open(&run.metrics_jsonl()).map_err(at(&run.metrics_jsonl()))?,
            monitor: monitor::Monitor::open(&run.monitor_csv(), env_id, started).map_err(at(&run.monitor_csv()))?,
            evaluations: evaluations::Evaluations::open(&run.evaluations_npz()).map_err(at(&run.evaluations_npz()))?,
            tensorboard: tensorboard::TensorBoard::open(&run.tensorboard(), started).map_err(at(&run.tensorboard()))?,
            run: run.clone(),
        })
    }

    /// One row of metrics under their SB3 names (`rollout/ep_rew_mean`, `train/loss` …). `wall_time` is in seconds
    /// since 1970.
    pub fn log(&mut self, step: u64, wall_time: f64, metrics: &[(String, f64)]) -> Result<(), LogError> {
        self.csv.log(step, metrics).map_err(at(&self.run.progress_csv()))?;
        self.jsonl.log(step, metrics).map_err(at(&self.run.metrics_jsonl()))?;
        self.tensorboard.log(step, wall_time, metrics).map_err(at(&self.run.tensorboard()))
    }

    /// An episode that ended at `step`: its return, its length, and the seconds since the run began.
    pub fn episode(&mut self, ret: f64, length: u64, seconds: f64, step: u64) -> Result<(), LogError> {
        self.monitor.episode(ret, length, seconds, step).map_err(at(&self.run.monitor_csv()))
    }

    /// The episodes of one evaluation.
    pub fn evaluation(&mut self, step: u64, returns: &[f64], lengths: &[u64]) -> Result<(), LogError> {
        self.evaluations.append(step, returns, lengths).map_err(at(&self.run.evaluations_npz()))
    }

    /// Makes everything logged so far visible to others.
    pub fn flush(&mut self) -> Result<(), LogError> {
        self.csv.flush().map_err(at(&self.run.progress_csv()))?;
        self.jsonl.flush().map_err(at(&self.run.metrics_jsonl()))?;
        self.monitor.flush().map_err(at(&self.run.monitor_csv()))?;
        self.tensorboard.flush().map_err(at(&self.run.tensorboard()))
    }

    /// Like [`Loggers::flush`], and safe from a power cut. To be called before a checkpoint is saved.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.csv.sync().map_err(at(&self.run.progress_csv()))?;
        self.jsonl.sync().map_err(at(&self.run.metrics_jsonl()))?;
        self.monitor.sync().map_err(at(&self.run.monitor_csv()))?;
        self.tensorboard.sync().map_err(at(&self.run.tensorboard()))
    }

    /// Drops everything logged after `step`, and what a kill left half written.
    pub fn truncate_after(&mut self, step: u64) -> Result<(), LogError> {
        self.csv.truncate_after(step).map_err(at(&self.run.progress_csv()))?;
        self.jsonl.truncate_after(step).map_err(at(&self.run.metrics_jsonl()))?;
        self.monitor.truncate_after(step).map_err(at(&self.run.monitor_csv()))?;
        self.evaluations.truncate_after(step).map_err(at(&self.run.evaluations_npz()))?;
        self.tensorboard.truncate_after(step).map_err(at(&self.run.tensorboard()))
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> LogError + use<> {
    let path = path.to_path_buf();
    move |source| LogError { path, source }
}
