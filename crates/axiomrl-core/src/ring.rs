//! The replay store: a ring of transitions for each environment.
//!
//! An observation is stored once. The observation a step led to is the next row of its lane, except where an episode
//! ended: there the next row already belongs to the new episode, and the last observation of the old one sits in a
//! side pool. What is drawn from it, and how, is the business of a [`View`](crate::View); the two are the only places of
//! the off-policy world that look at `terminated` and `truncated`.

mod episodes;
mod finals;
pub(crate) mod frames;
mod pages;
pub(crate) mod rows;
#[cfg(test)]
pub(crate) mod tests;

pub use episodes::StoredEpisode;

use crate::{Batch, BatchSource, RewardScale, StoreError, View, Window};
use axiomrl_envs::{FrameSpec, ObsBuf, ObsRef, ObsWidths};
use finals::Finals;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut, Range};

pub(crate) const TERMINATED: u8 = 1;
pub(crate) const TRUNCATED: u8 = 2;

/// The shape of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingSpec {
    /// transitions kept over all lanes; rounded up to the same number for each lane
    pub capacity: usize,
    /// one lane per environment
    pub lanes: usize,
    pub widths: ObsWidths,
    /// bytes that are shown again as part of later observations are stored one frame each
    pub byte_frames: FrameSpec,
    pub action_width: usize,
    /// entries of an action mask, 0 without masks
    pub mask_width: usize,
}

impl RingSpec {
    /// The most that one lane keeps.
    fn per_lane(&self) -> usize {
        self.capacity.div_ceil(self.lanes)
    }

    /// What is stored of an observation: all its numbers, and the newest frame of its bytes.
    fn stored_widths(&self) -> ObsWidths {
        ObsWidths { bytes: self.widths.bytes / self.byte_frames.count, ..self.widths }
    }
}

/// Transitions of all environments. They are numbered within their lane, from its first.
#[derive(Clone, Debug)]
pub struct Ring {
    spec: RingSpec,
    /// Rows of a lane: its capacity, one more for the observation that waits for its action, and the rows before the oldest
    /// whose frames are still needed.
    pub(crate) ring: usize,
    lanes: Vec<Lane>,
    /// Observations, or the newest frames of their bytes.
    obs: ObsBuf,
    /// Frames before the newest that belong to the same episode, as far as they are shown; empty without stacking.
    age: Vec<u8>,
    pub(crate) masks: Vec<bool>,
    pub(crate) action: Vec<f32>,
    pub(crate) reward: Vec<f32>,
    pub(crate) flags: Vec<u8>,
    /// Where the last observation of the episode is, for rows whose flags say that one ended.
    final_slot: Vec<u32>,
    finals: Finals,
    /// For each lane, the numbers after which its stored episodes ended, and of the one before the oldest.
    ends: Vec<VecDeque<u64>>,
    /// Transitions of a full page, see [`PagedStore`](crate::PagedStore).
    page: u64,
}

/// How far a lane has come. Number `i` lives in row `i % ring`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Lane {
    /// Whether the observation for the next transition is there.
    pub begun: bool,
    /// Number of the next transition.
    pub next: u64,
    /// Number of the oldest one still stored.
    pub oldest: u64,
    /// Its row among those of all lanes; follows from the number, and is kept to save the division.
    pub oldest_row: usize,
    /// Number of the first transition of the unfinished episode.
    pub episode: u64,
}

impl Ring {
    /// # Panics
    /// Where the spec makes no sense: no lanes, no capacity, or frames that do not fill the bytes.
    pub fn new(spec: RingSpec) -> Self {
        assert!(spec.lanes > 0 && spec.capacity > 0, "a store needs lanes and capacity");
        let FrameSpec { count, chunk } = spec.byte_frames;
        assert!(
            (1..=256).contains(&count) && chunk > 0 && spec.widths.bytes.is_multiple_of(count * chunk),
            "frames must fill the observation"
        );
        let ring = spec.per_lane() + 1 + spec.byte_frames.history();
        let rows = ring * spec.lanes;
        Self {
            ring,
            lanes: (0..spec.lanes).map(|lane| Lane { oldest_row: lane * ring, ..Lane::default() }).collect(),
            obs: ObsBuf::zeros(spec.stored_widths(), rows),
            age: vec![0; if count > 1 { rows } else { 0 }],
            masks: vec![false; rows * spec.mask_width],
            action: vec![0.0; rows * spec.action_width],
            reward: vec![0.0; rows],
            flags: vec![0; rows],
            final_slot: vec![0; rows],
            finals: Finals::new(spec.widths, spec.mask_width),
            ends: vec![VecDeque::new(); spec.lanes],
            page: pages::transitions_per_page(&spec),
            spec,
        }
    }

