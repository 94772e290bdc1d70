//! Any file or folder, by what it is.

use crate::{DataError, EpisodeReader};
use axiomrl_envs::Spaces;
use std::path::Path;

/// What a file may not say itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenOptions {
    /// The environment's spaces, for files that have none (npz, D4RL). Without them observations are numbers or bytes without
    /// bounds, whole numbers are choices, and the bounds of other actions are guessed from the data (a note says so).
    pub spaces: Option<Spaces>,
    /// Where a flat file has no marks of time limits, an episode ends after this many steps.
    pub max_episode_steps: Option<u64>,
}

/// Opens an `.npz` file, D4RL's HDF5 file, a Minari folder (`data`, its parent, or one below the root of Minari's datasets by its
/// id). Nothing is downloaded.
pub fn open(path: &Path, _options: &OpenOptions) -> Result<Box<dyn EpisodeReader>, DataError> {
    Err(DataError::file(path, "not there yet"))
}
