//! What a run tells, kept until Python asks for it.

use axiomrl_run::evaluate::Evaluation;
use axiomrl_run::observe::{Event, Observer};
use axiomrl_run::train::StopReason;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Something that callbacks are told.
pub enum Told {
    Evaluated(Evaluation),
    Saved(PathBuf),
    Logged(u64, Vec<(String, f64)>),
    Episode { episode_return: f64, length: u64 },
    Note(String),
}

impl Told {
    /// A name and what goes with it.
    pub fn into_python(self, py: Python<'_>) -> PyResult<(&'static str, Py<PyAny>)> {
        let details = PyDict::new(py);
        let name = match self {
            Self::Evaluated(result) => return Ok(("evaluation", evaluation(py, &result)?.into_any().unbind())),
            Self::Saved(path) => return Ok(("checkpoint", path.into_pyobject(py)?.into_any().unbind())),
            Self::Note(words) => return Ok(("note", words.into_pyobject(py)?.into_any().unbind())),
            Self::Logged(step, row) => {
                details.set_item("step", step)?;
                for (name, value) in row {
                    details.set_item(name, value)?;
                }
                "log"
            }
            Self::Episode { episode_return, length } => {
                details.set_item("r", episode_return)?;
                details.set_item("l", length)?;
                "episode"
            }
        };
        Ok((name, details.into_any().unbind()))
    }
}

/// The numbers of an evaluation.
pub fn evaluation<'py>(py: Python<'py>, result: &Evaluation) -> PyResult<Bound<'py, PyDict>> {
    let numbers = PyDict::new(py);
    numbers.set_item("mean_reward", result.mean_reward())?;
    numbers.set_item("std_reward", result.std_reward())?;
    numbers.set_item("mean_length", result.mean_length())?;
    if let Some(rate) = result.success_rate() {
        numbers.set_item("success_rate", rate)?;
    }
    numbers.set_item("returns", result.returns.clone())?;
    numbers.set_item("lengths", result.lengths.clone())?;
    Ok(numbers)
}

/// Kept in order.
#[derive(Clone, Default)]
pub struct Telling(Arc<Mutex<Vec<Told>>>);

impl Telling {
    pub fn take(&self) -> Vec<Told> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl Observer for Telling {
    fn on(&mut self, event: &Event<'_>) -> Result<ControlFlow<StopReason>, Box<dyn Error + Send + Sync>> {
        let told = match event {
            Event::Evaluated(_, result) => Told::Evaluated((*result).clone()),
            Event::Saved(_, path) => Told::Saved(path.to_path_buf()),
            Event::Logged(clock, row) => Told::Logged(clock.at, row.to_vec()),
            Event::Episode(_, end) => Told::Episode { episode_return: end.episode_return, length: end.length },
            Event::Note(words) => Told::Note((*words).to_owned()),
            Event::Round(..) | Event::Updated(_) | Event::Ended(_) => return Ok(ControlFlow::Continue(())),
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(told);
        Ok(ControlFlow::Continue(()))
    }
}
