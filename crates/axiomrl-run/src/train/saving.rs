//! Writing a run's state down.

use super::resuming::misfit;
use super::{Kept, TrainError, Trainer};
use crate::checkpoint::{self, CheckpointWriter};
use crate::experiment::SessionError;
use crate::observe::Event;
use axiomrl_algos::{LearnError, Snapshot, StateError, StateIo};
use axiomrl_envs::EnvError;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

impl Trainer {
    /// A numbered checkpoint of the policy, then `last` with everything. In this order: whoever resumes from `last` comes by
    /// the numbered one of a later step again, but never by one of an earlier step.
    pub(super) fn save_periodic(&mut self) -> Result<(), TrainError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if self.experiment.config.keep_checkpoints > 0 {
            let numbered = folder.run_dir.step_checkpoint(self.clock().at);
            self.save_policy(numbered)?;
            self.forget_old_checkpoints();
        }
        self.save_last()
    }

    pub(super) fn save_best(&mut self) -> Result<(), TrainError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let best = folder.run_dir.best_checkpoint();
        self.save_policy(best)
    }

    /// Saves everything in the run folder now, whatever is due. Between any two units it can be.
    pub fn save(&mut self) -> Result<(), TrainError> {
        self.save_last()
    }

    /// Everything, so that a run can go on from here.
    pub(super) fn save_last(&mut self) -> Result<(), TrainError> {
        let environments = self.env.snapshot();
        self.save_with(environments.as_deref())
    }

    fn save_with(&mut self, environments: Option<&[u8]>) -> Result<(), TrainError> {
        for observer in &mut self.observers {
            observer.sync().map_err(TrainError::Observer)?;
        }
        let Some(folder) = &mut self.folder else { return Ok(()) };
        folder.loggers.sync()?;
        let path = folder.run_dir.last_checkpoint();
        let (config, counters) = (self.config_value()?, self.counters());
        let mut snapshot = Snapshot::default();
        let mut writer = CheckpointWriter::begin(&path)?;
        let mut io = StateIo::save(&mut snapshot, Some(&mut writer));
        let visited = self.agent.visit_state(&mut io).and_then(|()| io.metrics(&mut self.metrics));
        visited.map_err(|error| store_error(&path, error))?;
        let state = &mut snapshot.training.values;
        state.insert("record".into(), as_json("record", &self.record)?);
        state.insert("actions".into(), as_json("actions", &self.actions)?);
        writer.finish(&config, &counters, self.env.spaces(), &snapshot, environments, false)?;
        self.write_metadata()?;
        self.tell(&Event::Saved(self.clock(), &path))
    }

    fn save_policy(&mut self, path: PathBuf) -> Result<(), TrainError> {
        let (config, counters) = (self.config_value()?, self.counters());
        let mut snapshot = Snapshot::default();
        self.agent.policy().visit_state(&mut StateIo::save(&mut snapshot, None)).map_err(SessionError::from)?;
        let writer = CheckpointWriter::begin(&path)?;
        writer.finish(&config, &counters, self.env.spaces(), &snapshot, None, true)?;
        self.tell(&Event::Saved(self.clock(), &path))
    }

    fn config_value(&self) -> Result<Value, TrainError> {
        as_json("config", &self.experiment.config)
    }

    fn counters(&self) -> Value {
        json!({
            "steps": self.record.env_steps,
            "updates": self.record.updates,
            "episodes": self.record.episodes,
            "seconds": self.seconds(),
        })
    }

    /// Keeps the newest numbered checkpoints only. A folder that cannot be removed costs space, not the run.
    fn forget_old_checkpoints(&self) {
        let Some(folder) = &self.folder else { return };
        let mut numbered: Vec<_> = checkpoint::list(&folder.run_dir.checkpoints())
            .into_iter()
            .filter_map(|path| {
                let step: u64 = path.file_name()?.to_str()?.strip_prefix("step_")?.parse().ok()?;
                Some((step, path))
            })
            .collect();
        numbered.sort();
        let surplus = numbered.len().saturating_sub(self.experiment.config.keep_checkpoints);
        for (_, path) in numbered.into_iter().take(surplus) {
            checkpoint::discard(&path);
        }
    }

    /// What a run that fails now leaves behind.
    pub(super) fn kept(&self) -> Kept {
        let Some(folder) = &self.folder else { return Kept::Nothing };
        let unsaved = checkpoint::list(&folder.run_dir.checkpoints()).is_empty();
        if unsaved { Kept::Nothing } else { Kept::Checkpoint }
    }

    /// An agent that cannot go on is not saved: its last good checkpoint is.
    pub(super) fn failed(&self, error: LearnError) -> TrainError {
        match error {
            LearnError::Refused(refused) => refused.into(),
            error => TrainError::Learn(error, self.kept()),
        }
    }

    /// An environment that fails takes nothing with it: the agent is saved as it was before that step, the environments not at
    /// all. Resuming restarts them.
    pub(super) fn environment_failed(&mut self, error: EnvError) -> TrainError {
        self.record.restart_round(self.env.num_envs());
        match self.save_with(None) {
            Ok(()) => TrainError::Environment { source: error, step: self.record.env_steps + 1, kept: self.kept() },
            // What could not be saved is the worse news.
            Err(worse) => worse,
        }
    }

    pub(super) fn write_config(&self) -> Result<(), TrainError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.run_dir.config();
        let text = crate::yaml::to_yaml(&self.config_value()?);
        write_to(&path, crate::files::write_atomic(&path, text.as_bytes()))
    }

    pub(super) fn write_metadata(&mut self) -> Result<(), TrainError> {
        let elapsed_seconds = self.seconds();
        let Some(folder) = &mut self.folder else { return Ok(()) };
        let progress = &mut folder.metadata.progress;
        progress.timesteps = self.record.env_steps;
        progress.episodes = self.record.episodes;
        progress.total_timesteps = self.experiment.config.total_timesteps;
        progress.elapsed_seconds = elapsed_seconds;
        write_to(&folder.run_dir.metadata(), folder.metadata.write(&folder.run_dir.metadata()))
    }
}

/// A store that cannot be written is a matter of the disk, not of the agent.
fn store_error(path: &Path, error: StateError) -> TrainError {
    match error {
        StateError::Store { source, .. } => TrainError::Write { path: path.to_path_buf(), source },
        other => SessionError::from(other).into(),
    }
}

fn write_to<T>(path: &Path, result: io::Result<T>) -> Result<T, TrainError> {
    result.map_err(|source| TrainError::Write { path: path.to_path_buf(), source })
}

fn as_json<T: serde::Serialize>(name: &str, value: &T) -> Result<Value, TrainError> {
    serde_json::to_value(value).map_err(|e| misfit(name, &e))
}
