//! Policies from files: they act without the environment, the stores and the optimisers they were trained with.

use crate::catalogue::Catalogue;
use crate::checkpoint::{self, SavedPolicy};
use crate::experiment::{SessionError, blank_policy};
use crate::train::TrainError;
use axiomrl_algos::{Policy, RunConfig, StateError, StateIo};
use axiomrl_envs::{EnvError, EnvSource};
use std::path::Path;
use std::sync::Arc;

/// A policy and the settings it was trained with.
pub struct TrainedPolicy {
    pub config: RunConfig,
    pub policy: Box<dyn Policy>,
}

impl TrainedPolicy {
    /// The policy of `path`: a run folder (its last checkpoint) or a checkpoint.
    pub fn load(catalogue: &Catalogue, path: &Path) -> Result<Self, TrainError> {
        let saved = checkpoint::load_policy(&checkpoint::find(path)?)?;
        Ok(Self::restore(catalogue, saved)?)
    }

    /// What is wrong with the settings that a checkpoint came with is wrong with the checkpoint.
    pub fn restore(catalogue: &Catalogue, saved: SavedPolicy) -> Result<Self, SessionError> {
        let misfit = |problem: String| StateError::Misfit { name: "config".to_owned(), problem };
        let (config, algorithm) = catalogue.revalidate(&saved.config)?;
        let spaces = match saved.spaces {
            Some(spaces) => spaces,
            None => {
                let source = catalogue.environments(&config).map_err(|e| misfit(e.to_string()))?;
                source.spaces().map_err(|e| misfit(e.to_string()))?
            }
        };
        let mut policy = blank_policy(&config, &algorithm, spaces).map_err(|error| match error {
            memory @ SessionError::Memory(_) => memory,
            other => misfit(other.to_string()).into(),
        })?;
        let scaled = saved.snapshot.policy.values.contains_key("observation_statistics");
        if scaled != policy.statistics().is_some() {
            let problem = "its settings and its statistics disagree on whether observations are normalised";
            return Err(misfit(problem.to_owned()).into());
        }
        policy.visit_state(&mut StateIo::load(&saved.snapshot, None))?;
        Ok(Self { config, policy })
    }

    /// The environments that it was trained in.
    pub fn environments(&self, catalogue: &Catalogue) -> Result<Arc<dyn EnvSource>, EnvError> {
        catalogue.environments(&self.config)
    }
}
