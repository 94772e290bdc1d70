//! Copies of rows out of the store.

use super::{Ring, frames};
use axiomrl_envs::ObsBuf;
use std::ops::Range;

impl Ring {
    /// Observations of these rows of the store, to consecutive rows of `to`, from row `first` on.
    #[inline]
    pub(crate) fn copy_obs(&self, rows: &[usize], to: &mut ObsBuf, first: usize) {
        let (frames, widths) = (self.spec.byte_frames, self.spec.widths);
        copy_rows(&self.obs.floats, rows, &mut to.floats, first, widths.floats);
        if frames.count == 1 {
            return copy_rows(&self.obs.bytes, rows, &mut to.bytes, first, widths.bytes);
        }
        if widths.bytes == 0 {
            return;
        }
        let to = &mut to.bytes[first * widths.bytes..(first + rows.len()) * widths.bytes];
        // Before its first frame an episode shows that one again.
        frames::stack(frames, &self.obs.bytes, rows, to, widths.bytes, |row, back| {
            let back = back.min(usize::from(self.age[row]));
            let lane_start = row / self.ring * self.ring;
            if row >= lane_start + back { row - back } else { row + self.ring - back }
        });
    }

    /// The last observation of the episode that ended in `row`, and its mask, to row `to`.
    pub(crate) fn copy_final(&self, row: usize, obs: &mut ObsBuf, masks: &mut [bool], to: usize) {
        let slot = [self.final_slot[row] as usize];
        copy_rows(&self.finals.masks, &slot, masks, to, self.spec.mask_width);
        copy_rows(&self.finals.obs.floats, &slot, &mut obs.floats, to, self.spec.widths.floats);
        copy_rows(&self.finals.obs.bytes, &slot, &mut obs.bytes, to, self.spec.widths.bytes);
    }

    /// Some of the numbers that were observed after transition `number`.
    pub(crate) fn floats_after(&self, lane: usize, number: u64, columns: &Range<usize>) -> &[f32] {
        let row = self.row(lane, number);
        let (source, from) = match self.flags[row] {
            0 => (&self.obs, self.after(row)),
            _ => (&self.finals.obs, self.final_slot[row] as usize),
        };
        let start = from * self.spec.widths.floats;
        &source.floats[start + columns.start..start + columns.end]
    }
}

/// Copies rows of `from` to consecutive rows of `to`, from row `first` on.
#[inline]
pub(crate) fn copy_rows<T: Copy>(from: &[T], rows: &[usize], to: &mut [T], first: usize, width: usize) {
    let to = &mut to[first * width..(first + rows.len()) * width];
    // A copy of known length is an instruction or two; one of unknown length is a call.
    match width {
        0 => {}
        1 => copy_exact::<T, 1>(from, rows, to),
        2 => copy_exact::<T, 2>(from, rows, to),
        3 => copy_exact::<T, 3>(from, rows, to),
        4 => copy_exact::<T, 4>(from, rows, to),
        6 => copy_exact::<T, 6>(from, rows, to),
        8 => copy_exact::<T, 8>(from, rows, to),
        _ => {
            for (to, &row) in to.chunks_exact_mut(width).zip(rows) {
                to.copy_from_slice(&from[row * width..(row + 1) * width]);
            }
        }
    }
}

fn copy_exact<T: Copy, const WIDTH: usize>(from: &[T], rows: &[usize], to: &mut [T]) {
    let (from, to) = (from.as_chunks::<WIDTH>().0, to.as_chunks_mut::<WIDTH>().0);
    for (to, &row) in to.iter_mut().zip(rows) {
        *to = from[row];
    }
}
