//! All that can be run by name: the built-in algorithms and environments, and what a user adds to them.

use crate::experiment::{Experiment, SessionError};
use crate::prior::{self, NO_ENVIRONMENT};
use axiomrl_algos::config::{ConfigError, Document};
use axiomrl_algos::parts::checks::{BuildError, check_fit};
use axiomrl_algos::parts::statistics::ObsStats;
use axiomrl_algos::registry::{self, About, Algorithm};
use axiomrl_algos::{AlgoEntry, RunConfig, Setup, StateError};
use axiomrl_core::RewardScale;
use axiomrl_envs::names::{short, suggestion};
use axiomrl_envs::registry as native;
use axiomrl_envs::registry::MAPPING_SEED;
use axiomrl_envs::{EachEnv, Env, EnvError, EnvSource, NoEnv, Spaces, Wrapping};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A source, or why there is none.
pub type Sourced = Result<Arc<dyn EnvSource>, EnvError>;

/// Makes sources of an environment: with the options of a run file, and what is wrapped round it.
pub trait EnvFactory: Send + Sync {
    fn source(&self, name: &str, kwargs: &Map<String, Value>, wrapping: Wrapping) -> Sourced;
}

/// A function that makes an environment is a factory; it takes no options.
impl<F, E> EnvFactory for F
where
    F: Fn() -> E + Clone + Send + Sync + 'static,
    E: Env + 'static,
{
    fn source(&self, name: &str, kwargs: &Map<String, Value>, wrapping: Wrapping) -> Sourced {
        if let Some(key) = kwargs.keys().next() {
            let problem = format!("unknown option `{key}`; it takes none");
            return Err(EnvError::BadOption { env: name.to_owned(), problem });
        }
        let make = self.clone();
        let source = EachEnv::new(name, wrapping, move || Ok(Box::new(make()) as Box<dyn Env>));
        source.spaces()?;
        Ok(Arc::new(source))
    }
}

/// A factory whose environments take options: each is named, so that a mistyped one is refused.
pub struct WithOptions<F> {
    names: Vec<String>,
    make: F,
}

impl<F> WithOptions<F>
where
    F: Fn(&Map<String, Value>) -> Result<Box<dyn Env>, EnvError> + Clone + Send + Sync + 'static,
{
    pub fn new(names: &[&str], make: F) -> Self {
        Self { names: names.iter().map(|&name| name.to_owned()).collect(), make }
    }
}

impl<F> EnvFactory for WithOptions<F>
where
    F: Fn(&Map<String, Value>) -> Result<Box<dyn Env>, EnvError> + Clone + Send + Sync + 'static,
{
    fn source(&self, name: &str, kwargs: &Map<String, Value>, wrapping: Wrapping) -> Sourced {
        if let Some(key) = kwargs.keys().find(|key| !self.names.contains(key)) {
            let problem = format!("unknown option `{key}`; it takes {}", self.names.join(", "));
            return Err(EnvError::BadOption { env: name.to_owned(), problem });
        }
        let (make, given) = (self.make.clone(), kwargs.clone());
        let source = EachEnv::new(name, wrapping, move || make(&given));
        source.spaces()?;
        Ok(Arc::new(source))
    }
}

/// A source of ready-made batches is a factory that takes no options and wraps nothing.
pub struct Batches<S>(pub Arc<S>);

impl<S: EnvSource + 'static> EnvFactory for Batches<S> {
    fn source(&self, name: &str, kwargs: &Map<String, Value>, wrapping: Wrapping) -> Sourced {
        let refuse = |problem: String| Err(EnvError::BadOption { env: name.to_owned(), problem });
        if let Some(key) = kwargs.keys().next() {
            return refuse(format!("unknown option `{key}`; it takes none"));
        }
        if wrapping != Wrapping::default() {
            return refuse(
                "its environments come in batches, which cannot be wrapped; set `frame_stack` and `action_repeat` to 1"
                    .to_owned(),
            );
        }
        Ok(self.0.clone())
    }
}

/// Finds environments that are in no table, such as `module:Name-v1`.
pub trait EnvResolver: Send + Sync {
    /// `None` for names that it does not know.
    fn resolve(&self, name: &str) -> Option<Arc<dyn EnvFactory>>;
}

