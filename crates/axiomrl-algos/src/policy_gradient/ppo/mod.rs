//! # PPO: proximal policy optimisation
//!
//! **What it does.** Alternates between playing a few steps with the current policy and improving policy and value
//! function on what was played, without letting the policy move far from the one that played.
//!
//! **When to use it.** Fast simulators, many environments at once, any kind of action space, vectors and images. The safe
//! first choice.
//!
//! **The update.** With the ratio r of new to old probability and the advantage A from GAE:
//! ```text
//! loss = -mean min(r A, clip(r, 1 - c, 1 + c) A) + c_v * mean 1/2 (V - G)^2 - c_e * mean entropy
//! ```
//! minimised by Adam over `update_epochs` passes of shuffled minibatches.
//!
//! **Details that matter.**
//! - A time limit is bootstrapped with the value of the last observation; a termination is not.
//! - Advantages are standardised within each minibatch (`normalize_advantage`).
//! - Box actions are Gaussian with a state-independent standard deviation; they are clipped for the environment
//!   only, and their probability is that of the unclipped action.
//! - Policy and value are separate networks with orthogonal initialisation; the gradient of both is clipped together.
//!   `shared: true` gives them one torso: whatever looks at images, the hidden layers and the memory. For images it halves
//!   the price; a small `vf_coef` then keeps large returns from drowning the policy.
//! - `memory: lstm` or `gru` lets both remember: that is `recurrent_ppo`.
//! - `curiosity: rnd` or `icm` has the learner pay itself, too, for what it has not seen or foreseen: see `rnd` and `icm`.
//! - `target_kl` ends the passes early once the policy has moved that far (by 1.5 times).
//! - `learning_rate` and `clip_coef` may be schedules: `{linear: [1e-3, 0]}`.
//! - Masked actions have probability zero and receive no gradient.
//!
//! **What is left out.** State-dependent exploration.
//!
//! **Reference.** Schulman and others, Proximal policy optimization algorithms, 2017.

mod learner;

use crate::agent::Setup;
use crate::config::{Idle, Problem, defaults, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::policy_gradient::curiosity::{self, curiosity_settings};
use crate::policy_gradient::ppo_loss::PpoTerms;
use crate::policy_gradient::shared::idle_memory;
use crate::regimes::{Learner, RolloutSettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
pub(crate) use learner::PpoLearner;

settings! {
    /// Settings of PPO, with a memory or without.
    pub struct PpoConfig {
        ..learning_rate,
        ..rollout,
        ..network,
        ..memory,
        ..ppo,
        ..curiosity,
    }
}

impl Default for PpoConfig {
    fn default() -> Self {
        defaults! { Self {
            ..memory,
            ..ppo,
            ..curiosity,
            learning_rate: Schedule::Constant(3e-4),
            num_steps: 2048,
            gamma: 0.99,
            gae_lambda: 0.95,
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
        } }
    }
}

impl PpoConfig {
    pub(crate) fn rollout(&self) -> RolloutSettings {
        RolloutSettings::new(self.num_steps, self.gamma, self.gae_lambda).remembering(self.memory, self.sequence_length)
    }

    /// Values of each observation.
    fn streams(&self) -> usize {
        curiosity::streams(self.curiosity, self.two_streams)
    }

    /// Weights and limits of the objective after a part of the run.
    fn terms(&self, fraction: f64) -> PpoTerms {
        PpoTerms {
            clip: self.clip_coef.at(fraction) as f32,
            value_clip: self.value_clip_coef,
            value_weight: self.vf_coef,
            entropy_weight: self.ent_coef.at(fraction) as f32,
        }
    }
}

/// PPO's settings out of those of an algorithm that it learns for: the groups that both declare, and `memory` or none.
macro_rules! ppo_config {
    ($config:expr, $($memory:tt)*) => {
        $crate::policy_gradient::PpoConfig {
            learning_rate: $config.learning_rate.clone(),
            num_steps: $config.num_steps,
            gamma: $config.gamma,
            gae_lambda: $config.gae_lambda,
            vision: $config.vision,
            hidden_sizes: $config.hidden_sizes.clone(),
            activation: $config.activation,
            update_epochs: $config.update_epochs,
            minibatch_size: $config.minibatch_size,
            clip_coef: $config.clip_coef.clone(),
            value_clip_coef: $config.value_clip_coef,
            ent_coef: $config.ent_coef.clone(),
            vf_coef: $config.vf_coef,
            max_grad_norm: $config.max_grad_norm,
            normalize_advantage: $config.normalize_advantage,
            target_kl: $config.target_kl,
            shared: $config.shared,
            log_std_init: $config.log_std_init,
            ..$($memory)*
        }
    };
}
pub(crate) use ppo_config;

pub struct Ppo;

impl Algorithm for Ppo {
    type Config = PpoConfig;

    fn check_setup(config: &PpoConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &PpoConfig) -> Vec<Idle> {
        let mut idle = curiosity::idle(config.curiosity, config.two_streams);
        idle.push(idle_memory(config.memory));
        idle
    }

    fn build(config: PpoConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = config.rollout();
        let curiosity = curiosity_settings!(config, config.update_epochs, config.minibatch_size);
        Ok(Learner::OnPolicy(curiosity.around(PpoLearner::new(config, setup)?, setup)?, settings))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Document;
    use crate::registry::find;

    /// What is said of these settings where they have no effect; empty where they have one.
    fn told(algo: &str, settings: &str) -> String {
        let text = format!("algo: {algo}\nenv_id: CartPole-v1\ntotal_timesteps: 9\nalgo_kwargs:\n  {settings}\n");
        let document = Document::parse(&text, "x.yaml", &[]).unwrap();
        let entry = find(algo).unwrap();
        let config = entry.read_document(&document).unwrap();
        entry.refuse_idle(&document, &config.algo_kwargs.0).err().map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn settings_of_a_memory_are_refused_without_one() {
        for settings in ["sequence_length: 8", "head_sizes: [8]", "recurrent_hidden_size: 8"] {
            let refused = told("ppo", settings);
            assert!(refused.starts_with("x.yaml:5:3: ") && refused.contains("`memory: lstm`"), "{refused}");
            assert_eq!(told("ppo", &format!("memory: gru\n  {settings}")), "");
            assert_eq!(told("recurrent_ppo", settings), "");
        }
    }
}
