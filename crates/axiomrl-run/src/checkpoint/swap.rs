//! Putting a finished checkpoint in the place of the previous one, so that a kill at any moment leaves one of them.
//!
//! | moment                       | `last`   | `last.old` | `last.tmp-N` | used     |
//! |------------------------------|----------|------------|--------------|----------|
//! | while writing                | previous |            | partial      | `last`   |
//! | after the first rename       |          | previous   | complete     | `.old`   |
//! | after the second rename      | new      | previous   |              | `last`   |
//! | while removing the previous  | new      | partial    |              | `last`   |

use super::CheckpointError;
use crate::files::{self, parent_of, sync_dir};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the new checkpoint is written before it takes its place.
pub(super) fn temporary(dir: &Path) -> PathBuf {
    with_suffix(dir, &format!("{}{}", files::TEMPORARY, std::process::id()))
}

/// Where the previous checkpoint waits while the new one takes its place.
pub(super) fn previous(dir: &Path) -> PathBuf {
    with_suffix(dir, ".old")
}

/// The folder to read: `dir`, or what an interrupted swap left of the previous one.
pub(super) fn recover(dir: &Path) -> Option<PathBuf> {
    [dir.to_path_buf(), previous(dir)].into_iter().find(|candidate| candidate.is_dir())
}

/// Moves the complete checkpoint `temporary` to `dir` and then removes the previous one.
pub(super) fn put_in_place(temporary: &Path, dir: &Path) -> Result<(), CheckpointError> {
    let old = previous(dir);
    if dir.is_dir() {
        // Only now is `.old` sure to be a leftover: without `dir` it would be the only checkpoint.
        remove_folder(&old)?;
        fs::rename(dir, &old).map_err(CheckpointError::io(dir))?;
    }
    if let Err(source) = fs::rename(temporary, dir) {
        if old.is_dir() {
            // If this fails too, `recover` still finds the previous one where it is.
            let _ = fs::rename(&old, dir);
        }
        return Err(CheckpointError::Io { path: dir.to_path_buf(), source });
    }
    let parent = parent_of(dir);
    sync_dir(parent).map_err(CheckpointError::io(parent))?;
    remove_folder(&old)
}

/// Removes what earlier processes were killed while writing. The run's lock keeps living ones away.
pub(super) fn remove_leftovers(dir: &Path) -> Result<(), CheckpointError> {
    let parent = parent_of(dir);
    let Some(mut prefix) = dir.file_name().map(|name| name.to_string_lossy().into_owned()) else { return Ok(()) };
    prefix.push_str(files::TEMPORARY);
    for entry in fs::read_dir(parent).map_err(CheckpointError::io(parent))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            remove_folder(&entry.path())?;
        }
    }
    Ok(())
}

/// Clears the folder of a run's checkpoints of what kills left in it: partly written ones, and previous ones whose
/// successors are in place. Costs space, not the run, if it fails.
pub fn sweep(checkpoints: &Path) {
    files::sweep(checkpoints);
    let Ok(entries) = fs::read_dir(checkpoints) else { return };
    for old in entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "old")) {
        if old.with_extension("").join(super::MANIFEST).is_file() {
            let _ = fs::remove_dir_all(old);
        }
    }
}

/// Removes a checkpoint so that a kill half way leaves nothing that could be taken for one.
pub(crate) fn discard(dir: &Path) {
    let unnamed = temporary(dir);
    let doomed = if fs::rename(dir, &unnamed).is_ok() { unnamed.as_path() } else { dir };
    let _ = fs::remove_dir_all(doomed);
}

/// Whether a name belongs to a swap under way and not to a checkpoint to choose.
pub(super) fn is_transient(name: &str) -> bool {
    name.ends_with(".old") || name.contains(files::TEMPORARY)
}

fn remove_folder(path: &Path) -> Result<(), CheckpointError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(CheckpointError::io(path)(error)),
        _ => Ok(()),
    }
}

fn with_suffix(dir: &Path, suffix: &str) -> PathBuf {
    // Through the components, so that `run/last/` gives `run/last.old` and not `run/last/.old`.
    let mut name: OsString = dir.components().collect::<PathBuf>().into_os_string();
    name.push(suffix);
    PathBuf::from(name)
}
