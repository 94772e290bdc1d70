//! Minari's folders.

use crate::{DataError, EpisodeReader};
use std::path::{Path, PathBuf};

/// `MINARI_DATASETS_PATH`, or `~/.minari/datasets`.
pub fn root() -> Option<PathBuf> {
    std::env::var_os("MINARI_DATASETS_PATH").map(PathBuf::from)
}

/// The `data` folder that a path or an id means.
pub fn find(path_or_id: &Path) -> Result<PathBuf, DataError> {
    Err(DataError::file(path_or_id, "not there yet"))
}

/// Refuses an id that Minari does not take: `(namespace/)*name-v<number>`.
pub fn check_id(id: &str) -> Result<(), DataError> {
    Err(DataError::Invalid(id.into()))
}

/// Opens a folder, HDF5 or Arrow.
pub fn open(path_or_id: &Path) -> Result<Box<dyn EpisodeReader>, DataError> {
    Err(DataError::file(path_or_id, "not there yet"))
}

/// Writes all episodes to `<root>/<id>/data` as HDF5 and returns that folder, which is there as a whole or not at all. One that
/// is there already is refused.
pub fn write(root: &Path, _id: &str, _reader: &mut dyn EpisodeReader) -> Result<PathBuf, DataError> {
    Err(DataError::file(root, "not there yet"))
}
