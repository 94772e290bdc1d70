//! What went wrong, as Python's exceptions: bad input is a `ValueError`, whatever else it is.

use axiomrl_algos::{ConfigError, LearnError, Refused};
use axiomrl_envs::EnvError;
use axiomrl_run::checkpoint::CheckpointError as BadCheckpoint;
use axiomrl_run::configs::ConfigsError;
use axiomrl_run::evaluate::EvalError;
use axiomrl_run::experiment::SessionError;
use axiomrl_run::export::ExportError;
use axiomrl_run::run_dir::RunDirError;
use axiomrl_run::train::TrainError;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyException, PyFileExistsError, PyFileNotFoundError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use std::error::Error;

create_exception!(axiomrl, CheckpointError, PyValueError, "A checkpoint that is damaged, or of something else.");
create_exception!(axiomrl, Diverged, PyRuntimeError, "A number that stopped being one: the run ends here.");

/// What can be raised in Python.
pub trait Raised: Error + Sized + 'static {
    /// The exception that tells it.
    fn plain(&self) -> PyErr;

    /// The same, with the exception of an environment or a callback that led to it.
    fn raised(&self) -> PyErr {
        match python_cause(self) {
            Some(cause) if is_to_stop(&cause) => cause,
            Some(cause) => {
                let raised = self.plain();
                Python::attach(|py| raised.set_cause(py, Some(cause)));
                raised
            }
            None => self.plain(),
        }
    }
}

/// The exception that an error comes from.
pub fn python_cause(error: &(dyn Error + 'static)) -> Option<PyErr> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(raised) = error.downcast_ref::<PyErr>() {
            return Some(Python::attach(|py| raised.clone_ref(py)));
        }
        next = error.source();
    }
    None
}

/// Whether somebody wants the program to stop: Ctrl-C and its relatives are nobody's mistake.
pub fn is_to_stop(raised: &PyErr) -> bool {
    Python::attach(|py| !raised.is_instance_of::<PyException>(py))
}

impl Raised for ConfigError {
    fn plain(&self) -> PyErr {
        PyValueError::new_err(self.in_one_line())
    }
}

impl Raised for ConfigsError {
    fn plain(&self) -> PyErr {
        match self {
            Self::Unknown { .. } => PyFileNotFoundError::new_err(self.to_string()),
            Self::Config(_) => PyValueError::new_err(self.to_string()),
            Self::Read { .. } | Self::Folder { .. } => PyOSError::new_err(self.to_string()),
        }
    }
}

impl Raised for EnvError {
    fn plain(&self) -> PyErr {
        match self {
            Self::BadSnapshot { .. } => CheckpointError::new_err(self.to_string()),
            Self::Unknown { .. } | Self::BadOption { .. } | Self::BadSetting { .. } => {
                PyValueError::new_err(self.to_string())
            }
            Self::Failed(_) | Self::OneOfMany { .. } => PyRuntimeError::new_err(self.to_string()),
        }
    }
}

impl Raised for ExportError {
    fn plain(&self) -> PyErr {
        match self {
            Self::NoGraph { .. } => PyValueError::new_err(self.to_string()),
            Self::Write { .. } => PyOSError::new_err(self.to_string()),
        }
    }
}

impl Raised for LearnError {
    fn plain(&self) -> PyErr {
        match self {
            Self::Diverged(_) => Diverged::new_err(self.to_string()),
            _ => PyRuntimeError::new_err(self.to_string()),
        }
    }
}

impl Raised for Refused {
    fn plain(&self) -> PyErr {
        match self {
            Self::Unsupported(_) => PyTypeError::new_err(self.to_string()),
            Self::NotYet(_) => PyRuntimeError::new_err(self.to_string()),
            Self::Rows(_) => PyValueError::new_err(self.to_string()),
        }
    }
}

impl Raised for SessionError {
    fn plain(&self) -> PyErr {
        match self {
            Self::Env(inner) => inner.plain(),
            Self::Config(inner) => inner.plain(),
            Self::State(_) => CheckpointError::new_err(self.to_string()),
            _ => PyValueError::new_err(self.to_string()),
        }
    }
}

impl Raised for EvalError {
    fn plain(&self) -> PyErr {
        match self {
            Self::Env(inner) => inner.plain(),
            Self::Learn(inner) => inner.plain(),
            Self::OtherSpaces(_) | Self::NoEnvironments => PyValueError::new_err(self.to_string()),
        }
    }
}

impl Raised for BadCheckpoint {
    fn plain(&self) -> PyErr {
        match self {
            Self::NotFound { .. } => PyFileNotFoundError::new_err(self.to_string()),
            Self::Io { .. } | Self::Read { .. } => PyOSError::new_err(self.to_string()),
            _ => CheckpointError::new_err(self.to_string()),
        }
    }
}

impl Raised for RunDirError {
    fn plain(&self) -> PyErr {
        match self {
            Self::NotEmpty { .. } => PyFileExistsError::new_err(self.to_string()),
            Self::NotARun { .. } => CheckpointError::new_err(self.to_string()),
            _ => PyOSError::new_err(self.to_string()),
        }
    }
}

impl Raised for TrainError {
    fn plain(&self) -> PyErr {
        match self {
            Self::Session(inner) => inner.plain(),
            Self::RunDir(inner) => inner.plain(),
            Self::Checkpoint(inner) => inner.plain(),
            Self::Evaluation(inner) => inner.plain(),
            Self::Refused(inner) => inner.plain(),
            Self::Learn(LearnError::Diverged(_), _) | Self::BadReward { .. } => Diverged::new_err(self.to_string()),
            Self::Edited { .. } | Self::TooShort { .. } => PyValueError::new_err(self.to_string()),
            Self::Learn(..) | Self::Environment { .. } | Self::Observer(_) => PyRuntimeError::new_err(self.to_string()),
            Self::Log(_) | Self::Write { .. } | Self::Read { .. } => PyOSError::new_err(self.to_string()),
        }
    }
}
