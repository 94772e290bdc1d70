//! Whom to ask: rules that come with an environment, or a trained policy.

use crate::catalogue::Catalogue;
use crate::policy::TrainedPolicy;
use axiomrl_algos::agent::{Expert, ExpertSource};
use axiomrl_algos::config::Problem;
use axiomrl_algos::parts::checks::BuildError;
use axiomrl_algos::{ActContext, ActInput, LearnError, Memory, Mode, RunConfig};
use axiomrl_envs::{ActionMap, Rng, Spaces, scripted};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name that stands for the environment's own rules.
const SCRIPTED: &str = "scripted";

impl Catalogue {
    /// The expert that a run's settings name, if they name one. Nothing is opened yet.
    pub(crate) fn expert(&self, config: &RunConfig, spaces: &Spaces) -> Option<ExpertSource> {
        let name = config.algo_kwargs.0.get("expert")?.as_str()?.to_owned();
        if name == SCRIPTED {
            let (env, spaces) = (config.env_id.clone(), spaces.clone());
            return Some(Arc::new(move || Rules::expert(&env, &spaces)));
        }
        let (catalogue, path, seed) = (self.clone(), PathBuf::from(name), config.seed);
        Some(Arc::new(move || Trained::expert(&catalogue, &path, seed)))
    }
}

struct Rules {
    rules: &'static dyn scripted::Expert,
    map: ActionMap,
    /// In the environment's units.
    chosen: Vec<f32>,
}

impl Rules {
    fn expert(env: &str, spaces: &Spaces) -> Result<Box<dyn Expert>, BuildError> {
        let Some(rules) = scripted::expert(env) else {
            let known: Vec<&str> = scripted::names().collect();
            let problem =
                format!("`{env}` has no scripted expert; give the path of a run, or take {}", known.join(", "));
            return Err(Problem::new(&["expert"], problem).into());
        };
        Ok(Box::new(Self { rules, map: ActionMap::of(&spaces.action)?, chosen: Vec::new() }))
    }
}

impl Expert for Rules {
    fn act(&mut self, input: ActInput<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        self.chosen.resize(actions.len(), 0.0);
        self.rules.act(input.obs, &mut self.chosen);
        self.map.to_unit(&self.chosen, actions);
        Ok(())
    }
}

struct Trained {
    policy: TrainedPolicy,
    rng: Rng,
}

impl Trained {
    fn expert(catalogue: &Catalogue, path: &Path, seed: u64) -> Result<Box<dyn Expert>, BuildError> {
        let refused = |problem: String| Problem::new(&["expert"], format!("{}: {problem}", path.display()));
        let policy = TrainedPolicy::load(catalogue, path).map_err(|error| refused(error.to_string()))?;
        if policy.policy.memory_width() > 0 {
            let problem = "a policy with a memory cannot be asked about single moments; take one without".to_owned();
            return Err(refused(problem).into());
        }
        Ok(Box::new(Self { policy, rng: axiomrl_core::stream(seed, "expert") }))
    }
}

impl Expert for Trained {
    fn act(&mut self, input: ActInput<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let mut memory = Memory::new(input.rows(), 0);
        self.policy.policy.act(input, ActContext::new(&mut memory, Mode::Best, &mut self.rng), actions)
    }
}
