//! What Gymnasium has, and what is wrong with an environment.

use crate::python;
use crate::settings::Settings;
use crate::worker::{Trouble, Worker, WorkerOptions};
use axiomrl_envs::{EnvError, Spaces};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::Path;

/// An id that the Gymnasium at hand knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Known {
    pub id: String,
    pub max_steps: Option<u64>,
    pub reward_threshold: Option<f64>,
}

/// Something that was looked at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// `ok`, `note` or `problem`.
    pub level: String,
    pub about: String,
    pub text: String,
}

/// What a check of an environment found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Check {
    pub spaces: Spaces,
    pub findings: Vec<Finding>,
    pub steps_per_second: f64,
}

/// All ids, by family.
pub fn known(python: Option<&Path>) -> Result<Vec<Known>, EnvError> {
    ask(python, &Settings::take("gymnasium", &Map::new())?, b'l', &json!(null)).map_err(EnvError::from)
}

/// Looks an environment over: spaces, seeds, numbers and speed, over so many steps.
pub fn check(python: Option<&Path>, id: &str, kwargs: &Map<String, Value>, steps: usize) -> Result<Check, EnvError> {
    let settings = Settings::take(id, kwargs)?;
    let wanted = json!({ "id": id, "kwargs": settings.kwargs, "steps": steps });
    ask(python, &settings, b't', &wanted).map_err(|trouble| trouble.about(id))
}

fn ask<T: serde::de::DeserializeOwned>(
    python: Option<&Path>,
    settings: &Settings,
    letter: u8,
    payload: &Value,
) -> Result<T, Trouble> {
    let (start_timeout, step_timeout) = (settings.start_timeout, settings.step_timeout);
    let options = WorkerOptions { python: python::executable(python), start_timeout, step_timeout };
    let mut worker = Worker::start(&options)?;
    worker.ask_json(letter, payload.to_string().as_bytes(), start_timeout + 10 * step_timeout)
}
