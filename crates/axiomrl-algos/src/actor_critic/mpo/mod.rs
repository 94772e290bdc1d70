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
//! - Images are looked at by convolutions (`vision`), numbers beside them pass as they are. Only the critic's loss trains the
//!   convolutions; the policy learns from what they see. The target networks, critic and policy, look with a copy that is
//!   renewed with them.
//!
//! **What is left out.** Retrace: the critic learns from n-step returns.
//!
//! **Reference.** Abdolmaleki and others, Maximum a posteriori policy optimisation, 2018; the decoupled constraints are
//! from Relative entropy regularized policy iteration, 2018.

mod duals;
mod learner;

use crate::agent::Setup;
use crate::config::{Problem, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::regimes::{Learner, replay_settings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
use learner::MpoLearner;

settings! {
    /// Settings of MPO.
    pub struct MpoConfig {
        ..learning_rate,
        ..replay,
        ..network,
        /// Step size of Adam for the multipliers.
        #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
        pub dual_learning_rate: Schedule,
        /// Largest global norm of a gradient.
        #[garde(range(min = 0.0))]
        pub max_grad_norm: f32,
        /// Updates between copies to the target networks.
        #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
        pub target_update_interval: u64,
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
        /// LayerNorm in both networks.
        pub layer_norm: bool,
    }
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
            vision: Vision::Auto,
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

    fn check_setup(config: &MpoConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn build(config: MpoConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = replay_settings!(config)?;
        Ok(Learner::OffPolicy(Box::new(MpoLearner::new(config, setup)?), settings))
    }
}
