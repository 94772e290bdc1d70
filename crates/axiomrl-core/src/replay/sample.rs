//! Drawing windows from the store.
//!
//! Rows are handled in chunks: first where the windows start, then what they add up to, then the copies. Each pass is a
//! short loop over independent rows, so the processor can wait for many memory accesses at once.

use super::{Priorities, Replay, TERMINATED};
use crate::{
    Batch, Rng,
    random::{below_with_rest, uniform},
};
use axiomrl_envs::ObsBuf;

const CHUNK: usize = 64;

impl Replay {
    /// Draws `rows` windows, with replacement: uniformly, or by priority with importance weights of exponent `beta`.
    ///
    /// # Panics
    /// When nothing can be sampled: ask [`Replay::ready`] first.
    pub fn sample(&self, rows: usize, beta: f32, rng: &mut Rng, out: &mut Batch) {
        let ready = self.ready();
        assert!(ready > 0, "the store has no complete window to sample yet");
        let spec = &self.spec;
        out.resize(rows, spec.obs_dtype, spec.obs_width, spec.action_width, spec.mask_width);
        match &self.priorities {
            None => self.sample_uniform(rng, out),
            Some(priorities) => self.sample_prioritized(priorities, ready, beta, rng, out),
        }
    }

    fn sample_uniform(&self, rng: &mut Rng, out: &mut Batch) {
        out.weight.fill(1.0);
        // Lanes are nearly always equally full. Drawing as if all were as full as the fullest and dropping what misses
        // is exactly uniform, and costs one draw where a search over the lanes would cost more.
        let fullest = self.lanes.iter().map(|lane| lane.ready()).max().unwrap_or(0);
        let draw = |rng: &mut Rng| loop {
            let (lane, rest) = below_with_rest(rng, self.lanes.len());
            let offset = ((u128::from(rest) * fullest as u128) >> 64) as usize;
            if offset < self.lanes[lane].ready() {
                return (lane, offset);
            }
        };
        self.in_chunks(out, |_, starts, index, _| {
            for (start, index) in starts.iter_mut().zip(index) {
                let (lane, offset) = draw(rng);
                let state = &self.lanes[lane];
                let row = state.oldest_row + offset;
                *start = if row < (lane + 1) * self.ring { row } else { row - self.ring };
                *index = self.index(lane, state.oldest + offset as u64);
            }
        });
    }

    /// One draw from each of `rows` equal parts of the total mass.
    fn sample_prioritized(&self, from: &Priorities, ready: usize, beta: f32, rng: &mut Rng, out: &mut Batch) {
        let total = from.tree.total();
        let part = total / out.rows as f64;
        self.in_chunks(out, |first, starts, index, weight| {
            let mut masses = [0.0; CHUNK];
            for (k, mass) in masses[..starts.len()].iter_mut().enumerate() {
                *mass = ((first + k) as f64 + uniform(rng)) * part;
            }
            from.tree.find(&mut masses[..starts.len()], starts);
            for ((&mut row, index), weight) in starts.iter_mut().zip(index).zip(weight) {
                *weight = ((ready as f64 * from.tree.get(row) / total) as f32).powf(-beta);
                let lane = row / self.ring;
                let state = &self.lanes[lane];
                let wrapped = if row < state.oldest_row { self.ring } else { 0 };
                *index = self.index(lane, state.oldest + (row + wrapped - state.oldest_row) as u64);
            }
        });
        let largest = out.weight.iter().copied().fold(0.0, f32::max);
        out.weight.iter_mut().for_each(|weight| *weight /= largest);
    }

    /// The name of a transition, never given to another one: its row may be overwritten, its number is not.
    fn index(&self, lane: usize, number: u64) -> u64 {
        number * self.lanes.len() as u64 + lane as u64
    }

