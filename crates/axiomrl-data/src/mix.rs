//! Whole episodes of several sources, by share.

use crate::{DataError, EpisodeReader, Recording};

/// A source and its weight; shares are weights divided by their sum.
pub struct Share {
    pub reader: Box<dyn EpisodeReader>,
    pub weight: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MixOptions {
    /// Transitions; as episodes stay whole, a little more.
    pub size: u64,
    pub seed: u64,
    /// Whether a source that is too small may hand out its episodes again.
    pub repeats: bool,
}

/// Draws whole episodes from each source, without replacement, until its share of `size` is met, and shuffles them.
pub fn mix(_sources: Vec<Share>, _options: &MixOptions) -> Result<Recording, DataError> {
    Err(DataError::Invalid("not there yet".into()))
}
