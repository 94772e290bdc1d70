//! What is to be run: settings, an algorithm and environments, found to fit together.

use crate::catalogue::Catalogue;
use crate::memory::{self, MemoryError, Purpose as MemoryFor};
use crate::prior::PriorError;
use axiomrl_algos::agent::ExpertSource;
use axiomrl_algos::config::ConfigError;
use axiomrl_algos::parts::checks::{BuildError, check_fit};
use axiomrl_algos::{Agent, AlgoEntry, Policy, RunConfig, Setup, StateError};
use axiomrl_core::{Dataset, RewardScale};
use axiomrl_envs::{EnvError, EnvSource, Purpose, Seeding, Spaces, VecEnv};
use std::sync::Arc;

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
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Prior(#[from] PriorError),
    #[error("`{env}` makes no environments for training; use an algorithm that learns from recorded data alone")]
    NoEnvironments { env: String },
}

/// A run that has not begun.
#[derive(Clone)]
pub struct Experiment {
    pub config: RunConfig,
    pub algorithm: Arc<AlgoEntry>,
    pub environments: Arc<dyn EnvSource>,
    /// Transitions that somebody recorded, for algorithms that learn from them too.
    pub prior: Option<Dataset>,
    /// Whom to ask what to do, for algorithms that learn from answers.
    pub expert: Option<ExpertSource>,
}

impl Experiment {
    pub fn new(config: RunConfig, algorithm: Arc<AlgoEntry>, environments: Arc<dyn EnvSource>) -> Self {
        Self { config, algorithm, environments, prior: None, expert: None }
    }

    /// Looks up the expert that the settings name.
    pub(crate) fn find_expert(&mut self, catalogue: &Catalogue) -> Result<(), EnvError> {
        if self.config.algo_kwargs.0.get("expert").is_some() {
            self.expert = catalogue.expert(&self.config, &self.environments.spaces()?);
        }
        Ok(())
    }

    /// The environments to train in: as many as asked for, or as many as there are to be had.
    pub fn training_env(&self) -> Result<Box<dyn VecEnv>, SessionError> {
        let lanes = self.environments.lanes(Purpose::Training, self.config.num_envs);
        if lanes == 0 {
            return Err(SessionError::NoEnvironments { env: self.config.env_id.clone() });
        }
        Ok(self.environments.make(lanes, &Seeding::new(self.config.seed, "env"), Purpose::Training)?)
    }

    /// What an agent for `env` is built for.
    pub fn setup(&self, env: &dyn VecEnv) -> Setup {
        Setup {
            num_envs: env.num_envs(),
            seed: self.config.seed,
            rules: env.task_rules(),
            to_train: true,
            scaling: self.config.scaling(),
            reward: self.config.dataset.as_ref().map_or(RewardScale::IDENTITY, |data| data.reward()),
            total: self.config.total_timesteps,
            normalize_reward: self.config.normalize_reward,
            prior: self.prior.clone(),
            expert: self.expert.clone(),
            ..Setup::new(env.spaces().clone())
        }
    }

    /// An agent for `env`, refused with a reason where the two do not fit or there is no memory for it.
    pub fn agent(&self, env: &dyn VecEnv, purpose: MemoryFor) -> Result<Box<dyn Agent>, SessionError> {
        let setup = self.setup(env);
        check_fit(&self.algorithm, &self.config.env_id, &setup)?;
        memory::check(&self.config, &setup.spaces, purpose)?;
        Ok(self.algorithm.build(&self.config.algo_kwargs.0, &setup)?.into_agent(&setup)?)
    }
}

/// A policy of these settings for these spaces, to be loaded.
pub fn blank_policy(
    config: &RunConfig,
    algorithm: &AlgoEntry,
    spaces: Spaces,
) -> Result<Box<dyn Policy>, SessionError> {
    let setup = Setup { seed: config.seed, scaling: config.scaling(), ..Setup::new(spaces) };
    check_fit(algorithm, &config.env_id, &setup)?;
    memory::check(config, &setup.spaces, MemoryFor::Act)?;
    // Hindsight asks the environment's rules while training; acting does not.
    let settings = without_hindsight(&config.algo_kwargs.0);
    Ok(algorithm.build(&settings, &setup)?.into_policy(&setup)?)
}

fn without_hindsight(settings: &serde_json::Value) -> serde_json::Value {
    let mut settings = settings.clone();
    if let Some(goals) = settings.get_mut("n_sampled_goal") {
        *goals = 0.into();
    }
    settings
}
