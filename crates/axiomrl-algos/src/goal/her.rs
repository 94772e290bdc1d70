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
//! - Goals are numbers. What is beside them may be an image, which the base looks at by convolutions (`vision`).
//! - With `n_sampled_goal: 0` nothing is relabelled: the control.
//!
//! **What is left out.** Observations and goals are not normalised unless the run file says `normalize_observation`: goals are
//! exchanged raw, and scaled with the rest afterwards.
//!
//! **Reference.** Andrychowicz and others, Hindsight experience replay, 2017.

use crate::actor_critic::{AcConfig, OffPolicyAc, presets};
use crate::agent::Setup;
use crate::config::{Idle, Problem, goals, settings};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::q_learning::{Dqn, DqnConfig};
use crate::regimes::Learner;
use crate::registry::Algorithm;
use axiomrl_core::{GoalStrategy, Schedule};
use axiomrl_envs::Space;
use axiomrl_nn::Activation;
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

settings! {
    /// Settings of HER.
    pub struct HerConfig {
        ..goals,
        ..learning_rate,
        ..replay,
        ..network,
        ..epsilon,
        /// What learns from the transitions.
        pub base: HerBase,
        /// How much of the networks the target networks take over per update (`dqn`: per step).
        #[garde(range(min = 0.0, max = 1.0))]
        pub tau: f32,
        /// `ddpg` and `td3`: size of the exploration noise, over the run.
        #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
        pub exploration_noise: Schedule,
    }
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
            n_step: 1,
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Relu,
            epsilon_start: 1.0,
            epsilon_end: 0.05,
            exploration_fraction: 0.3,
            exploration_noise: Schedule::Constant(0.2),
        }
    }
}

/// Lays the settings that all bases have, and those that are named, over a base's own.
macro_rules! laid_over {
    (@ $from:ident $to:ident $($key:ident)*) => { $($to.$key = $from.$key;)* };
    ($from:expr, $to:expr $(, $own:ident)*) => {{
        let (from, mut to) = ($from, $to);
        laid_over!(@ from to learning_rate buffer_capacity batch_size learning_starts train_frequency gradient_steps gamma
            n_step tau vision hidden_sizes activation n_sampled_goal goal_selection_strategy $($own)*);
        to
    }};
}

/// The settings of what learns.
#[expect(clippy::large_enum_variant, reason = "there is one for each run")]
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
        let base = DqnConfig { target_update_interval: 1, double_q: true, ..DqnConfig::default() };
        laid_over!(self, base, epsilon_start, epsilon_end, exploration_fraction)
    }

    fn actor_critic(self, base: AcConfig) -> AcConfig {
        let (actor_learning_rate, critic_learning_rate, critic_hidden_sizes) = (None, None, None);
        let base = AcConfig { actor_learning_rate, critic_learning_rate, critic_hidden_sizes, ..base };
        laid_over!(self, base, exploration_noise)
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
                &["epsilon_start", "epsilon_end", "exploration_fraction"],
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{batch, update};
    use axiomrl_envs::{BoxSpace, GoalRules, Spaces};

    /// An image to look at, beside goals.
    fn setup(goal: BoxSpace, action: Space) -> Setup {
        let entries = vec![
            ("observation".into(), Space::Box(BoxSpace::image(10, 5, 1))),
            ("achieved_goal".into(), Space::Box(goal.clone())),
            ("desired_goal".into(), Space::Box(goal)),
        ];
        let space = Space::Dict { entries };
        let rules = GoalRules::shared(&space, |achieved, desired| (0.0, achieved == desired));
        Setup { rules, ..Setup::new(Spaces::new(space, action)) }
    }

    #[test]
    fn an_image_beside_goals_is_learned_from() {
        for action in [Space::Discrete { n: 3 }, Space::Box(BoxSpace::uniform(2, -1.0, 1.0))] {
            let setup = setup(BoxSpace::uniform(2, -1.0, 1.0), action);
            Her::check_setup(&HerConfig::default(), &setup).unwrap();
            let Learner::OffPolicy(mut learner, settings) = Her::build(HerConfig::default(), &setup).unwrap() else {
                panic!("another regime")
            };
            assert!(settings.relabel.is_some());
            update(&mut *learner, &batch(&setup, 6));
        }
    }

    #[test]
    fn goals_that_are_images_are_refused_with_the_remedy() {
        let setup = setup(BoxSpace::image(4, 4, 1), Space::Discrete { n: 3 });
        let message = Her::check_setup(&HerConfig::default(), &setup).unwrap_err().to_string();
        assert!(message.contains("`n_sampled_goal`") && message.contains("set it to 0"), "{message}");
        assert!(Her::check_setup(&HerConfig { n_sampled_goal: 0, ..HerConfig::default() }, &setup).is_ok());
    }

    #[test]
    fn every_setting_reaches_its_base() {
        let config = HerConfig { tau: 0.5, n_step: 3, epsilon_end: 0.25, gamma: 0.5, ..HerConfig::default() };
        let dqn = config.clone().dqn();
        assert_eq!((dqn.tau, dqn.n_step, dqn.epsilon_end, dqn.gamma), (0.5, 3, 0.25, 0.5));
        assert_eq!((dqn.target_update_interval, dqn.double_q, dqn.n_sampled_goal), (1, true, 4));
        let td3 = config.actor_critic(presets::td3());
        assert_eq!((td3.tau, td3.n_step, td3.gamma, td3.policy_delay), (0.5, 3, 0.5, 2));
        assert_eq!((td3.n_sampled_goal, td3.hidden_sizes), (4, vec![64, 64]));
        let flat = HerConfig { vision: Vision::Flat, activation: Activation::Tanh, ..HerConfig::default() };
        let (dqn, sac) = (flat.clone().dqn(), flat.actor_critic(presets::sac()));
        assert_eq!((dqn.vision, dqn.activation), (Vision::Flat, Activation::Tanh));
        assert_eq!((sac.vision, sac.activation), (Vision::Flat, Activation::Tanh));
    }
}
