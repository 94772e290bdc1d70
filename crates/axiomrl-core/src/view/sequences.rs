//! Drawing sequences from the store.
//!
//! A row is `length` transitions of one lane. It may run across the end of an episode; what comes after begins the next one. Where
//! the episode was cut off there is an entry more, in which nothing was done and its last observation is shown, so that a memory
//! that led there can value it. Nobody values what comes after a termination, so that needs no entry. Rows that need fewer entries
//! than others are padded at their end.

use super::View;
use crate::priorities::{CHUNK, relative_to_largest};
use crate::ring::rows::copy_rows;
use crate::ring::{Ring, TERMINATED, TRUNCATED};
use crate::{Batch, RewardScale, SampleOptions};
use std::ops::{Deref, Range};

impl<S: Deref<Target = Ring>> View<S> {
    /// Draws these rows, with replacement: uniformly, or by priority. The view has caught up, and `ready` windows are there.
    pub(super) fn draw_sequences(
        &self,
        ready: usize,
        rows: Range<usize>,
        options: &mut SampleOptions<'_>,
        out: &mut Batch,
    ) {
        match &self.priorities {
            None => {
                let fullest = self.fullest();
                for row in rows {
                    let (lane, offset) = self.any_window(fullest, options.rng);
                    out.weight[row] = 1.0;
                    self.gather_sequence(lane, self.lanes[lane].oldest + offset as u64, options.reward, row, out);
                }
            }
            Some(priorities) => {
                let (slots, count) = (self.window.slots(&self.store), rows.len());
                for first in rows.clone().step_by(CHUNK) {
                    let mut drawn = [0; CHUNK];
                    let drawn = &mut drawn[..CHUNK.min(rows.end - first)];
                    priorities.draw(first - rows.start, count, options.rng, drawn);
                    for (row, &slot) in (first..).zip(&*drawn) {
                        out.weight[row] = priorities.weight(slot, ready, options.beta);
                        let (lane, place) = (slot / slots, (slot % slots) as u64);
                        let oldest = self.lanes[lane].oldest;
                        // The only window from the oldest on that has this place.
                        let past = (place + slots as u64 - oldest % slots as u64) % slots as u64;
                        self.gather_sequence(lane, oldest + past, options.reward, row, out);
                    }
                }
                relative_to_largest(&mut out.weight[rows]);
            }
        }
    }

    /// Writes a window as row `row` of the batch.
    fn gather_sequence(&self, lane: usize, window: u64, scale: RewardScale, row: usize, out: &mut Batch) {
        let (store, length, rows): (&Ring, usize, usize) = (&self.store, self.window.length, out.rows);
        let first = window * self.window.stride as u64;
        out.index[row] = store.index(lane, window);
        let width = self.memories.width();
        out.state[row * width..(row + 1) * width].copy_from_slice(self.memories.get(lane, window));
        let spec = store.spec();
        let (mut t, mut begins) = (0, store.begins_episode(lane, first));
        let mut at = store.row(lane, first);
        for number in 0..length {
            let to = t * rows + row;
            show(store, at, to, begins, out);
            copy_rows(&store.action, &[at], &mut out.action, to, spec.action_width);
            out.valid[to] = true;
            self.sum_rewards(at, number, t, scale, row, out);
            let (flags, last) = (store.flags[at], number + 1 == length);
            let ended = flags != 0;
            t += 1;
            if last && ended || flags == TRUNCATED {
                // The last observation of the episode: an entry of its own unless the sequence ends with it.
                let to = t * rows + row;
                store.copy_final(at, &mut out.obs, &mut out.masks, to);
                out.starts[to] = false;
                if !last {
                    nothing_done(t, row, spec.action_width, out);
                    t += 1;
                }
            }
            at = store.after(at);
            if last && !ended {
                show(store, at, t * rows + row, false, out);
            }
            begins = ended;
        }
        for t in t..out.steps {
            nothing_done(t, row, spec.action_width, out);
            let to = (t + 1) * rows + row;
            let place = out.obs.row_mut(to);
            place.floats.fill(0.0);
            place.bytes.fill(0);
            out.masks[to * spec.mask_width..(to + 1) * spec.mask_width].fill(true);
            out.starts[to] = false;
        }
    }

    /// Reward, discount and end of the window of rewards from transition `number` of a sequence, in row `at` of the store and at
    /// time `t` of the batch. It ends with its episode, or with the sequence, at the latest.
    fn sum_rewards(&self, at: usize, number: usize, t: usize, scale: RewardScale, row: usize, out: &mut Batch) {
        let (store, to): (&Ring, usize) = (&self.store, t * out.rows + row);
        let (mut reward, mut discount, mut from) = (0.0, 1.0, at);
        let count = self.window.n_step.min(self.window.length - number);
        for step in 1..=count {
            reward += discount * scale.apply(store.reward[from]);
            discount *= self.window.gamma;
            let flags = store.flags[from];
            if flags & TERMINATED != 0 {
                discount = 0.0;
            }
            if flags != 0 || step == count {
                out.next[to] = (t + step) as u32;
                break;
            }
            from = store.after(from);
        }
        (out.reward[to], out.discount[to]) = (reward, discount);
    }
}

/// The observation in row `at` of the store as entry `to` of the batch.
#[inline]
fn show(store: &Ring, at: usize, to: usize, begins: bool, out: &mut Batch) {
    store.copy_obs(&[at], &mut out.obs, to);
    copy_rows(&store.masks, &[at], &mut out.masks, to, store.spec().mask_width);
    out.starts[to] = begins;
}

/// An entry that nothing is learned from.
fn nothing_done(t: usize, row: usize, action_width: usize, out: &mut Batch) {
    let to = t * out.rows + row;
    out.action[to * action_width..(to + 1) * action_width].fill(0.0);
    (out.reward[to], out.discount[to], out.valid[to]) = (0.0, 0.0, false);
    out.next[to] = t as u32;
}
