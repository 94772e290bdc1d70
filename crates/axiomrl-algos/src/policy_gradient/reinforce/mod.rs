//! # REINFORCE with a baseline
//!
//! **What it does.** The oldest policy gradient: plays a rollout, makes actions likelier in proportion to how much better they
//! turned out than the value function had expected, in one step, and then brings the value function up to date.
//!
//! **When to use it.** To learn from, to compare with, and where a policy step must follow from fresh data alone. For results
//! `ppo` and `trpo` are better.
//!
//! **The update.** With the advantage A, standardised over the rollout, and the discounted return G:
//! ```text
//! one step of the policy:          -mean A log pi - c_e * mean entropy
//! value_steps steps of the value:  mean (V - G)^2
//! ```
//!
//! **Details that matter.**
//! - The policy goes first: its advantages must come from the value function that was there when it played.
//! - A time limit and the end of a rollout are bootstrapped with the value of the last observation; a termination is not.
//! - `gae_lambda: 1` gives whole returns. A smaller one changes the advantages alone: the value function always learns the
//!   whole return.
//! - One policy step for each rollout: long rollouts make few of them, and want a large `learning_rate`.
//! - `value_learning_rate` is the value function's own step size; absent, it is that of the policy.
//! - Policy and value are networks of their own, each with its own Adam; the norm of each gradient is limited by
//!   `max_grad_norm`.
//! - `memory: lstm` or `gru` lets both remember, each for itself.
//! - Masked actions have probability zero and receive no gradient.
//! - `shuffle_advantages: true` takes the signal away and leaves everything else: nothing must be learned then.
//!
//! **What is left out.** Whole episodes as the unit of an update: rollouts are of a fixed length here.
//!
//! **References.** Williams, Simple statistical gradient-following algorithms for connectionist reinforcement learning, 1992;
//! Sutton and others, Policy gradient methods for reinforcement learning with function approximation, 2000.

mod learner;

use super::shared::idle_memory;
use crate::agent::Setup;
use crate::config::{Idle, Problem, defaults, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::regimes::{Learner, RolloutSettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
use learner::ReinforceLearner;

settings! {
    /// Settings of REINFORCE, with a memory or without.
    pub struct ReinforceConfig {
        ..learning_rate,
        ..rollout,
        ..network,
        ..memory,
        ..stochastic_policy,
        /// Step size of the value function's Adam; absent is `learning_rate`.
        #[garde(inner(custom(axiomrl_core::Schedule::range_ok(0.0, 1.0))))]
        pub value_learning_rate: Option<Schedule>,
        /// Steps of the value function on each rollout, all of it at once.
        #[garde(range(min = 1, max = 10_000))]
        pub value_steps: usize,
        /// Largest norm of each gradient.
        #[garde(range(min = 0.0))]
        pub max_grad_norm: f32,
    }
}

impl Default for ReinforceConfig {
    fn default() -> Self {
        defaults! { Self {
            ..memory,
            ..stochastic_policy,
            learning_rate: Schedule::Constant(3e-3),
            num_steps: 256,
            gamma: 0.99,
            gae_lambda: 1.0,
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
            value_learning_rate: None,
            value_steps: 20,
            max_grad_norm: 0.5,
        } }
    }
}

impl ReinforceConfig {
    fn rollout(&self) -> RolloutSettings {
        RolloutSettings::new(self.num_steps, self.gamma, self.gae_lambda).remembering(self.memory, self.sequence_length)
    }
}

pub struct Reinforce;

impl Algorithm for Reinforce {
    type Config = ReinforceConfig;

    fn check_setup(config: &ReinforceConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &ReinforceConfig) -> Vec<Idle> {
        vec![idle_memory(config.memory)]
    }

    fn build(config: ReinforceConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = config.rollout();
        Ok(Learner::OnPolicy(Box::new(ReinforceLearner::new(config, setup)?), settings))
    }
}