/// What is known of an environment.
#[derive(Clone)]
pub struct EnvEntry {
    pub name: String,
    pub summary: String,
    /// Episodes are truncated after this many steps.
    pub max_steps: Option<u64>,
    /// The mean return from which the task counts as solved.
    pub reward_threshold: Option<f64>,
    /// Options of its own: name and meaning.
    pub kwargs: Vec<(String, String)>,
    factory: Arc<dyn EnvFactory>,
}

impl EnvEntry {
    /// What it shows and takes with its default options.
    pub fn spaces(&self) -> Result<Spaces, EnvError> {
        self.factory.source(&self.name, &Map::new(), Wrapping::default())?.spaces()
    }
}

/// A built-in environment.
struct Native;

impl EnvFactory for Native {
    fn source(&self, name: &str, kwargs: &Map<String, Value>, wrapping: Wrapping) -> Sourced {
        native::source(name, kwargs, wrapping)
    }
}

/// Why something could not be added.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("there is {kind} `{name}` already; give yours another name")]
    Taken { kind: &'static str, name: String },
    #[error("`{name}` is no name for {kind}: use letters, digits, `_`, `-`, `.`, `:` and `/`")]
    BadName { kind: &'static str, name: String },
}

/// The rows that commands, run files and loaded policies look names up in.
#[derive(Clone)]
pub struct Catalogue {
    algorithms: Vec<Arc<AlgoEntry>>,
    environments: Vec<EnvEntry>,
    resolvers: Vec<Arc<dyn EnvResolver>>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::builtin()
    }
}

impl Catalogue {
    /// What comes with the program.
    pub fn builtin() -> Self {
        let texts = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let environment = |info: &native::EnvInfo| EnvEntry {
            name: info.name.to_owned(),
            summary: info.summary.to_owned(),
            max_steps: info.max_steps,
            reward_threshold: info.reward_threshold,
            kwargs: texts(info.kwargs),
            factory: Arc::new(Native),
        };
        Self {
            algorithms: registry::builtin().into_iter().map(Arc::new).collect(),
            environments: native::list().iter().map(environment).collect(),
            resolvers: Vec::new(),
        }
    }

    /// Adds an algorithm: run files, `explain`, checkpoints and all the rest then know it by its name.
    pub fn algorithm<A: Algorithm>(
        &mut self,
        about: About,
        preset: fn() -> A::Config,
    ) -> Result<&mut Self, CatalogueError> {
        check_name("an algorithm", about.name, self.find_algorithm(about.name).is_some())?;
        self.algorithms.push(Arc::new(AlgoEntry::new::<A>(about, preset)));
        Ok(self)
    }

    /// Adds an environment; a function that makes one is a factory.
    pub fn environment(
        &mut self,
        name: &str,
        summary: &str,
        factory: impl EnvFactory + 'static,
    ) -> Result<&mut Self, CatalogueError> {
        check_name("an environment", name, self.find_environment(name).is_some())?;
        self.environments.push(EnvEntry {
            name: name.to_owned(),
            summary: summary.to_owned(),
            max_steps: None,
            reward_threshold: None,
            kwargs: Vec::new(),
            factory: Arc::new(factory),
        });
        Ok(self)
    }

    /// Asks `resolver` for environments that are in no table.
    pub fn resolver(&mut self, resolver: impl EnvResolver + 'static) -> &mut Self {
        self.resolvers.push(Arc::new(resolver));
        self
    }

    pub fn algorithms(&self) -> &[Arc<AlgoEntry>] {
        &self.algorithms
    }

    pub fn all_environments(&self) -> &[EnvEntry] {
        &self.environments
    }

    pub fn find_algorithm(&self, name: &str) -> Option<&Arc<AlgoEntry>> {
        self.algorithms.iter().find(|entry| entry.name == name)
    }

    pub fn find_environment(&self, name: &str) -> Option<&EnvEntry> {
        self.environments.iter().find(|entry| entry.name == name)
    }

    /// The names of all algorithms, for messages.
    pub fn algorithm_names(&self) -> Vec<&str> {
        self.algorithms.iter().map(|entry| entry.name).collect()
    }

