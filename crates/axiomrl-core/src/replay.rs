//! The replay store: a ring of transitions for each environment.
//!
//! An observation is stored once. The observation a step led to is the next row of its lane, except where an episode
//! ended: there the next row already belongs to the new episode, and the last observation of the old one sits in a
//! side pool. Windows of several steps are formed when they are sampled; this module is the only place of the off-policy
//! world that looks at `terminated` and `truncated`.

mod file;
mod finals;
mod frames;
mod hindsight;
mod sample;
#[cfg(test)]
mod tests;

use crate::sum_tree::SumTree;
use axiomrl_envs::{DType, ObsBuf, ObsRef};
use finals::Finals;
pub use frames::FrameSpec;
pub use hindsight::{GoalStrategy, Hindsight};
use std::collections::VecDeque;

const TERMINATED: u8 = 1;
const TRUNCATED: u8 = 2;

/// No window loses its mass altogether, even with `eps` 0: a store whose errors are all zero can still be sampled.
const LEAST_PRIORITY: f64 = 1e-30;

/// The shape of a store and how it is sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplaySpec {
    /// transitions kept over all lanes; rounded up to the same number for each lane
    pub capacity: usize,
    /// one lane per environment
    pub lanes: usize,
    pub obs_width: usize,
    pub obs_dtype: DType,
    /// observations that share frames are stored one frame each
    pub frames: FrameSpec,
    pub action_width: usize,
    /// entries of an action mask, 0 without masks
    pub mask_width: usize,
    /// the longest window; shorter ones occur at the end of an episode
    pub n_step: usize,
    pub gamma: f32,
    /// uniform sampling when `None`
    pub prioritized: Option<PrioritySpec>,
}

/// Priorities are `(|error| + eps)^alpha`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrioritySpec {
    pub alpha: f32,
    pub eps: f32,
}

/// Transitions of all environments, one ring for each. An observation is stored once: the one a step led to is the next
/// row of its ring, or sits in a side pool where an episode ended.
#[derive(Clone, Debug)]
pub struct Replay {
    spec: ReplaySpec,
    /// Rows of a lane: its capacity, one more for the observation that waits for its action, and the rows before the oldest
    /// whose frames are still needed.
    ring: usize,
    lanes: Vec<Lane>,
    /// Observations, or their newest frames.
    obs: ObsBuf,
    /// Frames before the newest that belong to the same episode, as far as they are shown; empty without stacking.
    age: Vec<u8>,
    mask: Vec<bool>,
    action: Vec<f32>,
    reward: Vec<f32>,
    flags: Vec<u8>,
    /// Where the last observation of the episode is, for rows whose flags say that one ended.
    final_slot: Vec<u32>,
    finals: Finals,
    /// For each lane, the numbers after which its stored episodes ended, and of the one before the oldest.
    ends: Vec<VecDeque<u64>>,
    priorities: Option<Priorities>,
}

/// How far a lane has come. Transitions are numbered from the lane's first; number `i` lives in row `i % ring`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Lane {
    /// Whether the observation for the next transition is there.
    begun: bool,
    /// Number of the next transition.
    next: u64,
    /// Number of the oldest one still stored.
    oldest: u64,
    /// Its row among those of all lanes; follows from the number, and is kept to save the division.
    oldest_row: usize,
    /// Number of the first transition of the unfinished episode.
    episode: u64,
    /// Windows start in `oldest..sampleable`.
    sampleable: u64,
}

#[derive(Clone, Debug)]
struct Priorities {
    spec: PrioritySpec,
    tree: SumTree,
    /// The largest priority ever given (after the power): what new windows start with.
    max: f64,
}

impl Lane {
    fn ready(&self) -> usize {
        (self.sampleable - self.oldest) as usize
    }
}