    /// Fills the batch chunk by chunk. `draw` is given the chunk's first row, and writes where the windows start, their
    /// names and their weights.
    fn in_chunks(&self, out: &mut Batch, mut draw: impl FnMut(usize, &mut [usize], &mut [u64], &mut [f32])) {
        for first in (0..out.rows).step_by(CHUNK) {
            let rows = first..out.rows.min(first + CHUNK);
            let mut starts = [0; CHUNK];
            let starts = &mut starts[..rows.len()];
            draw(first, starts, &mut out.index[rows.clone()], &mut out.weight[rows]);
            self.gather(starts, first, out);
        }
    }

    /// Writes the windows that start in these rows of the store to the batch, from its row `first` on.
    pub(super) fn gather(&self, starts: &[usize], first: usize, out: &mut Batch) {
        let mut next = [0; CHUNK];
        let mut ended = [false; CHUNK];
        for (k, &start) in starts.iter().enumerate() {
            let window = self.window(start);
            out.reward[first + k] = window.reward;
            out.discount[first + k] = window.discount;
            (next[k], ended[k]) = (window.row, window.ended);
        }
        let (next, ended) = (&next[..starts.len()], &ended[..starts.len()]);
        let spec = &self.spec;
        copy_rows(&self.action, starts, &mut out.action, first, spec.action_width);
        copy_rows(&self.mask, starts, &mut out.mask, first, spec.mask_width);
        copy_rows(&self.mask, next, &mut out.next_mask, first, spec.mask_width);
        self.copy_obs(starts, &mut out.obs, first);
        self.copy_obs(next, &mut out.next_obs, first);
        // Ends are rare: their rows were copied like the others, and are put right here.
        for (k, &row) in next.iter().enumerate().filter(|&(k, _)| ended[k]) {
            let slot = [self.final_slot[row] as usize];
            copy_rows(&self.finals.mask, &slot, &mut out.next_mask, first + k, spec.mask_width);
            copy_obs(&self.finals.obs, &slot, &mut out.next_obs, first + k, spec.obs_width);
        }
    }

    /// Observations of these rows of the store, to consecutive rows of `to`.
    pub(super) fn copy_obs(&self, rows: &[usize], to: &mut ObsBuf, first: usize) {
        let (frames, width) = (self.spec.frames, self.spec.obs_width);
        if frames.count == 1 {
            return copy_obs(&self.obs, rows, to, first, width);
        }
        // Before its first frame an episode shows that one again.
        frames.stack(&self.obs, rows, to, first, width, |row, back| {
            let back = back.min(usize::from(self.age[row]));
            let lane_start = row / self.ring * self.ring;
            if row >= lane_start + back { row - back } else { row + self.ring - back }
        });
    }

    /// Sums up the steps from row `start` until the window is full or the episode ended.
    #[inline]
    fn window(&self, start: usize) -> Window {
        let gamma = self.spec.gamma;
        let mut window =
            Window { row: start, reward: self.reward[start], discount: gamma, ended: self.flags[start] != 0 };
        for _ in 1..self.spec.n_step {
            if window.ended {
                break;
            }
            window.row = self.after(window.row);
            window.reward += window.discount * self.reward[window.row];
            window.discount *= gamma;
            window.ended = self.flags[window.row] != 0;
        }
        if self.flags[window.row] & TERMINATED != 0 {
            window.discount = 0.0;
        }
        if !window.ended {
            window.row = self.after(window.row);
        }
        window
    }
}

struct Window {
    /// The last row when the episode ended there, otherwise the row after the window.
    row: usize,
    reward: f32,
    discount: f32,
    ended: bool,
}

fn copy_obs(from: &ObsBuf, rows: &[usize], to: &mut ObsBuf, first: usize, width: usize) {
    match (from, to) {
        (ObsBuf::F32(from), ObsBuf::F32(to)) => copy_rows(from, rows, to, first, width),
        (ObsBuf::U8(from), ObsBuf::U8(to)) => copy_rows(from, rows, to, first, width),
        _ => unreachable!("the batch was given the store's kind of numbers"),
    }
}

/// Copies rows of `from` to consecutive rows of `to`, from row `first` on.
fn copy_rows<T: Copy>(from: &[T], rows: &[usize], to: &mut [T], first: usize, width: usize) {
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
