//! Minari's folders: `<root>/<id>/data` with a `metadata.json` and the episodes, as one HDF5 file or as an Arrow file for each.
//!
//! Both are read; HDF5 is written. Images packed as JPEG, `parquet`, and spaces of text are refused by name. A Tuple is read as a Dict
//! with the names `0`, `1`, and so on. `infos/action_mask`, where it has an entry for each choice, is read and written as the choices
//! that were allowed; other infos are passed over.

mod arrow;
mod env_specs;
mod episode;
mod hdf5;
mod id;
mod json;
mod metadata;
mod reader;
mod spaces;
#[cfg(test)]
mod tests;
mod writer;

use crate::{DataError, EpisodeReader};
pub use id::{check_id, find, root};
use metadata::{Format, Head};
use reader::Reader;
use std::path::{Path, PathBuf};

pub(crate) use metadata::METADATA;

/// Opens the dataset that [`find`] finds.
pub fn open(path_or_id: &Path) -> Result<Box<dyn EpisodeReader>, DataError> {
    let data = find(path_or_id)?;
    let mut head = Head::read(&data)?;
    Ok(match head.format {
        Format::Hdf5 => {
            let files = hdf5::File::open(&data, &mut head)?;
            Box::new(Reader::new(&data, head, files))
        }
        Format::Arrow => {
            let files = arrow::Folders::open(&data, &mut head)?;
            Box::new(Reader::new(&data, head, files))
        }
    })
}

/// Writes all episodes to `<root>/<id>/data` as HDF5 and returns that folder, which is there as a whole or not at all. One that
/// is there already is refused. Numbers are held in memory until all are there.
pub fn write(root: &Path, id: &str, reader: &mut dyn EpisodeReader) -> Result<PathBuf, DataError> {
    writer::write(root, id, reader)
}
