//! What went wrong, as Python's exceptions: bad input is a `ValueError`, whatever else it is.

use axiomrl_algos::{ConfigError, LearnError};
use axiomrl_envs::EnvError;
use axiomrl_run::checkpoint::CheckpointError as BadCheckpoint;
use axiomrl_run::configs::ConfigsError;
use axiomrl_run::evaluate::EvalError;
use axiomrl_run::experiment::SessionError;
use axiomrl_run::run_dir::RunDirError;
use axiomrl_run::train::TrainError;
use pyo3::create_exception;
use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(axiomrl, CheckpointError, PyValueError, "A checkpoint that is damaged, or of something else.");
create_exception!(axiomrl, Diverged, PyRuntimeError, "A number that stopped being one: the run ends here.");

/// What can be raised in Python.
pub trait Raised {
    fn raised(&self) -> PyErr;
}

impl Raised for ConfigError {
    fn raised(&self) -> PyErr {
        PyValueError::new_err(self.in_one_line())
    }
}

impl Raised for ConfigsError {
    fn raised(&self) -> PyErr {
        match self {
            Self::Unknown { .. } => PyFileNotFoundError::new_err(self.to_string()),
            Self::Config(_) => PyValueError::new_err(self.to_string()),
            Self::Read { .. } | Self::Folder { .. } => PyOSError::new_err(self.to_string()),
        }
    }
}

impl Raised for EnvError {
    fn raised(&self) -> PyErr {
        match self {
            Self::BadSnapshot { .. } => CheckpointError::new_err(self.to_string()),
            Self::Unknown { .. } | Self::BadOption { .. } | Self::BadSetting { .. } => {
                PyValueError::new_err(self.to_string())
            }
            Self::Failed(_) | Self::OneOfMany { .. } => PyRuntimeError::new_err(self.to_string()),
        }
    }
}

impl Raised for LearnError {
    fn raised(&self) -> PyErr {
        match self {
            Self::Diverged(_) => Diverged::new_err(self.to_string()),
            _ => PyRuntimeError::new_err(self.to_string()),
        }
    }
}

impl Raised for SessionError {
    fn raised(&self) -> PyErr {
        match self {
            Self::Env(inner) => inner.raised(),
            Self::Config(inner) => inner.raised(),
            Self::State(_) => CheckpointError::new_err(self.to_string()),
            _ => PyValueError::new_err(self.to_string()),
        }
    }
}

impl Raised for EvalError {
    fn raised(&self) -> PyErr {
        match self {
            Self::Env(inner) => inner.raised(),
            Self::Learn(inner) => inner.raised(),
            Self::OtherSpaces(_) | Self::NoEnvironments => PyValueError::new_err(self.to_string()),
        }
    }
}

impl Raised for BadCheckpoint {
    fn raised(&self) -> PyErr {
        match self {
            Self::NotFound { .. } => PyFileNotFoundError::new_err(self.to_string()),
            Self::Io { .. } | Self::Read { .. } => PyOSError::new_err(self.to_string()),
            _ => CheckpointError::new_err(self.to_string()),
        }
    }
}

impl Raised for RunDirError {
    fn raised(&self) -> PyErr {
        match self {
            Self::NotEmpty { .. } => PyFileExistsError::new_err(self.to_string()),
            Self::NotARun { .. } => CheckpointError::new_err(self.to_string()),
            _ => PyOSError::new_err(self.to_string()),
        }
    }
}

impl Raised for TrainError {
    fn raised(&self) -> PyErr {
        match self {
            Self::Session(inner) => inner.raised(),
            Self::RunDir(inner) => inner.raised(),
            Self::Checkpoint(inner) => inner.raised(),
            Self::Evaluation(inner) => inner.raised(),
            Self::Learn(LearnError::Diverged(_), _) | Self::BadReward { .. } => Diverged::new_err(self.to_string()),
            Self::Edited { .. } | Self::TooShort { .. } => PyValueError::new_err(self.to_string()),
            Self::Learn(..) | Self::Environment { .. } | Self::Observer(_) => PyRuntimeError::new_err(self.to_string()),
            Self::Log(_) | Self::Write { .. } | Self::Read { .. } => PyOSError::new_err(self.to_string()),
        }
    }
}
