//! Taking up a run again.

use super::{Outcome, StopReason, TrainError, TrainOptions, Trainer, checks, edited, new_pair};
use crate::checkpoint::{self, Checkpoint, CheckpointError};
use crate::files;
use crate::loggers::{Loggers, monitor};
use crate::memory::{self, Purpose};
use crate::metadata::{Metadata, RunStatus};
use crate::run_dir::RunDir;
use crate::session::{SessionError, build_agent, training_env, validated_config};
use crate::train::record::Record;
use axiomrl_algos::{Agent, RunConfig, StateError, StateIo};
use axiomrl_envs::VecEnv;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

impl Trainer {
    /// Takes up the run that `path` (a run folder or one of its checkpoints) belongs to. A new `total_timesteps` makes it
    /// longer, or shorter as long as it has not come that far. Nothing is written before everything has proved sound.
    pub fn resume(path: &Path, total_timesteps: Option<u64>, options: TrainOptions) -> Result<Self, TrainError> {
        let folder = match checkpoint::find(path) {
            Err(CheckpointError::NotFound { .. }) if never_saved(path) => {
                return Self::begin_again(path, total_timesteps, options);
            }
            found => found?,
        };
        let (run_folder, folder) = run_of(&folder);
        let run_dir = RunDir::open(&run_folder)?;
        // Before anything is read: whoever holds the lock may be replacing it right now.
        let lock = run_dir.lock()?;
        let saved = checkpoint::load(&folder)?;
        let record: Record = part(&saved, "record")?;
        let config = resumed_config(&saved, &run_dir, total_timesteps)?;
        checks::record(&record, config.num_envs).map_err(SessionError::from)?;
        if record.steps > config.total_timesteps {
            return Err(TrainError::TooShort { done: record.steps, total: config.total_timesteps });
        }
        let (env, agent) = restored_pair(&config, &record, &saved, &folder)?;
        let actions: Vec<f32> = part(&saved, "actions")?;
        checks::actions(&actions, config.num_envs, env.action_space()).map_err(SessionError::from)?;
        let seconds = checks::seconds(&saved.counters).map_err(SessionError::from)?;

        sweep(&run_dir);
        let (metadata, note) = metadata_of(&run_dir, &config);
        let mut loggers = Loggers::open(&run_dir, &config.env_id, metadata.created_at_unix)?;
        loggers.truncate_after(record.steps)?;
        let mut trainer = Self::assemble(config, options, run_dir, lock, env, agent, loggers, metadata);
        if let Some(note) = note {
            trainer.display.note(&note);
        }
        if let Some(best) = &record.best {
            trainer.display.remember_best(best.mean_reward);
        }
        trainer.actions = actions;
        trainer.steps_before = record.steps;
        trainer.seconds_before = seconds;
        trainer.metadata.best = record.best.clone();
        trainer.metadata.progress.status = RunStatus::Running;
        trainer.record = record;
        trainer.write_config()?;
        trainer.write_metadata()?;
        Ok(trainer)
    }

    /// Begins a run again in its own folder: it was killed before its first checkpoint, so nothing is lost.
    fn begin_again(run: &Path, total_timesteps: Option<u64>, options: TrainOptions) -> Result<Self, TrainError> {
        let run_dir = RunDir::open(run)?;
        let lock = run_dir.lock()?;
        let path = run_dir.config();
        let text = fs::read_to_string(&path).map_err(|source| TrainError::Read { path, source })?;
        let mut config = edited::read(&text).map_err(SessionError::from)?;
        config.total_timesteps = total_timesteps.unwrap_or(config.total_timesteps);
        let (env, agent) = new_pair(&config)?;
        sweep(&run_dir);
        let metadata = Metadata { tags: config.tags.clone(), ..Metadata::collect(config.total_timesteps) };
        let mut loggers = Loggers::open(&run_dir, &config.env_id, metadata.created_at_unix)?;
        loggers.truncate_after(0)?;
        let mut trainer = Self::assemble(config, options, run_dir, lock, env, agent, loggers, metadata);
        trainer.write_config()?;
        trainer.write_metadata()?;
        Ok(trainer)
    }

    /// When there is nothing left to do, measures the policy again instead of running.
    pub fn already_finished(&mut self) -> Result<Option<Outcome>, TrainError> {
        if !self.progress().is_over() || self.record.unattended {
            return Ok(None);
        }
        self.record.last_evaluation = self.evaluate()?;
        let stopped = self.record.last_evaluation.is_none();
        self.finish(if stopped { StopReason::Interrupted } else { StopReason::Finished }).map(Some)
    }
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

/// The settings of the checkpoint, with the number of steps asked for: by this call, or by an earlier one that was killed
/// before it could save, which `config.yaml` tells.
fn resumed_config(saved: &Checkpoint, run: &RunDir, total: Option<u64>) -> Result<RunConfig, TrainError> {
    let mut config = validated_config(&saved.config)?;
    let path = run.config();
    match fs::read_to_string(&path) {
        Ok(text) => {
            let edited = |changes: String| TrainError::Edited { path: path.clone(), changes };
            let file = edited::read(&text).map_err(|error| edited(edited::mistake(&error)))?;
            let differences = edited::differences(&config, &file);
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
    Ok(config)
}

/// Environments and agent as they were when the checkpoint was saved.
fn restored_pair(
    config: &RunConfig,
    record: &Record,
    saved: &Checkpoint,
    folder: &Path,
) -> Result<(Box<dyn VecEnv>, Box<dyn Agent>), TrainError> {
    // The settings are the checkpoint's, so it is to blame for all that they lead to.
    let mut env = training_env(config).map_err(|e| misfit("config", &e))?;
    memory::check(config, env.as_ref(), Purpose::Resume).map_err(SessionError::from)?;
    let mut agent = build_agent(config, env.as_ref()).map_err(|e| misfit("config", &e))?;
    checks::counts(&saved.snapshot.state).map_err(SessionError::from)?;
    let world = saved.snapshot.state.get("env").unwrap_or(&Value::Null);
    env.restore(world).map_err(SessionError::from)?;
    agent.exchange(&mut StateIo::Load(&saved.snapshot)).map_err(SessionError::from)?;
    let no_store = || CheckpointError::NoStore { path: folder.to_path_buf() };
    let mut store = checkpoint::open_store(saved)?.ok_or_else(no_store)?;
    agent.read_store(&mut store).map_err(|e| misfit("store", &e))?;
    agent.check_place(record.steps, record.round).map_err(SessionError::from)?;
    Ok((env, agent))
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
    let value = saved.snapshot.state.get(name).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|e| misfit(name, &e))
}

pub(super) fn misfit(name: &str, error: &dyn std::fmt::Display) -> TrainError {
    let state = StateError::Misfit { name: name.to_owned(), problem: error.to_string() };
    TrainError::Session(SessionError::State(state))
}
