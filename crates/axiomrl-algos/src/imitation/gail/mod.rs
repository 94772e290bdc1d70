//! # GAIL: generative adversarial imitation learning
//!
//! **What it does.** Learns to act like an expert of whom only recorded episodes are at hand: no reward, nobody to ask. A
//! discriminator learns to tell the expert's steps from the policy's, the policy (PPO or TRPO) is paid for steps that look like the
//! expert's, and the two take turns.
//!
//! **When to use it.** A few good episodes, an environment to practise in, and no reward that could be written down. Where the
//! episodes cover whatever will be met, `bc` is simpler and cheaper; GAIL wins where copying drifts off into states that the
//! expert never saw. The run file's `dataset` says where the episodes come from.
//!
//! **The update.** With f(s, a) the discriminator's number, high for the expert, and H the entropy of a coin of chance
//! sigmoid(f):
//! ```text
//! play a rollout with the policy
//! discriminator_updates times, on as many rows of the expert as of the rollout:
//!     loss = mean_expert softplus(-f) + mean_policy softplus(f) - c_H * (mean_expert H + mean_policy H) + penalty
//! reward of every step of the rollout, by the discriminator as it is now:
//!     softplus:  softplus(f)       log_d:  -softplus(-f)       logit:  f
//! advantages and the passes of PPO on these rewards
//! ```
//!
//! **Details that matter.**
//! - `reward_form` has a bias that can do the work instead of the expert. `softplus` pays at least 0 for every step: whoever
//!   lives longer earns more, right where an early end is a failure. `log_d` charges for every step: whoever ends sooner loses
//!   less, right where the end is the success. `logit` may be of either sign and favours neither.
//! - So `CartPole-v1` is no test of GAIL: any constant positive reward solves it. On `Acrobot-v1` the form `log_d` proves
//!   nothing: a constant charge for every step *is* that task's reward. A fixed horizon, Pendulum, or the form with the wrong
//!   sign tell the discriminator's work from its bias; `discriminator_learning_rate: 0` shows what the bias alone does, judged by
//!   sampled actions, since the most likely action of an untrained policy can be lucky.
//! - Demonstrations with shuffled actions are no control either: the expert's states alone are paid for, and where an action
//!   shows in the next state they are enough. `shuffle_expert_actions` shows it. Demonstrations of a random policy are a control.
//! - `input_statistics: expert` standardises what policy and discriminator see by the expert's mean and deviation, clipped at ±10.
//!   Where a policy can stray without end, as a cart that has dropped its pole, `running` statistics of both would shrink the
//!   expert's part of the world to a point.
//! - `gradient_penalty` keeps the discriminator from being steep; absent is 1 for Box actions and with `reward_form: logit`, 0
//!   otherwise. `central_difference` looks along one random direction between rows of expert and policy:
//!   weight · n · ((f(x + e v) - f(x - e v)) / 2e)², on average weight · |gradient|². `full` looks along all n and pulls the length of
//!   the gradient towards 1, as Wasserstein critics have it, at n times the price; weights of 10 are usual there.
//! - `scale_reward` divides rewards by the running deviation of the discounted return, clips them at ±10 and never centres
//!   them, which would undo the form; absent is on with `logit` and off otherwise.
//! - A rollout is paid by one discriminator as a whole, whose statistics stand still meanwhile.
//! - `discriminator_accuracy` near 1 means rewards that say nothing; 0.6 to 0.9 is healthy. The run says so when it stays there.
//! - Both batches are drawn with replacement, so a few pairs are enough: `expert_episodes` draws some episodes,
//!   `expert_subsample` takes every so many steps of each, which makes copying harder and imitation no easier.
//! - What is logged and evaluated is the environment's own reward, which is never learned from. `gail_reward_mean` is the
//!   discriminator's, before scaling.
//! - Rollouts should hold an episode of every environment (`num_steps`). Box actions are judged as they are executed.
//! - All settings of `ppo` are here; `memory: lstm` gives the policy a memory, the discriminator none.
//!
//! - `generator: trpo` takes the publication's generator: the policy moves by natural gradients within `max_kl` on each rollout, and
//!   `learning_rate`, `update_epochs` and `minibatch_size` are then its value function's. See `trpo`.
//!
//! **What is left out.** Images and absorbing states.
//!
//! **Reference.** Ho and Ermon, Generative adversarial imitation learning, 2016.

mod discriminator;
mod penalty;

pub use discriminator::RewardForm;
pub use penalty::PenaltyKind;

use super::adversarial::{self, AdversarialLearner, AdversarialSettings, GeneratorKind, InputStatistics, Selection};
use crate::agent::Setup;
use crate::config::{Idle, Problem, defaults, settings};
use crate::parts::checks::BuildError;
use crate::parts::torso::MemoryKind;
use crate::policy_gradient::{Ppo, PpoConfig, ppo_config, trpo_config};
use crate::regimes::Learner;
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_envs::Space;
use discriminator::GailDiscriminator;
use penalty::GradientPenalty;

