//! Checkpoints: a folder with a manifest and the tensors, written whole or not at all.
//!
//! `manifest.json` names every other file with its size and SHA-256, and `manifest.sha256` (in the format of
//! `sha256sum`) covers the manifest itself. [`load`] checks all of them before it hands anything out. A foreign file
//! is never executed or unpickled: there is only JSON, safetensors and compressed plain data.

mod digest;
mod error;
mod locate;
mod plain;
#[cfg(test)]
pub(crate) mod sealed;
mod swap;
mod tensors;
#[cfg(test)]
mod tests;

pub use error::CheckpointError;
pub use locate::{find, list};
pub(crate) use swap::discard;
pub use swap::sweep;

use crate::files::sync_dir;
use axiomrl_core::Snapshot;
use digest::{DigestWriter, FileDigest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The newest layout this version writes and reads.
pub const SCHEMA_VERSION: u64 = 1;

const KIND: &str = "axiomrl-checkpoint";
const MANIFEST: &str = "manifest.json";
const MANIFEST_DIGEST: &str = "manifest.sha256";
const MODEL: &str = "model.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const STORE: &str = "store.bin.zst";

/// A checkpoint whose every file has been verified.
#[derive(Debug)]
pub struct Checkpoint {
    /// The resolved configuration of the run.
    pub config: Value,
    /// Steps, episodes and the like.
    pub counters: Value,
    /// Networks, optimisers and the state of everything small.
    pub snapshot: Snapshot,
    /// Where the compressed replay store is, if the checkpoint has one: see [`open_store`].
    pub store: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    schema_version: u64,
    kind: String,
    axiomrl_version: String,
    config: Value,
    counters: Value,
    state: BTreeMap<String, Value>,
    files: BTreeMap<String, FileDigest>,
}

/// Writes the replay store into the writer it is given.
pub type StoreWriter<'a> = &'a mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// Writes a checkpoint to `dir` (say `run/checkpoints/last`). Whatever goes wrong, the one that was there stays usable.
pub fn save(
    dir: &Path,
    config: &Value,
    counters: &Value,
    snapshot: &Snapshot,
    store: Option<StoreWriter<'_>>,
) -> Result<(), CheckpointError> {
    refuse_foreign(dir)?;
    let parent = crate::files::parent_of(dir);
    fs::create_dir_all(parent).map_err(CheckpointError::io(parent))?;
    swap::remove_leftovers(dir)?;
    let temporary = swap::temporary(dir);
    let outcome =
        write_files(&temporary, config, counters, snapshot, store).and_then(|()| swap::put_in_place(&temporary, dir));
    if outcome.is_err() {
        // Gives a full disk its space back. A failure here hides nothing: the error to report is the first one.
        let _ = fs::remove_dir_all(&temporary);
    }
    outcome
}

/// Reads a checkpoint. Schema, size and SHA-256 of every file are verified before anything is used.
pub fn load(dir: &Path) -> Result<Checkpoint, CheckpointError> {
    let dir = swap::recover(dir).ok_or_else(|| locate::nothing_at(dir))?;
    let manifest = read_manifest(&dir)?;
    for required in [MODEL, OPTIMIZER] {
        if !manifest.files.contains_key(required) {
            return Err(CheckpointError::damaged(&dir, MANIFEST, format!("it does not list {required}")));
        }
    }
    let (mut model, mut optimizer, mut store) = (Vec::new(), Vec::new(), None);
    for (name, expected) in &manifest.files {
        if ![MODEL, OPTIMIZER, STORE].contains(&name.as_str()) {
            return Err(CheckpointError::damaged(&dir, MANIFEST, format!("it lists an unknown file {name}")));
        }
        plain::check_size(&dir, name, expected.bytes)?;
        let found = match name.as_str() {
            // The bytes that are verified are the bytes that are used: these files are read once.
            MODEL => plain::read(&dir, name, expected.bytes, &mut model)?,
            OPTIMIZER => plain::read(&dir, name, expected.bytes, &mut optimizer)?,
            _ => {
                let path = dir.join(name);
                let found = digest::of_file(&path).map_err(|error| missing_or_read(&dir, name, error))?;
                store = Some(path);
                found
            }
        };
        if let Some(reason) = digest::difference(expected, &found) {
            return Err(CheckpointError::damaged(&dir, name, reason));
        }
    }
    let model = tensors::decode(&model).map_err(|reason| CheckpointError::damaged(&dir, MODEL, reason))?;
    let optimizer = tensors::decode(&optimizer).map_err(|reason| CheckpointError::damaged(&dir, OPTIMIZER, reason))?;
    let snapshot = Snapshot { model, optimizer, state: manifest.state };
    Ok(Checkpoint { config: manifest.config, counters: manifest.counters, snapshot, store })
}

/// Opens the replay store for reading, decompressed; `None` when the checkpoint has none.
pub fn open_store(checkpoint: &Checkpoint) -> Result<Option<Box<dyn Read>>, CheckpointError> {
    let Some(path) = &checkpoint.store else { return Ok(None) };
    let open = || -> io::Result<Box<dyn Read>> {
        // The decoder emits large blocks; callers read a few bytes at a time.
        Ok(Box::new(BufReader::with_capacity(1 << 16, zstd::Decoder::new(File::open(path)?)?)))
    };
    open().map(Some).map_err(CheckpointError::reading(path))
}

fn write_files(
    dir: &Path,
    config: &Value,
    counters: &Value,
    snapshot: &Snapshot,
    store: Option<StoreWriter<'_>>,
) -> Result<(), CheckpointError> {
    fs::create_dir(dir).map_err(CheckpointError::io(dir))?;
    let mut files = BTreeMap::new();
    for (name, tensors) in [(MODEL, &snapshot.model), (OPTIMIZER, &snapshot.optimizer)] {
        let bytes = tensors::encode(tensors)?;
        files.insert(name.to_owned(), write_file(&dir.join(name), &bytes)?);
    }
    if let Some(write) = store {
        let path = dir.join(STORE);
        files.insert(STORE.to_owned(), write_store(&path, write).map_err(CheckpointError::io(&path))?);
    }
    let manifest = Manifest {
        schema_version: SCHEMA_VERSION,
        kind: KIND.to_owned(),
        axiomrl_version: env!("CARGO_PKG_VERSION").to_owned(),
        config: config.clone(),
        counters: counters.clone(),
        state: snapshot.state.clone(),
        files,
    };
    let path = dir.join(MANIFEST);
    let bytes = serde_json::to_vec_pretty(&manifest).map_err(|error| CheckpointError::io(&path)(error.into()))?;
    if bytes.len() as u64 > plain::LARGEST_MANIFEST {
        let words = "the state of the environments takes more than a gigabyte; use fewer of them";
        return Err(CheckpointError::io(&path)(io::Error::new(io::ErrorKind::FileTooLarge, words)));
    }
    let digest = write_file(&path, &bytes)?;
    write_file(&dir.join(MANIFEST_DIGEST), format!("{}  {MANIFEST}\n", digest.sha256).as_bytes())?;
    sync_dir(dir).map_err(CheckpointError::io(dir))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<FileDigest, CheckpointError> {
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(CheckpointError::io(path))?;
    Ok(digest::of_bytes(bytes))
}

fn write_store(path: &Path, write: StoreWriter<'_>) -> io::Result<FileDigest> {
    let mut encoder = zstd::Encoder::new(DigestWriter::new(File::create(path)?), 1)?;
    encoder.include_checksum(true)?;
    // Stores write number by number; the encoder wants more at once.
    let mut buffered = BufWriter::with_capacity(1 << 16, encoder);
    write(&mut buffered)?;
    let encoder = buffered.into_inner().map_err(|error| error.into_error())?;
    let (file, digest) = encoder.finish()?.finish();
    file.sync_all()?;
    Ok(digest)
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

/// Saving replaces a folder, and must not replace one that holds something else.
fn refuse_foreign(dir: &Path) -> Result<(), CheckpointError> {
    let is_empty = || fs::read_dir(dir).map(|mut entries| entries.next().is_none()).unwrap_or(false);
    if dir.exists() && !dir.join(MANIFEST).is_file() && !is_empty() {
        let found = format!("it holds {}, which saving would replace", locate::describe(dir));
        return Err(CheckpointError::NotACheckpoint { path: dir.to_path_buf(), found });
    }
    Ok(())
}
