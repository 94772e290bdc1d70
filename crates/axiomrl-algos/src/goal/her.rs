//! # HER: hindsight experience replay
//!
//! **What it does.** Learns to reach goals from rewards that only say whether the goal was reached: transitions are learned
//! from as if what happened to be reached had been the goal.
//!
//! **When to use it.** Environments whose observation holds `observation`, `achieved_goal` and `desired_goal` (`BitFlip-v0`,
//! `PointGoal-v0`), with rewards too rare to learn from directly.
//!
//! **The update.** That of another algorithm (`base`), on batches in which `n_sampled_goal` of `n_sampled_goal + 1` transitions
//! are given a goal g' that was reached in the same episode:
//! ```text
//! (s, g, a, r, s')  becomes  (s, g', a, reward(achieved(s'), g'), s')
//! ```
//!
//! **Details that matter.**
//! - `goal_selection_strategy`: `future` takes what was reached at this step or later, `final` what was reached last, `episode`
//!   anything reached in the episode. Never anything from another episode.
//! - Rewards and terminations are asked of the environment anew, so that reaching the new goal ends the future.
//! - `base: auto` is `dqn` for Discrete actions and `ddpg` for Box actions; `td3` and `sac` are there, too. Settings that are not
//!   listed here are the base's defaults.
//! - `dqn`, `ddpg`, `td3` and `sac` (and their relatives) take `n_sampled_goal` and `goal_selection_strategy` themselves, beside
//!   all their other settings.
//! - With `n_sampled_goal: 0` nothing is relabelled: the control.
//!
//! **What is left out.** Observations and goals are not normalised unless the run file says `normalize_observation`: goals are
//! exchanged raw, and scaled with the rest afterwards.
//!
//! **Reference.** Andrychowicz and others, Hindsight experience replay, 2017.

use crate::actor_critic::{AcConfig, OffPolicyAc, presets};
use crate::agent::Setup;
use crate::config::{Idle, Problem, choices, goals, layer_widths, some_updates};
use crate::parts::checks::BuildError;
use crate::q_learning::{Dqn, DqnConfig};
use crate::regimes::Learner;
use crate::registry::Algorithm;
use axiomrl_core::{GoalStrategy, Schedule};
use axiomrl_envs::Space;
use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What learns from the relabelled transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HerBase {
    /// `dqn` for Discrete actions, `ddpg` for Box actions.
    Auto,
    Dqn,
    Ddpg,
    Td3,
    Sac,
}

/// Settings of HER.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct HerConfig {
    /// What learns from the transitions.
    pub base: HerBase,
    /// Goals drawn in hindsight for every real one; 0 switches it off.
    #[garde(range(min = 0, max = 100))]
    pub n_sampled_goal: usize,
    /// Which reached goals are drawn: `future`, `final` or `episode`.
    #[schemars(schema_with = "choices::<GoalStrategy>")]
    pub goal_selection_strategy: GoalStrategy,
    /// Step size of Adam.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Transitions kept.
    #[garde(range(min = 1, max = 100_000_000))]
    pub buffer_capacity: usize,
    /// Transitions per update.
    #[garde(range(min = 1, max = 65_536))]
    pub batch_size: usize,
    /// Random steps before the first update.
    #[garde(range(max = 1_000_000_000_000_000_u64))]
    pub learning_starts: u64,
    /// Environment steps between bursts of updates.
    #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
    pub train_frequency: u64,
    /// Updates in a burst; -1 makes as many as steps were taken.
    #[garde(range(min = -1, max = 100_000), custom(some_updates))]
    pub gradient_steps: i64,
    /// How much of the networks the target networks take over per update (`dqn`: per step).
    #[garde(range(min = 0.0, max = 1.0))]
    pub tau: f32,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Widths of the hidden layers.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// `dqn`: chance of a random action, over the run.
    #[garde(range(min = 0.0, max = 1.0))]
    pub epsilon_end: f64,
    /// `dqn`: part of the run over which that chance falls from 1.
    #[garde(range(min = 0.0, max = 1.0))]
    pub exploration_fraction: f64,
    /// `ddpg` and `td3`: size of the exploration noise, over the run.
    #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
    pub exploration_noise: Schedule,
}

