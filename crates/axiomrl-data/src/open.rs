//! Any file or folder, by what it is.

use crate::fit::Fit;
use crate::{DataError, EpisodeReader, hdf5, minari, npz};
use axiomrl_envs::Spaces;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What a file may not say itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenOptions {
    /// The environment's spaces, for files that have none (npz of others, D4RL). Without them observations are numbers or bytes
    /// without bounds, whole numbers are choices, and the bounds of other actions are guessed from the data (a note says so).
    pub spaces: Option<Spaces>,
    /// Where one of D4RL's files has no marks of time limits, an episode ends after this many steps.
    pub max_episode_steps: Option<u64>,
}

/// Opens an `.npz` file, a HDF5 file of D4RL, or a Minari folder (`data`, its parent, or one below the root of Minari's datasets by
/// its id). Nothing is downloaded. What says of itself that it is of other spaces than those asked for is refused; bounds of
/// actions are compared when it is loaded.
pub fn open(path: &Path, options: &OpenOptions) -> Result<Box<dyn EpisodeReader>, DataError> {
    let reader = open_any(path, options)?;
    if let Some(spaces) = &options.spaces {
        let misfit = |problem| DataError::Spaces { name: reader.name().to_owned(), problem };
        Fit::new(reader.spaces(), spaces, true).map_err(misfit)?;
    }
    Ok(reader)
}

fn open_any(path: &Path, options: &OpenOptions) -> Result<Box<dyn EpisodeReader>, DataError> {
    if !path.is_file() {
        return minari::open(path);
    }
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(8).read_to_end(&mut start))
        .map_err(|error| DataError::io(path, error))?;
    if start.starts_with(b"PK") {
        return npz::open(path, options);
    }
    let signed = hdf5_pure::is_hdf5(path).map_err(|error| DataError::io(path, error))?;
    let beside = path.with_file_name(minari::METADATA);
    if signed && beside.is_file() {
        return minari::open(path.parent().unwrap_or(path));
    }
    if signed {
        return hdf5::open_flat(path, options);
    }
    let problem = if start.is_empty() { "is empty" } else { "is none of the files that can be read" };
    Err(DataError::file(path, format!("{problem}: .npz, D4RL's .hdf5, or a folder of Minari")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_none_of_them_is_named() {
        let root = tempfile::tempdir().unwrap();
        let open = |name: &str, bytes: &[u8]| {
            let path = root.path().join(name);
            fs::write(&path, bytes).unwrap();
            match super::open(&path, &OpenOptions::default()) {
                Ok(_) => panic!("{name} was opened"),
                Err(error) => error.to_string(),
            }
        };
        for (name, bytes, words) in [
            ("a.npz", &b""[..], "a.npz: is empty: .npz, D4RL's .hdf5"),
            ("a.txt", b"some text", "a.txt: is none of the files"),
            ("b.npz", b"PK\x03\x04 and nothing else", "b.npz: is no whole archive"),
            ("c.hdf5", b"\x89HDF\r\n\x1a\n and nothing else", "c.hdf5: is no HDF5 file that can be read"),
        ] {
            let error = open(name, bytes);
            assert!(error.contains(words), "{error}");
        }
        let missing = super::open(&root.path().join("nowhere"), &OpenOptions::default()).err().unwrap().to_string();
        assert!(missing.contains("nowhere: there is no such file or folder"), "{missing}");
    }
}