    pub fn spec(&self) -> &RingSpec {
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

    /// Number of the oldest transition that `lane` still has.
    pub fn oldest(&self, lane: usize) -> u64 {
        self.lanes[lane].oldest
    }

    /// Number that the next transition of `lane` will have.
    pub fn next(&self, lane: usize) -> u64 {
        self.lanes[lane].next
    }

    /// The transitions of the episode that `number` belongs to, as far as they are stored.
    pub fn episode_of(&self, lane: usize, number: u64) -> Range<u64> {
        let ends = &self.ends[lane];
        let after = ends.partition_point(|&end| end <= number);
        let start = if after == 0 { 0 } else { ends[after - 1] };
        let end = ends.get(after).copied().unwrap_or(self.lanes[lane].next);
        start.max(self.lanes[lane].oldest)..end
    }

    /// The finished episodes of a lane, as far as they are stored.
    pub fn episodes(&self, lane: usize) -> impl Iterator<Item = Range<u64>> {
        let (oldest, finished) = (self.lanes[lane].oldest, self.lanes[lane].episode);
        let first = (oldest < finished).then(|| self.episode_of(lane, oldest));
        std::iter::successors(first, move |before| (before.end < finished).then(|| self.episode_of(lane, before.end)))
    }

    /// Whether `number` is the first transition of an episode.
    pub fn begins_episode(&self, lane: usize, number: u64) -> bool {
        number == 0 || self.ends[lane].binary_search(&number).is_ok()
    }

    /// How many of these transitions were the last that was seen of an episode that might have gone on.
    pub(crate) fn cut_offs_within(&self, lane: usize, numbers: Range<u64>) -> usize {
        let ends = &self.ends[lane];
        // An end is kept as the number after it.
        let before = |number: u64| ends.partition_point(|&end| end <= number);
        let within = ends.range(before(numbers.start)..before(numbers.end));
        within.filter(|&&end| self.flags[self.row(lane, end - 1)] & TERMINATED == 0).count()
    }

    /// The name of a transition, never given to another one: its row may be overwritten, its number is not.
    pub fn index(&self, lane: usize, number: u64) -> u64 {
        number * self.lanes.len() as u64 + lane as u64
    }

    /// Lane and number of a name.
    pub fn named(&self, index: u64) -> (usize, u64) {
        let lanes = self.lanes.len() as u64;
        ((index % lanes) as usize, index / lanes)
    }

    /// The first observation of a lane: before any push, and whenever its environment was restarted from outside. An
    /// episode that was under way counts as truncated where it stood.
    pub fn begin(&mut self, lane: usize, obs: ObsRef<'_>, mask: &[bool]) {
        let state = self.lanes[lane];
        if state.begun && state.next > state.episode {
            let (last, open) = (self.row(lane, state.next - 1), self.row(lane, state.next));
            let masks = self.spec.mask_width;
            let mut final_obs = ObsBuf::zeros(self.spec.widths, 1);
            self.copy_obs(&[open], &mut final_obs, 0);
            let final_mask = &self.masks[open * masks..(open + 1) * masks];
            self.flags[last] |= TRUNCATED;
            self.final_slot[last] = self.finals.insert(final_obs.as_ref(), final_mask);
            self.end_episode(lane);
        }
        self.lanes[lane].begun = true;
        self.write_open_row(lane, obs, mask, 0);
    }

    /// The observation of a lane that waits for its action, and its mask.
    pub fn waiting(&self, lane: usize) -> (ObsBuf, &[bool]) {
        let (row, masks) = (self.row(lane, self.lanes[lane].next), self.spec.mask_width);
        let mut obs = ObsBuf::zeros(self.spec.widths, 1);
        self.copy_obs(&[row], &mut obs, 0);
        (obs, &self.masks[row * masks..(row + 1) * masks])
    }

    /// Whether the observation that waits belongs to an episode of which something is stored.
    pub fn is_within_episode(&self, lane: usize) -> bool {
        self.lanes[lane].next > self.lanes[lane].episode
    }

    /// Whether the store can show `obs` as it is when it comes after `before`, or first: of stacked frames it keeps the newest.
    pub fn can_show(&self, before: Option<ObsRef<'_>>, obs: ObsRef<'_>) -> bool {
        let frames = self.spec.byte_frames;
        frames.count == 1 || frames::continues(frames, before.map(|before| before.bytes), obs.bytes)
    }

    /// Whether a clock ended the episode of a stored transition with it.
    pub fn truncated(&self, lane: usize, number: u64) -> bool {
        self.flags[self.row(lane, number)] & TRUNCATED != 0
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
        let shown = self.age.get(row).map_or(0, |age| age.saturating_add(1).min(self.spec.byte_frames.history() as u8));
        self.write_open_row(lane, next_obs, next_mask, if terminated || truncated { 0 } else { shown });
    }

    /// These transitions as single steps whose discount is 1, and 0 where the world ended, with raw rewards. They are counted lane
    /// after lane, from the oldest that each still has.
    ///
    /// # Panics
    /// Where there are fewer.
    pub fn transitions(&self, picks: &[usize], out: &mut Batch) -> Result<(), StoreError> {
        let mut view = View::new(self, Window::steps(1, 1.0), None, None)?;
        out.resize(&view.shape(), picks.len());
        let mut ends = Vec::with_capacity(self.lanes.len());
        self.lanes.iter().fold(0, |sum, lane| {
            ends.push(sum + (lane.next - lane.oldest) as usize);
            ends[ends.len() - 1]
        });
        let named = |&pick: &usize| {
            let lane = ends.partition_point(|&end| end <= pick);
            let before = if lane == 0 { 0 } else { ends[lane - 1] };
            (lane, self.lanes[lane].oldest + (pick - before) as u64)
        };
        let names: Vec<(usize, u64)> = picks.iter().map(named).collect();
        view.gather_named(&names, RewardScale::IDENTITY, out);
        Ok(())
    }

    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    pub(crate) fn row(&self, lane: usize, number: u64) -> usize {
        lane * self.ring + (number % self.ring as u64) as usize
    }

    /// The row of the transition after the one in `row`.
    #[inline]
    pub(crate) fn after(&self, row: usize) -> usize {
        let end = (row / self.ring + 1) * self.ring;
        if row + 1 == end { row + 1 - self.ring } else { row + 1 }
    }

    /// Room for `capacity` transitions and no more, in the only lane of a store that has dropped nothing yet.
    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        let lane = self.lanes[0];
        assert!(self.lanes.len() == 1 && lane.oldest == 0 && lane.next <= capacity as u64, "rows would have to move");
        self.spec.capacity = capacity;
        let rows = capacity + 1 + self.spec.byte_frames.history();
        self.ring = rows;
        self.obs.reshape(self.spec.stored_widths(), rows);
        self.age.resize(if self.spec.byte_frames.count > 1 { rows } else { 0 }, 0);
        self.masks.resize(rows * self.spec.mask_width, false);
        self.action.resize(rows * self.spec.action_width, 0.0);
        self.reward.resize(rows, 0.0);
        self.flags.resize(rows, 0);
        self.final_slot.resize(rows, 0);
    }