    /// The environments that a configuration asks for.
    pub fn environments(&self, config: &RunConfig) -> Result<Arc<dyn EnvSource>, EnvError> {
        let wrapping = Wrapping { action_repeat: config.action_repeat, frame_stack: config.frame_stack };
        if config.env_id == NO_ENVIRONMENT {
            let spaces = prior::spaces(config).map_err(EnvError::failed)?;
            return Ok(Arc::new(NoEnv(spaces)));
        }
        self.source(&config.env_id, &self.options(config), wrapping)
    }

    /// The options of the environment. What is drawn once for a whole run follows from the run's seed, unless it says otherwise.
    fn options(&self, config: &RunConfig) -> Map<String, Value> {
        let mut options = config.env_kwargs.clone();
        let known = |entry: &EnvEntry| entry.kwargs.iter().any(|(name, _)| name == MAPPING_SEED);
        if self.find_environment(&config.env_id).is_some_and(known) {
            options.entry(MAPPING_SEED).or_insert_with(|| config.seed.into());
        }
        options
    }

    /// The environments called `name`, with these options.
    pub fn source(&self, name: &str, kwargs: &Map<String, Value>, wrapping: Wrapping) -> Sourced {
        if let Some(entry) = self.find_environment(name) {
            return entry.factory.source(name, kwargs, wrapping);
        }
        if let Some(factory) = self.resolvers.iter().find_map(|resolver| resolver.resolve(name)) {
            return factory.source(name, kwargs, wrapping);
        }
        let known: Vec<&str> = self.environments.iter().map(|entry| entry.name.as_str()).collect();
        Err(EnvError::unknown(name, &known))
    }

    /// Reads a run file whole: every default filled in, `assignments` (`key=value`) applied, and all of it refused that
    /// training would refuse.
    pub fn read(&self, text: &str, source_name: &str, assignments: &[String]) -> Result<Experiment, ConfigError> {
        let document = Document::parse(text, source_name, assignments)?;
        let experiment = self.read_document(&document)?;
        let settings = &experiment.config.algo_kwargs.0;
        experiment.algorithm.refuse_idle(&document, settings)?;
        Ok(experiment)
    }

    /// As [`Catalogue::read`], of keys and values that a program put together. Settings without an effect are not refused:
    /// a program writes them all.
    pub fn read_value(&self, run: &Value, source_name: &str) -> Result<Experiment, ConfigError> {
        self.read_document(&Document::of(run, source_name)?)
    }

    fn read_document(&self, document: &Document) -> Result<Experiment, ConfigError> {
        let entry = self.asked_for(document)?;
        let config = entry.read_document(document)?;
        check_data(document, entry, &config)?;
        let environments = self.environments(&config).map_err(|error| {
            let message = error.to_string();
            match error {
                EnvError::BadSetting { key, .. } => document.blame(&[&key], message),
                _ => document.blame_value(&["env_id"], message),
            }
        })?;
        let mut experiment = Experiment::new(config, entry.clone(), environments);
        experiment.find_expert(self).map_err(|error| document.blame_value(&["env_id"], error.to_string()))?;
        experiment.check_fit().map_err(|error| match error {
            SessionError::Build(BuildError::Setting(problem)) => document.problem(&problem),
            SessionError::Env(EnvError::BadSetting { key, problem, .. }) => document.blame(&[&key], problem),
            misfit => document.blame_value(&["env_id", "algo"], misfit.to_string()),
        })?;
        Ok(experiment)
    }

    /// The settings in a file that a run wrote itself: it has every key, also those without an effect.
    pub(crate) fn read_written(
        &self,
        text: &str,
        source_name: &str,
    ) -> Result<(RunConfig, Arc<AlgoEntry>), ConfigError> {
        let document = Document::parse(text, source_name, &[])?;
        let entry = self.asked_for(&document)?;
        Ok((entry.read_document(&document)?, entry.clone()))
    }

    /// The algorithm that a document asks for.
    fn asked_for(&self, document: &Document) -> Result<&Arc<AlgoEntry>, ConfigError> {
        let name = document.name_at("algo")?;
        self.find_algorithm(name).ok_or_else(|| {
            let known = suggestion(name, &self.algorithm_names());
            document.blame_value(&["algo"], format!("unknown algorithm `{}`{known}", short(name)))
        })
    }

