//! # BEAR: bootstrapping error accumulation reduction
//!
//! **What it does.** Learns from recorded transitions alone, without an environment. An actor climbs the critics while its samples
//! stay close to those of a model of what was done: close in where they lie, not in how often each is taken.
//!
//! **When to use it.** Continuous actions and a fixed record with something random in it, where imitating would average good and
//! bad. On a narrow record of one good policy a constraint on the density, or plain imitation, does better.
//!
//! **The update.** For a batch of recorded transitions, with slowly moving copies Q' and pi', and a_j the samples of the actor:
//! ```text
//! action model:  mean (decode(s, z) - a)^2 + kl_weight * mean KL(N(mu, sigma) || N(0, 1)),   z = mu(s, a) + sigma(s, a) * noise
//! y            = R + D * max_j [lambda * min_i + (1 - lambda) * max_i] Q'_i(s', a_j),   a_j ~ pi'(s')
//! critics:       sum_i mean (Q_i(s, a) - y)^2
//! actor:         mean [-min_i mean_j Q_i(s, a_j) + alpha * MMD(s)],   a_j ~ pi(s)
//! alpha:         -alpha * (mean MMD - mmd_threshold),   log alpha in [-5, 10]
//! MMD(s)       = sqrt(mean k(x, x) + mean k(y, y) - 2 mean k(x, y) + 1e-6),   x of the actor, y decoded
//! ```
//! It acts by the best of `act_samples` draws of the actor, as the first critic sees them.
//!
//! **Details that matter.**
//! - The distance compares samples before their tanh, and the decoded ones are constants. The actor's noise is cut at one half of
//!   its spread there, as is that of the latents (`latent_clip`).
//! - The kernel is `exp(-|x - y| / (2 sigma))`, or its square for `mmd_kernel: gaussian`, and `mmd_sigma` is wide: the distance
//!   then speaks of where the samples lie, more than of their shape. Under a width of 20 a threshold of 0.05 is narrow for one
//!   number, and the policy is little more than the record's, of which the critics choose the best draw.
//! - For the first `warm_start_fraction` of the run the actor only comes close to the record; alpha adapts from the first update.
//! - For the best action the noise is drawn once and kept with the policy, so the same observation gives the same action.
//! - `total_timesteps` counts updates.
//! - Images are looked at by convolutions (`vision`), numbers beside them pass as they are. Only the critics' loss trains the
//!   convolutions; the others learn from what they see. Q' and pi' look with a slow copy, which follows by `tau`.
//!
//! **What is left out.** Going on in the environment: the constraint to what was recorded has no meaning there, so
//! `online_timesteps` must stay 0. The bonus for agreement of the critics' ensemble, which the publication's own runs switch off.
//!
//! **Reference.** Kumar and others, Stabilizing off-policy Q-learning via bootstrapping error reduction, 2019.

mod dual;
mod gaussian;
mod learner;
mod mmd;

use super::{offline_only, recorded_settings};
use crate::agent::Setup;
use crate::config::{Problem, defaults, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::regimes::Learner;
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
use learner::BearLearner;
pub use mmd::Kernel;

settings! {
    /// Settings of BEAR.
    pub struct BearConfig {
        ..learning_rate,
        ..recorded,
        ..network,
        ..action_model,
        /// Step size of Adam for the weight of the distance.
        #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
        pub dual_learning_rate: Schedule,
        /// How much of the networks the target networks take over per update.
        #[garde(range(min = 0.0, max = 1.0))]
        pub tau: f32,
        /// Weight of the lower critic in targets; the higher one has the rest.
        #[garde(range(min = 0.0, max = 1.0))]
        pub target_lambda: f32,
        /// Draws at the next observation, of which the best makes the target.
        #[garde(range(min = 1, max = 10_000))]
        pub target_samples: usize,
        /// Draws of which the best is done.
        #[garde(range(min = 1, max = 10_000))]
        pub act_samples: usize,
        /// How alike two samples are by their distance.
        pub mmd_kernel: Kernel,
        /// Width of the kernel.
        #[garde(range(min = 1e-3, max = 1e6))]
        pub mmd_sigma: f32,
        /// Distance to what was recorded that the policy may have.
        #[garde(range(min = 0.0, max = 2.0))]
        pub mmd_threshold: f32,
        /// Samples of the policy and of the record that are compared.
        #[garde(range(min = 1, max = 1000))]
        pub mmd_samples: usize,
        /// Part of the run in which the actor only comes close to the record.
        #[garde(range(min = 0.0, max = 1.0))]
        pub warm_start_fraction: f64,
    }
}

impl Default for BearConfig {
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
            dual_learning_rate: Schedule::Constant(1e-3),
            tau: 0.005,
            target_lambda: 0.75,
            target_samples: 10,
            act_samples: 10,
            mmd_kernel: Kernel::Laplacian,
            mmd_sigma: 20.0,
            mmd_threshold: 0.05,
            mmd_samples: 10,
            warm_start_fraction: 0.04,
        } }
    }
}

pub struct Bear;

impl Algorithm for Bear {
    type Config = BearConfig;

    fn check(config: &BearConfig) -> Result<(), Problem> {
        offline_only("BEAR", config.online_timesteps)
    }

    fn check_setup(config: &BearConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn wants_data(_config: &BearConfig) -> bool {
        true
    }

    fn takes_steps(_config: &BearConfig) -> bool {
        false
    }

    fn build(config: BearConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = recorded_settings(config.batch_size, config.gamma)?;
        Ok(Learner::OffPolicy(Box::new(BearLearner::new(config, setup)?), settings))
    }
}
