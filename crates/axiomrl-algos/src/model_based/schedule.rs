//! How long imagined rollouts are, over a run.

/// From `from` up to epoch `start`, to `to` from epoch `end` on, in whole steps between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutLength {
    pub start: u64,
    pub end: u64,
    pub from: u64,
    pub to: u64,
}

impl RolloutLength {
    pub fn constant(length: u64) -> Self {
        Self { start: 0, end: 0, from: length, to: length }
    }

    /// The length in an epoch.
    pub fn at(&self, epoch: u64) -> u64 {
        let Self { start, end, from, to } = *self;
        if epoch <= start {
            return from;
        }
        let (gone, all) = ((epoch - start).min(end.saturating_sub(start)), end.saturating_sub(start));
        if all == 0 {
            return to;
        }
        if to >= from { from + gone * (to - from) / all } else { from - (gone * (from - to)).div_ceil(all) }
    }
}

/// How much of what was imagined is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Rollouts of each refresh.
    pub starts: usize,
    /// Steps of an epoch, and between two refreshes.
    pub epoch_length: u64,
    pub interval: u64,
    /// Epochs that are kept.
    pub epochs: u64,
}

impl Retention {
    /// Transitions that are kept of rollouts of this length.
    pub fn capacity(&self, length: u64) -> usize {
        let epoch =
            u128::from(length) * self.starts as u128 * u128::from(self.epoch_length) / u128::from(self.interval);
        usize::try_from(epoch * u128::from(self.epochs)).unwrap_or(usize::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_grow_in_whole_steps_between_two_epochs() {
        let hopper = RolloutLength { start: 20, end: 150, from: 1, to: 15 };
        let lengths = [0, 20, 29, 30, 85, 149, 150, 999].map(|epoch| hopper.at(epoch));
        assert_eq!(lengths, [1, 1, 1, 2, 8, 14, 15, 15]);
        let jump = RolloutLength { start: 3, end: 3, from: 1, to: 5 };
        assert_eq!([3, 4].map(|epoch| jump.at(epoch)), [1, 5]);
        assert_eq!(RolloutLength::constant(4).at(7), 4);
    }

    #[test]
    fn the_store_keeps_what_an_epoch_brings() {
        let paper = Retention { starts: 100_000, epoch_length: 1000, interval: 250, epochs: 1 };
        assert_eq!([1, 8].map(|length| paper.capacity(length)), [400_000, 3_200_000]);
        assert_eq!(Retention { epochs: 5, interval: 1000, ..paper }.capacity(1), 500_000);
    }
}
