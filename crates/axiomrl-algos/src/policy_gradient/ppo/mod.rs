//! # PPO: proximal policy optimisation
//!
//! **What it does.** Alternates between playing a few steps with the current policy and improving policy and value
//! function on what was played, without letting the policy move far from the one that played.
//!
//! **When to use it.** Fast simulators, many environments at once, any kind of action space. The safe first choice.
//!
//! **The update.** With the ratio r of new to old probability and the advantage A from GAE:
//! ```text
//! loss = -mean min(r A, clip(r, 1 - c, 1 + c) A) + c_v * mean 1/2 (V - G)^2 - c_e * mean entropy
//! ```
//! minimised by Adam over `update_epochs` passes of shuffled minibatches.
//!
//! **Details that matter.**
//! - A time limit is bootstrapped with the value of the last observation; a termination is not.
//! - Advantages are standardised within each minibatch (`normalize_advantage`).
//! - Box actions are Gaussian with a state-independent standard deviation; they are clipped for the environment
//!   only, and their probability is that of the unclipped action.
//! - Policy and value are separate networks with orthogonal initialisation; the gradient of both is clipped together.
//! - `target_kl` ends the passes early once the policy has moved that far (by 1.5 times).
//! - `learning_rate` and `clip_coef` may be schedules: `{linear: [1e-3, 0]}`.
//! - Masked actions have probability zero and receive no gradient.
//!
//! **What is left out.** Image observations; a shared torso; state-dependent exploration.
//!
//! **Reference.** Schulman and others, Proximal policy optimization algorithms, 2017.

mod learner;

use crate::agent::Setup;
use crate::config::{choices, layer_widths};
use crate::parts::checks::BuildError;
use crate::regimes::{Learner, RolloutSettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
use garde::Validate;
use learner::PpoLearner;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of PPO.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct PpoConfig {
    /// Step size of Adam.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Steps of each environment per rollout.
    #[garde(range(min = 1, max = 1_000_000))]
    pub num_steps: usize,
    /// Passes over each rollout.
    #[garde(range(min = 1, max = 1000))]
    pub update_epochs: usize,
    /// Steps per update.
    #[garde(range(min = 1, max = 10_000_000))]
    pub minibatch_size: usize,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Trade-off of bias and variance in the advantage.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gae_lambda: f32,
    /// How far the probability ratio may move.
    #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
    pub clip_coef: Schedule,
    /// How far a value may move per update; absent leaves it free.
    #[garde(inner(range(min = 0.0)))]
    pub value_clip_coef: Option<f32>,
    /// Weight of the entropy bonus.
    #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
    pub ent_coef: Schedule,
    /// Weight of the value loss.
    #[garde(range(min = 0.0, max = 100.0))]
    pub vf_coef: f32,
    /// Largest global norm of the gradient of policy and value together.
    #[garde(range(min = 0.0))]
    pub max_grad_norm: f32,
    /// Standardise advantages within each minibatch.
    pub normalize_advantage: bool,
    /// Divergence at which the passes over a rollout end; absent makes them all.
    #[garde(inner(range(min = 0.0)))]
    pub target_kl: Option<f32>,
    /// Widths of the hidden layers of both networks.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Non-linearity of the hidden layers.
    #[schemars(schema_with = "choices::<Activation>")]
    pub activation: Activation,
    /// Logarithm of the initial standard deviation of Box actions.
    #[garde(range(min = -20.0, max = 2.0))]
    pub log_std_init: f32,
}

impl Default for PpoConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(3e-4),
            num_steps: 2048,
            update_epochs: 10,
            minibatch_size: 64,
            gamma: 0.99,
            gae_lambda: 0.95,
            clip_coef: Schedule::Constant(0.2),
            value_clip_coef: None,
            ent_coef: Schedule::Constant(0.0),
            vf_coef: 0.5,
            max_grad_norm: 0.5,
            normalize_advantage: true,
            target_kl: None,
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
            log_std_init: 0.0,
        }
    }
}

pub struct Ppo;

impl Algorithm for Ppo {
    type Config = PpoConfig;

    fn build(config: PpoConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = RolloutSettings {
            num_steps: config.num_steps,
            sequence_length: 1,
            gamma: config.gamma,
            gae_lambda: config.gae_lambda,
        };
        Ok(Learner::OnPolicy(Box::new(PpoLearner::new(config, setup)?), settings))
    }
}
