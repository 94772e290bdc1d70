//! From what a user typed to the checkpoint that is meant.

use super::{CheckpointError, MANIFEST, swap};
use std::fs;
use std::path::{Path, PathBuf};

/// Finds the checkpoint meant by `path`: a checkpoint folder, or a run folder (its last checkpoint). A swap that was
/// interrupted is looked through, so what is returned may end in `.old`.
pub fn find(path: &Path) -> Result<PathBuf, CheckpointError> {
    if path.is_file() {
        let found = "it is a file".to_owned();
        return Err(CheckpointError::NotACheckpoint { path: path.to_path_buf(), found });
    }
    let dir = swap::recover(path).ok_or_else(|| nothing_at(path))?;
    if dir.join(MANIFEST).is_file() {
        return Ok(dir);
    }
    let checkpoints = dir.join("checkpoints");
    // The first save makes the folder; the configuration is there before it.
    if checkpoints.is_dir() || dir.join("config.yaml").is_file() {
        return swap::recover(&checkpoints.join("last")).ok_or_else(|| without_last(&dir, &checkpoints));
    }
    let found = match list(&dir).as_slice() {
        [] => format!("it holds {}", describe(&dir)),
        several => format!("it holds several checkpoints, name one of them: {}", names(several)),
    };
    Err(CheckpointError::NotACheckpoint { path: dir, found })
}

/// The checkpoints in a folder such as `run/checkpoints`, by name, steps in their order.
pub fn list(checkpoints: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(checkpoints) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| !swap::is_transient(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .filter(|path| path.join(MANIFEST).is_file())
        .collect();
    // `step_200` before `step_1000`.
    found.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name.strip_prefix("step_").and_then(|step| step.parse::<u64>().ok()).unwrap_or(0), name)
    });
    found
}

pub(super) fn nothing_at(path: &Path) -> CheckpointError {
    let parent = crate::files::parent_of(path);
    let found = match list(parent).as_slice() {
        _ if !parent.is_dir() => format!("there is no folder {} either", parent.display()),
        [] => "there is nothing; give a run folder or a checkpoint folder".to_owned(),
        others => format!("{} has the checkpoints {}", parent.display(), names(others)),
    };
    CheckpointError::NotFound { path: path.to_path_buf(), found }
}

fn without_last(run: &Path, checkpoints: &Path) -> CheckpointError {
    let found = match list(checkpoints).as_slice() {
        [] => "this run was stopped before its first checkpoint: `axiomrl resume` begins it again".to_owned(),
        others => format!("this run has no last checkpoint, name one of those it has: {}", names(others)),
    };
    CheckpointError::NotFound { path: run.to_path_buf(), found }
}

fn names(checkpoints: &[PathBuf]) -> String {
    let names: Vec<_> =
        checkpoints.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy()).collect();
    names.join(", ")
}

/// A few names of what a folder holds, for messages.
pub(super) fn describe(dir: &Path) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<_> = match fs::read_dir(dir) {
        Ok(entries) => entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect(),
        Err(error) => return format!("something that cannot be listed ({error})"),
    };
    names.sort();
    match names.len() {
        0 => "nothing".to_owned(),
        n if n <= SHOWN => names.join(", "),
        n => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
    }
}
