//! Taking up a run again.

use super::folder::Folder;
use super::record::Record;
use super::{Outcome, StopReason, TrainError, TrainOptions, Trainer, checks, edited};
use crate::catalogue::Catalogue;
use crate::checkpoint::{self, Checkpoint, CheckpointError, StoreReader};
use crate::experiment::{Experiment, SessionError};
use crate::files;
use crate::loggers::monitor;
use crate::memory::Purpose;
use crate::metadata::{Metadata, RunStatus};
use crate::observe::Observer;
use crate::run_dir::{RunDir, RunDirError};
use axiomrl_algos::{Agent, RunConfig, StateError, StateIo};
use axiomrl_core::Metrics;
use axiomrl_envs::{Seeding, VecEnv};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

impl Trainer {
    /// Takes up the run that `path` (a run folder or one of its checkpoints) belongs to. A new `total_timesteps` makes it
    /// longer, or shorter as long as it has not come that far. Nothing is written before everything has proved sound.
    pub fn resume(
        catalogue: &Catalogue,
        path: &Path,
        total_timesteps: Option<u64>,
        options: TrainOptions,
        observers: Vec<Box<dyn Observer>>,
    ) -> Result<Self, TrainError> {
        let folder = match checkpoint::find(path) {
            Err(CheckpointError::NotFound { .. }) if never_saved(path) => {
                return Self::begin_again(catalogue, path, total_timesteps, options, observers);
            }
            found => found?,
        };
        let (run_folder, folder) = run_of(&folder);
        let run_dir = RunDir::open(&run_folder).map_err(|error| match error {
            // Users know what they gave, not where it led.
            RunDirError::NotARun { .. } => {
                let found = "it does not lie in a run folder".to_owned();
                TrainError::from(CheckpointError::NotACheckpoint { path: path.to_path_buf(), found })
            }
            other => other.into(),
        })?;
        // Before anything is read: whoever holds the lock may be replacing it right now.
        let lock = run_dir.lock()?;
        let saved = checkpoint::load(&folder)?;
        let record: Record = part(&saved, "record")?;
        let mut experiment = resumed_experiment(catalogue, &saved, &run_dir, total_timesteps)?;
        experiment.prior = options.prior.clone();
        let told = experiment.load_prior().map_err(SessionError::from)?;
        let restored = Restored::new(&experiment, &record, &saved)?;
        let (phases, done) = (restored.agent.phases(experiment.config.total_timesteps), record.env_steps);
        check_length(done, phases.steps, experiment.config.total_timesteps)?;
        if done == 0 && phases.updates > 0 {
            // Updates that are made stay made, too.
            check_length(record.updates, phases.updates, experiment.config.total_timesteps)?;
        }
        let seconds = checks::seconds(&saved.counters).map_err(SessionError::from)?;

        sweep(&run_dir);
        let (metadata, note) = metadata_of(&run_dir, &experiment.config);
        let folder = Folder::open(run_dir, lock, metadata, &experiment.config.env_id)?;
        let Restored { env, agent, metrics, actions, begins_anew } = restored;
        let mut trainer = Self::assemble(experiment, options, Some(folder), observers, env, agent)?;
        trainer.action_map.to_env(&actions, &mut trainer.executed);
        (trainer.actions, trainer.metrics) = (actions, metrics);
        trainer.seconds_before = seconds;
        trainer.record = record;
        trainer.at_before = trainer.clock().at;
        trainer.tell_all(&told)?;
        trainer.take_up(note, begins_anew)?;
        Ok(trainer)
    }

    /// What is told, written and begun once everything has proved sound.
    fn take_up(&mut self, note: Option<String>, begins_anew: bool) -> Result<(), TrainError> {
        let at = self.clock().at;
        if let Some(folder) = &mut self.folder {
            folder.loggers.truncate_after(at)?;
            folder.metadata.best = self.record.best.clone();
            folder.metadata.progress.status = RunStatus::Running;
        }
        for observer in &mut self.observers {
            observer.resumed_at(at).map_err(TrainError::Observer)?;
        }
        if let Some(note) = note {
            self.display.note(&note);
        }
        if let Some(best) = &self.record.best {
            self.display.remember_best(best.mean_reward);
        }
        if begins_anew {
            self.display.note("note: the state of the environments was not saved; new episodes begin");
            self.record.restart_round(self.env.num_envs());
            self.begin_episodes()?;
        }
        self.write_config()?;
        self.write_metadata()
    }

