//! # A2C: advantage actor-critic
//!
//! **What it does.** Plays a few steps in every environment, then takes one step along the policy gradient on all of them
//! together, with the value function as the baseline; throws them away and plays on.
//!
//! **When to use it.** Fast simulators and many environments, when an update must be as cheap as possible. `ppo` learns from
//! each rollout several times and needs fewer steps; A2C needs less work for each, and has little that can be set wrongly.
//!
//! **The update.** With the advantage A and the return G that an n-step return from each step gives:
//! ```text
//! loss = -mean A log pi + c_v * mean (V - G)^2 - c_e * mean entropy
//! ```
//! one step of the optimiser on the whole rollout.
//!
//! **Details that matter.**
//! - A time limit is bootstrapped with the value of the last observation; a termination is not.
//! - `gae_lambda: 1` makes every return as long as the rollout allows; smaller values trust the value function sooner.
//! - `optimizer: rmsprop` begins with running squares of 0, so that the first step moves every number by ten times the
//!   learning rate, whatever its gradient. That is how the usual results come about. `rmsprop_tf` begins with 1 and has its
//!   epsilon inside the root, as TensorFlow does, which suits images. `adam` is there too.
//! - Advantages are not standardised (`normalize_advantage`): with a few steps in a rollout that is mostly noise.
//! - The gradients of policy and value are clipped together (`max_grad_norm`). `shared: true` gives both one torso, which for
//!   images halves the price; a `vf_coef` of 0.25 and an `ent_coef` of 0.01 are usual there.
//! - Box actions are Gaussian with a state-independent standard deviation, clipped for the environment only.
//! - `memory: lstm` or `gru` lets both remember. The gradient flows back through `sequence_length` steps, within the rollout.
//! - `curiosity: rnd` or `icm` has the learner pay itself, too, for what it has not seen or foreseen: see `rnd` and `icm`.
//! - Masked actions have probability zero and receive no gradient.
//! - `shuffle_advantages: true` takes the signal away and leaves everything else: nothing must be learned then.
//!
//! **What is left out.** Asynchronous actors (A3C), whose results this reaches without them; state-dependent exploration.
//!
//! **Reference.** Mnih and others, Asynchronous methods for deep reinforcement learning, 2016.

mod learner;

use super::curiosity::{self, curiosity_settings};
use super::shared::idle_memory;
use crate::agent::Setup;
use crate::config::{Idle, Problem, defaults, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::regimes::{Learner, RolloutSettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::{Activation, AdamConfig, OptimizerConfig, RmsPropConfig};
use learner::A2cLearner;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What takes the steps of A2C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum A2cOptimizer {
    /// RMSProp as PyTorch has it: large first steps.
    #[default]
    Rmsprop,
    /// RMSProp as TensorFlow has it: running squares begin with 1, epsilon is inside the root.
    RmspropTf,
    /// Adam.
    Adam,
}

impl A2cOptimizer {
    pub fn config(self) -> OptimizerConfig {
        let torch = RmsPropConfig { alpha: 0.99, eps: 1e-5, ..RmsPropConfig::default() };
        match self {
            Self::Rmsprop => OptimizerConfig::RmsProp(torch),
            Self::RmspropTf => {
                OptimizerConfig::RmsProp(RmsPropConfig { eps_inside_sqrt: true, initial_square: 1.0, ..torch })
            }
            Self::Adam => OptimizerConfig::Adam(AdamConfig { eps: 1e-5, ..AdamConfig::default() }),
        }
    }
}

settings! {
    /// Settings of A2C, with a memory or without.
    pub struct A2cConfig {
        ..rollout,
        ..network,
        ..memory,
        ..stochastic_policy,
        ..curiosity,
        /// Step size of the optimiser.
        #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 1.0)))]
        pub learning_rate: Schedule,
        /// What takes the steps.
        pub optimizer: A2cOptimizer,
        /// Weight of the value loss.
        #[garde(range(min = 0.0, max = 100.0))]
        pub vf_coef: f32,
        /// Largest global norm of the gradient of policy and value together.
        #[garde(range(min = 0.0))]
        pub max_grad_norm: f32,
        /// Standardise advantages within each rollout.
        pub normalize_advantage: bool,
        /// One torso for policy and value together: what looks at images, the hidden layers, the memory.
        pub shared: bool,
    }
}

impl Default for A2cConfig {
    fn default() -> Self {
        defaults! { Self {
            ..memory,
            ..stochastic_policy,
            ..curiosity,
            num_steps: 5,
            gamma: 0.99,
            gae_lambda: 1.0,
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
            learning_rate: Schedule::Constant(7e-4),
            optimizer: A2cOptimizer::Rmsprop,
            vf_coef: 0.5,
            max_grad_norm: 0.5,
            normalize_advantage: false,
            shared: false,
        } }
    }
}

impl A2cConfig {
    fn rollout(&self) -> RolloutSettings {
        RolloutSettings::new(self.num_steps, self.gamma, self.gae_lambda).remembering(self.memory, self.sequence_length)
    }

    /// Values of each observation.
    fn streams(&self) -> usize {
        curiosity::streams(self.curiosity, self.two_streams)
    }
}

pub struct A2c;

impl Algorithm for A2c {
    type Config = A2cConfig;

    fn check_setup(config: &A2cConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &A2cConfig) -> Vec<Idle> {
        let mut idle = curiosity::idle(config.curiosity, config.two_streams);
        idle.push(idle_memory(config.memory));
        idle
    }

    fn build(config: A2cConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = config.rollout();
        // One step on all of a rollout, as the policy's.
        let curiosity = curiosity_settings!(config, 1, usize::MAX);
        Ok(Learner::OnPolicy(curiosity.around(A2cLearner::new(config, setup)?, setup)?, settings))
    }
}
