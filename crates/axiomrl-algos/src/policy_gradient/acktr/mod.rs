//! # ACKTR: actor-critic with Kronecker-factored trust region
//!
//! **What it does.** `a2c` with another optimiser: the gradient of policy and value is divided by their curvature, layer by
//! layer, and the step is cut where it would take the policy further than a given divergence.
//!
//! **When to use it.** Where `a2c` fits and steps of the environment cost more than arithmetic. It learns more from each rollout
//! and stands much larger steps; `trpo` measures the same curvature exactly, at a higher price for each update.
//!
//! **The update.** With A the mean of inputs and S that of gradients at the outputs of a layer, both as outer products and
//! averaged over updates, G the gradient of the layer in the loss of `a2c`:
//! ```text
//! N = (A x S + damping)^-1 G                          by the eigenvectors of A and S
//! nu = min(1, sqrt(trust_region / (rate^2 * sum G N)))   over all layers
//! m = momentum * m + nu * N
//! parameters -= rate * (1 - momentum) * m
//! ```
//!
//! **Details that matter.**
//! - A convolution is a layer whose inputs are patches: A is the mean over images and positions, S the mean over images of sums over
//!   positions. That takes what happens at two positions of an image to be independent. Convolutions have their part in every
//!   sum above; policy and value look with networks of their own.
//! - The gradients in S are not those of the loss: they are of log pi of the actions that were taken, one row at a time, and for
//!   the value of a draw around what it says. Advantages have no part in curvature.
//! - Averages begin with the first rollout's and take in a hundredth of each one after. Their eigenvectors are found anew every
//!   `inverse_every` updates.
//! - `learning_rate` is far larger than others': 0.25, falling to 0. The trust region keeps steps short.
//! - Logged: `trust_scale` (nu), `predicted_kl`, what the factors say of the step that was really taken, and `measured_kl`, what
//!   it came to on the rollout. They should be of one size. `factor_condition` is the spread of the eigenvalues.
//! - A time limit is bootstrapped with the value of the last observation; a termination is not.
//! - Masked actions have probability zero and receive no gradient.
//! - `shuffle_advantages: true` takes the signal away and leaves everything else: nothing must be learned then.
//!
//! **What is left out.** Box actions: with rollouts this short their mean wanders off to where nothing pulls it back. Layers that
//! take more than 512 numbers, whose eigenvectors take too long to find: images have to be small, so that no more features are left
//! of them (with `vision: small` up to 16 pixels a side, or 24 to 32), and `vision: nature` has patches of 576. The residual network
//! (`vision: impala`), memories, and one torso for policy and value.
//!
//! **Reference.** Wu and others, Scalable trust-region method for deep reinforcement learning using Kronecker-factored
//! approximation, 2017. Grosse and Martens, A Kronecker-factored approximate Fisher matrix for convolution layers, 2016.

mod learner;
mod natural;

use crate::agent::Setup;
use crate::config::{Problem, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::{Flatten, Vision};
use crate::regimes::{Learner, RolloutSettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_envs::ObsSpace;
use axiomrl_nn::{Activation, ConvSpec, WIDEST_FACTOR};
use learner::AcktrLearner;

settings! {
    /// Settings of ACKTR.
    pub struct AcktrConfig {
        ..rollout,
        ..network,
        ..stochastic_policy,
        /// Step size, before the trust region and the momentum.
        #[garde(custom(axiomrl_core::Schedule::range_ok(0.0, 10.0)))]
        pub learning_rate: Schedule,
        /// Weight of the value loss.
        #[garde(range(min = 0.0, max = 100.0))]
        pub vf_coef: f32,
        /// How far a step may go, as the curvature measures it: twice the divergence.
        #[garde(range(min = 1e-9, max = 10.0))]
        pub trust_region: f32,
        /// Added to the curvature in every direction.
        #[garde(range(min = 1e-9, max = 100.0))]
        pub damping: f32,
        /// What is kept of a step in the next one.
        #[garde(range(min = 0.0, max = 0.999))]
        pub momentum: f32,
        /// Part of the averages that each rollout makes up.
        #[garde(range(min = 0.0, max = 1.0))]
        pub factor_share: f32,
        /// Updates from one look for eigenvectors to the next.
        #[garde(range(min = 1, max = 10_000))]
        pub inverse_every: u64,
    }
}

impl Default for AcktrConfig {
    fn default() -> Self {
        Self {
            num_steps: 20,
            gamma: 0.99,
            gae_lambda: 1.0,
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
            ent_coef: Schedule::Constant(0.01),
            log_std_init: 0.0,
            shuffle_advantages: false,
            learning_rate: Schedule::Constant(0.25),
            vf_coef: 0.5,
            trust_region: 0.001,
            damping: 0.01,
            momentum: 0.9,
            factor_share: 0.01,
            inverse_every: 10,
        }
    }
}

impl AcktrConfig {
    fn rollout(&self) -> RolloutSettings {
        RolloutSettings::new(self.num_steps, self.gamma, self.gae_lambda)
    }
}

pub struct Acktr;

impl Algorithm for Acktr {
    type Config = AcktrConfig;

    fn check_setup(config: &AcktrConfig, setup: &Setup) -> Result<(), Problem> {
        let widest = config.hidden_sizes.iter().copied().max().unwrap_or(0);
        Problem::when(widest >= WIDEST_FACTOR, &["hidden_sizes"], || {
            format!("a layer of {widest} is too wide to factor; {} is the most", WIDEST_FACTOR - 1)
        })?;
        let space = ObsSpace::of(setup.observation_space());
        let Some(found) = obstacle(config.vision, &space)? else { return Ok(()) };
        let fits = |vision: &Vision| matches!(obstacle(*vision, &space), Ok(None));
        let remedy = match [Vision::Small, Vision::Flat].into_iter().find(fits) {
            Some(Vision::Small) => "set `vision: small`",
            Some(_) => "set `vision: flat`",
            None => "take `a2c`",
        };
        let keys: &[&str] = if space.parts.iter().any(|part| part.image_shape().is_some()) { &["vision"] } else { &[] };
        Err(Problem::new(keys, format!("{found}; {remedy}")))
    }

    fn build(config: AcktrConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = config.rollout();
        Ok(Learner::OnPolicy(Box::new(AcktrLearner::new(config, setup)?), settings))
    }
}

/// Why a network that looks at these observations in this way cannot be factored, if so.
fn obstacle(vision: Vision, space: &ObsSpace) -> Result<Option<String>, Problem> {
    let Some(stacks) = vision.stacks(space)? else {
        return Ok(Some("ACKTR factors plain stacks of convolutions, and the residual network is none".to_owned()));
    };
    let most = WIDEST_FACTOR - 1;
    if let Some(patch) = stacks.iter().flat_map(ConvSpec::patch_lens).find(|&patch| patch > most) {
        return Ok(Some(format!(
            "a convolution over patches of {patch} numbers is too wide to factor, {most} is the most"
        )));
    }
    let numbers = Flatten::without_images(space, |_| vision != Vision::Flat).width();
    let inputs = numbers + stacks.iter().map(ConvSpec::features).sum::<usize>();
    let what = if stacks.is_empty() { "numbers" } else { "numbers and features" };
    Ok((inputs > most).then(|| {
        format!("{inputs} {what} of an observation are too many for a layer to be factored, {most} is the most")
    }))
}
