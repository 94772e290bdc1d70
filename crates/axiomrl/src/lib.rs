//! Reinforcement learning on a CPU: one dependency, every algorithm behind the same few words.
//!
//! ```
//! use axiomrl::prelude::*;
//!
//! # fn main() -> Result<(), axiomrl::Error> {
//! let mut trained = Experiment::new(Ppo { num_steps: 64, ..Ppo::default() })
//!     .env_id("CartPole-v1")
//!     .num_envs(4)
//!     .seed(1)
//!     .train(512)?;
//! let result = trained.evaluate(3)?;
//! assert_eq!(result.returns.len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! An environment of your own is a type that implements [`Env`](prelude::Env), and needs no registration to be trained on:
//!
//! ```
//! use axiomrl::prelude::*;
//!
//! /// Shows a coin; naming the side that is up pays 1.
//! #[derive(Default)]
//! struct Coin { spaces: Option<(Space, Space)>, up: f32 }
//!
//! impl Coin {
//!     fn new() -> Self {
//!         let coin = || Space::Discrete { n: 2 };
//!         Self { spaces: Some((coin(), coin())), up: 0.0 }
//!     }
//! }
//!
//! impl Env for Coin {
//!     fn observation_space(&self) -> &Space { &self.spaces.as_ref().unwrap().0 }
//!     fn action_space(&self) -> &Space { &self.spaces.as_ref().unwrap().1 }
//!     fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
//!         self.up = random::below(rng, 2) as f32;
//!         Ok(())
//!     }
//!     fn step(&mut self, action: &[f32], _: &mut Rng) -> Result<Step, EnvError> {
//!         let reward = if action[0] == self.up { 1.0 } else { 0.0 };
//!         Ok(Step { reward, terminated: true, truncated: false })
//!     }
//!     fn observe(&self, mut out: ObsMut<'_>) { out.write(&[self.up]); }
//! }
//!
//! # fn main() -> Result<(), axiomrl::Error> {
//! let settings = Ppo { num_steps: 32, learning_rate: 0.01.into(), ..Ppo::default() };
//! let mut trained = Experiment::new(settings).env(Coin::new).num_envs(8).train(2048)?;
//! assert!(trained.evaluate(20)?.mean_reward() > 0.9);
//! # Ok(())
//! # }
//! ```
//!
//! With rows of your own in a [`Catalogue`](prelude::Catalogue), run files, checkpoints and the command line know them by
//! name; see `examples/custom_env.rs` and `examples/custom_algorithm.rs`.

mod experiment;

pub use experiment::{Error, Experiment, Trained};

/// For settings of your own: their types derive what they need from these, by `#[serde(crate = "axiomrl::serde")]` and
/// `#[schemars(crate = "axiomrl::schemars")]`.
pub use {garde, schemars, serde, serde_json};

pub use axiomrl_algos as algos;
pub use axiomrl_core as core;
pub use axiomrl_envs as envs;
pub use axiomrl_nn as nn;
pub use axiomrl_run as run;

/// The choices that settings are made of, and the settings that other names than their own stand for.
pub mod settings {
    pub use axiomrl_algos::actor_critic::{
        ActorKind, ActorReducer, CriticOutput, TargetAction, TargetReducer, presets,
    };
    pub use axiomrl_algos::goal::HerBase;
    pub use axiomrl_algos::parts::input::Vision;
    pub use axiomrl_algos::parts::noise::Exploration as ActionExploration;
    pub use axiomrl_algos::parts::temperature::TemperatureSetting;
    pub use axiomrl_algos::parts::torso::MemoryKind;
    pub use axiomrl_algos::policy_gradient::presets as policy_gradient_presets;
    pub use axiomrl_algos::q_learning::{
        Backup, Diagonal, Exploration, HeadKind, NafExploration, presets as q_learning_presets,
    };
    pub use axiomrl_core::GoalStrategy;
    pub use axiomrl_nn::{Activation, CellKind};
}

/// The command line.
#[cfg(feature = "cli")]
pub mod cli {
    pub use axiomrl_cli::main_with;
}

/// For settings whose ranges are checked by `Algorithm::check` alone.
#[macro_export]
macro_rules! plain_settings {
    ($settings:ty) => {
        impl $crate::garde::Validate for $settings {
            type Context = ();

            fn validate_into(
                &self,
                (): &(),
                _: &mut dyn FnMut() -> $crate::garde::Path,
                _: &mut $crate::garde::Report,
            ) {
            }
        }
    };
}

/// What most programs use.
pub mod prelude {
    pub use crate::{Error, Experiment, Trained, plain_settings};

    pub use axiomrl_envs::wrappers::TimeLimit;
    pub use axiomrl_envs::{
        BoxSpace, Env, EnvError, EnvSource, EpisodeEnd, Frame, ObsMut, ObsRef, Purpose, Rng, Seeding, Space, Spaces,
        Step, Stepping, VecEnv, VecState, snapshot,
    };

    pub use axiomrl_core::{Batch, Dataset, DatasetBuilder, Episode, Metrics, Schedule, random};

    pub use axiomrl_algos::actor_critic::{AcConfig as Sac, DiscreteSacConfig as DiscreteSac, MpoConfig as Mpo};
    pub use axiomrl_algos::config::{Idle, Problem, RunConfig};
    pub use axiomrl_algos::goal::HerConfig as Her;
    pub use axiomrl_algos::parts::checks::BuildError;
    pub use axiomrl_algos::policy_gradient::PpoConfig as Ppo;
    pub use axiomrl_algos::q_learning::{DqnConfig as Dqn, NafConfig as Naf};
    pub use axiomrl_algos::regimes::{Learner, Played, ReplayLearner, ReplaySettings, RolloutLearner, RolloutSettings};
    pub use axiomrl_algos::registry::{About, ActionKind, Algorithm, Settings};
    pub use axiomrl_algos::{
        ActContext, ActInput, Actor, Clock, LearnError, Learned, Memory, Mode, Policy, Setup, StateError, StateIo,
        UpdateContext,
    };

    pub use axiomrl_run::catalogue::{Batches, Catalogue, EnvFactory, EnvResolver, WithOptions};
    pub use axiomrl_run::evaluate::{EvalOptions, Evaluation};
    pub use axiomrl_run::observe::{Event, Observer};
    pub use axiomrl_run::policy::TrainedPolicy;
    pub use axiomrl_run::train::{Outcome, StopReason, TrainOptions, Trainer, Unit};

    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
}
