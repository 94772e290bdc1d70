//! Drawing windows, and writing back what a model made of their rows.

use super::{FIRST, LAST, LatentSpec, SequenceStore, TERMINAL};
use crate::random::below;
use crate::{RewardScale, Rng, StoreError};
use axiomrl_envs::ObsBuf;

/// Windows to learn from, time-major: entry `(t, row)` of a column is at `t * rows + row`. The buffers are kept from one draw to
/// the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceBatch {
    /// Rows of each window.
    pub steps: usize,
    /// Windows.
    pub rows: usize,
    pub obs: ObsBuf,
    /// taken from this row; zeros where nothing was done
    pub action: Vec<f32>,
    /// for arriving in this row
    pub reward: Vec<f32>,
    /// whether an episode begins here
    pub first: Vec<bool>,
    /// whether one ends here, for whatever reason
    pub last: Vec<bool>,
    /// whether the world ended here
    pub terminal: Vec<bool>,
    /// `rows * deter`: the state that was kept for the first row of each window
    pub deter: Vec<f32>,
    /// `rows * groups`
    pub classes: Vec<u8>,
    /// lane and number of the first row of each window
    pub index: Vec<(usize, u64)>,
}

impl SequenceStore {
    /// Windows that are complete.
    pub fn windows(&self) -> usize {
        (0..self.lanes.len()).map(|lane| self.windows_of(lane)).sum()
    }

    fn windows_of(&self, lane: usize) -> usize {
        let stored = (self.lanes[lane].next - self.lanes[lane].oldest) as usize;
        (stored + 1).saturating_sub(self.spec.length)
    }

    /// Draws `rows` windows: those that wait in the queue first, if it is in use, then any, with replacement.
    pub fn draw(
        &mut self,
        rows: usize,
        online: bool,
        reward: RewardScale,
        rng: &mut Rng,
        out: &mut SequenceBatch,
    ) -> Result<(), StoreError> {
        let total = self.windows();
        if total == 0 {
            return Err(StoreError::Invalid("no window is complete yet".to_owned()));
        }
        self.resize(rows, out);
        for row in 0..rows {
            let lanes = &self.lanes;
            let waiting = if online { self.queue.pop(|lane| lanes[lane].oldest) } else { None };
            let (lane, first) = waiting.unwrap_or_else(|| self.any_window(total, rng));
            self.gather(lane, first, row, reward, out);
        }
        Ok(())
    }

    /// A window of `total`, each as likely.
    fn any_window(&self, total: usize, rng: &mut Rng) -> (usize, u64) {
        let mut at = below(rng, total);
        for (lane, state) in self.lanes.iter().enumerate() {
            let here = self.windows_of(lane);
            if at < here {
                return (lane, state.oldest + at as u64);
            }
            at -= here;
        }
        unreachable!("there are `total` windows")
    }

    fn resize(&self, rows: usize, out: &mut SequenceBatch) {
        let (steps, LatentSpec { deter, groups }) = (self.spec.length, self.spec.latents);
        let entries = steps * rows;
        (out.steps, out.rows) = (steps, rows);
        out.obs.reshape(self.spec.widths, entries);
        out.action.resize(entries * self.spec.action_width, 0.0);
        out.reward.resize(entries, 0.0);
        for flags in [&mut out.first, &mut out.last, &mut out.terminal] {
            flags.resize(entries, false);
        }
        out.deter.resize(rows * deter, 0.0);
        out.classes.resize(rows * groups, 0);
        out.index.resize(rows, (0, 0));
    }

    fn gather(&self, lane: usize, first: u64, row: usize, reward: RewardScale, out: &mut SequenceBatch) {
        let (width, LatentSpec { deter, groups }) = (self.spec.action_width, self.spec.latents);
        out.index[row] = (lane, first);
        let begin = self.row(lane, first);
        let (state, classes) = (row * deter..(row + 1) * deter, row * groups..(row + 1) * groups);
        self.latents.get(begin, &mut out.deter[state], &mut out.classes[classes]);
        for t in 0..self.spec.length {
            let (from, to) = (self.row(lane, first + t as u64), t * out.rows + row);
            let (seen, place) = (self.obs.row(from), out.obs.row_mut(to));
            place.floats.copy_from_slice(seen.floats);
            place.bytes.copy_from_slice(seen.bytes);
            let action = &self.action[from * width..(from + 1) * width];
            out.action[to * width..(to + 1) * width].copy_from_slice(action);
            let flags = self.flags[from];
            out.first[to] = flags & FIRST != 0;
            out.last[to] = flags & LAST != 0;
            out.terminal[to] = flags & TERMINAL != 0;
            // Beginning an episode pays nothing, whatever the scale.
            out.reward[to] = if out.first[to] { 0.0 } else { reward.apply(self.reward[from]) };
        }
    }

    /// Keeps the states that a model had in the rows of a batch from time `from` on, `[steps - from, rows]` of them. Rows that
    /// are no longer stored are passed over; of a row that was drawn twice the later one counts.
    pub fn write_back(&mut self, batch: &SequenceBatch, from: usize, deter: &[f32], classes: &[u8]) {
        let LatentSpec { deter: width, groups } = self.spec.latents;
        for (row, &(lane, first)) in batch.index.iter().enumerate() {
            for t in from..batch.steps {
                let number = first + t as u64;
                if number < self.lanes[lane].oldest || number >= self.lanes[lane].next {
                    continue;
                }
                let (place, at) = (self.row(lane, number), (t - from) * batch.rows + row);
                let state = &deter[at * width..(at + 1) * width];
                self.latents.put(place, state, &classes[at * groups..(at + 1) * groups]);
            }
        }
    }
}