impl Replay {
    pub fn new(spec: ReplaySpec) -> Self {
        assert!(
            spec.lanes > 0 && spec.capacity > 0 && spec.n_step > 0,
            "a store needs lanes, capacity and n_step >= 1"
        );
        let FrameSpec { count, chunk } = spec.frames;
        assert!(
            (1..=256).contains(&count) && spec.obs_width.is_multiple_of(count * chunk),
            "frames must fill the observation"
        );
        let ring = spec.capacity.div_ceil(spec.lanes) + 1 + spec.frames.history();
        let rows = ring * spec.lanes;
        Self {
            ring,
            lanes: (0..spec.lanes).map(|lane| Lane { oldest_row: lane * ring, ..Lane::default() }).collect(),
            obs: ObsBuf::zeros(spec.obs_dtype, rows * (spec.obs_width / count)),
            age: vec![0; if count > 1 { rows } else { 0 }],
            mask: vec![false; rows * spec.mask_width],
            action: vec![0.0; rows * spec.action_width],
            reward: vec![0.0; rows],
            flags: vec![0; rows],
            final_slot: vec![0; rows],
            finals: Finals::new(spec.obs_dtype, spec.obs_width, spec.mask_width),
            ends: vec![VecDeque::new(); spec.lanes],
            priorities: spec.prioritized.map(|p| Priorities { spec: p, tree: SumTree::new(rows), max: 1.0 }),
            spec,
        }
    }

    pub fn spec(&self) -> &ReplaySpec {
        &self.spec
    }

    /// Whether every lane has the observation for its next transition.
    pub fn has_begun(&self) -> bool {
        self.lanes.iter().all(|lane| lane.begun)
    }

    /// Transitions stored.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(|lane| (lane.next - lane.oldest) as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Windows that can be sampled: all but those that would run past the newest step of an unfinished episode.
    pub fn ready(&self) -> usize {
        self.lanes.iter().map(Lane::ready).sum()
    }

    /// The first observation of a lane: before any push, and whenever its environment was restarted from outside. An
    /// episode that was under way counts as truncated where it stood.
    pub fn begin(&mut self, lane: usize, obs: ObsRef<'_>, mask: &[bool]) {
        let state = self.lanes[lane];
        if state.begun && state.next > state.episode {
            let (last, open) = (self.row(lane, state.next - 1), self.row(lane, state.next));
            let masks = self.spec.mask_width;
            let mut final_obs = ObsBuf::zeros(self.spec.obs_dtype, self.spec.obs_width);
            self.copy_obs(&[open], &mut final_obs, 0);
            let final_mask = &self.mask[open * masks..(open + 1) * masks];
            self.flags[last] |= TRUNCATED;
            self.final_slot[last] = self.finals.insert(final_obs.as_ref(), final_mask);
            self.end_episode(lane);
            self.admit(lane);
        }
        self.lanes[lane].begun = true;
        self.write_open_row(lane, obs, mask, 0);
    }

    /// One transition of `lane`, whose first observation is already there. `next_obs` is the observation to act on
    /// next (after a restart), `final_obs` the last one of the episode; it is read only if one ended.
    pub fn push(
        &mut self,
        lane: usize,
        action: &[f32],
        reward: f32,
        terminated: bool,
        truncated: bool,
        next_obs: ObsRef<'_>,
        next_mask: &[bool],
        final_obs: ObsRef<'_>,
        final_mask: &[bool],
    ) {
        assert!(self.lanes[lane].begun, "call `begin` before the first `push` of a lane");
        let row = self.row(lane, self.lanes[lane].next);
        let width = self.spec.action_width;
        self.action[row * width..(row + 1) * width].copy_from_slice(action);
        self.reward[row] = reward;
        self.flags[row] = if terminated { TERMINATED } else { 0 } | if truncated { TRUNCATED } else { 0 };
        self.lanes[lane].next += 1;
        if terminated || truncated {
            self.final_slot[row] = self.finals.insert(final_obs, final_mask);
            self.end_episode(lane);
        }
        self.evict(lane);
        let shown = self.age.get(row).map_or(0, |age| (age + 1).min(self.spec.frames.history() as u8));
        self.write_open_row(lane, next_obs, next_mask, if terminated || truncated { 0 } else { shown });
        self.admit(lane);
    }

