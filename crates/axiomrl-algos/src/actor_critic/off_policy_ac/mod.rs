//! One off-policy actor-critic learner; DDPG, TD3, SAC, D4PG, TQC, REDQ, DroQ and CrossQ are its [`presets`].
//!
//! `settings` lists the choices, `head` says what a critic predicts, `target` what it should predict, `critic` and
//! `actor` are the two networks with their updates, and `learner` puts them together.

mod actor;
mod critic;
mod head;
mod learner;
pub mod presets;
mod settings;
mod target;

pub use settings::{AcConfig, ActorKind, ActorReducer, CriticOutput, TargetAction, TargetReducer};

use crate::agent::Setup;
use crate::config::{Idle, Problem};
use crate::parts::checks::BuildError;
use crate::parts::hindsight::hindsight;
use crate::regimes::{Learner, ReplaySettings, prioritized_replay_settings};
use crate::registry::Algorithm;
use learner::AcLearner;

pub struct OffPolicyAc;

impl Algorithm for OffPolicyAc {
    type Config = AcConfig;

    fn check(config: &AcConfig) -> Result<(), Problem> {
        config.check()?;
        prioritized_replay_settings!(config).map(drop)
    }

    fn check_setup(config: &AcConfig, setup: &Setup) -> Result<(), Problem> {
        replay_settings(config, setup).map(drop)
    }

    fn idle(config: &AcConfig) -> Vec<Idle> {
        config.idle()
    }

    fn build(config: AcConfig, setup: &Setup) -> Result<Learner, BuildError> {
        config.check()?;
        let settings = replay_settings(&config, setup)?;
        Ok(Learner::OffPolicy(Box::new(AcLearner::new(config, setup)), settings))
    }
}

fn replay_settings(config: &AcConfig, setup: &Setup) -> Result<ReplaySettings, Problem> {
    Ok(ReplaySettings {
        relabel: hindsight(config.n_sampled_goal, config.goal_selection_strategy, config.n_step, setup)?,
        ..prioritized_replay_settings!(config)?
    })
}