    /// Gives back what was reserved for growing.
    pub(crate) fn shrink_to_fit(&mut self) {
        for floats in [&mut self.obs.floats, &mut self.action, &mut self.reward, &mut self.finals.obs.floats] {
            floats.shrink_to_fit();
        }
        for bytes in [&mut self.obs.bytes, &mut self.age, &mut self.flags, &mut self.finals.obs.bytes] {
            bytes.shrink_to_fit();
        }
        self.masks.shrink_to_fit();
        self.final_slot.shrink_to_fit();
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

    /// Makes room for the open row: it takes the place of the oldest transition once the lane is full.
    fn evict(&mut self, lane: usize) {
        let state = self.lanes[lane];
        if state.next - state.oldest < (self.ring - self.spec.byte_frames.history()) as u64 {
            return;
        }
        let row = self.row(lane, state.oldest);
        if self.flags[row] != 0 {
            self.finals.release(self.final_slot[row]);
        }
        self.lanes[lane].oldest += 1;
        self.lanes[lane].oldest_row = self.after(row);
    }

    /// `age` counts the frames of the same episode before this observation.
    fn write_open_row(&mut self, lane: usize, obs: ObsRef<'_>, mask: &[bool], age: u8) {
        let row = self.row(lane, self.lanes[lane].next);
        let frames = self.spec.byte_frames;
        let place = self.obs.row_mut(row);
        place.floats.copy_from_slice(obs.floats);
        if frames.count > 1 {
            frames::newest(frames, obs.bytes, place.bytes);
            self.age[row] = age;
        } else {
            place.bytes.copy_from_slice(obs.bytes);
        }
        let width = self.spec.mask_width;
        if width > 0 {
            self.masks[row * width..(row + 1) * width].copy_from_slice(mask);
        }
        self.flags[row] = 0;
    }
}

/// A store that belongs to its only view.
#[derive(Clone, Debug)]
pub struct Owned(pub Ring);

impl Deref for Owned {
    type Target = Ring;

    fn deref(&self) -> &Ring {
        &self.0
    }
}

impl DerefMut for Owned {
    fn deref_mut(&mut self) -> &mut Ring {
        &mut self.0
    }
}
