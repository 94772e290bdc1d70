//! Checkpoints of 0.1.0: their policies can be used, training cannot go on from them.
//!
//! Tensors had the names that they have now, in `model.safetensors`; the statistics of observations were those of the
//! environment's wrapper.

use super::{CheckpointError, Manifest, SavedPolicy, read_tensors};
use axiomrl_algos::{Section, Snapshot};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const MODEL: &str = "model.safetensors";

pub(super) fn policy(dir: &Path, manifest: Manifest) -> Result<SavedPolicy, CheckpointError> {
    let mut values = BTreeMap::new();
    if let Some(stats) = manifest.state.get("normalizer").and_then(|n| n.get("obs")).filter(|obs| !obs.is_null()) {
        values.insert("observation_statistics".to_owned(), stats.clone());
    }
    // What a policy keeps beside its tensors had the same names among the values of training.
    for (name, value) in manifest.state.iter().filter(|(_, value)| !matches!(value, Value::Object(_))) {
        values.entry(name.clone()).or_insert_with(|| value.clone());
    }
    let policy = Section { tensors: read_tensors(dir, &manifest.files, MODEL)?, values };
    let snapshot = Snapshot { policy, ..Snapshot::default() };
    Ok(SavedPolicy { config: manifest.config, spaces: None, snapshot, counters: manifest.counters })
}