impl Default for HerConfig {
    fn default() -> Self {
        Self {
            base: HerBase::Auto,
            n_sampled_goal: 4,
            goal_selection_strategy: GoalStrategy::Future,
            learning_rate: Schedule::Constant(1e-3),
            buffer_capacity: 100_000,
            batch_size: 128,
            learning_starts: 1000,
            train_frequency: 1,
            gradient_steps: 1,
            tau: 0.01,
            gamma: 0.98,
            hidden_sizes: vec![64, 64],
            epsilon_end: 0.05,
            exploration_fraction: 0.3,
            exploration_noise: Schedule::Constant(0.2),
        }
    }
}

/// The settings of what learns.
enum Base {
    Dqn(DqnConfig),
    ActorCritic(AcConfig),
}

impl HerConfig {
    /// The base for the actions of this environment, with its settings.
    fn resolved(self, setup: &Setup) -> Result<Base, Problem> {
        let discrete = matches!(setup.action_space(), Space::Discrete { .. });
        let base = match self.base {
            HerBase::Auto if discrete => HerBase::Dqn,
            HerBase::Auto => HerBase::Ddpg,
            chosen => chosen,
        };
        Problem::when(discrete != (base == HerBase::Dqn), &["base"], || {
            "`base: dqn` acts in Discrete spaces, the others in Box spaces; `base: auto` chooses".to_owned()
        })?;
        Ok(match base {
            HerBase::Dqn | HerBase::Auto => Base::Dqn(self.dqn()),
            HerBase::Ddpg => Base::ActorCritic(self.actor_critic(presets::ddpg())),
            HerBase::Td3 => Base::ActorCritic(self.actor_critic(presets::td3())),
            HerBase::Sac => Base::ActorCritic(self.actor_critic(presets::sac())),
        })
    }

    fn dqn(self) -> DqnConfig {
        DqnConfig {
            learning_rate: self.learning_rate,
            buffer_capacity: self.buffer_capacity,
            batch_size: self.batch_size,
            learning_starts: self.learning_starts,
            train_frequency: self.train_frequency,
            gradient_steps: self.gradient_steps,
            target_update_interval: 1,
            tau: self.tau,
            gamma: self.gamma,
            hidden_sizes: self.hidden_sizes,
            epsilon_end: self.epsilon_end,
            exploration_fraction: self.exploration_fraction,
            double_q: true,
            n_sampled_goal: self.n_sampled_goal,
            goal_selection_strategy: self.goal_selection_strategy,
            ..DqnConfig::default()
        }
    }

    fn actor_critic(self, base: AcConfig) -> AcConfig {
        AcConfig {
            learning_rate: self.learning_rate,
            actor_learning_rate: None,
            critic_learning_rate: None,
            buffer_capacity: self.buffer_capacity,
            batch_size: self.batch_size,
            learning_starts: self.learning_starts,
            train_frequency: self.train_frequency,
            gradient_steps: self.gradient_steps,
            tau: self.tau,
            gamma: self.gamma,
            hidden_sizes: self.hidden_sizes,
            critic_hidden_sizes: None,
            exploration_noise: self.exploration_noise,
            n_sampled_goal: self.n_sampled_goal,
            goal_selection_strategy: self.goal_selection_strategy,
            ..base
        }
    }
}

pub struct Her;

impl Algorithm for Her {
    type Config = HerConfig;

    fn check_setup(config: &HerConfig, setup: &Setup) -> Result<(), Problem> {
        match config.clone().resolved(setup)? {
            Base::Dqn(config) => Dqn::check_setup(&config, setup),
            Base::ActorCritic(config) => OffPolicyAc::check_setup(&config, setup),
        }
    }

    fn idle(config: &HerConfig) -> Vec<Idle> {
        let idle = |now, keys, why| Idle { now, keys, switch: Some("base"), why };
        let actor_critic = matches!(config.base, HerBase::Ddpg | HerBase::Td3 | HerBase::Sac);
        vec![
            idle(
                actor_critic,
                &["epsilon_end", "exploration_fraction"],
                "this base takes no random actions; set `base: dqn`",
            ),
            idle(
                matches!(config.base, HerBase::Dqn | HerBase::Sac),
                &["exploration_noise"],
                "this base adds no noise to actions; set `base: ddpg` or `base: td3`",
            ),
            goals(config.n_sampled_goal == 0),
        ]
    }

    fn build(config: HerConfig, setup: &Setup) -> Result<Learner, BuildError> {
        match config.resolved(setup)? {
            Base::Dqn(config) => Dqn::build(config, setup),
            Base::ActorCritic(config) => OffPolicyAc::build(config, setup),
        }
    }
}
