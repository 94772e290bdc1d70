//! # DQN: deep Q-learning
//!
//! **What it does.** Learns the value Q(s, a) of every discrete action with a neural network, from a store of past
//! transitions, and acts greedily on it.
//!
//! **When to use it.** Few discrete actions, a simulator that is not too fast, and no need for a stochastic policy.
//!
//! **The update.** For a batch of transitions, with a slowly moving copy Q' of the network:
//! ```text
//! y    = R + D * max_a Q'(s', a)        D = gamma^k, or 0 where the episode terminated
//! loss = mean Huber(Q(s, a) - y)
//! ```
//!
//! **Details that matter.**
//! - Termination and time limits are told apart: a time limit does not make the future worthless.
//! - `target_update_interval` counts environment steps; `tau` below 1 blends instead of copying.
//! - `train_frequency` and `gradient_steps` set how often and how much is learned: 256 and 128 (learn in bursts) is
//!   a well-tried setting for CartPole; `gradient_steps: -1` makes as many updates as steps were taken.
//! - Every other setting of the family can be switched on here: `double_q`, `dueling`, `noisy`, `n_step`,
//!   `prioritized_replay`, another `head` or `backup`. The registry's other names are such combinations.
//! - Before `learning_starts`, actions are uniformly random.
//! - Forbidden actions (masks) are neither taken nor bootstrapped from.
//! - Images go through convolutions (`vision`) that all heads share; `hidden_sizes` come after them.
//! - `memory: lstm` or `gru` lets the policy act on what it saw earlier: `drqn` says how that is learned. It goes with every
//!   other setting but hindsight goals.
//!
//! **Reference.** Mnih and others, Human-level control through deep reinforcement learning, 2015.

use super::config::{DqnConfig, HeadKind};
use super::direct::DirectNet;
use super::fractions::Fractions;
use super::implicit::{Counts, ImplicitModel, ImplicitNet};
use super::learner::QLearner;
use super::model::DirectModel;
use crate::agent::Setup;
use crate::config::{Idle, Problem};
use crate::parts::checks::BuildError;
use crate::parts::hindsight::hindsight;
use crate::parts::torso::{Torso, TorsoSpec};
use crate::parts::value_head::Head;
use crate::regimes::{Learner, ReplaySettings, SequenceSettings, prioritized_replay_settings, with_prior};
use crate::registry::Algorithm;
use axiomrl_envs::Space;
use axiomrl_nn::{AdamConfig, Init, MlpSpec, OptimizerConfig};

pub struct Dqn;

impl Algorithm for Dqn {
    type Config = DqnConfig;

    fn check(config: &DqnConfig) -> Result<(), Problem> {
        config.check()?;
        store_settings(config).map(drop)
    }

    fn check_setup(config: &DqnConfig, setup: &Setup) -> Result<(), Problem> {
        replay_settings(config, setup)?;
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &DqnConfig) -> Vec<Idle> {
        config.idle()
    }

    fn wants_data(config: &DqnConfig) -> bool {
        store_settings(config).is_ok_and(|settings| settings.wants_prior())
    }

    fn takes_steps(config: &DqnConfig) -> bool {
        !config.offline || config.online_timesteps > 0
    }

    fn build(config: DqnConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let Space::Discrete { n: actions } = *setup.action_space() else {
            return Err(Problem::new(&[], "this algorithm acts in Discrete spaces").into());
        };
        config.check()?;
        let settings = replay_settings(&config, setup)?;
        let adam = OptimizerConfig::Adam(AdamConfig { eps: config.adam_eps, ..AdamConfig::default() });
        let mut rng = setup.rng("init");
        let memory = config.memory.cell().map(|cell| (cell, config.recurrent_hidden_size));
        // Without a memory, the hidden layers are one network with the outputs.
        let (before, after) = match memory {
            Some(_) => (&config.hidden_sizes[..], &config.head_sizes[..]),
            None => (&[][..], &config.hidden_sizes[..]),
        };
        let (vision, activation) = (config.vision, config.activation);
        let observations = setup.observation_space();
        let spec = TorsoSpec { observations, vision, layers: before, activation, memory };
        let torso = Torso::new(&spec, &Init::pytorch(), &mut rng)?;
        let count = config.num_quantiles;
        if matches!(config.head, HeadKind::Implicit | HeadKind::Fqf) {
            let net = ImplicitNet::new(torso, after, activation, actions, config.embedding_dim, &mut rng);
            let proposal = (config.head == HeadKind::Fqf).then(|| {
                let rate = config.fraction_learning_rate.clone();
                Fractions::new(net.features(), count, rate, config.fraction_ent_coef, &mut rng)
            });
            let head = Head::Quantile { kappa: config.kappa };
            let target = config.num_target_quantiles.unwrap_or(count);
            let counts = Counts { learned: count, target, choice: config.num_choice_quantiles };
            let model = ImplicitModel::new(net, counts, proposal, &adam, config.max_grad_norm);
            return Ok(Learner::OffPolicy(Box::new(QLearner::new(config, head, actions, model)), settings));
        }
        let (head, width) = match config.head {
            HeadKind::Categorical => {
                (Head::categorical(config.v_min, config.v_max, config.num_atoms), config.num_atoms)
            }
            HeadKind::Quantile => (Head::Quantile { kappa: config.kappa }, count),
            _ => (Head::Scalar { kappa: 1.0 }, 1),
        };
        let spec = |outputs| MlpSpec::new(torso.features(), after, outputs, activation);
        let noise = config.noisy.then_some(config.sigma_init);
        let members = if config.twin { 2 } else { 1 };
        let net = DirectNet::new(spec, actions, width, members, config.dueling, noise, &mut rng);
        let model = DirectModel::new(torso, net, &adam, config.max_grad_norm);
        Ok(Learner::OffPolicy(Box::new(QLearner::new(config, head, actions, model)), settings))
    }
}

fn replay_settings(config: &DqnConfig, setup: &Setup) -> Result<ReplaySettings, Problem> {
    Ok(ReplaySettings {
        relabel: hindsight(config.n_sampled_goal, config.goal_selection_strategy, config.n_step, setup)?,
        ..store_settings(config)?
    })
}

/// What of them does not depend on an environment.
fn store_settings(config: &DqnConfig) -> Result<ReplaySettings, Problem> {
    let sequences = config.remembers().then(|| SequenceSettings {
        length: config.sequence_length,
        overlap: config.overlap(),
        stored_state: config.stored_state,
    });
    with_prior!(config, ReplaySettings { sequences, ..prioritized_replay_settings!(config)? }).checked()
}
