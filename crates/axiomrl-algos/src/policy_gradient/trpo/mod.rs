//! # TRPO: trust region policy optimisation
//!
//! **What it does.** Plays a rollout and takes the largest step along the natural gradient that keeps the policy within a
//! given divergence of the one that played, checks that it helped, and takes a smaller one if not.
//!
//! **When to use it.** Where a policy must improve without setbacks and wall-clock time is secondary, where step sizes of other
//! methods are hard to find, and as the generator of `gail`. `ppo` is the cheaper cousin.
//!
//! **The update.** With the advantage A, standardised over the rollout, the ratio r of new to old probability, and F the
//! curvature of the mean divergence at the old policy (the Fisher information, damped):
//! ```text
//! g = gradient of mean r A + c_e * mean entropy
//! x = F^-1 g                                    by conjugate gradients
//! s = x * sqrt(2 * max_kl / (x F x))
//! policy += 0.8^k * s                           the first k with KL(old | new) < max_kl and a gain, else nothing
//! value: update_epochs passes of minibatches down mean (V - G)^2
//! ```
//!
//! **Details that matter.**
//! - Products with F are exact: how the outputs move along a direction, what the distribution makes of that, and back through
//!   the network. No second derivatives, and about the price of a gradient each.
//! - `cg_damping` is added to the curvature in every direction. Small tasks stand 0.001, which makes better use of the region.
//! - `cg_iterations: 1` is the plain gradient at the same divergence.
//! - `curvature_share` measures F on some of the steps, drawn at random; the gradient and the search always see all.
//! - A search that finds nothing leaves the policy as it was, bit for bit. `line_search_steps: 0` takes the whole step unseen.
//! - `learning_rate`, `update_epochs` and `minibatch_size` are the value function's: the policy has no step size.
//! - A time limit is bootstrapped with the value of the last observation; a termination is not.
//! - Box actions are Gaussian with a state-independent standard deviation, which is part of the step. They are clipped for the
//!   environment only.
//! - Masked actions have probability zero and receive no gradient.
//! - `shuffle_advantages: true` takes the signal away and leaves everything else: nothing must be learned then.
//! - Logged: `line_search_success`, `step_fraction`, the exact divergence `kl`, `surrogate_improvement` beside
//!   `expected_improvement`, which is what the gradient promised, and `cg_residual`.
//!
//! **What is left out.** Images (unless `vision: flat`) and memories.
//!
//! **Reference.** Schulman and others, Trust region policy optimization, 2015.

mod learner;
mod natural;
mod search;

use crate::agent::Setup;
use crate::config::{Idle, Problem, defaults, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::regimes::{Learner, RolloutSettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_envs::ObsSpace;
use axiomrl_nn::Activation;
pub(crate) use learner::TrpoLearner;

settings! {
    /// Settings of TRPO.
    pub struct TrpoConfig {
        ..learning_rate,
        ..rollout,
        ..network,
        ..stochastic_policy,
        ..trust_region,
        /// Passes of the value function over each rollout.
        #[garde(range(min = 1, max = 1000))]
        pub update_epochs: usize,
        /// Steps of the rollout in each update of the value function.
        #[garde(range(min = 1, max = 10_000_000))]
        pub minibatch_size: usize,
    }
}

impl Default for TrpoConfig {
    fn default() -> Self {
        defaults! { Self {
            ..stochastic_policy,
            ..trust_region,
            learning_rate: Schedule::Constant(1e-3),
            num_steps: 2048,
            gamma: 0.99,
            gae_lambda: 0.95,
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
            update_epochs: 10,
            minibatch_size: 128,
        } }
    }
}

impl TrpoConfig {
    pub(crate) fn rollout(&self) -> RolloutSettings {
        RolloutSettings::new(self.num_steps, self.gamma, self.gae_lambda)
    }
}

/// TRPO's settings out of those of an algorithm that it learns for: the groups that both declare.
macro_rules! trpo_config {
    ($config:expr) => {
        $crate::policy_gradient::TrpoConfig {
            learning_rate: $config.learning_rate.clone(),
            num_steps: $config.num_steps,
            gamma: $config.gamma,
            gae_lambda: $config.gae_lambda,
            vision: $config.vision,
            hidden_sizes: $config.hidden_sizes.clone(),
            activation: $config.activation,
            ent_coef: $config.ent_coef.clone(),
            log_std_init: $config.log_std_init,
            max_kl: $config.max_kl,
            cg_iterations: $config.cg_iterations,
            cg_damping: $config.cg_damping,
            curvature_share: $config.curvature_share,
            line_search_steps: $config.line_search_steps,
            line_search_shrink: $config.line_search_shrink,
            update_epochs: $config.update_epochs,
            minibatch_size: $config.minibatch_size,
            ..$crate::policy_gradient::TrpoConfig::default()
        }
    };
}
pub(crate) use trpo_config;

pub struct Trpo;

impl Algorithm for Trpo {
    type Config = TrpoConfig;

    fn check_setup(config: &TrpoConfig, setup: &Setup) -> Result<(), Problem> {
        let space = ObsSpace::of(setup.observation_space());
        let looks = config.vision != Vision::Flat && space.parts.iter().any(|part| part.image_shape().is_some());
        Problem::when(looks, &["vision"], || {
            "TRPO measures curvature through fully connected layers alone, and there are images to look at; \
             set `vision: flat`, or take `ppo`"
                .to_owned()
        })
    }

    fn idle(config: &TrpoConfig) -> Vec<Idle> {
        vec![Idle {
            now: config.line_search_steps == 0,
            keys: &["line_search_shrink"],
            switch: Some("line_search_steps"),
            why: "the whole step is taken unseen; set `line_search_steps: 10`",
        }]
    }

    fn build(config: TrpoConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = config.rollout();
        Ok(Learner::OnPolicy(Box::new(TrpoLearner::new(config, setup)?), settings))
    }
}
