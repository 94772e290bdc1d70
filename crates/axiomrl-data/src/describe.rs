//! What an expert looks at first.

use crate::{DataError, Endings, EpisodeReader, Metadata};
use axiomrl_envs::Spaces;
use serde::Serialize;

/// Smallest, middle, average and largest of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    pub min: f64,
    pub median: f64,
    pub mean: f64,
    pub max: f64,
}

/// Counts in bins of equal width between `min` and `max`; the last bin includes `max`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Histogram {
    pub min: f64,
    pub max: f64,
    pub counts: Vec<usize>,
}

/// One number of an observation, over all rows; one entry for all bytes of a part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// Empty where the observation has one part.
    pub part: String,
    /// Which number of the part; `None` for bytes, which are taken together.
    pub index: Option<usize>,
    /// Over finite values.
    pub min: f32,
    pub max: f32,
    /// NaN and infinities.
    pub not_finite: u64,
}

/// One number of an action, over all steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionColumn {
    pub index: usize,
    /// Over finite values.
    pub min: f32,
    pub max: f32,
    pub mean: f64,
    pub not_finite: u64,
    /// Steps at which it lies on a bound of a Box, within rounding, or at which it lies outside.
    pub at_bound: u64,
    pub outside: u64,
    /// How often each choice was taken, for choices.
    pub choices: Vec<u64>,
}

impl ActionColumn {
    /// Whether it is the same at every step.
    pub fn never_varies(&self) -> bool {
        self.min == self.max
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    pub name: String,
    pub spaces: Spaces,
    pub metadata: Metadata,
    pub episodes: usize,
    pub transitions: u64,
    pub endings: Endings,
    /// Of episodes; those with a reward that is not finite are left out.
    pub returns: Spread,
    pub returns_histogram: Histogram,
    pub lengths: Spread,
    pub rewards: Spread,
    /// No reward differs from 0.
    pub reward_free: bool,
    pub observations: Vec<Column>,
    pub actions: Vec<ActionColumn>,
    /// NaN and infinities among observations, actions and rewards.
    pub not_finite: NotFinite,
    /// Episodes that are the same as an earlier one, number for number.
    pub duplicate_episodes: usize,
    /// Transitions that are the same as an earlier one.
    pub duplicate_transitions: u64,
    /// What its reader did to the data.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NotFinite {
    pub observations: u64,
    pub actions: u64,
    pub rewards: u64,
}

/// Reads all episodes and says what is in them. Numbers that are not finite are counted, not refused.
pub fn describe(reader: &mut dyn EpisodeReader) -> Result<Description, DataError> {
    Err(DataError::Invalid(format!("{}: not there yet", reader.name())))
}
