//! Why a run stops where it should not.

use crate::checkpoint::CheckpointError;
use crate::evaluate::EvalError;
use crate::experiment::SessionError;
use crate::loggers::LogError;
use crate::run_dir::RunDirError;
use axiomrl_algos::{LearnError, Refused};
use axiomrl_envs::EnvError;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a run could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error(transparent)]
    Log(#[from] LogError),
    /// Of loops that somebody else writes: the run stays as it was.
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("{0}; {1}")]
    Learn(LearnError, Kept),
    #[error("at step {step}: {source}; {kept}; mend the environment, then `axiomrl resume` goes on with new episodes")]
    Environment { source: EnvError, step: u64, kept: Kept },
    #[error(transparent)]
    Evaluation(#[from] EvalError),
    /// Whoever watches the run gave up.
    #[error("a watcher of the run failed: {0}")]
    Observer(Box<dyn Error + Send + Sync>),
    #[error(
        "environment {env} gave the reward {reward} at step {step}. Mend the environment, or clip its rewards; {kept}"
    )]
    BadReward { env: usize, reward: f32, step: u64, kept: Kept },
    #[error("cannot write {}: {source}; free some space or check the permissions, then `axiomrl resume`", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}; check the permissions, then `axiomrl resume`", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} was edited ({changes}); a resumed run keeps its settings: start a new run, or put it back",
        .path.display()
    )]
    Edited { path: PathBuf, changes: String },
    #[error(
        "the run has done {done} steps and cannot end after {total}; ask for more steps than that with \
         `--total-timesteps`"
    )]
    TooShort { done: u64, total: u64 },
}

impl TrainError {
    /// Environments that could not be made or reset.
    pub(super) fn environment(error: EnvError) -> Self {
        Self::Session(SessionError::Env(error))
    }
}

/// What is left of a run that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Checkpoint,
    /// It had not saved one yet.
    Nothing,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kept::Checkpoint => "the last good checkpoint is kept",
            Kept::Nothing => "it had no checkpoint yet",
        })
    }
}
