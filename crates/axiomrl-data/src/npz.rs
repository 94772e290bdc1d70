//! numpy's archives.
//!
//! Keys, a row for each step: `obs`, `actions`, `rewards`, `next_obs`, and `terminations` with `truncations` (or `terminateds` with
//! `truncateds`, or `dones` alone, which does not say how episodes ended). Or D4RL's: `observations`, `actions`, `rewards`, `terminals`,
//! and, if there are any, `timeouts` and `next_observations`. An observation of several parts has one array for each, `obs/part`;
//! `action_masks` and `next_action_masks` are the choices that were allowed. Other keys are passed over.
//!
//! What is written has the former keys, and one of bytes, `axiomrl`, with the spaces and the origin of the data as JSON. Where an
//! episode just stops, the mark of its last row is that of a truncation: a flat file has no other way to say where it ends.

mod archive;
mod header;
pub mod npy;
#[cfg(test)]
mod tests;
mod writer;

use crate::flat::FlatReader;
use crate::{DataError, EpisodeReader, OpenOptions};
use std::path::Path;

/// Opens an `.npz` file, of `numpy.savez` or `numpy.savez_compressed`. It is read in pieces, never as a whole.
pub fn open(path: &Path, options: &OpenOptions) -> Result<Box<dyn EpisodeReader>, DataError> {
    let archive = archive::Archive::open(path)?;
    Ok(Box::new(FlatReader::open(&archive, options)?))
}

/// Writes all episodes to one `.npz` file, which is there as a whole or not at all; one that was there is replaced.
pub fn write(path: &Path, reader: &mut dyn EpisodeReader) -> Result<(), DataError> {
    writer::write(path, reader)
}
