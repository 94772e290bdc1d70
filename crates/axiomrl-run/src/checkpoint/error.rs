//! What can be wrong with a checkpoint, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why a checkpoint cannot be written or used. Nothing of it has been loaded when one of these is returned.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// There is nothing at that path, or a run folder that has no checkpoint yet.
    #[error("no checkpoint at {}: {found}", .path.display())]
    NotFound { path: PathBuf, found: String },

    /// A folder, file or manifest that something else made.
    #[error("{} is not an AxiomRL checkpoint: {found}; give a checkpoint folder (it holds manifest.json) or a run folder", .path.display())]
    NotACheckpoint { path: PathBuf, found: String },

    /// Written by a later version of AxiomRL.
    #[error("checkpoint {} has schema version {found}, this AxiomRL reads up to {supported}: install a newer AxiomRL to use it", .path.display())]
    NewerSchema { path: PathBuf, found: u64, supported: u64 },

    /// Written by an earlier version, with other stores.
    #[error("checkpoint {} was written by an earlier AxiomRL (schema version {found}): it can be evaluated and used to predict, but training cannot go on from it, because replay stores and the order of a run's updates are kept differently now; train anew", .path.display())]
    OlderSchema { path: PathBuf, found: u64 },
    /// A file is not what was written.
    #[error("checkpoint {} is damaged: {file}: {reason}; {remedy}", .path.display())]
    Damaged { path: PathBuf, file: String, reason: String, remedy: String },

    /// A file of the checkpoint is gone.
    #[error("checkpoint {} is incomplete: {file} is missing; {remedy}", .path.display())]
    Missing { path: PathBuf, file: String, remedy: String },

    /// The checkpoint is whole, but made for acting and not for training on.
    #[error("checkpoint {} holds a policy alone, so training cannot go on from it; resume the run from its last checkpoint", .path.display())]
    NoStore { path: PathBuf },

    /// A tensor to be saved contradicts its own shape: a mistake in the algorithm, not of the user.
    #[error("tensor `{name}` cannot be saved: {reason}; this is a bug in the algorithm, please report it")]
    BadTensor { name: String, reason: String },

    /// The file system refused to give a file back. Nothing was being written.
    #[error("cannot read {}: {source}; check the permissions, or use another checkpoint of the run", .path.display())]
    Read { path: PathBuf, source: io::Error },

    /// The file system refused: no space, no permission, no such disk.
    #[error("cannot write {}: {source}; the previous checkpoint, if there was one, is untouched", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl CheckpointError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_path_buf(), source }
    }

    pub(super) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read { path: path.to_path_buf(), source }
    }

    pub(crate) fn damaged(dir: &Path, file: &str, reason: impl Into<String>) -> Self {
        let (file, reason) = (file.to_owned(), reason.into());
        Self::Damaged { path: dir.to_path_buf(), file, reason, remedy: remedy(dir) }
    }

    pub(super) fn missing(dir: &Path, file: &str) -> Self {
        Self::Missing { path: dir.to_path_buf(), file: file.to_owned(), remedy: remedy(dir) }
    }
}

/// Points at the other checkpoints of the same run, which a user in trouble should not have to look for.
fn remedy(dir: &Path) -> String {
    let others: Vec<_> = super::list(crate::files::parent_of(dir))
        .into_iter()
        .filter(|other| other != dir)
        .map(|other| other.display().to_string())
        .collect();
    if others.is_empty() {
        "this run has no other checkpoint: copy it again from where it came from, or train anew".to_owned()
    } else {
        format!("use another checkpoint of the run: {}", others.join(", "))
    }
}
