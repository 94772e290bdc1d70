//! How a command ends when it does not end well.

use axiomrl_algos::LearnError;
use axiomrl_data::DataError;
use axiomrl_envs::EnvError;
use axiomrl_run::checkpoint::CheckpointError;
use axiomrl_run::collect::CollectError;
use axiomrl_run::configs::ConfigsError;
use axiomrl_run::evaluate::EvalError;
use axiomrl_run::experiment::SessionError;
use axiomrl_run::run_dir::RunDirError;
use axiomrl_run::train::TrainError;
use std::fmt::Display;
use std::io::Write;

pub const OTHER: u8 = 1;
pub const BAD_INPUT: u8 = 2;
pub const BAD_CHECKPOINT: u8 = 3;
pub const DIVERGED: u8 = 4;
/// What shells use for a process ended by Ctrl-C (128 + SIGINT).
pub const INTERRUPTED: u8 = 130;

/// An exit code and the words that go with it.
#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    pub message: String,
}

impl Failure {
    pub fn new(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string() }
    }

    pub fn bad_input(message: impl Display) -> Self {
        Self::new(BAD_INPUT, message)
    }

    pub fn other(message: impl Display) -> Self {
        Self::new(OTHER, message)
    }

    /// Whoever read our output has enough of it (`axiomrl envs | head -1`): no failure, but a reason to stop.
    pub fn reader_gone() -> Self {
        Self { code: 0, message: String::new() }
    }

    /// Says it once, on standard error, and gives the exit code.
    pub fn report(self) -> u8 {
        let prefix = if self.code == INTERRUPTED { "" } else { "error: " };
        if !self.message.is_empty() {
            // Nobody may be listening there either.
            let _ = writeln!(std::io::stderr(), "{prefix}{}", self.message);
        }
        self.code
    }
}

impl From<ConfigsError> for Failure {
    fn from(error: ConfigsError) -> Self {
        Self::bad_input(error)
    }
}

impl From<EnvError> for Failure {
    fn from(error: EnvError) -> Self {
        let code = match error {
            EnvError::BadSnapshot { .. } => BAD_CHECKPOINT,
            EnvError::Unknown { .. } | EnvError::BadOption { .. } | EnvError::BadSetting { .. } => BAD_INPUT,
            EnvError::Failed(_) | EnvError::OneOfMany { .. } => OTHER,
        };
        Self::new(code, error)
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Env(inner) => inner.into(),
            SessionError::State(_) => Self::new(BAD_CHECKPOINT, error),
            _ => Self::bad_input(error),
        }
    }
}

impl From<EvalError> for Failure {
    fn from(error: EvalError) -> Self {
        match error {
            EvalError::Env(inner) => inner.into(),
            EvalError::Learn(_) => Self::other(error),
            EvalError::OtherSpaces(_) | EvalError::NoEnvironments => Self::bad_input(error),
        }
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        let code = match error {
            // A path that leads nowhere was mistyped; the disk may be full; the rest is about the checkpoint itself.
            CheckpointError::NotFound { .. } => BAD_INPUT,
            CheckpointError::Io { .. } | CheckpointError::Read { .. } | CheckpointError::BadTensor { .. } => OTHER,
            _ => BAD_CHECKPOINT,
        };
        Self::new(code, error)
    }
}

impl From<RunDirError> for Failure {
    fn from(error: RunDirError) -> Self {
        // Only a resume looks for a run in a folder, and what it was given then is not ours.
        let code = if matches!(error, RunDirError::NotARun { .. }) { BAD_CHECKPOINT } else { BAD_INPUT };
        Self::new(code, error)
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Session(inner) => inner.into(),
            TrainError::RunDir(inner) => inner.into(),
            TrainError::Checkpoint(inner) => inner.into(),
            TrainError::Learn(LearnError::Diverged(_), _) | TrainError::BadReward { .. } => Self::new(DIVERGED, error),
            TrainError::Evaluation(inner) => inner.into(),
            TrainError::Learn(..) | TrainError::Environment { .. } | TrainError::Observer(_) => Self::other(error),
            TrainError::Edited { .. } | TrainError::TooShort { .. } => Self::bad_input(error),
            // Only loops of one's own are refused anything.
            TrainError::Refused(_) => Self::other(error),
            TrainError::Log(_) | TrainError::Write { .. } | TrainError::Read { .. } => Self::other(error),
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Self::bad_input(error)
    }
}

impl From<CollectError> for Failure {
    fn from(error: CollectError) -> Self {
        match error {
            CollectError::Env(inner) => inner.into(),
            CollectError::Policy(inner) => inner.into(),
            CollectError::Data(inner) => inner.into(),
            CollectError::Invalid(_) => Self::bad_input(error),
            CollectError::Learn(_) => Self::other(error),
            CollectError::NotFinite { .. } => Self::new(DIVERGED, error),
        }
    }
}
