//! The sequence store: chunks of consecutive steps, for learners with a memory.
//!
//! A chunk has `length` steps and the observation that follows them. It may run across the end of an episode: `starts` says
//! where the memory has to be emptied, and no window reaches over such a place. A time limit needs one row more: the last
//! observation of the episode is shown once, as a row without an action, so that the memory that led there can value it.
//! Such a row is masked out. A chunk is kept once it is complete, so there is no padding.

mod file;
mod rows;
mod sample;
#[cfg(test)]
mod tests;

use crate::{Priorities, PrioritySpec, RewardScale};
use axiomrl_envs::{ObsBuf, ObsRef, ObsWidths};
use rows::Rows;

/// First row of an episode.
const START: u8 = 1;
/// The step of this row ended the world.
const TERMINATED: u8 = 2;
/// The last observation of an episode that ran out of time: nothing was done here.
const CLOSING: u8 = 4;

/// The shape of a store and how it is sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceSpec {
    /// transitions kept over all lanes
    pub capacity: usize,
    /// one lane per environment
    pub lanes: usize,
    /// steps of a chunk
    pub length: usize,
    /// steps that a chunk shares with the next one of its lane; fewer than `length`
    pub overlap: usize,
    pub widths: ObsWidths,
    pub action_width: usize,
    /// entries of an action mask, 0 without masks
    pub mask_width: usize,
    /// numbers of the memory at a chunk's beginning, 0 to begin with an empty one
    pub state_width: usize,
    /// the longest window; shorter ones occur at the end of an episode and of a chunk
    pub n_step: usize,
    pub gamma: f32,
    /// uniform sampling when `None`
    pub prioritized: Option<PrioritySpec>,
}

impl SequenceSpec {
    /// New steps that a chunk brings.
    pub fn stride(&self) -> usize {
        self.length - self.overlap
    }
}

/// Chunks side by side, time-major: entry `(t, row)` of a column is at `t * rows + row`.
///
/// As in a [`Batch`](crate::Batch) there is no `done`: the target of step `t` is `reward + discount * value(next)`, where
/// `next` names a later entry of the same chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceBatch {
    pub steps: usize,
    pub rows: usize,
    /// `(steps + 1) * rows` rows
    pub obs: ObsBuf,
    /// `(steps + 1) * rows * mask_width`: the choices that were allowed; empty without masks
    pub choices: Vec<bool>,
    /// `steps * rows * action_width`
    pub action: Vec<f32>,
    /// `steps * rows`: discounted sum over the window
    pub reward: Vec<f32>,
    /// `steps * rows`: γ^k·(1−terminated), with k the length of the window used
    pub discount: Vec<f32>,
    /// `steps * rows`: the time whose observation follows the window
    pub next: Vec<usize>,
    /// `steps * rows`: whether something was done there, so that it can be learned from
    pub mask: Vec<bool>,
    /// `(steps + 1) * rows`: whether the memory is emptied before this observation
    pub starts: Vec<bool>,
    /// `rows * state_width`: the memory before the first observation
    pub state: Vec<f32>,
    /// importance weights, 1 unless the store is prioritised
    pub weight: Vec<f32>,
    /// names of the chunks, for priority updates
    pub index: Vec<u64>,
}

/// What a step brought to its environment.
#[derive(Clone, Copy, Debug)]
pub struct SequenceOutcome<'a> {
    pub reward: f32,
    pub terminated: bool,
    pub truncated: bool,
    /// The last observation of the episode, read only where it was truncated.
    pub final_obs: ObsRef<'a>,
    pub final_mask: &'a [bool],
}

/// The chunk under way in one environment.
#[derive(Clone, Debug)]
struct Lane {
    /// One row more than a chunk has steps.
    rows: Rows,
    /// The memory before each row.
    states: Vec<f32>,
    filled: usize,
    /// Whether the last row waits for its outcome.
    open: bool,
    /// Whether the next row begins an episode.
    fresh: bool,
}

/// Complete chunks in a ring, the newest in place of the oldest, and those under way.
#[derive(Clone, Debug)]
pub struct SequenceStore {
    spec: SequenceSpec,
    lanes: Vec<Lane>,
    slots: usize,
    /// Chunks ever completed: number `i` lies in slot `i % slots`.
    completed: u64,
    chunks: Rows,
    states: Vec<f32>,
    priorities: Option<Priorities>,
    /// What becomes of each reward before windows sum them up.
    pub reward_scale: RewardScale,
}

impl SequenceStore {
    pub fn new(spec: SequenceSpec) -> Self {
        assert!(
            spec.lanes > 0 && spec.capacity > 0 && spec.n_step > 0 && spec.overlap < spec.length,
            "a store needs lanes, capacity, n_step >= 1 and an overlap below its length"
        );
        let slots = spec.capacity.div_ceil(spec.stride());
        let rows = spec.length + 1;
        let lane = Lane {
            rows: Rows::new(&spec, rows),
            states: vec![0.0; rows * spec.state_width],
            filled: 0,
            open: false,
            fresh: true,
        };
        Self {
            lanes: vec![lane; spec.lanes],
            slots,
            completed: 0,
            chunks: Rows::new(&spec, slots * rows),
            states: vec![0.0; slots * spec.state_width],
            priorities: spec.prioritized.map(|p| Priorities::new(p, slots)),
            reward_scale: RewardScale::IDENTITY,
            spec,
        }
    }

