//! Drawing windows from the store.
//!
//! Rows are handled in chunks: first where the windows start, then what they add up to, then the copies. Each pass is a
//! short loop over independent rows, so the processor can wait for many memory accesses at once.

use super::{Seen, View, Window};
use crate::priorities::{CHUNK, Priorities, relative_to_largest};
use crate::random::below_with_rest;
use crate::ring::rows::copy_rows;
use crate::ring::{Ring, TERMINATED};
use crate::{Batch, RewardScale, Rng, SampleOptions, StoreError};
use std::ops::{Deref, Range};

impl<S: Deref<Target = Ring>> View<S> {
    /// Draws these rows, with replacement: uniformly, or by priority. The view has caught up.
    pub(super) fn draw(
        &self,
        rows: Range<usize>,
        options: &mut SampleOptions<'_>,
        out: &mut Batch,
    ) -> Result<(), StoreError> {
        let ready: usize = self.lanes.iter().map(Seen::ready).sum();
        if ready == 0 {
            return Err(StoreError::NothingReady);
        }
        if self.window.is_sequence() {
            self.draw_sequences(ready, rows, options, out);
            return Ok(());
        }
        let seen = rows.start + out.rows..rows.end + out.rows;
        out.starts[rows.clone()].fill(false);
        out.starts[seen].fill(false);
        out.next[rows.clone()].fill(1);
        out.valid[rows.clone()].fill(true);
        match &self.priorities {
            None => self.draw_uniform(rows, options.reward, options.rng, out),
            Some(priorities) => self.draw_prioritized(priorities, ready, rows, options, out),
        }
        Ok(())
    }

    /// The most windows that a lane has.
    pub(super) fn fullest(&self) -> usize {
        self.lanes.iter().map(Seen::ready).max().unwrap_or(0)
    }

    /// The lane of a window, each equally likely, and how many older ones it has there.
    ///
    /// Lanes are nearly always equally full. Drawing as if all were as full as the fullest and dropping what misses is exactly
    /// uniform, and costs one draw where a search over the lanes would cost more.
    #[inline]
    pub(super) fn any_window(&self, fullest: usize, rng: &mut Rng) -> (usize, usize) {
        loop {
            let (lane, rest) = below_with_rest(rng, self.lanes.len());
            let offset = ((u128::from(rest) * fullest as u128) >> 64) as usize;
            if offset < self.lanes[lane].ready() {
                return (lane, offset);
            }
        }
    }

    fn draw_uniform(&self, rows: Range<usize>, scale: RewardScale, rng: &mut Rng, out: &mut Batch) {
        out.weight[rows.clone()].fill(1.0);
        let ring = self.store.ring;
        let fullest = self.fullest();
        self.in_chunks(rows, scale, out, |_, starts, index, _| {
            for (start, index) in starts.iter_mut().zip(index) {
                let (lane, offset) = self.any_window(fullest, rng);
                let seen = &self.lanes[lane];
                let row = seen.oldest_row + offset;
                *start = if row < (lane + 1) * ring { row } else { row - ring };
                *index = self.store.index(lane, seen.oldest + offset as u64);
            }
        });
    }

    /// One draw from each of as many equal parts of the total mass as there are rows.
    fn draw_prioritized(
        &self,
        from: &Priorities,
        ready: usize,
        rows: Range<usize>,
        options: &mut SampleOptions<'_>,
        out: &mut Batch,
    ) {
        let (ring, beta, count) = (self.store.ring, options.beta, rows.len());
        self.in_chunks(rows.clone(), options.reward, out, |first, starts, index, weight| {
            from.draw(first, count, options.rng, starts);
            for ((&mut row, index), weight) in starts.iter_mut().zip(index).zip(weight) {
                *weight = from.weight(row, ready, beta);
                let lane = row / ring;
                let seen = &self.lanes[lane];
                let wrapped = if row < seen.oldest_row { ring } else { 0 };
                *index = self.store.index(lane, seen.oldest + (row + wrapped - seen.oldest_row) as u64);
            }
        });
        relative_to_largest(&mut out.weight[rows]);
    }

