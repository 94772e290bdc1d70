//! Checkpoints: a folder with a manifest and the tensors, written whole or not at all.
//!
//! `manifest.json` names every other file with its size and SHA-256, and `manifest.sha256` (in the format of
//! `sha256sum`) covers the manifest itself. Loading checks all of them before it hands anything out. A foreign file
//! is never executed or unpickled: there is only JSON, safetensors and compressed plain data.
//!
//! What a policy needs to act (`policy.safetensors`, and in the manifest its spaces and statistics) stands apart from what
//! only further training needs: a checkpoint of the best policy has nothing else, and loads without the environment.

mod digest;
mod error;
mod legacy;
mod locate;
mod plain;
#[cfg(test)]
pub(crate) mod sealed;
mod stores;
mod swap;
mod tensors;
#[cfg(test)]
mod tests;
mod writer;

pub use error::CheckpointError;
pub use locate::{find, list};
pub use stores::StoreReader;
pub(crate) use swap::discard;
pub use swap::sweep;
pub use writer::CheckpointWriter;

use axiomrl_algos::{Section, Snapshot};
use axiomrl_envs::Spaces;
use digest::FileDigest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The newest layout this version writes and reads.
pub const SCHEMA_VERSION: u64 = 2;

const KIND: &str = "axiomrl-checkpoint";
const MANIFEST: &str = "manifest.json";
const MANIFEST_DIGEST: &str = "manifest.sha256";
const POLICY: &str = "policy.safetensors";
const TRAINING: &str = "training.safetensors";
const ENVIRONMENTS: &str = "environments.bin";

/// What a policy needs to act, verified.
#[derive(Debug)]
pub struct SavedPolicy {
    /// The resolved configuration of the run.
    pub config: Value,
    /// What the policy was made for; `None` in files of 0.1.0, which ask the environment.
    pub spaces: Option<Spaces>,
    /// Its `training` part is empty.
    pub snapshot: Snapshot,
    pub counters: Value,
}

/// A checkpoint to go on from, whose every file has been verified.
#[derive(Debug)]
pub struct Checkpoint {
    pub dir: PathBuf,
    pub config: Value,
    /// Steps, episodes and the like.
    pub counters: Value,
    /// Networks, optimisers and the state of everything small.
    pub snapshot: Snapshot,
    /// The state of the environments, where they can be saved.
    pub environments: Option<Vec<u8>>,
    files: BTreeMap<String, FileDigest>,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    schema_version: u64,
    kind: String,
    axiomrl_version: String,
    config: Value,
    counters: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spaces: Option<Spaces>,
    /// Small values of the policy, such as its input statistics.
    #[serde(default)]
    policy: BTreeMap<String, Value>,
    /// Small values that only further training needs.
    #[serde(default)]
    state: BTreeMap<String, Value>,
    files: BTreeMap<String, FileDigest>,
}

/// Reads what a policy needs to act, and verifies no more than that.
pub fn load_policy(dir: &Path) -> Result<SavedPolicy, CheckpointError> {
    let dir = swap::recover(dir).ok_or_else(|| locate::nothing_at(dir))?;
    let manifest = read_manifest(&dir)?;
    if manifest.schema_version < SCHEMA_VERSION {
        return legacy::policy(&dir, manifest);
    }
    let tensors = read_tensors(&dir, &manifest.files, POLICY)?;
    let policy = Section { tensors, values: manifest.policy };
    let snapshot = Snapshot { policy, ..Snapshot::default() };
    Ok(SavedPolicy { config: manifest.config, spaces: manifest.spaces, snapshot, counters: manifest.counters })
}

