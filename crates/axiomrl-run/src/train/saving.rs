//! Writing a run's state down, and taking it up again.

use super::{Outcome, StopReason, TrainError, TrainOptions, Trainer, write_to};
use crate::checkpoint::{self, CheckpointError};
use crate::loggers::Loggers;
use crate::metadata::{Metadata, RunStatus};
use crate::run_dir::RunDir;
use crate::session::{SessionError, build_agent, training_env};
use crate::train::record::Record;
use axiomrl_algos::{RunConfig, StateError, StateIo};
use axiomrl_core::Snapshot;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

impl Trainer {
    /// Takes up the run that `path` (a run folder or one of its checkpoints) belongs to. A new `total_timesteps`
    /// makes it longer or shorter.
    pub fn resume(path: &Path, total_timesteps: Option<u64>, options: TrainOptions) -> Result<Self, TrainError> {
        let folder = match checkpoint::find(path) {
            Err(CheckpointError::NotFound { .. }) if never_saved(path) => {
                return Self::begin_again(path, total_timesteps, options);
            }
            found => found?,
        };
        let run_folder = folder.parent().and_then(Path::parent).unwrap_or(&folder);
        let run_dir = RunDir::open(run_folder)?;
        // Before anything is read: whoever holds the lock may be replacing it right now.
        let lock = run_dir.lock()?;
        let saved = checkpoint::load(&folder)?;
        let mut config: RunConfig = serde_json::from_value(saved.config.clone()).map_err(|e| misfit("config", &e))?;
        if let Some(total) = total_timesteps {
            config.total_timesteps = total;
        }

        let mut env = training_env(&config).map_err(SessionError::from)?;
        let mut agent = build_agent(&config, env.as_ref())?;
        let part = |name: &str| saved.snapshot.state.get(name).cloned().unwrap_or(Value::Null);
        env.restore(&part("env")).map_err(SessionError::from)?;
        agent.exchange(&mut StateIo::Load(&saved.snapshot)).map_err(SessionError::from)?;
        let mut store =
            checkpoint::open_store(&saved)?.ok_or_else(|| CheckpointError::NoStore { path: folder.clone() })?;
        agent.read_store(&mut store).map_err(|e| misfit("store", &e))?;

        let metadata = write_to(&run_dir.metadata(), Metadata::read(&run_dir.metadata()))?;
        let mut loggers = Loggers::open(&run_dir, &config.env_id, metadata.created_at_unix)?;
        let record: Record = serde_json::from_value(part("record")).map_err(|e| misfit("record", &e))?;
        loggers.truncate_after(record.steps)?;
        let actions = serde_json::from_value(part("actions")).map_err(|e| misfit("actions", &e))?;

        let seconds = saved.counters.get("seconds").and_then(Value::as_f64).unwrap_or(0.0);
        let mut trainer = Self::assemble(config, options, run_dir, lock, env, agent, loggers, metadata);
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
        let text = write_to(&run_dir.config(), fs::read_to_string(run_dir.config()))?;
        let mut config: RunConfig = serde_saphyr::from_str(&text).map_err(|e| misfit("config.yaml", &e))?;
        if let Some(total) = total_timesteps {
            config.total_timesteps = total;
        }
        let mut env = training_env(&config).map_err(SessionError::from)?;
        let agent = build_agent(&config, env.as_ref())?;
        env.reset();
        let metadata = Metadata::collect(config.total_timesteps);
        let mut loggers = Loggers::open(&run_dir, &config.env_id, metadata.created_at_unix)?;
        loggers.truncate_after(0)?;
        let mut trainer = Self::assemble(config, options, run_dir, lock, env, agent, loggers, metadata);
        trainer.write_config()?;
        trainer.write_metadata()?;
        Ok(trainer)
    }

    /// When there is nothing left to do, measures the policy again instead of running.
    pub fn already_finished(&mut self) -> Result<Option<Outcome>, TrainError> {
        if !self.progress().is_over() {
            return Ok(None);
        }
        self.record.last_evaluation = Some(self.evaluate()?);
        self.finish(StopReason::Finished).map(Some)
    }

