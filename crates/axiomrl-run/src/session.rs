//! From a configuration to an environment and an agent.

use crate::memory::{self, MemoryError, Purpose};
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
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// The configuration that a checkpoint holds, checked as a run file is: whoever made the file may have written anything
/// into it.
pub fn validated_config(saved: &Value) -> Result<RunConfig, SessionError> {
    let misfit = |problem: String| StateError::Misfit { name: "config".to_owned(), problem };
    let algo = saved.get("algo").and_then(Value::as_str).ok_or_else(|| misfit("it names no algorithm".to_owned()))?;
    let entry = find(algo).ok_or_else(|| misfit(format!("unknown algorithm `{algo}`")))?;
    let config = entry.read(&saved.to_string(), "config", &[]).map_err(|error| {
        misfit(match error {
            // Without the line: it is the whole configuration.
            ConfigError::At { message, hint, .. } | ConfigError::Whole { message, hint, .. } => message + &hint,
            other @ ConfigError::Override { .. } => other.to_string(),
        })
    })?;
    axiomrl_envs::registry::info(&config.env_id).map_err(|error| misfit(error.to_string()))?;
    Ok(config)
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

/// An agent for `env`, refused with a reason where the two do not fit.
pub fn build_agent(config: &RunConfig, env: &dyn VecEnv) -> Result<Box<dyn Agent>, SessionError> {
    let entry = find(&config.algo).ok_or_else(|| SessionError::UnknownAlgorithm(config.algo.clone()))?;
    let setup = Setup {
        observation_space: env.observation_space().clone(),
        action_space: env.action_space().clone(),
        num_envs: env.num_envs(),
        seed: config.seed,
        masked: !env.state().masks.is_empty(),
        frame_stack: config.frame_stack,
        goal_task: env.goal_task(),
    };
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
    /// `config` is the one that the checkpoint came with: what is wrong with it is wrong with the checkpoint.
    pub fn from_snapshot(config: RunConfig, snapshot: &Snapshot) -> Result<Self, SessionError> {
        let misfit = |problem: String| StateError::Misfit { name: "config".to_owned(), problem };
        let env = training_env(&RunConfig { num_envs: 1, ..config.clone() }).map_err(|e| misfit(e.to_string()))?;
        memory::check(&config, env.as_ref(), Purpose::Act)?;
        let mut agent = build_agent(&config, env.as_ref()).map_err(|e| misfit(e.to_string()))?;
        agent.exchange(&mut StateIo::LoadModel(snapshot))?;
        let normalizer = normalizer(snapshot.state.get("normalizer"), env.normalizer())?;
        Ok(Self { config, agent, normalizer })
    }
}

/// The saved statistics, if they are those of `needed`, the environment's own.
fn normalizer(saved: Option<&Value>, needed: Option<&Normalizer>) -> Result<Option<Normalizer>, SessionError> {
    let misfit = |problem: String| StateError::Misfit { name: "normalizer".to_owned(), problem };
    match (saved, needed) {
        (Some(Value::Null) | None, None) => Ok(None),
        (Some(Value::Null) | None, Some(_)) => Err(StateError::Missing("normalizer".to_owned()).into()),
        (Some(_), None) => Err(misfit("this run normalises nothing".to_owned()).into()),
        (Some(saved), Some(needed)) => {
            let found: Normalizer = serde_json::from_value(saved.clone()).map_err(|e| misfit(e.to_string()))?;
            found.check_like(needed).map_err(|e| misfit(e.to_string()))?;
            Ok(Some(found))
        }
    }
}
