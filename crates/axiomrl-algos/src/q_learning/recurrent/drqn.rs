//! # DRQN: deep recurrent Q-learning
//!
//! **What it does.** Q-learning with an LSTM between the observation and the values of the actions, so that the policy can
//! act on what it saw earlier.
//!
//! **When to use it.** Few discrete actions, and observations that do not tell everything: velocities are missing, a sign
//! was passed long ago.
//!
//! **The update.** For sequences of `sequence_length` steps, with memories h and h' of their own for the network Q and its
//! slowly moving copy Q':
//! ```text
//! y_t  = r_t + gamma * max_a Q'(o_(t+1), h'_t, a)     only r_t where the episode terminated
//! loss = mean Huber(Q(o_t, h_(t-1), a_t) - y_t)       over the steps after `burn_in`
//! ```
//!
//! **Details that matter.**
//! - The memory moves on at every step, random ones included, and is emptied where an episode begins, both when acting and
//!   within a sequence.
//! - A sequence begins with an empty memory, or with `stored_state` with the one the policy had there. `burn_in` steps only
//!   fill it: nothing is learned from them. Switch `stored_state` on where episodes are much longer than sequences: a memory
//!   that is always trained from empty drifts off in a long episode.
//! - Sequences run across the ends of episodes, so that short episodes are learned from, and share half of their steps with
//!   the next one (`overlap`). No target reaches into another episode.
//! - At a time limit the last observation is shown to the memory that led there, and bootstrapped from.
//! - `batch_size` counts sequences, `buffer_capacity` transitions, `target_update_interval` environment steps.
//! - `cell: gru` takes a gated recurrent unit instead of the LSTM.
//! - `double_q`, `dueling`, `n_step`, `prioritized_replay` and `value_rescale` can be switched on: `r2d2` is all of them.
//!   With `value_rescale`, `q_value_mean` and `target_mean` are reported on the network's scale.
//! - Images go through convolutions (`vision`) before the layers of `hidden_sizes` and the memory.
//! - Forbidden actions (masks) are neither taken nor bootstrapped from.
//!
//! **What is left out.** Sequential updates through whole episodes.
//!
//! **Reference.** Hausknecht and Stone, Deep recurrent Q-learning for partially observable MDPs, 2015.

use super::config::DrqnConfig;
use super::learner::QLearner;
use super::net::QNet;
use crate::agent::Setup;
use crate::config::{Idle, Problem, priorities};
use crate::parts::checks::BuildError;
use crate::parts::torso::{Torso, TorsoSpec};
use crate::q_learning::direct::DirectNet;
use crate::regimes::{Learner, ReplaySettings, SequenceSettings, prioritized_replay_settings};
use crate::registry::Algorithm;
use axiomrl_envs::Space;
use axiomrl_nn::{AdamConfig, Init, MlpSpec, OptimizerConfig};

pub struct Drqn;

impl Algorithm for Drqn {
    type Config = DrqnConfig;

    fn check(config: &DrqnConfig) -> Result<(), Problem> {
        config.check()?;
        settings(config).map(drop)
    }

    fn check_setup(config: &DrqnConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &DrqnConfig) -> Vec<Idle> {
        vec![priorities(!config.prioritized_replay)]
    }

    fn build(config: DrqnConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let Space::Discrete { n: actions } = *setup.action_space() else {
            return Err(Problem::new(&[], "this algorithm acts in Discrete spaces").into());
        };
        config.check()?;
        let mut rng = setup.rng("init");
        let shape = TorsoSpec {
            observations: setup.observation_space(),
            vision: config.vision,
            layers: &config.hidden_sizes,
            activation: config.activation,
            memory: Some((config.cell, config.recurrent_hidden_size)),
        };
        let torso = Torso::new(&shape, &Init::pytorch(), &mut rng)?;
        let head = |outputs| MlpSpec::new(torso.features(), &config.head_sizes, outputs, config.activation);
        let head = DirectNet::new(head, actions, 1, 1, config.dueling, None, &mut rng);
        let settings = settings(&config)?;
        let adam = OptimizerConfig::Adam(AdamConfig { eps: config.adam_eps, ..AdamConfig::default() });
        let learner = QLearner::new(config, actions, QNet::new(torso, head), &adam);
        Ok(Learner::OffPolicy(Box::new(learner), settings))
    }
}

fn settings(config: &DrqnConfig) -> Result<ReplaySettings, Problem> {
    let (length, overlap) = (config.sequence_length, config.overlap());
    let sequences = Some(SequenceSettings { length, overlap, stored_state: config.stored_state });
    ReplaySettings { sequences, ..prioritized_replay_settings!(config)? }.checked()
}