    /// `last` with the store, and a numbered copy without it.
    pub(super) fn save_periodic(&mut self) -> Result<(), TrainError> {
        self.loggers.sync()?;
        self.save(&self.run_dir.last_checkpoint(), true)?;
        if self.config.keep_checkpoints > 0 {
            self.save(&self.run_dir.step_checkpoint(self.record.steps), false)?;
            self.forget_old_checkpoints();
        }
        self.write_metadata()
    }

    pub(super) fn save(&mut self, folder: &Path, with_store: bool) -> Result<(), TrainError> {
        let mut snapshot = Snapshot::default();
        self.agent.exchange(&mut StateIo::Save(&mut snapshot)).map_err(SessionError::from)?;
        let state = &mut snapshot.state;
        state.insert("env".into(), self.env.snapshot());
        state.insert("normalizer".into(), as_json("normalizer", &self.env.normalizer())?);
        state.insert("record".into(), as_json("record", &self.record)?);
        state.insert("actions".into(), as_json("actions", &self.actions)?);
        let config = as_json("config", &self.config)?;
        let counters = json!({
            "steps": self.record.steps,
            "updates": self.agent.updates(),
            "episodes": self.record.episodes,
            "seconds": self.seconds(),
        });
        let agent = &self.agent;
        let mut write_store = |to: &mut dyn std::io::Write| agent.write_store(to);
        let store: Option<checkpoint::StoreWriter<'_>> = if with_store { Some(&mut write_store) } else { None };
        Ok(checkpoint::save(folder, &config, &counters, &snapshot, store)?)
    }

    /// Keeps the newest numbered checkpoints only. A folder that cannot be removed costs space, not the run.
    fn forget_old_checkpoints(&self) {
        let mut numbered: Vec<_> = checkpoint::list(&self.run_dir.checkpoints())
            .into_iter()
            .filter_map(|path| {
                let step: u64 = path.file_name()?.to_str()?.strip_prefix("step_")?.parse().ok()?;
                Some((step, path))
            })
            .collect();
        numbered.sort();
        let surplus = numbered.len().saturating_sub(self.config.keep_checkpoints);
        for (_, path) in numbered.into_iter().take(surplus) {
            let _ = fs::remove_dir_all(path);
        }
    }

    pub(super) fn write_config(&self) -> Result<(), TrainError> {
        let path = self.run_dir.config();
        let text = crate::yaml::to_yaml(&as_json("config", &self.config)?);
        write_to(&path, crate::files::write_atomic(&path, text.as_bytes()))
    }

    pub(super) fn write_metadata(&mut self) -> Result<(), TrainError> {
        let progress = &mut self.metadata.progress;
        progress.timesteps = self.record.steps;
        progress.episodes = self.record.episodes;
        progress.total_timesteps = self.config.total_timesteps;
        progress.elapsed_seconds = self.seconds_before + self.begun.elapsed().as_secs_f64();
        write_to(&self.run_dir.metadata(), self.metadata.write(&self.run_dir.metadata()))
    }
}

/// Whether `run` is the folder of a run that never reached a checkpoint. One that did says so in its metadata, even if
/// the checkpoint has been lost since: such a run must not be begun again unasked.
fn never_saved(run: &Path) -> bool {
    let Ok(run_dir) = RunDir::open(run) else { return false };
    let saved_steps = match Metadata::read(&run_dir.metadata()) {
        Ok(metadata) => metadata.progress.timesteps,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(_) => return false,
    };
    saved_steps == 0 && run_dir.config().is_file()
}

fn misfit(name: &str, error: &dyn std::fmt::Display) -> TrainError {
    let state = StateError::Misfit { name: name.to_owned(), problem: error.to_string() };
    TrainError::Session(SessionError::State(state))
}

fn as_json<T: serde::Serialize>(name: &str, value: &T) -> Result<Value, TrainError> {
    serde_json::to_value(value).map_err(|e| misfit(name, &e))
}
