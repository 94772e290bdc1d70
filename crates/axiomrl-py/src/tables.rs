//! What there is, by name.

use crate::bridge::catalogue;
use crate::errors::Raised;
use crate::policy::as_json;
use axiomrl_algos::{find, registry};
use axiomrl_envs::registry as native;
use axiomrl_run::configs;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Every algorithm: name, summary, page, kinds of actions and defaults, as JSON.
#[pyfunction]
pub fn algorithms() -> PyResult<String> {
    let row = |entry: &axiomrl_algos::AlgoEntry| {
        let kinds: Vec<&str> = entry.actions.iter().map(|kind| kind.name()).collect();
        json!({
            "name": entry.name, "summary": entry.summary, "page": entry.page(), "actions": kinds,
            "defaults": entry.defaults(),
        })
    };
    as_json(&registry().iter().map(row).collect::<Vec<Value>>())
}

/// The JSON Schema of an algorithm's run files.
#[pyfunction]
pub fn schema(name: &str) -> PyResult<String> {
    match find(name) {
        Some(entry) => as_json(&entry.schema()),
        None => Err(PyKeyError::new_err(format!("there is no algorithm `{name}`"))),
    }
}

/// Every native environment: name, summary, time limit, threshold and options, as JSON.
#[pyfunction]
pub fn environments() -> PyResult<String> {
    let row = |info: &native::EnvInfo| {
        json!({
            "name": info.name, "summary": info.summary, "max_episode_steps": info.max_steps,
            "reward_threshold": info.reward_threshold, "options": info.kwargs,
        })
    };
    as_json(&native::list().iter().map(row).collect::<Vec<Value>>())
}

/// A run file, packaged or the user's own, with every default filled in, as JSON.
#[pyfunction]
pub fn run_file(py: Python<'_>, name_or_path: &str, assignments: Vec<String>) -> PyResult<String> {
    let catalogue = catalogue(None)?;
    py.detach(|| {
        let read = configs::read(&catalogue, name_or_path, &assignments);
        as_json(&read.map_err(|error| error.raised())?.config)
    })
}
