//! # MPO: maximum a posteriori policy optimisation
//!
//! **What it does.** Draws actions from the policy, weighs them by their value, and fits the policy to the weighted
//! actions while keeping every step small. No gradient flows from the critic into the policy.
//!
//! **When to use it.** Continuous actions, when the step-by-step constraint is worth its cost: robust to rough critics and
//! to badly scaled rewards.
//!
//! **The update.** With N actions drawn from a copy of the policy that is renewed now and then:
//! ```text
//! critic:  (Q(s, a) - (R + D * mean_n Q'(s', a'_n)))^2 / 2
//! E-step:  w_n = softmax_n(Q'(s, a_n) / eta),   eta minimises  eta * (epsilon + mean log mean_n exp(Q' / eta))
//! M-step:  - sum_n w_n [ log N(a_n; mu, std_old) + log N(a_n; mu_old, std) ]
//!          + alpha_mean * KL(mean moved) + alpha_std * KL(spread changed)
//! ```
//! The multipliers alpha, one per action dimension and kind, grow while their divergence is above its bound.
//!
//! **Details that matter.**
//! - Mean and spread are constrained apart: the spread may only shrink slowly, which keeps exploration alive.
//! - The Gaussian is not squashed. Actions are clipped to [-1, 1] before they are executed, stored or valued, and a
//!   penalty (`epsilon_penalty`) draws the policy back inside.
//! - Target networks are copied every `target_update_interval` updates.
//! - The policy is improved at the first observation of each transition.
//!
//! **What is left out.** Retrace: the critic learns from n-step returns.
//!
//! **Reference.** Abdolmaleki and others, Maximum a posteriori policy optimisation, 2018; the decoupled constraints are
//! from Relative entropy regularized policy iteration, 2018.

mod duals;
mod learner;

use crate::agent::{Agent, Setup};
use crate::config::{Problem, choices, layer_widths, some_updates};
use crate::parts::checks::BuildError;
use crate::regimes::{OffPolicy, replay_settings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
use garde::Validate;
use learner::MpoLearner;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of MPO.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct MpoConfig {
    /// Step size of Adam, for policy and critic.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Step size of Adam for the multipliers.
    #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
    pub dual_learning_rate: Schedule,
    /// Largest global norm of a gradient.
    #[garde(range(min = 0.0))]
    pub max_grad_norm: f32,
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
    /// Updates between copies to the target networks.
    #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
    pub target_update_interval: u64,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Rewards summed before bootstrapping.
    #[garde(range(min = 1, max = 1000))]
    pub n_step: usize,
    /// Factor on rewards before they are learned from.
    #[garde(range(min = 1e-6, max = 1e6))]
    pub reward_scale: f32,
    /// Actions drawn per observation.
    #[garde(range(min = 2, max = 1000))]
    pub action_samples: usize,
    /// How far the weights of the samples may be from equal.
    #[garde(range(min = 1e-8, max = 10.0))]
    pub epsilon: f32,
    /// As `epsilon`, for the weights that punish actions outside of the range; 0 leaves the penalty out.
    #[garde(range(min = 0.0, max = 10.0))]
    pub epsilon_penalty: f32,
    /// Divergence per dimension that a move of the mean may cause.
    #[garde(range(min = 1e-8, max = 10.0))]
    pub epsilon_mean: f32,
    /// Divergence per dimension that a change of the spread may cause.
    #[garde(range(min = 1e-10, max = 10.0))]
    pub epsilon_std: f32,
    /// Logarithm of the policy's spread at the start.
    #[garde(range(min = -7.0, max = 2.0))]
    pub log_std_init: f32,
    /// Widths of the hidden layers of policy and critic.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Non-linearity of the hidden layers.
    #[schemars(schema_with = "choices::<Activation>")]
    pub activation: Activation,
    /// LayerNorm in both networks.
    pub layer_norm: bool,
}

impl Default for MpoConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(3e-4),
            dual_learning_rate: Schedule::Constant(1e-2),
            max_grad_norm: 40.0,
            buffer_capacity: 1_000_000,
            batch_size: 256,
            learning_starts: 1000,
            train_frequency: 1,
            gradient_steps: 1,
            target_update_interval: 100,
            gamma: 0.99,
            n_step: 5,
            reward_scale: 1.0,
            action_samples: 20,
            epsilon: 0.1,
            epsilon_penalty: 1e-3,
            epsilon_mean: 0.01,
            epsilon_std: 1e-6,
            log_std_init: -0.36,
            hidden_sizes: vec![256, 256, 256],
            activation: Activation::Elu,
            layer_norm: true,
        }
    }
}

pub struct Mpo;

impl Algorithm for Mpo {
    type Config = MpoConfig;

    fn check(config: &MpoConfig) -> Result<(), Problem> {
        replay_settings!(config).map(drop)
    }

    fn build(config: MpoConfig, setup: &Setup) -> Result<Box<dyn Agent>, BuildError> {
        let settings = replay_settings!(config)?;
        Ok(Box::new(OffPolicy::new(MpoLearner::new(config, setup), settings, setup)))
    }
}
