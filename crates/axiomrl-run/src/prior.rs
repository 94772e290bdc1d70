//! The recorded transitions that a run file asks for.

mod replay;

use crate::checkpoint::CheckpointError;
use crate::collect::{Amount, Behaviour, CollectError, Noise, ready, record};
use crate::experiment::Experiment;
use axiomrl_algos::RunConfig;
use axiomrl_algos::config::{DatasetConfig, DatasetKind, DatasetShare};
use axiomrl_core::Dataset;
use axiomrl_data::{DataError, EpisodeReader, LoadOptions, MixOptions, OpenOptions, Report, Share, load, minari, mix};
use axiomrl_envs::{EnvError, EnvSource, Spaces, scripted};
use std::path::{Path, PathBuf};

/// Transitions that are made where a run file does not say how many.
const MADE: usize = 10_000;

/// The name that stands for no environment at all.
pub const NO_ENVIRONMENT: &str = "none";

/// Why there are none.
#[derive(Debug, thiserror::Error)]
pub enum PriorError {
    #[error("dataset: {0}")]
    Data(#[from] DataError),
    #[error("dataset: {0}")]
    Collect(#[from] CollectError),
    #[error("dataset: {0}")]
    Run(#[from] CheckpointError),
    #[error(transparent)]
    Env(#[from] EnvError),
    #[error("dataset: {0}")]
    Invalid(String),
}

/// One source of episodes.
struct Asked<'a> {
    kind: DatasetKind,
    path: Option<&'a str>,
    id: Option<&'a str>,
}

impl<'a> From<&'a DatasetConfig> for Asked<'a> {
    fn from(asked: &'a DatasetConfig) -> Self {
        let (path, id) = (asked.dataset_path.as_deref(), asked.dataset_id.as_deref());
        Self { kind: asked.dataset_kind, path, id }
    }
}

impl<'a> From<&'a DatasetShare> for Asked<'a> {
    fn from(asked: &'a DatasetShare) -> Self {
        let (path, id) = (asked.dataset_path.as_deref(), asked.dataset_id.as_deref());
        Self { kind: asked.dataset_kind, path, id }
    }
}

/// Refuses a block that names no source, or names it twice. Says which key is to blame.
pub fn check(asked: &DatasetConfig) -> Result<(), (String, String)> {
    if let (Some(low), Some(high)) = (asked.reward_clip_min, asked.reward_clip_max)
        && low > high
    {
        return Err(("reward_clip_max".to_owned(), format!("it is below `reward_clip_min` {low}")));
    }
    if asked.dataset_mix.is_empty() {
        return Asked::from(asked).check().map_err(|(key, problem)| (key.to_owned(), problem));
    }
    let own = [("dataset_path", asked.dataset_path.is_some()), ("dataset_id", asked.dataset_id.is_some())];
    if let Some((key, _)) = own.iter().find(|(_, written)| *written) {
        return Err(((*key).to_owned(), "with `dataset_mix` each share has its own; write it there".to_owned()));
    }
    asked.dataset_mix.iter().enumerate().try_for_each(|(at, share)| {
        let blame = |(key, problem)| ("dataset_mix".to_owned(), format!("share {at}, `{key}`: {problem}"));
        Asked::from(share).check().map_err(blame)
    })
}

impl Asked<'_> {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let needs = |what: &str| Err(("dataset_kind", format!("it needs {what}")));
        match (self.kind, self.path, self.id) {
            (DatasetKind::Random | DatasetKind::Scripted, Some(_), _) => {
                Err(("dataset_path", "data that is made on the spot has no file; set `dataset_kind`".to_owned()))
            }
            (DatasetKind::Random | DatasetKind::Scripted, _, Some(_)) => {
                Err(("dataset_id", "data that is made on the spot has no name; set `dataset_kind: minari`".to_owned()))
            }
            (DatasetKind::Npz, None, _) => needs("a `dataset_path`, the `.npz` file"),
            (DatasetKind::Run, None, _) => needs("a `dataset_path`, the run folder"),
            (DatasetKind::Npz | DatasetKind::Run, _, Some(_)) => {
                Err(("dataset_id", "only Minari's data has one; remove it".to_owned()))
            }
            (DatasetKind::Minari, None, None) => needs("a `dataset_id` or a `dataset_path`"),
            (DatasetKind::Minari, Some(_), Some(_)) => {
                Err(("dataset_id", "`dataset_path` names the data already; keep one of them".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Opens it, or makes it. `made` is how many transitions are made.
    fn open(&self, run: &Run<'_>, made: usize) -> Result<Box<dyn EpisodeReader>, PriorError> {
        let path = self.path.map(Path::new);
        match (self.kind, path, self.id) {
            (DatasetKind::Random, ..) => run.made(&mut [(Behaviour::Random, 1.0)], made),
            (DatasetKind::Scripted, ..) => {
                let Some(expert) = scripted::expert(&run.config.env_id) else {
                    let known: Vec<&str> = scripted::names().collect();
                    let problem = format!(
                        "there is no scripted expert for {}; there are those of {}",
                        run.config.env_id,
                        known.join(", ")
                    );
                    return Err(PriorError::Invalid(problem));
                };
                run.made(&mut [(Behaviour::Scripted(expert), 1.0)], made)
            }
            (DatasetKind::Npz, Some(path), _) => {
                let options = OpenOptions { spaces: run.spaces.cloned(), max_episode_steps: None };
                Ok(axiomrl_data::open(path, &options)?)
            }
            (DatasetKind::Run, Some(path), _) => Ok(Box::new(replay::open(path)?)),
            (DatasetKind::Minari, Some(path), _) => Ok(minari::open(path)?),
            (DatasetKind::Minari, None, Some(id)) => minari::open(Path::new(id)).map_err(|error| remedied(error, id)),
            (DatasetKind::Npz | DatasetKind::Run | DatasetKind::Minari, ..) => {
                Err(PriorError::Invalid("it names no file; set `dataset_path`".to_owned()))
            }
        }
    }
}

/// A set that anybody can make is missing only until it is made.
fn remedied(error: DataError, id: &str) -> PriorError {
    match ready::find(id) {
        Ok(_) => PriorError::Invalid(format!("{error}; make it with `axiomrl dataset make {id}`")),
        Err(_) => error.into(),
    }
}

/// What sources are opened for.
struct Run<'a> {
    config: &'a RunConfig,
    environments: Option<&'a dyn EnvSource>,
    spaces: Option<&'a Spaces>,
    seed: u64,
}

impl Run<'_> {
    fn made(&self, by: &mut [(Behaviour<'_>, f32)], made: usize) -> Result<Box<dyn EpisodeReader>, PriorError> {
        let Some(environments) = self.environments else {
            let problem =
                "without an environment nothing can be made; name a file with `dataset_kind` and `dataset_path`";
            return Err(PriorError::Invalid(problem.to_owned()));
        };
        let amount = Amount::Transitions(made as u64);
        let recording = record("the data", environments, by, amount, self.seed, Noise::default())?;
        Ok(Box::new(recording.into_reader()))
    }

    fn open(&self, asked: &DatasetConfig) -> Result<Box<dyn EpisodeReader>, PriorError> {
        let size = asked.dataset_size.unwrap_or(MADE);
        if asked.dataset_mix.is_empty() {
            let whole = Asked::from(asked).open(self, size)?;
            let made = matches!(asked.dataset_kind, DatasetKind::Random | DatasetKind::Scripted);
            return Ok(match asked.dataset_size.filter(|_| !made) {
                None => whole,
                // The first episodes, until there are enough.
                Some(most) => Box::new(First { reader: whole, left: most as u64 }),
            });
        }
        let sources = asked.dataset_mix.iter().map(|share| {
            let reader = Asked::from(share).open(self, size)?;
            Ok(Share { reader, weight: f64::from(share.weight) })
        });
        let sources: Vec<Share> = sources.collect::<Result<_, PriorError>>()?;
        let options = MixOptions { size: size as u64, seed: self.seed, repeats: false };
        Ok(Box::new(mix(sources, &options)?.into_reader()))
    }
}

/// The spaces of the data, for runs without an environment.
pub fn spaces(config: &RunConfig) -> Result<Spaces, PriorError> {
    let run = Run { config, environments: None, spaces: None, seed: config.seed };
    let asked = config.dataset.clone().unwrap_or_default();
    Ok(run.open(&asked)?.spaces().clone())
}

impl Experiment {
    /// Whether it learns from recorded transitions.
    pub fn wants_data(&self) -> bool {
        self.algorithm.wants_data(&self.config.algo_kwargs.0)
    }

    /// Reads or makes the recorded transitions, where the algorithm learns from some and none were handed over. Gives what is
    /// to be said about them.
    pub fn load_prior(&mut self) -> Result<Vec<String>, PriorError> {
        if self.prior.is_some() || !self.wants_data() {
            return Ok(Vec::new());
        }
        let asked = self.config.dataset.clone();
        let mut notes = Vec::new();
        if asked.as_ref().is_none_or(|asked| asked.dataset_mix.is_empty() && asked.dataset_kind == DatasetKind::Random)
        {
            notes.push(format!(
                "it learns from uniformly random actions; give it better ones with `dataset`{}",
                if asked.is_none() { ", which the run file does not have" } else { "" }
            ));
        }
        let asked = asked.unwrap_or_default();
        let spaces = self.environments.spaces()?;
        let nowhere = self.config.env_id == NO_ENVIRONMENT;
        let run = Run {
            config: &self.config,
            environments: (!nowhere).then_some(self.environments.as_ref()),
            spaces: (!nowhere).then_some(&spaces),
            seed: asked.dataset_seed.unwrap_or(self.config.seed),
        };
        let (data, report): (Dataset, Report) = load(&mut *run.open(&asked)?, Some(&spaces), &LoadOptions::default())?;
        notes.push(report.to_string());
        self.prior = Some(data);
        Ok(notes)
    }
}

/// Episodes until there are enough transitions.
struct First {
    reader: Box<dyn EpisodeReader>,
    left: u64,
}

impl EpisodeReader for First {
    fn name(&self) -> &str {
        self.reader.name()
    }

    fn spaces(&self) -> &Spaces {
        self.reader.spaces()
    }

    fn metadata(&self) -> &axiomrl_data::Metadata {
        self.reader.metadata()
    }

    fn next_episode(&mut self) -> Result<Option<axiomrl_data::EpisodeBuf>, DataError> {
        if self.left == 0 {
            return Ok(None);
        }
        let episode = self.reader.next_episode()?;
        self.left = self.left.saturating_sub(episode.as_ref().map_or(0, |episode| episode.steps() as u64));
        Ok(episode)
    }

    fn notes(&self) -> Vec<String> {
        self.reader.notes()
    }
}

/// Files and folders that a block names, to be looked for before anything is made.
pub fn files(asked: &DatasetConfig) -> Vec<PathBuf> {
    let shares = asked.dataset_mix.iter().filter_map(|share| share.dataset_path.as_ref());
    asked.dataset_path.iter().chain(shares).map(PathBuf::from).collect()
}
