//! # AIRL: adversarial inverse reinforcement learning
//!
//! **What it does.** Imitates recorded episodes as `gail` does, with a discriminator of a shape from which a reward can be read
//! afterwards: a function g of what is done, apart from a potential h that only says how good it is to be somewhere.
//!
//! **When to use it.** When the reward that an expert seems to follow is wanted, to look at or to train with elsewhere. For
//! the behaviour alone `gail` is simpler.
//!
//! **The update.** As in `gail`, with the discriminator's number
//! ```text
//! f(s, a, s') = g(s, a) + gamma * (1 - terminated) * h(s') - h(s)
//! logit       = f - log pi(a | s)
//! loss        = mean_expert softplus(-logit) + mean_policy softplus(logit)
//! ```
//! where pi is the policy that played the rollout, for the expert's rows too, and gets no gradient from this.
//!
//! **Details that matter.**
//! - `reward_form`: what the policy is paid. `f` goes with a small `ent_coef`. `f_minus_log_prob` is the publication's and is an
//!   entropy bonus by itself, so `ent_coef: 0` belongs to it; a Gaussian policy without bounds can earn it by widening without
//!   end, which is why it is not the default. `g` leaves the potential out and wants a larger `ent_coef`, 0.1 say.
//! - Only a termination cuts h(s') off; at a time limit it is the value of the last observation. gamma is the policy's.
//! - Afterwards g is the reward, up to a constant: `learned_reward_mean` is its mean over rollouts, and a program asks the agent
//!   for it by observation and action. `state_only: true` makes it a function of the state, which is what can be taken to an
//!   environment where actions do other things.
//! - Rewards are scaled, not centred (`scale_reward`; absent is on). Inputs are standardised as in `gail`
//!   (`input_statistics: expert`), g and h see the same numbers.
//! - log pi is cut off at -20: an expert's action at the bounds can be arbitrarily unlikely.
//! - What a step led to is needed, so the expert's steps cannot be thinned out; `expert_episodes` takes fewer of them.
//! - `generator: trpo` takes the publication's generator, see `gail`.
//! - What `gail` says of controls and of tasks that prove nothing holds here too.
//!
//! **What is left out.** Images, a memory, and penalties on the slope of g and h.
//!
//! **Reference.** Fu, Luo and Levine, Learning robust rewards with adversarial inverse reinforcement learning, 2018.

mod shaped;

pub use shaped::AirlRewardForm;

use super::adversarial::{self, AdversarialLearner, AdversarialSettings, GeneratorKind, InputStatistics, Selection};
use crate::agent::Setup;
use crate::config::{Idle, Problem, defaults, settings};
use crate::parts::checks::BuildError;
use crate::policy_gradient::{PpoConfig, ppo_config, trpo_config};
use crate::regimes::Learner;
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use shaped::ShapedReward;

settings! {
    /// Settings of AIRL: those of PPO or TRPO, and the discriminator's.
    pub struct AirlConfig {
        ..learning_rate,
        ..rollout,
        ..network,
        ..ppo,
        ..trust_region,
        ..discriminator,
        /// Widths of the hidden layers of the reward g.
        #[garde(custom(crate::config::layer_widths))]
        pub reward_hidden_sizes: Vec<usize>,
        /// Widths of the hidden layers of the potential h.
        #[garde(custom(crate::config::layer_widths))]
        pub potential_hidden_sizes: Vec<usize>,
        /// Whether g sees the state alone.
        pub state_only: bool,
        /// What a step is paid.
        pub reward_form: AirlRewardForm,
    }
}

impl Default for AirlConfig {
    fn default() -> Self {
        let ppo = PpoConfig::default();
        defaults! { Self {
            ..trust_region,
            learning_rate: Schedule::Constant(5e-4),
            num_steps: ppo.num_steps,
            gamma: 0.95,
            gae_lambda: ppo.gae_lambda,
            vision: ppo.vision,
            hidden_sizes: ppo.hidden_sizes,
            activation: ppo.activation,
            update_epochs: ppo.update_epochs,
            minibatch_size: ppo.minibatch_size,
            clip_coef: Schedule::Constant(0.1),
            value_clip_coef: ppo.value_clip_coef,
            ent_coef: ppo.ent_coef,
            vf_coef: 0.1,
            max_grad_norm: ppo.max_grad_norm,
            normalize_advantage: ppo.normalize_advantage,
            target_kl: ppo.target_kl,
            shared: ppo.shared,
            log_std_init: ppo.log_std_init,
            generator: GeneratorKind::Ppo,
            discriminator_learning_rate: Schedule::Constant(1e-3),
            discriminator_updates: 16,
            discriminator_batch_size: 2048,
            input_statistics: InputStatistics::Expert,
            expert_episodes: None,
            scale_reward: None,
            reward_hidden_sizes: vec![32],
            potential_hidden_sizes: vec![32, 32],
            state_only: false,
            reward_form: AirlRewardForm::F,
        } }
    }
}

impl AirlConfig {
    fn ppo(&self) -> PpoConfig {
        ppo_config!(self, PpoConfig::default())
    }

    fn adversarial(&self) -> AdversarialSettings {
        AdversarialSettings {
            learning_rate: self.discriminator_learning_rate.clone(),
            updates: self.discriminator_updates,
            batch_size: self.discriminator_batch_size,
            statistics: self.input_statistics,
            selection: Selection { episodes: self.expert_episodes, every: 1, shuffled: false },
            scale_by: self.scale_reward.unwrap_or(true).then_some(self.gamma),
            reward_name: "airl_reward_mean",
        }
    }

    pub(super) fn learner(&self, setup: &Setup) -> Result<AdversarialLearner, BuildError> {
        let generator = self.generator.build(self.ppo(), trpo_config!(self), setup)?;
        let discriminator = |inputs: &adversarial::Inputs| {
            let rng = &mut setup.rng("discriminator");
            Box::new(ShapedReward::new(self, inputs.width(), inputs.obs_width(), rng)) as _
        };
        AdversarialLearner::new(generator, discriminator, self.adversarial(), setup)
    }
}

pub struct Airl;

impl Algorithm for Airl {
    type Config = AirlConfig;

    fn check_setup(config: &AirlConfig, setup: &Setup) -> Result<(), Problem> {
        adversarial::check_setup(setup)?;
        config.generator.check_setup(&config.ppo(), &trpo_config!(config), setup)
    }

    fn idle(config: &AirlConfig) -> Vec<Idle> {
        config.generator.idle().into()
    }

    fn wants_data(_config: &AirlConfig) -> bool {
        true
    }

    fn build(config: AirlConfig, setup: &Setup) -> Result<Learner, BuildError> {
        Ok(Learner::OnPolicy(Box::new(config.learner(setup)?), config.ppo().rollout()))
    }
}
