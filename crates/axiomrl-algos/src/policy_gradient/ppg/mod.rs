//! # PPG: phasic policy gradient
//!
//! **What it does.** Learns policy and value with networks of their own, as `ppo` does, and every now and then lets the policy's
//! network learn what the value function knows, by a head that is there for this alone, while its actions stay as they are.
//!
//! **When to use it.** As `ppo`, where features matter: images above all. The value function may be trained harder than the
//! policy, and the policy still profits. On small vectors it is PPO with more work.
//!
//! **The update.** With the ratio r of new to old probability and the advantage A, standardised over the whole rollout:
//! ```text
//! aux_frequency times:
//!     play a rollout
//!     update_epochs passes:  policy  -mean min(r A, clip(r, 1 - c, 1 + c) A) - c_e * mean entropy
//!     value_epochs passes:   value   mean 1/2 (V - G)^2
//!     keep what was seen, and G
//! aux_epochs passes over all that was kept, with old the policy as it is now:
//!     policy  mean 1/2 (V_aux - G)^2 + beta_clone * mean KL(old | policy)
//!     value   mean 1/2 (V - G)^2
//! ```
//!
//! **Details that matter.**
//! - V_aux is a head of the policy's network. It learns in the auxiliary phase alone, and nobody acts on what it says.
//! - G stays what it was when the rollout was played; `old` is computed once, before the first step of the phase.
//! - The auxiliary phase has optimisers of its own, whose averages last from one phase to the next.
//! - With as many `value_epochs` as `update_epochs` both learn from the same minibatches; otherwise the value goes first.
//! - What is kept are raw observations: where they are standardised, they are so anew, by the statistics of the phase.
//! - Rewards must be of about unit scale (`normalize_reward: true`): returns of a hundred make an error of V_aux that drowns the
//!   divergence, and the policy is lost in every auxiliary phase.
//! - `aux_epochs: 0` leaves the phase out. `beta_clone: 0` lets the policy drift in it: `aux_kl` shows how far.
//! - The norm of each network's gradient is limited by `max_grad_norm`.
//! - A time limit is bootstrapped with the value of the last observation; a termination is not.
//! - A run that ends between two phases just ends.
//! - Masked actions have probability zero and receive no gradient.
//! - `shuffle_advantages: true` takes the signal away and leaves everything else: nothing must be learned then.
//!
//! **What is left out.** Memories, and one torso for both with a value gradient that is stopped (the publication's variant for
//! less memory).
//!
//! **Reference.** Cobbe and others, Phasic policy gradient, 2021.

mod learner;
mod phase;

use crate::agent::Setup;
use crate::config::{Idle, Problem, defaults, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::regimes::{Learner, RolloutSettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
use learner::PpgLearner;

settings! {
    /// Settings of PPG.
    pub struct PpgConfig {
        ..learning_rate,
        ..rollout,
        ..network,
        ..stochastic_policy,
        /// Passes of the policy over each rollout.
        #[garde(range(min = 1, max = 1000))]
        pub update_epochs: usize,
        /// Passes of the value over each rollout.
        #[garde(range(min = 1, max = 1000))]
        pub value_epochs: usize,
        /// Steps per update.
        #[garde(range(min = 1, max = 10_000_000))]
        pub minibatch_size: usize,
        /// How far the probability ratio may move.
        #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 10.0)))]
        pub clip_coef: Schedule,
        /// Largest norm of each network's gradient.
        #[garde(range(min = 0.0))]
        pub max_grad_norm: f32,
        /// Rollouts from one auxiliary phase to the next.
        #[garde(range(min = 1, max = 10_000))]
        pub aux_frequency: usize,
        /// Passes over what was kept in an auxiliary phase; 0 leaves it out.
        #[garde(range(max = 1000))]
        pub aux_epochs: usize,
        /// Steps per update in an auxiliary phase.
        #[garde(range(min = 1, max = 10_000_000))]
        pub aux_minibatch_size: usize,
        /// Weight of the divergence from the policy before an auxiliary phase.
        #[garde(range(min = 0.0, max = 1000.0))]
        pub beta_clone: f32,
    }
}

impl Default for PpgConfig {
    fn default() -> Self {
        defaults! { Self {
            ..stochastic_policy,
            learning_rate: Schedule::Constant(5e-4),
            num_steps: 256,
            gamma: 0.99,
            gae_lambda: 0.95,
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
            update_epochs: 1,
            value_epochs: 1,
            minibatch_size: 256,
            clip_coef: Schedule::Constant(0.2),
            max_grad_norm: 0.5,
            aux_frequency: 32,
            aux_epochs: 6,
            aux_minibatch_size: 1024,
            beta_clone: 1.0,
        } }
    }
}

impl PpgConfig {
    fn rollout(&self) -> RolloutSettings {
        RolloutSettings::new(self.num_steps, self.gamma, self.gae_lambda)
    }
}

pub struct Ppg;

impl Algorithm for Ppg {
    type Config = PpgConfig;

    fn check_setup(config: &PpgConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &PpgConfig) -> Vec<Idle> {
        vec![Idle {
            now: config.aux_epochs == 0,
            keys: &["aux_frequency", "aux_minibatch_size", "beta_clone"],
            switch: Some("aux_epochs"),
            why: "there is no auxiliary phase; set `aux_epochs: 6`",
        }]
    }

    fn build(config: PpgConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = config.rollout();
        Ok(Learner::OnPolicy(Box::new(PpgLearner::new(config, setup)?), settings))
    }
}