    pub fn spec(&self) -> &SequenceSpec {
        &self.spec
    }

    /// Whether `lane` has been shown something that it has not answered yet.
    pub fn is_open(&self, lane: usize) -> bool {
        self.lanes[lane].open
    }

    /// Chunks that can be sampled.
    pub fn ready(&self) -> usize {
        usize::try_from(self.completed).unwrap_or(usize::MAX).min(self.slots)
    }

    /// What `lane` sees before its next action, with the memory before it looks.
    pub fn open(&mut self, lane: usize, obs: ObsRef<'_>, mask: &[bool], state: &[f32]) {
        let (spec, at) = (&self.spec, &mut self.lanes[lane]);
        assert!(!at.open, "a step is closed before the next one is opened");
        let flags = if at.fresh { START } else { 0 };
        at.rows.put(spec, at.filled, obs, mask, flags);
        at.states[at.filled * spec.state_width..(at.filled + 1) * spec.state_width].copy_from_slice(state);
        (at.open, at.fresh) = (true, false);
        self.advance(lane);
    }

    /// What `lane` did, and what that brought.
    pub fn close(&mut self, lane: usize, action: &[f32], outcome: &SequenceOutcome<'_>) {
        let (spec, at) = (&self.spec, &mut self.lanes[lane]);
        assert!(at.open, "a step is opened before it is closed");
        let row = at.filled - 1;
        at.rows.finish(spec, row, action, outcome.reward, if outcome.terminated { TERMINATED } else { 0 });
        (at.open, at.fresh) = (false, outcome.terminated || outcome.truncated);
        if outcome.truncated && !outcome.terminated {
            at.rows.put(spec, at.filled, outcome.final_obs, outcome.final_mask, CLOSING);
            // The row after it begins an episode, so the memory here is never asked for.
            at.states[at.filled * spec.state_width..(at.filled + 1) * spec.state_width].fill(0.0);
            self.advance(lane);
        }
    }

    /// The environment of `lane` begins anew. An episode that was under way counts as cut off at `latest`, what its last
    /// step led to; a step that was opened is taken back, for nothing came of it.
    pub fn cut_off(&mut self, lane: usize, latest: ObsRef<'_>, mask: &[bool]) {
        let (spec, at) = (&self.spec, &mut self.lanes[lane]);
        if at.open {
            let row = at.filled - 1;
            at.rows.flags[row] |= CLOSING;
            (at.open, at.fresh) = (false, true);
        } else if !at.fresh {
            at.rows.put(spec, at.filled, latest, mask, CLOSING);
            at.states[at.filled * spec.state_width..(at.filled + 1) * spec.state_width].fill(0.0);
            at.fresh = true;
            self.advance(lane);
        }
    }

    /// Counts the row that was just written; keeps the chunk if it is the last one, and begins the next.
    fn advance(&mut self, lane: usize) {
        let (spec, at) = (&self.spec, &mut self.lanes[lane]);
        at.filled += 1;
        let (rows, stride) = (spec.length + 1, spec.stride());
        if at.filled < rows {
            return;
        }
        let slot = (self.completed % self.slots as u64) as usize;
        self.chunks.copy(spec, slot * rows, &at.rows, 0, rows);
        let width = spec.state_width;
        self.states[slot * width..(slot + 1) * width].copy_from_slice(&at.states[..width]);
        if let Some(priorities) = &mut self.priorities {
            priorities.admit(slot);
        }
        self.completed += 1;
        at.rows.drop_front(spec, stride, rows);
        at.states.copy_within(stride * width.., 0);
        at.filled = rows - stride;
    }

    /// New priorities after an update. `index` is from the batch; chunks that were overwritten meanwhile are passed over,
    /// and so are errors that are no numbers.
    pub fn update_priorities(&mut self, index: &[u64], errors: &[f32]) {
        let oldest = self.completed - self.ready() as u64;
        let Some(priorities) = &mut self.priorities else { return };
        for (&number, &error) in index.iter().zip(errors) {
            if number >= oldest {
                priorities.update((number % self.slots as u64) as usize, error);
            }
        }
    }
}

/// One error for a whole chunk: `eta` of the largest and the rest of the mean, 0 without errors. The largest alone would
/// let one step decide, the mean alone would drown it.
pub fn mixed_error(errors: impl Iterator<Item = f32>, eta: f32) -> f32 {
    let (mut largest, mut sum, mut count) = (0.0f32, 0.0, 0);
    for error in errors {
        largest = largest.max(error.abs());
        sum += error.abs();
        count += 1;
    }
    eta * largest + (1.0 - eta) * sum / count.max(1) as f32
}
