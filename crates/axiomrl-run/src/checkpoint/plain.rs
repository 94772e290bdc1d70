//! Looking at the files of a checkpoint before reading them. A folder from elsewhere can hold anything under their names:
//! a pipe that never ends, a link to a device, a file larger than the memory.

use super::digest::{self, FileDigest};
use super::{CheckpointError, missing_or_read};
use std::fs::{self, File, FileType};
use std::io::Read;
use std::path::Path;

/// Largest manifest: the state of thousands of environments fits, and no machine is brought down by reading it.
pub(super) const LARGEST_MANIFEST: u64 = 1 << 30;

/// The size of a plain file. Links are not followed: what they lead to was never part of the checkpoint.
pub(super) fn size(dir: &Path, name: &str) -> Result<u64, CheckpointError> {
    let found = fs::symlink_metadata(dir.join(name)).map_err(|error| missing_or_read(dir, name, error))?;
    if found.is_file() {
        return Ok(found.len());
    }
    let reason = format!("it is {}, not a plain file", kind(found.file_type()));
    Err(CheckpointError::damaged(dir, name, reason))
}

/// Refuses a file that is not of the size the manifest says, unread.
pub(super) fn check_size(dir: &Path, name: &str, expected: u64) -> Result<(), CheckpointError> {
    match digest::size_difference(expected, size(dir, name)?) {
        Some(reason) => Err(CheckpointError::damaged(dir, name, reason)),
        None => Ok(()),
    }
}

/// A whole file, unless it is larger than `limit`.
pub(super) fn read(dir: &Path, name: &str, limit: u64, into: &mut Vec<u8>) -> Result<FileDigest, CheckpointError> {
    let too_large = || CheckpointError::damaged(dir, name, format!("it is larger than {limit} bytes"));
    if size(dir, name)? > limit {
        return Err(too_large());
    }
    // It may have grown since.
    let read = File::open(dir.join(name)).and_then(|file| file.take(limit + 1).read_to_end(into));
    if read.map_err(|error| missing_or_read(dir, name, error))? as u64 > limit {
        return Err(too_large());
    }
    Ok(digest::of_bytes(into))
}

fn kind(found: FileType) -> &'static str {
    if found.is_dir() {
        "a folder"
    } else if found.is_symlink() {
        "a link"
    } else {
        "a pipe or a device"
    }
}
