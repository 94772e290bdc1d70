//! For tests: checkpoints that somebody tampered with who can calculate hashes.

use super::{MANIFEST, MANIFEST_DIGEST, digest};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Changes the manifest of the checkpoint in `dir` and seals it again.
pub(crate) fn tamper(dir: &Path, change: impl FnOnce(&mut Value)) {
    let path = dir.join(MANIFEST);
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    let bytes = serde_json::to_vec_pretty(&manifest).unwrap();
    fs::write(dir.join(MANIFEST_DIGEST), format!("{}  {MANIFEST}\n", digest::of_bytes(&bytes).sha256)).unwrap();
    fs::write(path, bytes).unwrap();
}
