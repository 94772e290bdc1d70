//! # BCQ: batch-constrained Q-learning
//!
//! **What it does.** Learns from recorded transitions alone, without an environment. A model of what was done proposes actions, a
//! small correction improves them, and the critics choose among the proposals: actions that nobody tried are never valued.
//!
//! **When to use it.** Continuous actions and a fixed record of mixed quality, whose better actions are to be put together. Where
//! the record is good throughout, imitating it is simpler.
//!
//! **The update.** For a batch of recorded transitions, with slowly moving copies Q' and xi':
//! ```text
//! action model:  mean (decode(s, z) - a)^2 + kl_weight * mean KL(N(mu, sigma) || N(0, 1)),   z = mu(s, a) + sigma(s, a) * noise
//! y            = R + D * max_j [lambda * min_i + (1 - lambda) * max_i] Q'_i(s', xi'(s', a_j)),   a_j = decode(s', z_j)
//! critics:       sum_i mean (Q_i(s, a) - y)^2
//! correction:    -mean Q_1(s, xi(s, decode(s, z))),   xi(s, a) = clip(a + perturbation * tanh f(s, a), -1, 1)
//! ```
//! It acts by the best of `act_samples` corrected proposals, as the first critic sees them.
//!
//! **Details that matter.**
//! - The two critics are mixed for each proposal, mostly the lower one (`target_lambda`), and only then the best of
//!   `target_samples` proposals counts. The other way round would be far too hopeful.
//! - Latents to be decoded are cut at `latent_clip`: proposals are what was done often, not everything that was ever done. That is
//!   a bound on the policy, too. Where half of the record is random, and the good actions lie at the edges of what was done, a
//!   wider clip of 1 to 2 is needed to propose them at all.
//! - `perturbation` is how far a correction may go. The decoder is a constant in its update.
//! - For the best action the latents are drawn once and kept with the policy, so the same observation gives the same action.
//! - `total_timesteps` counts updates. Large rewards need no scaling for its own sake, but values learn faster when the returns are
//!   in the tens.
//! - Images are looked at by convolutions (`vision`), numbers beside them pass as they are. Only the critics' loss trains the
//!   convolutions; the others learn from what they see. Q' and xi' look with a slow copy, which follows by `tau`.
//!
//! **What is left out.** Going on in the environment: the constraint to what was recorded has no meaning there, so
//! `online_timesteps` must stay 0. The separate step sizes and the schedules of the publication's Atari version, which is
//! `discrete_bcq`.
//!
//! **Reference.** Fujimoto, Meger and Precup, Off-policy deep reinforcement learning without exploration, 2019.

mod learner;
mod perturbation;

use super::{offline_only, recorded_settings};
use crate::agent::Setup;
use crate::config::{Problem, defaults, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::regimes::Learner;
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
use learner::BcqLearner;

settings! {
    /// Settings of BCQ.
    pub struct BcqConfig {
        ..learning_rate,
        ..recorded,
        ..network,
        ..action_model,
        /// How much of the networks the target networks take over per update.
        #[garde(range(min = 0.0, max = 1.0))]
        pub tau: f32,
        /// Weight of the lower critic in targets; the higher one has the rest.
        #[garde(range(min = 0.0, max = 1.0))]
        pub target_lambda: f32,
        /// Proposals at the next observation, of which the best makes the target.
        #[garde(range(min = 1, max = 10_000))]
        pub target_samples: usize,
        /// Proposals of which the best is done.
        #[garde(range(min = 1, max = 10_000))]
        pub act_samples: usize,
        /// Largest correction of a proposal, in actions of [-1, 1].
        #[garde(range(min = 0.0, max = 2.0))]
        pub perturbation: f32,
    }
}

impl Default for BcqConfig {
    fn default() -> Self {
        defaults! { Self {
            ..action_model,
            learning_rate: Schedule::Constant(1e-3),
            batch_size: 100,
            gamma: 0.99,
            online_timesteps: 0,
            vision: Vision::Auto,
            hidden_sizes: vec![400, 300],
            activation: Activation::Relu,
            tau: 0.005,
            target_lambda: 0.75,
            target_samples: 10,
            act_samples: 100,
            perturbation: 0.05,
        } }
    }
}

pub struct Bcq;

impl Algorithm for Bcq {
    type Config = BcqConfig;

    fn check(config: &BcqConfig) -> Result<(), Problem> {
        offline_only("BCQ", config.online_timesteps)
    }

    fn check_setup(config: &BcqConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn wants_data(_config: &BcqConfig) -> bool {
        true
    }

    fn takes_steps(_config: &BcqConfig) -> bool {
        false
    }

    fn build(config: BcqConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = recorded_settings(config.batch_size, config.gamma)?;
        Ok(Learner::OffPolicy(Box::new(BcqLearner::new(config, setup)?), settings))
    }
}
