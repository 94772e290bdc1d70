//! From a configuration to an environment and an agent.

use axiomrl_algos::config::ConfigError;
use axiomrl_algos::parts::checks::{BuildError, check_fit};
use axiomrl_algos::{Agent, RunConfig, Setup, StateError, StateIo, find};
use axiomrl_core::Snapshot;
use axiomrl_envs::{EnvError, Normalizer, VecEnv, VecOptions, make_vec};
use serde_json::Value;

/// What cannot be run as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Env(#[from] EnvError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error("unknown algorithm `{0}`; `axiomrl algos` lists them")]
    UnknownAlgorithm(String),
}

/// Discount used by reward normalisation: the algorithm's own.
fn gamma(config: &RunConfig) -> f64 {
    config.algo_kwargs.0.get("gamma").and_then(Value::as_f64).unwrap_or(0.99)
}

pub fn training_env(config: &RunConfig) -> Result<Box<dyn VecEnv>, EnvError> {
    let options = VecOptions {
        num_envs: config.num_envs,
        seed: config.seed,
        stream: "env",
        action_repeat: config.action_repeat,
        frame_stack: config.frame_stack,
        normalize_observation: config.normalize_observation,
        normalize_reward: config.normalize_reward,
        gamma: gamma(config),
    };
    make_vec(&config.env_id, &config.env_kwargs, &options)
}

/// What an agent needs to know of its environment.
pub fn setup(config: &RunConfig, env: &dyn VecEnv) -> Setup {
    Setup {
        observation_space: env.observation_space().clone(),
        action_space: env.action_space().clone(),
        num_envs: env.num_envs(),
        seed: config.seed,
        masked: !env.state().masks.is_empty(),
        frame_stack: config.frame_stack,
        goal_task: env.goal_task(),
    }
}

/// An agent for `env`, refused with a reason where the two do not fit.
pub fn build_agent(config: &RunConfig, env: &dyn VecEnv) -> Result<Box<dyn Agent>, SessionError> {
    let entry = find(&config.algo).ok_or_else(|| SessionError::UnknownAlgorithm(config.algo.clone()))?;
    let setup = setup(config, env);
    check_fit(entry, &config.env_id, &setup)?;
    Ok(entry.build(&config.algo_kwargs.0, &setup)?)
}

/// A trained policy: enough to act, not to train on.
pub struct TrainedPolicy {
    pub config: RunConfig,
    pub agent: Box<dyn Agent>,
    pub normalizer: Option<Normalizer>,
}

impl TrainedPolicy {
    pub fn from_snapshot(config: RunConfig, snapshot: &Snapshot) -> Result<Self, SessionError> {
        let env = training_env(&RunConfig { num_envs: 1, ..config.clone() })?;
        let mut agent = build_agent(&config, env.as_ref())?;
        agent.exchange(&mut StateIo::LoadModel(snapshot))?;
        let normalizer = match snapshot.state.get("normalizer") {
            Some(Value::Null) | None => None,
            Some(saved) => Some(
                serde_json::from_value(saved.clone())
                    .map_err(|e| StateError::Misfit { name: "normalizer".to_owned(), problem: e.to_string() })?,
            ),
        };
        Ok(Self { config, agent, normalizer })
    }
}
