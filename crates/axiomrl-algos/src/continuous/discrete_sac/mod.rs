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
//! - The target entropy is `target_entropy_ratio` times that of uniform choice. Tasks that need precise actions want it
//!   low, or falling: the ratio is a schedule.
//! - Both critics are one ensemble network with one output per action.
//! - Forbidden choices (action masks) have probability 0 in acting and in all sums.
//!
//! **What is left out.** Image observations.
//!
//! **Reference.** Christodoulou, Soft actor-critic for discrete action settings, 2019.

mod choices;
mod learner;

use crate::agent::{Agent, Setup};
use crate::config::{Idle, Problem, choices, fixed_temperature, layer_widths, some_updates};
use crate::parts::checks::BuildError;
use crate::parts::temperature::TemperatureSetting;
use crate::regimes::{OffPolicy, replay_settings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_envs::Space;
use axiomrl_nn::Activation;
use garde::Validate;
use learner::DiscreteSacLearner;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of discrete SAC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct DiscreteSacConfig {
    /// Step size of Adam, for actor, critics and temperature.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Transitions kept.
    #[garde(range(min = 1, max = 100_000_000))]
    pub buffer_capacity: usize,
    /// Transitions per update.
    #[garde(range(min = 1, max = 65_536))]
    pub batch_size: usize,
    /// Random steps before the first update.
    #[garde(range(max = 1_000_000_000_000_000_u64))]
    pub learning_starts: u64,
    /// Environment steps between bursts of updates.
    #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
    pub train_frequency: u64,
    /// Updates in a burst; -1 makes as many as steps were taken.
    #[garde(range(min = -1, max = 100_000), custom(some_updates))]
    pub gradient_steps: i64,
    /// How much of the critics the target critics take over per update.
    #[garde(range(min = 0.0, max = 1.0))]
    pub tau: f32,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Rewards summed before bootstrapping.
    #[garde(range(min = 1, max = 1000))]
    pub n_step: usize,
    /// Weight of the entropy: `auto`, or a number that stays fixed.
    pub ent_coef: TemperatureSetting,
    /// Temperature at the start when it is adapted.
    #[garde(range(min = 1e-8, max = 1000.0))]
    pub ent_coef_init: f32,
    /// Entropy to aim for, as a part of that of uniform choice, over the run.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub target_entropy_ratio: Schedule,
    /// Widths of the hidden layers of actor and critics.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Non-linearity of the hidden layers.
    #[schemars(schema_with = "choices::<Activation>")]
    pub activation: Activation,
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

    fn idle(config: &DiscreteSacConfig) -> Vec<Idle> {
        vec![fixed_temperature(config.ent_coef != TemperatureSetting::Auto)]
    }

    fn build(config: DiscreteSacConfig, setup: &Setup) -> Result<Box<dyn Agent>, BuildError> {
        let Space::Discrete { n: actions } = setup.action_space else {
            return Err(Problem::new(&[], "discrete SAC acts in Discrete spaces").into());
        };
        let settings = replay_settings!(config)?;
        Ok(Box::new(OffPolicy::new(DiscreteSacLearner::new(config, actions, setup), settings, setup)))
    }
}
