//! One off-policy actor-critic learner, from vectors and from images, with or without a memory, from its own steps, from recorded
//! ones, or both; DDPG, TD3, SAC, D4PG, TQC, REDQ, DroQ, CrossQ, DrQ-v2, DrQ, CURL, RLPD, TD3+BC, ReBRAC, CQL, Cal-QL, SAC-N and EDAC
//! are its [`presets`].
//!
//! `settings` lists the choices, `learner` is the update, `critic` and `actor` are the two networks, `target` and `head` say what
//! a critic should predict and what its outputs mean. The rest is for some presets only: `window` for sequences, `augment` and
//! `contrast` for images; `recorded` for transitions that somebody else recorded, and against what goes wrong with those alone:
//! `anchor` holds the policy to recorded actions, `conservative` values others below them, `diversity` keeps critics apart. `rules`
//! says which settings go together.

mod actor;
mod anchor;
mod augment;
mod choices;
mod conservative;
mod contrast;
mod critic;
mod diversity;
mod head;
mod learner;
pub mod presets;
mod recorded;
mod rules;
mod settings;
mod target;
mod term_rules;
mod window;

pub use crate::parts::squashed_actor::ActorKind;
pub use settings::{
    AcConfig, ActorReducer, BcDistance, CriticOutput, TargetAction, TargetReducer, UpdateOrder, WeightInit,
};

use crate::agent::Setup;
use crate::config::{Idle, Problem};
use crate::parts::checks::BuildError;
use crate::parts::hindsight::hindsight;
use crate::parts::torso::MemoryKind;
use crate::regimes::{Learner, ReplaySettings, SequenceSettings, prioritized_replay_settings, with_prior};
use crate::registry::Algorithm;
pub(crate) use learner::AcLearner;

pub struct OffPolicyAc;

impl Algorithm for OffPolicyAc {
    type Config = AcConfig;

    fn check(config: &AcConfig) -> Result<(), Problem> {
        config.check()?;
        sampling(config).map(drop)
    }

    fn check_setup(config: &AcConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())?;
        config.check_vectors(setup)?;
        replay_settings(config, setup).map(drop)
    }

    fn idle(config: &AcConfig) -> Vec<Idle> {
        config.idle()
    }

    fn wants_data(config: &AcConfig) -> bool {
        config.learns_from_data()
    }

    fn takes_steps(config: &AcConfig) -> bool {
        !config.offline || config.online_timesteps > 0
    }

    fn build(config: AcConfig, setup: &Setup) -> Result<Learner, BuildError> {
        config.check()?;
        config.check_vectors(setup)?;
        let settings = replay_settings(&config, setup)?;
        Ok(Learner::OffPolicy(Box::new(AcLearner::new(config, setup)?), settings))
    }
}

/// What is drawn from the store: single steps, or sequences for networks that remember.
fn sampling(config: &AcConfig) -> Result<ReplaySettings, Problem> {
    let (length, burn_in) = (config.sequence_length, config.burn_in);
    let remembers = config.memory != MemoryKind::None;
    Problem::when(remembers && burn_in >= length, &["burn_in", "sequence_length"], || {
        format!("`burn_in` {burn_in} leaves nothing of a `sequence_length` of {length}; lower it")
    })?;
    let overlap = config.overlap.unwrap_or(length / 2);
    let sequences = remembers.then_some(SequenceSettings { length, overlap, stored_state: config.stored_state });
    let own = ReplaySettings { sequences, extras: config.extras(), ..prioritized_replay_settings!(config)? };
    with_prior!(config, own).checked()
}

fn replay_settings(config: &AcConfig, setup: &Setup) -> Result<ReplaySettings, Problem> {
    Ok(ReplaySettings {
        relabel: hindsight(config.n_sampled_goal, config.goal_selection_strategy, config.n_step, setup)?,
        ..sampling(config)?
    })
}