    /// Begins a run again in its own folder: it was killed before its first checkpoint, so nothing is lost.
    fn begin_again(
        catalogue: &Catalogue,
        run: &Path,
        total_timesteps: Option<u64>,
        options: TrainOptions,
        observers: Vec<Box<dyn Observer>>,
    ) -> Result<Self, TrainError> {
        let run_dir = RunDir::open(run)?;
        let lock = run_dir.lock()?;
        let path = run_dir.config();
        let text = fs::read_to_string(&path).map_err(|source| TrainError::Read { path, source })?;
        let (mut config, algorithm) = catalogue.read_written(&text, "config.yaml").map_err(SessionError::from)?;
        config.total_timesteps = total_timesteps.unwrap_or(config.total_timesteps);
        check_length(0, config.total_timesteps, config.total_timesteps)?;
        let environments = catalogue.environments(&config).map_err(TrainError::environment)?;
        let mut experiment = Experiment::new(config, algorithm, environments);
        experiment.find_expert(catalogue).map_err(TrainError::environment)?;
        experiment.prior = options.prior.clone();
        let told = experiment.load_prior().map_err(SessionError::from)?;
        let mut env = experiment.training_env()?;
        let agent = experiment.agent(env.as_ref(), Purpose::Train)?;
        env.reset(None).map_err(TrainError::environment)?;
        sweep(&run_dir);
        let config = &experiment.config;
        let metadata = Metadata { tags: config.tags.clone(), ..Metadata::collect(config.total_timesteps) };
        let folder = Folder::open(run_dir, lock, metadata, &config.env_id)?;
        let mut trainer = Self::assemble(experiment, options, Some(folder), observers, env, agent)?;
        trainer.tell_all(&told)?;
        trainer.take_up(None, false)?;
        trainer.begin_episodes()?;
        Ok(trainer)
    }

    /// When there is nothing left to do, measures the policy again instead of running.
    pub fn already_finished(&mut self) -> Result<Option<Outcome>, TrainError> {
        let clock = self.clock();
        if !clock.is_over() || self.record.served < clock.at {
            return Ok(None);
        }
        if !self.evaluator.has_environments() {
            return self.finish(StopReason::Finished).map(Some);
        }
        self.record.last_evaluation = self.evaluate()?;
        let stopped = self.record.last_evaluation.is_none();
        self.finish(if stopped { StopReason::Interrupted } else { StopReason::Finished }).map(Some)
    }
}

/// A run has something to do, and the steps that are done stay done.
fn check_length(done: u64, steps: u64, total: u64) -> Result<(), TrainError> {
    if steps < done || total == 0 { Err(TrainError::TooShort { done, total }) } else { Ok(()) }
}

/// The run folder that a checkpoint belongs to, and the checkpoint.
fn run_of(folder: &Path) -> (PathBuf, PathBuf) {
    let named = folder.file_name().is_some() && folder.parent().and_then(Path::file_name).is_some();
    let run = |folder: &Path| folder.parent().and_then(Path::parent).unwrap_or(folder).to_path_buf();
    if named && !run(folder).as_os_str().is_empty() {
        return (run(folder), folder.to_path_buf());
    }
    // `.`, `last`, `../best`: where they are can only be told by asking.
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    (run(&folder), folder)
}

/// What the checkpoint ran, with the number of steps asked for: by this call, or by an earlier one that was killed before it
/// could save, which `config.yaml` tells.
fn resumed_experiment(
    catalogue: &Catalogue,
    saved: &Checkpoint,
    run: &RunDir,
    total: Option<u64>,
) -> Result<Experiment, TrainError> {
    let mut experiment = catalogue.experiment(&saved.config).map_err(SessionError::from)?;
    let config = &mut experiment.config;
    let path = run.config();
    match fs::read_to_string(&path) {
        Ok(text) => {
            let edited = |changes: String| TrainError::Edited { path: path.clone(), changes };
            let file = edited::read(catalogue, &text).map_err(|error| edited(error.in_one_line()))?;
            let differences = edited::differences(config, &file);
            if !differences.is_empty() {
                return Err(edited(differences.join(", ")));
            }
            config.total_timesteps = file.total_timesteps;
        }
        // The checkpoint knows it all.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(TrainError::Read { path, source }),
    }
    config.total_timesteps = total.unwrap_or(config.total_timesteps);
    Ok(experiment)
}

