//! Transitions that were recorded before: read-only, and known by their content.

mod check;
#[cfg(test)]
mod tests;

pub use check::{check_action, check_observation};

use crate::bytes::*;
use crate::ring::TERMINATED;
use crate::{Batch, BatchSource, RewardScale, Ring, RingSpec, StoreError, View, Window};
use axiomrl_envs::{ObsRef, ObsSpace, Space, Spaces};
use sha2::{Digest, Sha256};
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Recorded episodes as a store of one lane. Clones share the store.
#[derive(Clone, Debug)]
pub struct Dataset {
    ring: Arc<Ring>,
    sha256: [u8; 32],
    spaces: Spaces,
}

impl Dataset {
    /// What its observations and actions look like.
    pub fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    /// The transitions of each episode, by number.
    pub fn episodes(&self) -> Vec<Range<u64>> {
        self.ring.episodes(0).collect()
    }

    pub fn reward(&self, number: u64) -> f32 {
        self.ring.reward[self.ring.row(0, number)]
    }

    /// Whether the world ended with this transition.
    pub fn terminated(&self, number: u64) -> bool {
        self.ring.flags[self.ring.row(0, number)] & TERMINATED != 0
    }

    /// In [−1, 1] for a Box, otherwise the choices.
    pub fn action(&self, number: u64) -> &[f32] {
        let (row, width) = (self.ring.row(0, number), self.ring.spec().action_width);
        &self.ring.action[row * width..(row + 1) * width]
    }

    /// Exactly these transitions as a batch of single steps.
    pub fn gather(&self, numbers: &[u64], gamma: f32, scale: RewardScale, out: &mut Batch) -> Result<(), StoreError> {
        let mut view = View::new(self.clone(), Window::steps(1, gamma), None, None)?;
        out.resize(&view.shape(), numbers.len());
        let names: Vec<(usize, u64)> = numbers.iter().map(|&number| (0, number)).collect();
        view.gather_named(&names, scale, out);
        Ok(())
    }

    /// The hash of spaces and episodes: two datasets with the same hash are the same.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }
}

impl Deref for Dataset {
    type Target = Ring;

    fn deref(&self) -> &Ring {
        &self.ring
    }
}

/// One recorded episode of `n` steps, column by column.
#[derive(Clone, Copy, Debug)]
pub struct Episode<'a> {
    /// `n + 1` rows: what was seen before each step, and what the last one led to
    pub obs: ObsRef<'a>,
    /// `n + 1` rows: the choices that were allowed; empty without masks
    pub masks: &'a [bool],
    /// `n` rows: in [−1, 1] for a Box ([`ActionMap::to_unit`](axiomrl_envs::ActionMap::to_unit)), otherwise the choices
    pub action: &'a [f32],
    pub reward: &'a [f32],
    /// true at the last step at most
    pub terminated: &'a [bool],
    /// true at the last step at most; an episode that just stops counts as truncated there
    pub truncated: &'a [bool],
}

/// Collects episodes.
pub struct DatasetBuilder {
    spaces: Spaces,
    obs: ObsSpace,
    ring: Ring,
    hash: Hash,
    episodes: usize,
}

impl DatasetBuilder {
    pub fn new(spaces: Spaces) -> Result<Self, StoreError> {
        Self::with_capacity(spaces, 0)
    }

    /// With room for that many transitions, so that a store whose size is known need not be copied while it grows. It grows
    /// past them all the same.
    pub fn with_capacity(spaces: Spaces, transitions: usize) -> Result<Self, StoreError> {
        let obs = spaces.obs();
        let frames = obs.byte_frames();
        let invalid = |problem: &str| Err(StoreError::Invalid(format!("a dataset {problem}")));
        if matches!(spaces.action, Space::Dict { .. }) {
            return invalid("cannot have Dict actions; record a Box or one kind of choices");
        }
        if spaces.masks != 0 && spaces.masks != spaces.action.mask_width() {
            return invalid("with masks needs an entry for each choice of its action space");
        }
        if !(1..=256).contains(&frames.count) || !obs.widths.bytes.is_multiple_of(frames.count * frames.chunk.max(1)) {
            return invalid("with stacked images needs frames that fill them");
        }
        let spec = RingSpec {
            capacity: transitions.max(1024),
            lanes: 1,
            widths: obs.widths,
            byte_frames: frames,
            action_width: spaces.action.width(),
            mask_width: spaces.masks,
        };
        let mut hash = Hash(Sha256::new());
        let described = serde_json::to_vec(&spaces).map_err(|error| StoreError::Invalid(error.to_string()))?;
        hash.0.update((described.len() as u64).to_le_bytes());
        hash.0.update(described);
        Ok(Self { spaces, obs, ring: Ring::new(spec), hash, episodes: 0 })
    }

    /// Adds an episode. After an error, which says where in the episode it is, nothing was added.
    pub fn push(&mut self, episode: &Episode<'_>) -> Result<(), StoreError> {
        let at = self.episodes;
        self.check(episode).map_err(|(step, problem)| StoreError::Dataset { episode: at, step, problem })?;
        self.episodes += 1;
        self.hash.add(episode).map_err(|error| StoreError::Invalid(error.to_string()))?;
        let steps = episode.reward.len();
        let needed = self.ring.len() + steps;
        if needed > self.ring.spec().capacity {
            self.ring.set_capacity(needed.max(2 * self.ring.spec().capacity));
        }
        let (actions, masks) = (self.ring.spec().action_width, self.ring.spec().mask_width);
        let mask = |row: usize| &episode.masks[row * masks..(row + 1) * masks];
        self.ring.begin(0, episode.obs.row(0), mask(0));
        for t in 0..steps {
            let (obs, mask, last) = (episode.obs.row(t + 1), mask(t + 1), t + 1 == steps);
            let terminated = episode.terminated[t];
            let truncated = episode.truncated[t] || (last && !terminated);
            let action = &episode.action[t * actions..(t + 1) * actions];
            // After the last step the next episode begins with an observation of its own.
            self.ring.push(0, action, episode.reward[t], terminated, truncated, obs, mask, obs, mask);
        }
        Ok(())
    }

    pub fn build(mut self) -> Result<Dataset, StoreError> {
        let transitions = self.ring.len();
        if transitions == 0 {
            return Err(StoreError::Invalid("the dataset has no transitions; add an episode".into()));
        }
        self.ring.set_capacity(transitions);
        self.ring.shrink_to_fit();
        Ok(Dataset { ring: Arc::new(self.ring), sha256: self.hash.0.finalize().into(), spaces: self.spaces })
    }
}

/// Hashes what is written to it.
struct Hash(Sha256);

impl Hash {
    fn add(&mut self, episode: &Episode<'_>) -> io::Result<()> {
        write_u64(self, episode.reward.len() as u64)?;
        write_obs(self, episode.obs)?;
        write_bools(self, episode.masks)?;
        write_f32s(self, episode.action)?;
        write_f32s(self, episode.reward)?;
        // Of the ends only the last step's can be set, and it ends in any case.
        write_bools(self, &episode.terminated[episode.terminated.len() - 1..])?;
        write_bools(self, &episode.truncated[episode.truncated.len() - 1..])
    }
}

impl io::Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
