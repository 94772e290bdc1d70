//! # DAgger: dataset aggregation
//!
//! **What it does.** Imitates an expert who can be asked. The policy acts, the expert says at every step what it would have
//! done there, and the policy learns to answer alike on all that was ever seen.
//!
//! **When to use it.** With an expert at hand, such as a trained policy, a planner or a rule, that is too slow, too large or not
//! learned at all, and is to become a network. Copying recorded episodes (`bc`) learns only what the expert meets itself; DAgger
//! learns what to do where the *policy* gets to, and needs far fewer answers for it.
//!
//! **The update.** In round i, with β_i the share of steps that the expert takes:
//! ```text
//! until round_steps steps and round_episodes episodes:
//!     a = the expert's action with chance beta_i, a sample of the policy otherwise
//!     store (s, the expert's action), whoever acted
//! update_epochs passes over all that was stored in all rounds:
//!     loss = mean -log pi(expert's action | s) - c * mean entropy
//! ```
//!
//! **Details that matter.**
//! - What is stored is always the expert's best action, also where the policy acted.
//! - `beta: exponential` gives β_i = `beta_decay`^i; 0, the default, is 1, 0, 0, ...: a first round by the expert, and then the policy
//!   alone. `beta: linear` falls to 0 over `beta_rounds`. `beta_decay: 1` leaves every step to the expert: plain copying, and the
//!   control.
//! - `expert`: `scripted` is a rule that comes with the environment; otherwise the path of a run or of a checkpoint in the same
//!   environment. It has to act without a memory.
//! - A round ends with an episode. With several environments the others' episodes go on into the next round. The last round is
//!   as long as the run lets it be.
//! - The policy goes on from the last round instead of beginning anew; the dataset only grows.
//! - Box actions are Gaussian round a mean, with a deviation for each that is learned; it is kept between e^-5 and e^2.
//! - One environment step is one answer of the expert, so `total_timesteps` counts those.
//!
//! **What is left out.** Images, a memory, and choosing the best policy of all rounds: the newest is kept, and the run's `best`
//! checkpoint is by return.
//!
//! **Reference.** Ross, Gordon and Bagnell, A reduction of imitation learning and structured prediction to no-regret online
//! learning, 2011.

mod learner;

use crate::agent::Setup;
use crate::config::{Idle, Problem, settings};
use crate::parts::checks::BuildError;
use crate::regimes::{InteractiveSettings, Learner};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use axiomrl_nn::Activation;
use learner::DaggerLearner;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the expert's share of steps falls from round to round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BetaSchedule {
    /// By a factor each round.
    #[default]
    Exponential,
    /// In equal steps.
    Linear,
}

settings! {
    /// Settings of DAgger.
    pub struct DaggerConfig {
        ..learning_rate,
        /// Widths of the hidden layers.
        #[garde(custom(crate::config::layer_widths))]
        pub hidden_sizes: Vec<usize>,
        /// Non-linearity of the hidden layers.
        #[schemars(schema_with = "crate::config::choices::<axiomrl_nn::Activation>")]
        pub activation: Activation,
        /// Who is asked: `scripted`, or the path of a run or checkpoint.
        pub expert: String,
        /// Fewest steps of a round, over all environments.
        #[garde(range(min = 1, max = 1_000_000_000))]
        pub round_steps: u64,
        /// Fewest episodes that end in a round.
        #[garde(range(min = 1, max = 1_000_000))]
        pub round_episodes: u64,
        /// How the expert's share of steps falls from round to round.
        pub beta: BetaSchedule,
        /// With `beta: exponential`, the factor per round.
        #[garde(range(min = 0.0, max = 1.0))]
        pub beta_decay: f64,
        /// With `beta: linear`, the round from which the expert no longer acts.
        #[garde(range(min = 1, max = 1_000_000))]
        pub beta_rounds: u64,
        /// Passes over all data after each round.
        #[garde(range(min = 1, max = 10_000))]
        pub update_epochs: usize,
        /// Answers per update.
        #[garde(range(min = 1, max = 65_536))]
        pub batch_size: usize,
        /// Weight of the policy's entropy.
        #[garde(range(min = 0.0, max = 10.0))]
        pub ent_coef: f32,
        /// Logarithm of the initial standard deviation of Box actions.
        #[garde(range(min = -5.0, max = 2.0))]
        pub log_std_init: f32,
    }
}

impl Default for DaggerConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(1e-3),
            hidden_sizes: vec![32, 32],
            activation: Activation::Tanh,
            expert: "scripted".to_owned(),
            round_steps: 500,
            round_episodes: 3,
            beta: BetaSchedule::Exponential,
            beta_decay: 0.0,
            beta_rounds: 15,
            update_epochs: 4,
            batch_size: 32,
            ent_coef: 1e-3,
            log_std_init: 0.0,
        }
    }
}

impl DaggerConfig {
    /// The expert's share of steps in a round, counted from 0.
    fn beta(&self, round: u64) -> f64 {
        match self.beta {
            BetaSchedule::Exponential => self.beta_decay.powi(i32::try_from(round).unwrap_or(i32::MAX)),
            BetaSchedule::Linear => 1.0 - (round as f64 / self.beta_rounds as f64).min(1.0),
        }
    }
}

pub struct Dagger;

impl Algorithm for Dagger {
    type Config = DaggerConfig;

    fn check_setup(_config: &DaggerConfig, setup: &Setup) -> Result<(), Problem> {
        Problem::when(setup.spaces.obs().widths.bytes > 0, &[], || {
            "it learns from numbers and choices, and these observations have images; use an environment without them"
                .to_owned()
        })
    }

    fn idle(config: &DaggerConfig) -> Vec<Idle> {
        vec![
            Idle {
                now: config.beta != BetaSchedule::Exponential,
                keys: &["beta_decay"],
                switch: Some("beta"),
                why: "the expert's share falls in equal steps; set `beta: exponential`",
            },
            Idle {
                now: config.beta != BetaSchedule::Linear,
                keys: &["beta_rounds"],
                switch: Some("beta"),
                why: "the expert's share falls by a factor; set `beta: linear`",
            },
        ]
    }

    fn build(config: DaggerConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let learner = DaggerLearner::new(&config, setup)?;
        let settings = InteractiveSettings {
            round_steps: config.round_steps,
            round_episodes: config.round_episodes,
            epochs: config.update_epochs,
            batch_size: config.batch_size,
            beta: Box::new(move |round| config.beta(round)),
        };
        Ok(Learner::Interactive(Box::new(learner), settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_expert_by_hand() {
        let linear = DaggerConfig { beta: BetaSchedule::Linear, ..DaggerConfig::default() };
        assert_eq!((linear.beta(0), linear.beta(15), linear.beta(99)), (1.0, 0.0, 0.0));
        assert!((linear.beta(5) - 0.6667).abs() < 1e-4);
        let first = DaggerConfig::default();
        assert_eq!([0, 1, 2].map(|round| first.beta(round)), [1.0, 0.0, 0.0]);
        let half = DaggerConfig { beta_decay: 0.5, ..DaggerConfig::default() };
        assert_eq!([0, 1, 2].map(|round| half.beta(round)), [1.0, 0.5, 0.25]);
        let copying = DaggerConfig { beta_decay: 1.0, ..DaggerConfig::default() };
        assert_eq!(copying.beta(1_000_000), 1.0);
    }
}
