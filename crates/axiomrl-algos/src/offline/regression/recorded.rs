//! Recorded episodes as a whole, for what is looked up by the name of a transition.

use crate::agent::{LearnError, Setup};
use crate::config::Problem;
use crate::parts::statistics::{ObsScaling, ObsStats};
use axiomrl_core::{Batch, Dataset, RewardScale};
use axiomrl_envs::ObsRef;
use std::ops::Range;

/// Transitions are named by their number, from 0 on.
pub struct Recorded {
    data: Dataset,
    /// What observations are standardised by, as in batches.
    stats: Option<ObsStats>,
    /// As they are learned.
    rewards: Vec<f32>,
    episodes: Vec<Range<usize>>,
    gathered: Batch,
}

impl Recorded {
    /// None where there is nothing recorded: a policy is only loaded.
    pub fn of(setup: &Setup) -> Result<Option<Self>, Problem> {
        let Some(data) = setup.prior.clone() else { return Ok(None) };
        let running = setup.scaling == ObsScaling::Running || setup.normalize_reward;
        Problem::when(running, &["advantage"], || {
            "returns are taken over the whole dataset, where running statistics have no meaning; leave out \
             `normalize_observation` and `normalize_reward`, and set those of the `dataset` block"
                .to_owned()
        })?;
        let mut stats =
            ObsStats::new(&setup.spaces, setup.scaling).map_err(|error| Problem::new(&[], error.to_string()))?;
        stats.iter_mut().for_each(|stats| stats.fit(&data));
        let rewards = (0..data.len() as u64).map(|number| setup.reward.apply(data.reward(number))).collect();
        let episodes = data.episodes().into_iter().map(|episode| episode.start as usize..episode.end as usize);
        Ok(Some(Self { stats, rewards, episodes: episodes.collect(), data, gathered: Batch::default() }))
    }

    /// The error of a learner that should learn from nothing.
    pub fn missing() -> LearnError {
        LearnError::Other("there are no recorded episodes to take returns from; give the run a `dataset`".into())
    }

    /// The rewards of all transitions.
    pub fn rewards(&self) -> &[f32] {
        &self.rewards
    }

    /// Its episodes, one after the other.
    pub fn episodes(&self) -> &[Range<usize>] {
        &self.episodes
    }

    /// Whether the world ended with this transition.
    pub fn terminated(&self, row: usize) -> bool {
        self.data.terminated(row as u64)
    }

    /// The last transition of the episode of this one.
    pub fn last_of(&self, row: usize) -> u64 {
        let episode = self.episodes.partition_point(|episode| episode.end <= row);
        self.episodes[episode].end as u64 - 1
    }

    /// The episodes whose last transition is among these.
    pub fn ending_within(&self, rows: Range<usize>) -> Range<usize> {
        let before = |row: usize| self.episodes.partition_point(|episode| episode.end <= row);
        before(rows.start)..before(rows.end)
    }

    /// The rows of a batch by name. Fails for one that was not drawn from here.
    pub fn rows(&self, index: &[u64]) -> Result<Vec<usize>, LearnError> {
        let known = |&number: &u64| if number < self.rewards.len() as u64 { Some(number as usize) } else { None };
        let rows: Option<Vec<usize>> = index.iter().map(known).collect();
        rows.ok_or_else(|| {
            LearnError::Other("a transition was not recorded, and nothing is known of its return".into())
        })
    }

    /// What was observed before and after each of these transitions, as networks take it.
    pub fn gather(&mut self, numbers: &[u64]) -> Result<(ObsRef<'_>, ObsRef<'_>), LearnError> {
        let batch = &mut self.gathered;
        self.data.gather(numbers, 1.0, RewardScale::IDENTITY, batch)?;
        if let Some(stats) = &self.stats {
            let width = batch.obs.widths().floats;
            stats.scale(&mut batch.obs.floats, width);
        }
        Ok((batch.obs(), batch.next_obs()))
    }
}
