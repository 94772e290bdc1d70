//! Where batches come from.

use crate::{Batch, BatchShape, Rng, StoreError};
use std::ops::Range;

/// What a draw depends on besides the store.
#[derive(Debug)]
pub struct SampleOptions<'a> {
    pub rng: &'a mut Rng,
    /// Exponent of the importance weights; not read without priorities.
    pub beta: f32,
    pub reward: RewardScale,
}

/// What becomes of each reward before windows sum them up: `reward * scale + shift`, then clipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RewardScale {
    pub scale: f32,
    pub shift: f32,
    /// Lowest and highest reward.
    pub clip: Option<(f32, f32)>,
}

impl Default for RewardScale {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl RewardScale {
    /// Rewards as they are, to the bit.
    pub const IDENTITY: Self = Self { scale: 1.0, shift: 0.0, clip: None };

    #[inline]
    pub fn is_identity(self) -> bool {
        self == Self::IDENTITY
    }

    #[inline]
    pub fn apply(self, reward: f32) -> f32 {
        if self.is_identity() {
            // Not through the arithmetic: adding 0 would turn −0 into 0.
            return reward;
        }
        let scaled = reward * self.scale + self.shift;
        match self.clip {
            Some((low, _)) if scaled < low => low,
            Some((_, high)) if scaled > high => high,
            _ => scaled,
        }
    }
}

/// Fills rows of batches.
pub trait BatchSource: Send {
    /// Rows that can be drawn.
    fn ready(&mut self) -> usize;

    /// What a batch must be resized to before it is filled. Sequences have as many steps as the longest may need: cut what is
    /// left over afterwards ([`Batch::trim`]).
    fn shape(&mut self) -> BatchShape;

    /// Draws, with replacement, these rows of a batch that has this source's shape. Weights are relative to the largest of
    /// these rows.
    fn fill(&mut self, rows: Range<usize>, options: &mut SampleOptions<'_>, out: &mut Batch) -> Result<(), StoreError>;

    /// What was learned from these rows, which this source has filled: `errors` has an entry for each row of the batch, or
    /// is empty where the learner has none.
    fn learned(&mut self, _rows: Range<usize>, _batch: &Batch, _errors: &[f32]) {}
}

impl<S: BatchSource + ?Sized> BatchSource for &mut S {
    fn ready(&mut self) -> usize {
        (**self).ready()
    }

    fn shape(&mut self) -> BatchShape {
        (**self).shape()
    }

    fn fill(&mut self, rows: Range<usize>, options: &mut SampleOptions<'_>, out: &mut Batch) -> Result<(), StoreError> {
        (**self).fill(rows, options, out)
    }

    fn learned(&mut self, rows: Range<usize>, batch: &Batch, errors: &[f32]) {
        (**self).learned(rows, batch, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewards_are_scaled_shifted_and_clipped_in_this_order() {
        assert_eq!(RewardScale::default().apply(-0.0).to_bits(), (-0.0f32).to_bits());
        let scale = RewardScale { scale: 10.0, shift: -1.0, clip: Some((-5.0, 5.0)) };
        assert_eq!([0.0, 0.4, 1.0, -1.0].map(|r| scale.apply(r)), [-1.0, 3.0, 5.0, -5.0]);
        // What is no number stays none, so that it is noticed.
        assert!(RewardScale { clip: Some((-1.0, 1.0)), ..RewardScale::default() }.apply(f32::NAN).is_nan());
        assert_eq!(RewardScale { clip: Some((f32::NAN, f32::NAN)), ..RewardScale::default() }.apply(2.0), 2.0);
    }
}
