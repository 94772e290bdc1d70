//! When and from what an off-policy learner is updated.

use super::Pace;
use crate::config::Problem;
use axiomrl_core::{Extras, PrioritySpec, Relabel, Schedule, Window};

/// When and from what an off-policy learner is updated.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    pub capacity: usize,
    pub batch_size: usize,
    /// Steps of uniformly random actions before the first update.
    pub learning_starts: u64,
    /// Environment steps between bursts of updates.
    pub train_frequency: u64,
    /// Updates in a burst; `None` makes as many as steps were taken.
    pub gradient_steps: Option<u64>,
    pub n_step: usize,
    pub gamma: f32,
    pub priority: Option<PrioritySpec>,
    /// Exponent of the importance weights over the run.
    pub priority_beta: Schedule,
    /// Gives transitions goals that were reached.
    pub relabel: Option<Relabel>,
    /// For learners that remember: what is drawn are sequences, and `batch_size` counts them.
    pub sequences: Option<SequenceSettings>,
    /// The part of a batch that comes from recorded transitions, where there are any.
    pub prior_share: f32,
    /// Bursts of updates on recorded transitions alone, before the first step.
    pub pretraining: u64,
    /// For learners of recorded transitions: the whole length of the run is updates on them, and then come this many steps.
    pub offline: Option<u64>,
    /// Columns that batches have besides the usual ones.
    pub extras: Extras,
}

/// What a learner that remembers learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceSettings {
    /// Transitions of a sequence: two at least.
    pub length: usize,
    /// Those that it shares with the next one: fewer than `length`.
    pub overlap: usize,
    /// Whether it begins with the memory that the policy had there, instead of an empty one.
    pub stored_state: bool,
}

impl Default for ReplaySettings {
    /// An update after every step, from a uniform store of single steps.
    fn default() -> Self {
        Self {
            capacity: 100_000,
            batch_size: 64,
            learning_starts: 1000,
            train_frequency: 1,
            gradient_steps: Some(1),
            n_step: 1,
            gamma: 0.99,
            priority: None,
            priority_beta: Schedule::Constant(1.0),
            relabel: None,
            sequences: None,
            prior_share: 0.0,
            pretraining: 0,
            offline: None,
            extras: Extras::default(),
        }
    }
}

impl ReplaySettings {
    pub fn window(&self) -> Window {
        let single = Window::steps(self.n_step, self.gamma);
        match self.sequences {
            None => single,
            Some(SequenceSettings { length, overlap, .. }) => Window { length, stride: length - overlap, ..single },
        }
    }

    /// `total` is the length of the run as its file says it.
    pub fn pace(&self, total: u64) -> Pace {
        let burst = self.gradient_steps.unwrap_or(self.train_frequency);
        let pretraining = if self.offline.is_some() { total } else { self.pretraining.saturating_mul(burst) };
        Pace::new(self.learning_starts, self.train_frequency, self.gradient_steps, pretraining)
    }

    /// Whether recorded transitions are learned from.
    pub fn wants_prior(&self) -> bool {
        self.offline.is_some() || self.prior_share > 0.0 || self.pretraining > 0
    }

    /// The settings themselves, unless they contradict each other.
    pub fn checked(self) -> Result<Self, Problem> {
        let (n, capacity) = (self.n_step, self.capacity);
        Problem::when(n > capacity, &["buffer_capacity", "n_step"], || {
            format!("`n_step` {n} is longer than `buffer_capacity` {capacity}; make the buffer larger")
        })?;
        let Some(SequenceSettings { length, overlap, .. }) = self.sequences else { return Ok(self) };
        Problem::when(length < 2, &["sequence_length"], || {
            "a sequence of one step teaches no memory; set `sequence_length` to 2 or more".to_owned()
        })?;
        Problem::when(n >= length, &["n_step", "sequence_length"], || {
            format!(
                "`n_step` {n} does not fit into a `sequence_length` of {length}; make the sequence longer or sum fewer rewards"
            )
        })?;
        Problem::when(overlap >= length, &["overlap", "sequence_length"], || {
            format!(
                "`overlap` {overlap} must be below `sequence_length` {length}, or no sequence would bring anything new; lower it"
            )
        })?;
        Problem::when(capacity < length, &["buffer_capacity", "sequence_length"], || {
            format!(
                "`buffer_capacity` {capacity} has no room for a `sequence_length` of {length}; make the buffer larger"
            )
        })?;
        Ok(self)
    }
}

/// Reads the keys of a uniform replay from any algorithm's settings. A macro, because serde can either refuse unknown keys
/// or share a struct of common ones, and refusing matters more: so each algorithm lists these keys itself.
macro_rules! replay_settings {
    ($config:expr) => {
        $crate::regimes::ReplaySettings {
            capacity: $config.buffer_capacity,
            batch_size: $config.batch_size,
            learning_starts: $config.learning_starts,
            train_frequency: $config.train_frequency,
            gradient_steps: u64::try_from($config.gradient_steps).ok(),
            n_step: $config.n_step,
            gamma: $config.gamma,
            priority: None,
            priority_beta: axiomrl_core::Schedule::Constant(1.0),
            relabel: None,
            sequences: None,
            prior_share: 0.0,
            pretraining: 0,
            offline: None,
            extras: axiomrl_core::Extras::default(),
        }
        .checked()
    };
}

/// As [`replay_settings`], for settings that may ask for prioritised replay.
macro_rules! prioritized_replay_settings {
    ($config:expr) => {
        $crate::regimes::replay_settings!($config).map(|uniform| $crate::regimes::ReplaySettings {
            priority: $config.prioritized_replay.then_some(axiomrl_core::PrioritySpec {
                alpha: $config.prioritized_alpha,
                eps: $config.prioritized_eps,
            }),
            priority_beta: $config.prioritized_beta.clone(),
            ..uniform
        })
    };
}

/// Adds what the group `..prior` says.
macro_rules! with_prior {
    ($config:expr, $settings:expr) => {
        $crate::regimes::ReplaySettings {
            prior_share: $config.offline_batch_ratio,
            pretraining: $config.offline_pretrain_updates,
            offline: $config.offline.then_some($config.online_timesteps),
            ..$settings
        }
    };
}

pub(crate) use {prioritized_replay_settings, replay_settings, with_prior};

#[cfg(test)]
mod tests {
    use crate::actor_critic::AcConfig;
    use crate::q_learning::NafConfig;

    #[test]
    fn more_steps_than_fit_into_the_store_are_refused_with_the_remedy() {
        let short = NafConfig { n_step: 50, buffer_capacity: 20, ..NafConfig::default() };
        let message = replay_settings!(short).unwrap_err().to_string();
        assert!(message.contains("`n_step` 50") && message.contains("make the buffer larger"), "{message}");
        let full = NafConfig { n_step: 20, buffer_capacity: 20, ..NafConfig::default() };
        assert!(replay_settings!(full).is_ok());
    }

    #[test]
    fn priorities_are_asked_for_by_their_key() {
        let config = |prioritized_replay| AcConfig { prioritized_replay, ..AcConfig::default() };
        assert!(prioritized_replay_settings!(config(false)).unwrap().priority.is_none());
        assert!(prioritized_replay_settings!(config(true)).unwrap().priority.is_some());
    }
}
