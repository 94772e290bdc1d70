//! # Discrete BCQ: batch-constrained Q-learning for a choice of actions
//!
//! **What it does.** Learns from recorded transitions alone, without an environment. It is double DQN over the choices that the
//! record knows: a second network learns what was done, and choices that are unlikely there are neither valued nor taken.
//!
//! **When to use it.** Discrete actions and a fixed record, such as the replay of an earlier run or the log of a system in use.
//!
//! **The update.** For a batch of recorded transitions, with p the probabilities of the imitation and a slowly moving copy Q':
//! ```text
//! known(s) = { a : p(a | s) > threshold * max_b p(b | s) }
//! y        = R + D * Q'(s', argmax_{a in known(s')} Q(s', a))
//! loss     = mean [Huber(Q(s, a) - y) - log p(a | s) + logit_penalty * mean_b logit(b | s)^2]
//! ```
//! It acts by argmax of Q(s, .) over the same known choices.
//!
//! **Details that matter.**
//! - `threshold: 0` trusts everything and is double DQN; close to 1 only the likeliest choice is left, which is imitation. The
//!   log's `allowed_share` says how much is left to choose from. It is the setting to tune: the 0.3 of the publication is for many
//!   choices. Of two, in a record that is half random, it rules out next to nothing, and values run away as those of double DQN do.
//! - Which choice is known, and which is best, is asked of the learned networks; only its worth of the slow copy.
//! - Values and imitation are networks of their own behind one encoder; one optimiser and one loss train all of them.
//! - `total_timesteps` counts updates. `tau: 1` and a `target_update_interval` of 8000 copy the target now and then, as is usual
//!   for Atari.
//! - Forbidden choices (action masks) are never known, and have no probability.
//! - Images are looked at by convolutions (`vision`), numbers beside them pass as they are.
//!
//! **What is left out.** Going on in the environment: what is known would grow with what is tried, and nothing here tries, so
//! `online_timesteps` must stay 0.
//!
//! **Reference.** Fujimoto and others, Benchmarking batch deep reinforcement learning algorithms, 2019.

mod imitation;
mod learner;

use super::{offline_only, recorded_settings};
use crate::agent::Setup;
use crate::config::{Problem, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::regimes::Learner;
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_envs::Space;
use axiomrl_nn::Activation;
use learner::DiscreteBcqLearner;

settings! {
    /// Settings of discrete BCQ.
    pub struct DiscreteBcqConfig {
        ..learning_rate,
        ..recorded,
        ..network,
        /// How much of the values' network the target network takes over: 1 copies.
        #[garde(range(min = 0.0, max = 1.0))]
        pub tau: f32,
        /// Updates between those of the target network.
        #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
        pub target_update_interval: u64,
        /// Largest global norm of a gradient; absent: no limit.
        #[garde(inner(range(min = 0.0)))]
        pub max_grad_norm: Option<f32>,
        /// Least probability of a choice that may be taken, as a part of the likeliest one's.
        #[garde(range(min = 0.0, max = 0.999))]
        pub threshold: f32,
        /// Weight of the mean square of the imitation's logits, which keeps them small.
        #[garde(range(min = 0.0, max = 1000.0))]
        pub logit_penalty: f32,
    }
}

impl Default for DiscreteBcqConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(3e-4),
            batch_size: 64,
            gamma: 0.99,
            online_timesteps: 0,
            vision: Vision::Auto,
            hidden_sizes: vec![256, 256],
            activation: Activation::Relu,
            tau: 0.005,
            target_update_interval: 1,
            max_grad_norm: None,
            threshold: 0.3,
            logit_penalty: 0.01,
        }
    }
}

pub struct DiscreteBcq;

impl Algorithm for DiscreteBcq {
    type Config = DiscreteBcqConfig;

    fn check(config: &DiscreteBcqConfig) -> Result<(), Problem> {
        offline_only("discrete BCQ", config.online_timesteps)
    }

    fn check_setup(config: &DiscreteBcqConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn wants_data(_config: &DiscreteBcqConfig) -> bool {
        true
    }

    fn takes_steps(_config: &DiscreteBcqConfig) -> bool {
        false
    }

    fn build(config: DiscreteBcqConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let Space::Discrete { n: actions } = *setup.action_space() else {
            return Err(Problem::new(&[], "discrete BCQ acts in Discrete spaces; `bcq` acts in a Box").into());
        };
        let settings = recorded_settings(config.batch_size, config.gamma)?;
        Ok(Learner::OffPolicy(Box::new(DiscreteBcqLearner::new(config, actions, setup)?), settings))
    }
}
