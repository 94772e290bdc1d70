//! Drawing chunks from the store.

use super::{CLOSING, START, SequenceBatch, SequenceSpec, SequenceStore, TERMINATED};
use crate::Rng;
use crate::priorities::{CHUNK, Priorities, relative_to_largest};
use crate::random::below;

impl SequenceBatch {
    /// Gives every buffer its size for `rows` chunks. What the buffers hold afterwards is unspecified.
    pub fn resize(&mut self, spec: &SequenceSpec, rows: usize) {
        (self.steps, self.rows) = (spec.length, rows);
        let (acted, seen) = (spec.length * rows, (spec.length + 1) * rows);
        self.obs.reshape(spec.widths, seen);
        self.choices.resize(seen * spec.mask_width, true);
        self.action.resize(acted * spec.action_width, 0.0);
        self.reward.resize(acted, 0.0);
        self.discount.resize(acted, 0.0);
        self.next.resize(acted, 0);
        self.mask.resize(acted, true);
        self.starts.resize(seen, false);
        self.state.resize(rows * spec.state_width, 0.0);
        self.weight.resize(rows, 1.0);
        self.index.resize(rows, 0);
    }
}

impl SequenceStore {
    /// Draws `rows` chunks, with replacement: uniformly, or by priority with importance weights of exponent `beta`.
    ///
    /// # Panics
    /// When nothing can be sampled: ask [`SequenceStore::ready`] first.
    pub fn sample(&self, rows: usize, beta: f32, rng: &mut Rng, out: &mut SequenceBatch) {
        let ready = self.ready();
        assert!(ready > 0, "the store has no complete chunk to sample yet");
        out.resize(&self.spec, rows);
        let mut slots = vec![0; rows];
        match &self.priorities {
            None => {
                slots.iter_mut().for_each(|slot| *slot = below(rng, ready));
                out.weight.fill(1.0);
            }
            Some(priorities) => draw(priorities, ready, beta, rng, &mut slots, &mut out.weight),
        }
        let oldest = self.completed - ready as u64;
        let oldest_slot = (oldest % self.slots as u64) as usize;
        for (row, &slot) in slots.iter().enumerate() {
            let age = (slot + self.slots - oldest_slot) % self.slots;
            out.index[row] = oldest + age as u64;
            self.gather(slot, row, out);
        }
    }

    /// Writes the chunk in `slot` as row `row` of the batch.
    fn gather(&self, slot: usize, row: usize, out: &mut SequenceBatch) {
        let spec = &self.spec;
        let (first, rows) = (slot * (spec.length + 1), out.rows);
        for t in 0..=spec.length {
            let (from, to) = (first + t, t * rows + row);
            out.obs.row_mut(to).copy_from(self.chunks.obs.row(from));
            let width = spec.mask_width;
            out.choices[to * width..(to + 1) * width]
                .copy_from_slice(&self.chunks.choices[from * width..(from + 1) * width]);
            out.starts[to] = self.chunks.flags[from] & START != 0;
            if t == spec.length {
                continue;
            }
            let width = spec.action_width;
            out.action[to * width..(to + 1) * width]
                .copy_from_slice(&self.chunks.action[from * width..(from + 1) * width]);
            out.mask[to] = self.chunks.flags[from] & CLOSING == 0;
            (out.reward[to], out.discount[to], out.next[to]) = self.window(first, t);
        }
        let width = spec.state_width;
        out.state[row * width..(row + 1) * width].copy_from_slice(&self.states[slot * width..(slot + 1) * width]);
    }

    /// Reward, discount and end of the window from time `start` of the chunk whose first row is `first`.
    fn window(&self, first: usize, start: usize) -> (f32, f32, usize) {
        let spec = &self.spec;
        let (mut reward, mut discount) = (0.0, 1.0);
        for t in start..spec.length {
            let row = first + t;
            reward += discount * self.reward_scale.apply(self.chunks.reward[row]);
            discount *= spec.gamma;
            let next = t + 1;
            if self.chunks.flags[row] & TERMINATED != 0 {
                return (reward, 0.0, next);
            }
            let closing = self.chunks.flags[row + 1] & CLOSING != 0;
            if closing || next == spec.length || next - start == spec.n_step {
                return (reward, discount, next);
            }
        }
        unreachable!("a window ends with its chunk at the latest")
    }
}

/// One draw from each of as many equal parts of the total mass.
fn draw(from: &Priorities, ready: usize, beta: f32, rng: &mut Rng, slots: &mut [usize], weights: &mut [f32]) {
    let rows = slots.len();
    for (chunk, slots) in slots.chunks_mut(CHUNK).enumerate() {
        from.draw(chunk * CHUNK, rows, rng, slots);
    }
    for (weight, &slot) in weights.iter_mut().zip(&*slots) {
        *weight = from.weight(slot, ready, beta);
    }
    relative_to_largest(weights);
}
