//! Stacked observations stored one frame each.
//!
//! An observation that shows the last few frames repeats all but one of them. The store keeps the newest frame of each row
//! and puts the others together again from the rows before, which is where they came from.

use axiomrl_envs::{ObsBuf, ObsMut, ObsRef};

/// How observations are made of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSpec {
    /// Frames shown together, oldest first; 1 when observations are not stacked.
    pub count: usize,
    /// Numbers of a frame that stay together: one pixel's channels, or a whole vector.
    pub chunk: usize,
}

impl FrameSpec {
    /// Observations that are not stacked.
    pub const SINGLE: Self = Self { count: 1, chunk: 1 };

    /// Rows before a row whose frames it may need.
    pub fn history(self) -> usize {
        self.count - 1
    }

    /// Writes the newest frame of a stacked observation.
    pub fn newest(self, obs: ObsRef<'_>, to: ObsMut<'_>) {
        match (obs, to) {
            (ObsRef::F32(from), ObsMut::F32(to)) => self.pick_newest(from, to),
            (ObsRef::U8(from), ObsMut::U8(to)) => self.pick_newest(from, to),
            _ => unreachable!("a store keeps the environment's kind of numbers"),
        }
    }

    fn pick_newest<T: Copy>(self, from: &[T], to: &mut [T]) {
        let Self { count, chunk } = self;
        for (from, to) in from.chunks_exact(count * chunk).zip(to.chunks_exact_mut(chunk)) {
            to.copy_from_slice(&from[(count - 1) * chunk..]);
        }
    }

    /// Writes stacked observations to consecutive rows of `to`, from row `first` on. `frame_rows` gives, for one of `rows` and
    /// a number of frames back from the newest, the row of `frames` to look in.
    pub fn stack(
        self,
        frames: &ObsBuf,
        rows: &[usize],
        to: &mut ObsBuf,
        first: usize,
        width: usize,
        frame_row: impl Fn(usize, usize) -> usize,
    ) {
        match (frames, to) {
            (ObsBuf::F32(from), ObsBuf::F32(to)) => self.interleave(from, rows, to, first, width, frame_row),
            (ObsBuf::U8(from), ObsBuf::U8(to)) => self.interleave(from, rows, to, first, width, frame_row),
            _ => unreachable!("the batch was given the store's kind of numbers"),
        }
    }

    fn interleave<T: Copy>(
        self,
        from: &[T],
        rows: &[usize],
        to: &mut [T],
        first: usize,
        width: usize,
        frame_row: impl Fn(usize, usize) -> usize,
    ) {
        let Self { count, chunk } = self;
        let frame = width / count;
        for (to, &row) in to[first * width..].chunks_exact_mut(width).zip(rows) {
            for back in 0..count {
                let from = &from[frame_row(row, back) * frame..][..frame];
                let place = (count - 1 - back) * chunk;
                for (from, to) in from.chunks_exact(chunk).zip(to.chunks_exact_mut(count * chunk)) {
                    to[place..place + chunk].copy_from_slice(from);
                }
            }
        }
    }
}