/// Environments and agent as they were when the checkpoint was saved.
struct Restored {
    env: Box<dyn VecEnv>,
    agent: Box<dyn Agent>,
    metrics: Metrics,
    actions: Vec<f32>,
    /// Whether the environments could not be saved and were reset.
    begins_anew: bool,
}

impl Restored {
    fn new(experiment: &Experiment, record: &Record, saved: &Checkpoint) -> Result<Self, TrainError> {
        // The settings are the checkpoint's, so it is to blame for all that they lead to.
        let mut env = experiment.training_env().map_err(|e| misfit("config", &e))?;
        checks::record(record, env.num_envs()).map_err(SessionError::from)?;
        let mut agent = match experiment.agent(env.as_ref(), Purpose::Resume) {
            Err(memory @ SessionError::Memory(_)) => return Err(memory.into()),
            other => other.map_err(|e| misfit("config", &e))?,
        };
        checks::counts(&saved.snapshot.training.values).map_err(SessionError::from)?;
        let actions: Vec<f32> = part(saved, "actions")?;
        checks::actions(&actions, env.num_envs(), &env.spaces().action).map_err(SessionError::from)?;
        let mut metrics = Metrics::default();
        let mut stores = StoreReader(saved);
        let mut io = StateIo::load(&saved.snapshot, Some(&mut stores));
        agent.visit_state(&mut io).and_then(|()| io.metrics(&mut metrics)).map_err(SessionError::from)?;
        let begins_anew = saved.environments.is_none();
        match &saved.environments {
            Some(state) => {
                env.restore(state).map_err(SessionError::from)?;
                agent.check_place(record.env_steps, record.round).map_err(SessionError::from)?;
            }
            None => {
                // Other episodes than the run began with.
                let seeding = Seeding::new(experiment.config.seed, format!("env@{}", record.env_steps));
                env.reset(Some(&seeding)).map_err(TrainError::environment)?;
            }
        }
        Ok(Self { env, agent, metrics, actions, begins_anew })
    }
}

/// The run's metadata, or new ones with a note of why: they describe the run, and nothing in it depends on them.
fn metadata_of(run: &RunDir, config: &RunConfig) -> (Metadata, Option<String>) {
    let path = run.metadata();
    let (mut metadata, note) = match Metadata::read(&path) {
        Ok(metadata) => (metadata, None),
        Err(error) => {
            let note = format!("note: {} cannot be read ({error}) and is written anew", path.display());
            let fresh = Metadata::collect(config.total_timesteps);
            (fresh.created(monitor::started(&run.monitor_csv())), Some(note))
        }
    };
    metadata.tags.clone_from(&config.tags);
    (metadata, note)
}

/// Whether `run` is the folder of a run that never reached a checkpoint. One that did says so in its metadata, even if
/// the checkpoint has been lost since: such a run must not be begun again unasked.
fn never_saved(run: &Path) -> bool {
    let Ok(run_dir) = RunDir::open(run) else { return false };
    let unsaved = match Metadata::read(&run_dir.metadata()) {
        Ok(metadata) => metadata.progress.timesteps == 0,
        Err(_) => checkpoint::list(&run_dir.checkpoints()).is_empty(),
    };
    unsaved && run_dir.config().is_file()
}

/// What kills left behind. The lock is held, so nobody is writing.
fn sweep(run: &RunDir) {
    files::sweep(run.path());
    files::sweep(&run.tensorboard());
    checkpoint::sweep(&run.checkpoints());
}

fn part<T: serde::de::DeserializeOwned>(saved: &Checkpoint, name: &str) -> Result<T, TrainError> {
    let value = saved.snapshot.training.values.get(name).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|e| misfit(name, &e))
}

pub(super) fn misfit(name: &str, error: &dyn std::fmt::Display) -> TrainError {
    let state = StateError::Misfit { name: name.to_owned(), problem: error.to_string() };
    TrainError::Session(SessionError::State(state))
}
