//! One off-policy actor-critic learner; DDPG, TD3, SAC, D4PG, TQC, REDQ, DroQ and CrossQ are its [`presets`].
//!
//! `settings` lists the choices, `head` says what a critic predicts, `target` what it should predict, `critic` and
//! `actor` are the two networks with their updates, and `learner` puts them together.

mod actor;
mod critic;
mod head;
mod learner;
pub mod presets;
mod settings;
mod target;

pub use settings::AcConfig;

use crate::agent::{Agent, Setup};
use crate::parts::checks::BuildError;
use crate::parts::hindsight::hindsight;
use crate::regimes::{OffPolicy, ReplaySettings};
use crate::registry::Algorithm;
use axiomrl_core::PrioritySpec;
use learner::AcLearner;

pub struct OffPolicyAc;

impl Algorithm for OffPolicyAc {
    type Config = AcConfig;

    fn build(config: AcConfig, setup: &Setup) -> Result<Box<dyn Agent>, BuildError> {
        config.check().map_err(BuildError::Setting)?;
        let settings = ReplaySettings {
            capacity: config.buffer_capacity,
            batch_size: config.batch_size,
            learning_starts: config.learning_starts,
            train_frequency: config.train_frequency,
            gradient_steps: u64::try_from(config.gradient_steps).ok(),
            n_step: config.n_step,
            gamma: config.gamma,
            priority: config
                .prioritized_replay
                .then_some(PrioritySpec { alpha: config.prioritized_alpha, eps: config.prioritized_eps }),
            priority_beta: config.prioritized_beta.clone(),
            hindsight: hindsight(config.n_sampled_goal, config.goal_selection_strategy, config.n_step, setup)?,
        };
        Ok(Box::new(OffPolicy::new(AcLearner::new(config, setup), settings, setup)))
    }
}
