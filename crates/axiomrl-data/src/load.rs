//! From recorded episodes to a store to learn from.

use crate::{DataError, EpisodeReader};
use axiomrl_core::Dataset;
use axiomrl_envs::Spaces;
use serde::Serialize;
use std::fmt;

/// What is let pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadOptions {
    /// Take actions of a Box with other bounds than the environment's; what lies outside is clipped and counted as always.
    pub any_action_bounds: bool,
}

/// How many episodes ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Endings {
    pub terminated: usize,
    pub truncated: usize,
    pub stopped: usize,
}

/// What became of the data on its way into the store. `Display` gives lines for people.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub name: String,
    pub episodes: usize,
    pub transitions: u64,
    pub endings: Endings,
    /// Numbers of actions that lay out of bounds and were clipped.
    pub clipped: u64,
    /// Numbers of actions altogether.
    pub action_numbers: u64,
    /// What its reader did to the data, and what to know of it.
    pub notes: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} transitions", self.name, self.transitions)
    }
}

/// Reads all episodes into a store. Box actions are mapped to [−1, 1] by the bounds of `target`, the spaces of the environment
/// (without one, by the data's own); what lies outside is clipped and counted.
pub fn load(
    reader: &mut dyn EpisodeReader,
    _target: Option<&Spaces>,
    _options: &LoadOptions,
) -> Result<(Dataset, Report), DataError> {
    Err(DataError::Invalid(format!("{}: not there yet", reader.name())))
}