    /// Fills rows chunk by chunk. `draw` is given how many rows came before the chunk, and writes where the windows start,
    /// their names and their weights.
    fn in_chunks(
        &self,
        rows: Range<usize>,
        scale: RewardScale,
        out: &mut Batch,
        mut draw: impl FnMut(usize, &mut [usize], &mut [u64], &mut [f32]),
    ) {
        for first in rows.clone().step_by(CHUNK) {
            let chunk = first..rows.end.min(first + CHUNK);
            let mut starts = [0; CHUNK];
            let starts = &mut starts[..chunk.len()];
            draw(first - rows.start, starts, &mut out.index[chunk.clone()], &mut out.weight[chunk]);
            if scale.is_identity() {
                self.gather(starts, first, out, |reward| reward);
            } else {
                self.gather(starts, first, out, |reward| scale.apply(reward));
            }
        }
    }

    /// Writes the windows that start with these transitions, by lane and number, to the batch.
    pub(crate) fn gather_named(&self, names: &[(usize, u64)], scale: RewardScale, out: &mut Batch) {
        out.starts.fill(false);
        out.next.fill(1);
        out.valid.fill(true);
        out.weight.fill(1.0);
        for (chunk, names) in names.chunks(CHUNK).enumerate() {
            let mut starts = [0; CHUNK];
            for (k, &(lane, number)) in names.iter().enumerate() {
                starts[k] = self.store.row(lane, number);
                out.index[chunk * CHUNK + k] = self.store.index(lane, number);
            }
            self.gather(&starts[..names.len()], chunk * CHUNK, out, |reward| scale.apply(reward));
        }
    }

    /// Writes the windows that start in these rows of the store to the batch, from its row `first` on.
    pub(super) fn gather(&self, starts: &[usize], first: usize, out: &mut Batch, scaled: impl Fn(f32) -> f32) {
        let store: &Ring = &self.store;
        let mut next = [0; CHUNK];
        let mut ended = [false; CHUNK];
        for (k, &start) in starts.iter().enumerate() {
            let sum = self.window.sum(store, start, &scaled);
            out.reward[first + k] = sum.reward;
            out.discount[first + k] = sum.discount;
            (next[k], ended[k]) = (sum.row, sum.ended);
        }
        let (next, ended) = (&next[..starts.len()], &ended[..starts.len()]);
        let (spec, first_next) = (store.spec(), out.rows + first);
        copy_rows(&store.action, starts, &mut out.action, first, spec.action_width);
        copy_rows(&store.masks, starts, &mut out.masks, first, spec.mask_width);
        copy_rows(&store.masks, next, &mut out.masks, first_next, spec.mask_width);
        store.copy_obs(starts, &mut out.obs, first);
        store.copy_obs(next, &mut out.obs, first_next);
        // Ends are rare: their rows were copied like the others, and are put right here.
        for (k, &row) in next.iter().enumerate().filter(|&(k, _)| ended[k]) {
            store.copy_final(row, &mut out.obs, &mut out.masks, first_next + k);
        }
    }
}

impl Window {
    /// Sums up the steps from row `start` until the window is full or the episode ended.
    #[inline]
    fn sum(&self, store: &Ring, start: usize, scaled: impl Fn(f32) -> f32) -> Sum {
        let mut sum = Sum {
            row: start,
            reward: scaled(store.reward[start]),
            discount: self.gamma,
            ended: store.flags[start] != 0,
        };
        for _ in 1..self.n_step {
            if sum.ended {
                break;
            }
            sum.row = store.after(sum.row);
            sum.reward += sum.discount * scaled(store.reward[sum.row]);
            sum.discount *= self.gamma;
            sum.ended = store.flags[sum.row] != 0;
        }
        if store.flags[sum.row] & TERMINATED != 0 {
            sum.discount = 0.0;
        }
        if !sum.ended {
            sum.row = store.after(sum.row);
        }
        sum
    }
}

struct Sum {
    /// The last row when the episode ended there, otherwise the row after the window.
    row: usize,
    reward: f32,
    discount: f32,
    ended: bool,
}
