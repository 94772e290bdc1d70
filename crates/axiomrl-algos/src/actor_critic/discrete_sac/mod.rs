//! # Discrete SAC: soft actor-critic for a choice of actions
//!
//! **What it does.** SAC where the policy is a distribution over a few choices. Every expectation over actions is summed
//! exactly, so nothing is sampled in the update.
//!
//! **When to use it.** Discrete actions, when a stochastic policy that explores by itself is wanted and every step counts.
//!
//! **The update.** With pi' the current policy at s' and slowly moving critics Q'_i:
//! ```text
//! y        = R + D * sum_a pi'(a) * (min_i Q'_i(s', a) - alpha * log pi'(a))
//! critics:   sum_i mean (Q_i(s, a) - y)^2 / 2
//! actor:     mean sum_a pi(a) * (alpha * log pi(a) - min_i Q_i(s, a))
//! alpha:     -log alpha * mean (sum_a pi(a) log pi(a) + target_entropy)
//! ```
//!
//! **Details that matter.**
//! - The target entropy is `target_entropy_ratio` times that of uniform choice among the allowed actions. Tasks that need
//!   precise actions want it low, or falling: the ratio is a schedule. The paper's ratio is 0.98.
//! - Both critics are one ensemble network with one output per action.
//! - Forbidden choices (action masks) have probability 0 in acting and in all sums.
//!
//! - Images are looked at by convolutions (`vision`), numbers beside them pass as they are. Only the critics' loss trains the
//!   convolutions; the actor learns from what they see. The target critics look with a slow copy, which follows by `tau`.
//!
//! **What is left out.** A memory for what is hidden; stack frames where a few are enough.
//!
//! **Reference.** Christodoulou, Soft actor-critic for discrete action settings, 2019.

mod choices;
mod learner;

use crate::agent::Setup;
use crate::config::{Idle, Problem, fixed_temperature, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::parts::temperature::TemperatureSetting;
use crate::regimes::{Learner, replay_settings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_envs::Space;
use axiomrl_nn::Activation;
use learner::DiscreteSacLearner;

settings! {
    /// Settings of discrete SAC.
    pub struct DiscreteSacConfig {
        ..learning_rate,
        ..replay,
        ..network,
        /// How much of the critics the target critics take over per update.
        #[garde(range(min = 0.0, max = 1.0))]
        pub tau: f32,
        /// Weight of the entropy: `auto`, or a number that stays fixed.
        pub ent_coef: TemperatureSetting,
        /// Temperature at the start when it is adapted.
        #[garde(range(min = 1e-8, max = 1000.0))]
        pub ent_coef_init: f32,
        /// Entropy to aim for, as a part of that of uniform choice, over the run.
        #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
        pub target_entropy_ratio: Schedule,
    }
}

impl Default for DiscreteSacConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(3e-4),
            buffer_capacity: 100_000,
            batch_size: 64,
            learning_starts: 1000,
            train_frequency: 1,
            gradient_steps: 1,
            tau: 0.005,
            gamma: 0.99,
            n_step: 1,
            ent_coef: TemperatureSetting::Auto,
            ent_coef_init: 1.0,
            target_entropy_ratio: Schedule::Constant(0.5),
            vision: Vision::Auto,
            hidden_sizes: vec![128, 128],
            activation: Activation::Relu,
        }
    }
}

pub struct DiscreteSac;

impl Algorithm for DiscreteSac {
    type Config = DiscreteSacConfig;

    fn check(config: &DiscreteSacConfig) -> Result<(), Problem> {
        replay_settings!(config).map(drop)
    }

    fn check_setup(config: &DiscreteSacConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &DiscreteSacConfig) -> Vec<Idle> {
        vec![fixed_temperature(config.ent_coef != TemperatureSetting::Auto)]
    }

    fn build(config: DiscreteSacConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let Space::Discrete { n: actions } = *setup.action_space() else {
            return Err(Problem::new(&[], "discrete SAC acts in Discrete spaces").into());
        };
        let settings = replay_settings!(config)?;
        Ok(Learner::OffPolicy(Box::new(DiscreteSacLearner::new(config, actions, setup)?), settings))
    }
}
