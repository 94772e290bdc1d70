//! The store of world models: for each environment one stream of rows, episodes one behind the other.
//!
//! A row is an observation with what belongs to the *arrival* in it (reward, whether it begins or ends an episode, whether the
//! world ended) and the action that was taken *from* it. The last observation of an episode is a row of its own, in which
//! nothing is done, and so is the first one of the next: an episode of n decisions has n + 1 rows. A row that is followed by the
//! beginning of an episode always says that it was the last of its own.
//!
//! What is drawn are windows of consecutive rows. They begin anywhere and cross the ends of episodes. The newest windows are
//! drawn first, each once (the online queue); what is left of a batch is drawn uniformly.

mod half;
mod latents;
mod pages;
mod queue;
#[cfg(test)]
mod tests;
mod windows;

pub use latents::LatentSpec;
pub use windows::SequenceBatch;

use axiomrl_envs::{ObsBuf, ObsRef, ObsWidths};
use latents::Latents;
use queue::Queue;

const FIRST: u8 = 1;
const LAST: u8 = 2;
const TERMINAL: u8 = 4;

/// The shape of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceSpec {
    /// rows kept over all lanes; rounded up to the same number for each lane
    pub capacity: usize,
    /// one lane per environment
    pub lanes: usize,
    pub widths: ObsWidths,
    pub action_width: usize,
    /// rows of a window
    pub length: usize,
    /// what is kept of the state that a model had in each row
    pub latents: LatentSpec,
}

impl SequenceSpec {
    /// The most that one lane keeps.
    fn per_lane(&self) -> usize {
        self.capacity.div_ceil(self.lanes)
    }
}

/// Rows of all environments, numbered within their lane from its first.
#[derive(Clone, Debug)]
pub struct SequenceStore {
    spec: SequenceSpec,
    /// Rows of a lane in memory: its capacity, and one for the observation that waits for its action.
    ring: usize,
    lanes: Vec<Lane>,
    obs: ObsBuf,
    action: Vec<f32>,
    reward: Vec<f32>,
    flags: Vec<u8>,
    latents: Latents,
    queue: Queue,
    /// Rows of a full page, see [`PagedStore`](crate::PagedStore).
    page: u64,
}

/// How far a lane has come. Number `i` lives in row `i % ring`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Lane {
    /// Whether the open row, whose action is not yet known, has its observation.
    begun: bool,
    /// Number of the open row; those before it are complete.
    next: u64,
    /// Number of the oldest row still stored.
    oldest: u64,
}

impl SequenceStore {
    /// # Panics
    /// Where the spec makes no sense: no lanes, no rows to a window, or windows longer than a lane.
    pub fn new(spec: SequenceSpec) -> Self {
        assert!(spec.lanes > 0 && spec.length > 0, "a store needs lanes, and windows need rows");
        assert!(spec.per_lane() >= spec.length, "a window must fit into the lane of each environment");
        let ring = spec.per_lane() + 1;
        let rows = ring * spec.lanes;
        Self {
            ring,
            lanes: vec![Lane::default(); spec.lanes],
            obs: ObsBuf::zeros(spec.widths, rows),
            action: vec![0.0; rows * spec.action_width],
            reward: vec![0.0; rows],
            flags: vec![0; rows],
            latents: Latents::new(spec.latents, rows),
            queue: Queue::new(spec.lanes),
            page: pages::rows_per_page(&spec),
            spec,
        }
    }

    pub fn spec(&self) -> &SequenceSpec {
        &self.spec
    }

    /// Whether every lane has the observation that waits for its action.
    pub fn has_begun(&self) -> bool {
        self.lanes.iter().all(|lane| lane.begun)
    }

    /// Complete rows stored.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(|lane| (lane.next - lane.oldest) as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An episode of `lane` begins: at first, and whenever its environment was restarted from outside. One that was under way
    /// counts as cut off where it stood.
    pub fn begin(&mut self, lane: usize, obs: ObsRef<'_>) {
        let Lane { begun, next, .. } = self.lanes[lane];
        let open = self.row(lane, next);
        // An episode that only just began brought nothing: its row is written again.
        if begun && self.flags[open] & FIRST == 0 {
            self.flags[open] |= LAST;
            self.complete(lane, &[]);
        }
        self.lanes[lane].begun = true;
        self.open(lane, obs, 0.0, FIRST);
    }

    /// One step of `lane`. `next_obs` is the observation to act on next (after a restart), `final_obs` the last one of the
    /// episode; it is read only if one ended.
    pub fn push(
        &mut self,
        lane: usize,
        action: &[f32],
        reward: f32,
        terminated: bool,
        truncated: bool,
        next_obs: ObsRef<'_>,
        final_obs: ObsRef<'_>,
    ) {
        assert!(self.lanes[lane].begun, "call `begin` before the first `push` of a lane");
        self.complete(lane, action);
        if terminated || truncated {
            self.open(lane, final_obs, reward, LAST | if terminated { TERMINAL } else { 0 });
            self.complete(lane, &[]);
            self.open(lane, next_obs, 0.0, FIRST);
        } else {
            self.open(lane, next_obs, reward, 0);
        }
    }

    /// What a model knew when it saw the open row of `lane`.
    pub fn remember(&mut self, lane: usize, deter: &[f32], classes: &[u8]) {
        let row = self.row(lane, self.lanes[lane].next);
        self.latents.put(row, deter, classes);
    }

    fn row(&self, lane: usize, number: u64) -> usize {
        lane * self.ring + (number % self.ring as u64) as usize
    }

    /// Writes the row whose action is still to come.
    fn open(&mut self, lane: usize, obs: ObsRef<'_>, reward: f32, flags: u8) {
        let row = self.row(lane, self.lanes[lane].next);
        let place = self.obs.row_mut(row);
        place.floats.copy_from_slice(obs.floats);
        place.bytes.copy_from_slice(obs.bytes);
        (self.reward[row], self.flags[row]) = (reward, flags);
        self.latents.clear(row);
    }

    /// The open row has its action: nothing at the end of an episode. The next one takes the place of the oldest once the
    /// lane is full.
    fn complete(&mut self, lane: usize, action: &[f32]) {
        let (row, width) = (self.row(lane, self.lanes[lane].next), self.spec.action_width);
        let place = &mut self.action[row * width..(row + 1) * width];
        if action.is_empty() {
            place.fill(0.0)
        } else {
            place.copy_from_slice(action)
        }
        let (capacity, state) = (self.spec.per_lane() as u64, &mut self.lanes[lane]);
        state.next += 1;
        state.oldest = state.next.saturating_sub(capacity);
        self.queue.grew(lane, state.next, self.spec.length as u64);
    }
}