settings! {
    /// Settings of GAIL: those of PPO or TRPO, and the discriminator's.
    pub struct GailConfig {
        ..learning_rate,
        ..rollout,
        ..network,
        ..memory,
        ..ppo,
        ..trust_region,
        ..discriminator,
        /// Widths of the discriminator's hidden layers, tanh between them.
        #[garde(custom(crate::config::layer_widths))]
        pub discriminator_hidden_sizes: Vec<usize>,
        /// Weight of the discriminator's entropy, which is wanted.
        #[garde(range(min = 0.0, max = 10.0))]
        pub discriminator_entropy_coef: f32,
        /// Weight of the penalty on the discriminator's slope; absent is 1 for Box actions and with `logit`, 0 otherwise.
        #[garde(inner(range(min = 0.0, max = 1000.0)))]
        pub gradient_penalty: Option<f32>,
        /// How the slope is measured.
        pub gradient_penalty_kind: PenaltyKind,
        /// What a step is paid, given the discriminator's number.
        pub reward_form: RewardForm,
        /// Every so many of the expert's steps are learned from.
        #[garde(range(min = 1, max = 1_000_000))]
        pub expert_subsample: usize,
        /// Give every observation of the expert the action of another step: a control that shows what states alone teach.
        pub shuffle_expert_actions: bool,
    }
}

impl Default for GailConfig {
    fn default() -> Self {
        let ppo = PpoConfig::default();
        defaults! { Self {
            ..memory,
            ..ppo,
            ..trust_region,
            learning_rate: ppo.learning_rate,
            num_steps: ppo.num_steps,
            gamma: ppo.gamma,
            gae_lambda: ppo.gae_lambda,
            vision: ppo.vision,
            hidden_sizes: ppo.hidden_sizes,
            activation: ppo.activation,
            generator: GeneratorKind::Ppo,
            discriminator_learning_rate: Schedule::Constant(1e-3),
            discriminator_updates: 8,
            discriminator_batch_size: 512,
            input_statistics: InputStatistics::Expert,
            expert_episodes: None,
            scale_reward: None,
            discriminator_hidden_sizes: vec![64, 64],
            discriminator_entropy_coef: 1e-3,
            gradient_penalty: None,
            gradient_penalty_kind: PenaltyKind::CentralDifference,
            reward_form: RewardForm::Softplus,
            expert_subsample: 1,
            shuffle_expert_actions: false,
        } }
    }
}

impl GailConfig {
    fn ppo(&self) -> PpoConfig {
        let remembers = PpoConfig {
            memory: self.memory,
            recurrent_hidden_size: self.recurrent_hidden_size,
            head_sizes: self.head_sizes.clone(),
            sequence_length: self.sequence_length,
            ..PpoConfig::default()
        };
        ppo_config!(self, remembers)
    }

    fn penalty(&self, setup: &Setup) -> GradientPenalty {
        let wanted = matches!(setup.action_space(), Space::Box(_)) || self.reward_form == RewardForm::Logit;
        let weight = self.gradient_penalty.unwrap_or(if wanted { 1.0 } else { 0.0 });
        GradientPenalty { weight, kind: self.gradient_penalty_kind }
    }

    fn adversarial(&self) -> AdversarialSettings {
        let scaled = self.scale_reward.unwrap_or(self.reward_form == RewardForm::Logit);
        AdversarialSettings {
            learning_rate: self.discriminator_learning_rate.clone(),
            updates: self.discriminator_updates,
            batch_size: self.discriminator_batch_size,
            statistics: self.input_statistics,
            selection: Selection {
                episodes: self.expert_episodes,
                every: self.expert_subsample,
                shuffled: self.shuffle_expert_actions,
            },
            scale_by: scaled.then_some(self.gamma),
            reward_name: "gail_reward_mean",
        }
    }

    pub(super) fn learner(&self, setup: &Setup) -> Result<AdversarialLearner, BuildError> {
        let generator = self.generator.build(self.ppo(), trpo_config!(self), setup)?;
        let discriminator = |inputs: &adversarial::Inputs| {
            let (penalty, rng) = (self.penalty(setup), &mut setup.rng("discriminator"));
            Box::new(GailDiscriminator::new(self, penalty, inputs.width(), rng)) as _
        };
        AdversarialLearner::new(generator, discriminator, self.adversarial(), setup)
    }
}

pub struct Gail;

impl Algorithm for Gail {
    type Config = GailConfig;

    fn check(config: &GailConfig) -> Result<(), Problem> {
        let remembers = config.generator == GeneratorKind::Trpo && config.memory != MemoryKind::None;
        Problem::when(remembers, &["memory"], || {
            "TRPO has no memory; set `memory: none` or `generator: ppo`".to_owned()
        })
    }

    fn check_setup(config: &GailConfig, setup: &Setup) -> Result<(), Problem> {
        adversarial::check_setup(setup)?;
        config.generator.check_setup(&config.ppo(), &trpo_config!(config), setup)
    }

    fn idle(config: &GailConfig) -> Vec<Idle> {
        let mut idle = Ppo::idle(&config.ppo());
        idle.extend(config.generator.idle());
        idle.push(Idle {
            now: config.gradient_penalty == Some(0.0),
            keys: &["gradient_penalty_kind"],
            switch: Some("gradient_penalty"),
            why: "the discriminator's slope costs nothing; set `gradient_penalty: 1`",
        });
        idle
    }

    fn wants_data(_config: &GailConfig) -> bool {
        true
    }

    fn build(config: GailConfig, setup: &Setup) -> Result<Learner, BuildError> {
        Ok(Learner::OnPolicy(Box::new(config.learner(setup)?), config.ppo().rollout()))
    }
}