/// Reads a checkpoint to go on from. Schema, size and SHA-256 of every file are verified before anything is used.
pub fn load(dir: &Path) -> Result<Checkpoint, CheckpointError> {
    let dir = swap::recover(dir).ok_or_else(|| locate::nothing_at(dir))?;
    let manifest = read_manifest(&dir)?;
    if manifest.schema_version < SCHEMA_VERSION {
        return Err(CheckpointError::OlderSchema { path: dir, found: manifest.schema_version });
    }
    if !manifest.files.contains_key(TRAINING) {
        return Err(CheckpointError::NoStore { path: dir });
    }
    let mut environments = None;
    for (name, expected) in &manifest.files {
        if !is_file_name(name) {
            return Err(CheckpointError::damaged(&dir, MANIFEST, format!("it lists a file with the name {name:?}")));
        }
        plain::check_size(&dir, name, expected.bytes)?;
        let found = match name.as_str() {
            // Read once, below: the bytes that are verified are the bytes that are used.
            POLICY | TRAINING => continue,
            ENVIRONMENTS => plain::read(&dir, name, expected.bytes, environments.insert(Vec::new()))?,
            _ => digest::of_file(&dir.join(name)).map_err(|error| missing_or_read(&dir, name, error))?,
        };
        if let Some(reason) = digest::difference(expected, &found) {
            return Err(CheckpointError::damaged(&dir, name, reason));
        }
    }
    let snapshot = Snapshot {
        policy: Section { tensors: read_tensors(&dir, &manifest.files, POLICY)?, values: manifest.policy },
        training: Section { tensors: read_tensors(&dir, &manifest.files, TRAINING)?, values: manifest.state },
    };
    let Manifest { config, counters, files, .. } = manifest;
    Ok(Checkpoint { dir, config, counters, snapshot, environments, files })
}

/// Plain names only: a manifest must not lead anywhere else.
fn is_file_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.is_empty() && name.len() < 200 && !name.starts_with('.') && name.chars().all(plain)
}

/// A file of tensors, verified.
fn read_tensors(
    dir: &Path,
    files: &BTreeMap<String, FileDigest>,
    name: &str,
) -> Result<BTreeMap<String, axiomrl_algos::TensorData>, CheckpointError> {
    let missing = || CheckpointError::damaged(dir, MANIFEST, format!("it does not list {name}"));
    let expected = files.get(name).ok_or_else(missing)?;
    plain::check_size(dir, name, expected.bytes)?;
    let mut bytes = Vec::new();
    let found = plain::read(dir, name, expected.bytes, &mut bytes)?;
    if let Some(reason) = digest::difference(expected, &found) {
        return Err(CheckpointError::damaged(dir, name, reason));
    }
    tensors::decode(&bytes).map_err(|reason| CheckpointError::damaged(dir, name, reason))
}

fn read_manifest(dir: &Path) -> Result<Manifest, CheckpointError> {
    let not_ours = |found: String| CheckpointError::NotACheckpoint { path: dir.to_path_buf(), found };
    let mut bytes = Vec::new();
    let digest = match plain::read(dir, MANIFEST, plain::LARGEST_MANIFEST, &mut bytes) {
        // Without a manifest nothing says that the folder is one of ours.
        Err(CheckpointError::Missing { .. }) => return Err(not_ours("it has no manifest.json".to_owned())),
        other => other?,
    };
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| CheckpointError::damaged(dir, MANIFEST, format!("not valid JSON: {error}")))?;
    if value.get("kind").and_then(Value::as_str) != Some(KIND) {
        return Err(not_ours(format!("its manifest.json is not of kind \"{KIND}\"")));
    }
    // Before the rest of the fields, which another schema may have changed.
    match value.get("schema_version").and_then(Value::as_u64) {
        Some(found) if found > SCHEMA_VERSION => {
            let path = dir.to_path_buf();
            return Err(CheckpointError::NewerSchema { path, found, supported: SCHEMA_VERSION });
        }
        Some(_) => {}
        None => return Err(CheckpointError::damaged(dir, MANIFEST, "it has no schema_version")),
    }
    let mut recorded = Vec::new();
    plain::read(dir, MANIFEST_DIGEST, 4096, &mut recorded)?;
    if recorded.split(|byte| *byte == b' ').next() != Some(digest.sha256.as_bytes()) {
        return Err(CheckpointError::damaged(dir, MANIFEST, "sha256 differs"));
    }
    serde_json::from_value(value).map_err(|error| CheckpointError::damaged(dir, MANIFEST, error.to_string()))
}

fn missing_or_read(dir: &Path, name: &str, error: io::Error) -> CheckpointError {
    match error.kind() {
        io::ErrorKind::NotFound => CheckpointError::missing(dir, name),
        _ => CheckpointError::reading(&dir.join(name))(error),
    }
}