    /// New priorities after an update. `index` is from the batch; rows that were overwritten meanwhile are passed
    /// over, and so are errors that are no numbers.
    pub fn update_priorities(&mut self, index: &[u64], errors: &[f32]) {
        let (ring, lanes) = (self.ring as u64, self.lanes.len() as u64);
        let Some(priorities) = &mut self.priorities else { return };
        for (&index, error) in index.iter().zip(errors) {
            let (number, lane) = (index / lanes, (index % lanes) as usize);
            let state = self.lanes[lane];
            if number < state.oldest || number >= state.sampleable || !error.is_finite() {
                continue;
            }
            let value =
                (f64::from(error.abs()) + f64::from(priorities.spec.eps)).powf(f64::from(priorities.spec.alpha));
            let value = value.max(LEAST_PRIORITY);
            priorities.max = priorities.max.max(value);
            priorities.tree.set(lane * self.ring + (number % ring) as usize, value);
        }
    }

    /// The transition stored last was the last of its episode.
    fn end_episode(&mut self, lane: usize) {
        let state = &mut self.lanes[lane];
        state.episode = state.next;
        let ends = &mut self.ends[lane];
        ends.push_back(state.next);
        // Only the last end before the oldest transition still says where an episode begins.
        while ends.get(1).is_some_and(|&end| end <= state.oldest) {
            ends.pop_front();
        }
    }

    fn row(&self, lane: usize, number: u64) -> usize {
        lane * self.ring + (number % self.ring as u64) as usize
    }

    /// The row of the transition after the one in `row`.
    fn after(&self, row: usize) -> usize {
        let end = (row / self.ring + 1) * self.ring;
        if row + 1 == end { row + 1 - self.ring } else { row + 1 }
    }

    /// Makes room for the open row: it takes the place of the oldest transition once the lane is full.
    fn evict(&mut self, lane: usize) {
        let state = self.lanes[lane];
        if state.next - state.oldest < (self.ring - self.spec.frames.history()) as u64 {
            return;
        }
        let row = self.row(lane, state.oldest);
        if self.flags[row] != 0 {
            self.finals.release(self.final_slot[row]);
        }
        if let Some(priorities) = &mut self.priorities {
            priorities.tree.set(row, 0.0);
        }
        self.lanes[lane].oldest += 1;
        self.lanes[lane].oldest_row = self.after(row);
        // With a window longer than the lane nothing may be sampleable yet.
        self.lanes[lane].sampleable = state.sampleable.max(state.oldest + 1);
    }

    /// `age` counts the frames of the same episode before this observation.
    fn write_open_row(&mut self, lane: usize, obs: ObsRef<'_>, mask: &[bool], age: u8) {
        let row = self.row(lane, self.lanes[lane].next);
        let frames = self.spec.frames;
        if frames.count > 1 {
            frames.newest(obs, self.obs.row_mut(row, self.spec.obs_width / frames.count));
            self.age[row] = age;
        } else {
            self.obs.row_mut(row, self.spec.obs_width).copy_from(obs);
        }
        let width = self.spec.mask_width;
        if width > 0 {
            self.mask[row * width..(row + 1) * width].copy_from_slice(mask);
        }
        self.flags[row] = 0;
    }

    /// Windows that start before this number are complete: only the last few starts of the unfinished episode are not.
    fn complete(&self, lane: &Lane) -> u64 {
        let unfinished = (lane.next - lane.episode).min(self.spec.n_step as u64 - 1);
        (lane.next - unfinished).max(lane.oldest)
    }

    /// Lets the windows that became complete be sampled.
    fn admit(&mut self, lane: usize) {
        let now = self.complete(&self.lanes[lane]);
        for number in self.lanes[lane].sampleable..now {
            let row = self.row(lane, number);
            if let Some(priorities) = &mut self.priorities {
                priorities.tree.set(row, priorities.max);
            }
        }
        self.lanes[lane].sampleable = now;
    }
}
