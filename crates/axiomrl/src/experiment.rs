//! A run put together in code.

use axiomrl_algos::config::ConfigError;
use axiomrl_algos::registry::Settings;
use axiomrl_core::Dataset;
use axiomrl_envs::{Env, EnvSource};
use axiomrl_run::catalogue::{Batches, Catalogue, CatalogueError};
use axiomrl_run::evaluate::{EVALUATION_SEED, EvalError, EvalOptions, Evaluation, Evaluator};
use axiomrl_run::observe::Observer;
use axiomrl_run::train::{Outcome, TrainError, TrainOptions, Trainer};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a run could not be put together, trained or measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Eval(#[from] EvalError),
    #[error("the experiment has no environment; call `env`, `env_id` or `source`")]
    NoEnvironment,
    #[error("these settings cannot be written down: {0}")]
    Settings(#[from] serde_json::Error),
}

/// What an environment that was handed over without a name is called in files.
const UNNAMED: &str = "Custom-v0";

/// A run in the making: an algorithm's settings, an environment, and how to run.
///
/// Whatever is not said is as in a run file that does not say it. Nothing is written to disk unless a folder is named.
pub struct Experiment {
    algo: &'static str,
    settings: Result<Value, serde_json::Error>,
    run: Map<String, Value>,
    catalogue: Catalogue,
    problem: Option<CatalogueError>,
    options: TrainOptions,
    observers: Vec<Box<dyn Observer>>,
    prior: Option<Dataset>,
}

impl Experiment {
    /// An experiment with the algorithm that these settings belong to.
    pub fn new<S: Settings>(settings: S) -> Self {
        let mut catalogue = Catalogue::builtin();
        let about = S::about();
        // A user's own algorithm becomes known with its first use.
        if catalogue.find_algorithm(about.name).is_none() {
            let _ = catalogue.algorithm::<S::Algorithm>(about, S::default);
        }
        Self {
            algo: about.name,
            settings: serde_json::to_value(settings),
            run: Map::new(),
            catalogue,
            problem: None,
            options: TrainOptions { without_folder: true, quiet: true, ..TrainOptions::default() },
            observers: Vec::new(),
            prior: None,
        }
    }

    /// The name that files and logs know the algorithm by, for settings that make it another one (`td3` of [`Sac`]).
    ///
    /// [`Sac`]: crate::prelude::Sac
    pub fn named(mut self, algo: &'static str) -> Self {
        self.algo = algo;
        self
    }

    /// Trains in environments that `make` makes.
    pub fn env<E: Env + 'static>(mut self, make: impl Fn() -> E + Clone + Send + Sync + 'static) -> Self {
        self.problem = self.catalogue.environment(UNNAMED, "An environment of this program", make).err();
        self.env_id(UNNAMED)
    }

    /// Trains in batches of environments that come from elsewhere.
    pub fn source<S: EnvSource + 'static>(mut self, source: S) -> Self {
        let factory = Batches(Arc::new(source));
        self.problem = self.catalogue.environment(UNNAMED, "Environments of this program", factory).err();
        self.env_id(UNNAMED)
    }

    /// Trains in an environment by its name.
    pub fn env_id(self, name: &str) -> Self {
        self.set("env_id", name)
    }

    /// Environments stepped together.
    pub fn num_envs(self, count: usize) -> Self {
        self.set("num_envs", count)
    }

    /// Everything random follows from it.
    pub fn seed(self, seed: u64) -> Self {
        self.set("seed", seed)
    }

    /// Standardises observations with running statistics.
    pub fn normalize_observation(self, on: bool) -> Self {
        self.set("normalize_observation", on)
    }

    /// Divides rewards by the running deviation of the return.
    pub fn normalize_reward(self, on: bool) -> Self {
        self.set("normalize_reward", on)
    }

    /// Any other key of a run file.
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.run.insert(key.to_owned(), value.into());
        self
    }

    /// Learns from recorded transitions too, where the algorithm does.
    pub fn prior(mut self, data: Dataset) -> Self {
        self.prior = Some(data);
        self
    }

    /// Keeps the run in this folder: logs, checkpoints, everything that the command line goes on with.
    pub fn run_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.options.run_dir = Some(PathBuf::from(folder.as_ref()));
        self.options.without_folder = false;
        self
    }

    /// Shows a progress bar.
    pub fn show_progress(mut self) -> Self {
        self.options.quiet = false;
        self
    }

    /// Has the run watched.
    pub fn observe(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// A trainer that has not begun, for loops of your own over [`Trainer::unit`].
    pub fn trainer(self, total_timesteps: u64) -> Result<Trainer, Error> {
        if let Some(problem) = self.problem {
            return Err(problem.into());
        }
        if !self.run.contains_key("env_id") {
            return Err(Error::NoEnvironment);
        }
        let mut run = self.run;
        run.insert("algo".into(), json!(self.algo));
        run.insert("total_timesteps".into(), json!(total_timesteps));
        run.insert("algo_kwargs".into(), self.settings?);
        let mut experiment = self.catalogue.read_value(&Value::Object(run), "the experiment")?;
        experiment.prior = self.prior;
        Ok(Trainer::new(experiment, self.options, self.observers)?)
    }

    /// Trains to the end.
    pub fn train(self, total_timesteps: u64) -> Result<Trained, Error> {
        let mut trainer = self.trainer(total_timesteps)?;
        let outcome = trainer.run_to_end()?;
        Ok(Trained { trainer, outcome })
    }
}

/// What a run leaves in memory.
pub struct Trained {
    pub trainer: Trainer,
    pub outcome: Outcome,
}

impl Trained {
    /// Measures the policy over whole episodes.
    pub fn evaluate(&mut self, episodes: usize) -> Result<Evaluation, Error> {
        let options = EvalOptions { episodes, seed: EVALUATION_SEED, deterministic: true };
        let mut evaluator = Evaluator::new(self.trainer.environments());
        Ok(evaluator.evaluate(self.trainer.agent().policy(), &options)?)
    }
}