    /// A configuration that was kept as JSON, such as a checkpoint's: checked like a run file, since it may be damaged, forged
    /// or older than a setting.
    pub fn revalidate(&self, config: &Value) -> Result<(RunConfig, Arc<AlgoEntry>), StateError> {
        let misfit = |problem: String| StateError::Misfit { name: "config".to_owned(), problem };
        let read = || -> Result<(RunConfig, Arc<AlgoEntry>), ConfigError> {
            let document = Document::of(config, "the saved configuration")?;
            let entry = self.asked_for(&document)?;
            Ok((entry.revalidate(config)?, entry.clone()))
        };
        read().map_err(|error| misfit(error.in_one_line()))
    }

    /// As [`Catalogue::revalidate`], with the environments that it asks for.
    pub fn experiment(&self, config: &Value) -> Result<Experiment, StateError> {
        let (config, entry) = self.revalidate(config)?;
        let environments = self
            .environments(&config)
            .map_err(|error| StateError::Misfit { name: "config".to_owned(), problem: error.to_string() })?;
        let mut experiment = Experiment::new(config, entry, environments);
        let misfit = |problem: String| StateError::Misfit { name: "config".to_owned(), problem };
        experiment.find_expert(self).map_err(|error| misfit(error.to_string()))?;
        Ok(experiment)
    }
}

impl Experiment {
    /// Whether environment, algorithm and settings go together. Nothing of the agent is made.
    pub fn check_fit(&self) -> Result<(), SessionError> {
        let seeding = axiomrl_envs::Seeding::new(self.config.seed, "env");
        let lanes = self.environments.lanes(axiomrl_envs::Purpose::Training, 1);
        let env = self.environments.make(lanes.max(1), &seeding, axiomrl_envs::Purpose::Training)?;
        let setup: Setup = self.setup(env.as_ref());
        check_fit(&self.algorithm, &self.config.env_id, &setup)?;
        ObsStats::new(&setup.spaces, setup.scaling)?;
        Ok(self.algorithm.check(&self.config.algo_kwargs.0, &setup)?)
    }
}

/// Refuses data that is not there, that contradicts itself, or that nobody learns from.
fn check_data(document: &Document, entry: &AlgoEntry, config: &RunConfig) -> Result<(), ConfigError> {
    let settings = &config.algo_kwargs.0;
    if config.env_id == NO_ENVIRONMENT && entry.takes_steps(settings) {
        let message = "`env_id: none` has nothing to step; name an environment, or use an algorithm with `offline: true` and \
                       `online_timesteps: 0`";
        return Err(document.blame_value(&["env_id"], message.to_owned()));
    }
    let Some(data) = &config.dataset else { return Ok(()) };
    if !entry.wants_data(settings) {
        let remedy = match settings.get("offline") {
            Some(_) => "set `algo_kwargs.offline: true` or `algo_kwargs.offline_batch_ratio`, or remove it",
            None => "use an algorithm that learns from recorded data, or remove it",
        };
        let message = format!("`dataset` has no effect: `{}` learns from its own steps alone; {remedy}", entry.name);
        return Err(document.blame(&["dataset"], message));
    }
    if config.normalize_observation && data.normalize_observation {
        let message = "observations are scaled by `dataset.normalize_observation` already; keep one of the two";
        return Err(document.blame(&["normalize_observation"], message.to_owned()));
    }
    if config.normalize_reward && data.reward() != RewardScale::IDENTITY {
        let message = "rewards are scaled by `dataset` already; keep one of the two";
        return Err(document.blame(&["normalize_reward"], message.to_owned()));
    }
    prior::check(data).map_err(|(key, problem)| {
        document.blame(&[&format!("dataset.{key}"), "dataset"], format!("`dataset.{key}`: {problem}"))
    })?;
    if let Some(missing) = prior::files(data).iter().find(|path| !path.exists()) {
        let message = format!("there is no {}; give the path of the data from here", missing.display());
        return Err(document.blame_value(&["dataset.dataset_path", "dataset"], message));
    }
    Ok(())
}

fn check_name(kind: &'static str, name: &str, taken: bool) -> Result<(), CatalogueError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    match (taken, !name.is_empty() && name.chars().all(plain)) {
        (true, _) => Err(CatalogueError::Taken { kind, name: name.to_owned() }),
        (_, false) => Err(CatalogueError::BadName { kind, name: name.to_owned() }),
        _ => Ok(()),
    }
}
