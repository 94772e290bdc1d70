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
//! - `target_kl` ends the passes early once the policy has moved that far (by 1.5 times).
//! - `learning_rate` and `clip_coef` may be schedules: `{linear: [1e-3, 0]}`.
//! - Masked actions have probability zero and receive no gradient.
//!
//! **What is left out.** State-dependent exploration.
//!
//! **Reference.** Schulman and others, Proximal policy optimization algorithms, 2017.

mod learner;

use crate::agent::Setup;
use crate::config::{Idle, Problem, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::parts::torso::MemoryKind;
use crate::policy_gradient::ppo_loss::PpoTerms;
use crate::regimes::{Learner, RolloutSettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
use learner::PpoLearner;

settings! {
    /// Settings of PPO, with a memory or without.
    pub struct PpoConfig {
        ..learning_rate,
        ..rollout,
        ..network,
        ..memory,
        /// Passes over each rollout.
        #[garde(range(min = 1, max = 1000))]
        pub update_epochs: usize,
        /// Steps per update; with a memory, in whole sequences.
        #[garde(range(min = 1, max = 10_000_000))]
        pub minibatch_size: usize,
        /// How far the probability ratio may move.
        #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
        pub clip_coef: Schedule,
        /// How far a value may move per update; absent leaves it free.
        #[garde(inner(range(min = 0.0)))]
        pub value_clip_coef: Option<f32>,
        /// Weight of the entropy bonus.
        #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
        pub ent_coef: Schedule,
        /// Weight of the value loss.
        #[garde(range(min = 0.0, max = 100.0))]
        pub vf_coef: f32,
        /// Largest global norm of the gradient of policy and value together.
        #[garde(range(min = 0.0))]
        pub max_grad_norm: f32,
        /// Standardise advantages within each minibatch.
        pub normalize_advantage: bool,
        /// Divergence at which the passes over a rollout end; absent makes them all.
        #[garde(inner(range(min = 0.0)))]
        pub target_kl: Option<f32>,
        /// One torso for policy and value together: what looks at images, the hidden layers, the memory.
        pub shared: bool,
        /// Logarithm of the initial standard deviation of Box actions.
        #[garde(range(min = -20.0, max = 2.0))]
        pub log_std_init: f32,
    }
}

impl Default for PpoConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(3e-4),
            num_steps: 2048,
            gamma: 0.99,
            gae_lambda: 0.95,
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
            memory: MemoryKind::None,
            recurrent_hidden_size: 64,
            head_sizes: Vec::new(),
            sequence_length: 32,
            update_epochs: 10,
            minibatch_size: 64,
            clip_coef: Schedule::Constant(0.2),
            value_clip_coef: None,
            ent_coef: Schedule::Constant(0.0),
            vf_coef: 0.5,
            max_grad_norm: 0.5,
            normalize_advantage: true,
            target_kl: None,
            shared: false,
            log_std_init: 0.0,
        }
    }
}

impl PpoConfig {
    /// How rollouts are made; without a memory a sequence is one step.
    fn rollout(&self) -> RolloutSettings {
        let sequence_length = if self.memory == MemoryKind::None { 1 } else { self.sequence_length };
        RolloutSettings { num_steps: self.num_steps, sequence_length, gamma: self.gamma, gae_lambda: self.gae_lambda }
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

pub struct Ppo;

impl Algorithm for Ppo {
    type Config = PpoConfig;

    fn check_setup(config: &PpoConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &PpoConfig) -> Vec<Idle> {
        vec![Idle {
            now: config.memory == MemoryKind::None,
            keys: &["recurrent_hidden_size", "head_sizes", "sequence_length"],
            switch: Some("memory"),
            why: "nothing is remembered; set `memory: lstm` or `memory: gru`",
        }]
    }

    fn build(config: PpoConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = config.rollout();
        Ok(Learner::OnPolicy(Box::new(PpoLearner::new(config, setup)?), settings))
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
