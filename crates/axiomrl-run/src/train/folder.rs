//! Where a run is kept.

use super::{TrainError, TrainOptions};
use crate::loggers::Loggers;
use crate::metadata::Metadata;
use crate::run_dir::{RunDir, RunLock};
use axiomrl_algos::RunConfig;
use std::path::Path;

/// A run folder that this process has to itself, with its logs.
pub(super) struct Folder {
    pub run_dir: RunDir,
    _lock: RunLock,
    pub loggers: Loggers,
    pub metadata: Metadata,
}

impl Folder {
    /// A new one: the folder asked for, or one below `output_dir`.
    pub fn create(config: &RunConfig, options: &TrainOptions) -> Result<Self, TrainError> {
        let (output_dir, explicit) = (Path::new(&config.output_dir), options.run_dir.as_deref());
        let run_dir = RunDir::create(output_dir, &config.algo, &config.env_id, config.seed, explicit)?;
        let lock = run_dir.lock()?;
        let metadata = Metadata { tags: config.tags.clone(), ..Metadata::collect(config.total_timesteps) };
        Self::open(run_dir, lock, metadata, &config.env_id)
    }

    /// One that is there and locked.
    pub fn open(run_dir: RunDir, lock: RunLock, metadata: Metadata, env_id: &str) -> Result<Self, TrainError> {
        let loggers = Loggers::open(&run_dir, env_id, metadata.created_at_unix)?;
        Ok(Self { run_dir, _lock: lock, loggers, metadata })
    }
}
