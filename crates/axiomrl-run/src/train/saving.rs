//! Writing a run's state down.

use super::resuming::misfit;
use super::{Kept, TrainError, Trainer, write_to};
use crate::checkpoint;
use crate::session::SessionError;
use axiomrl_algos::StateIo;
use axiomrl_core::Snapshot;
use serde_json::{Value, json};
use std::path::Path;

impl Trainer {
    /// A numbered checkpoint without the store, then `last` with it. In this order: whoever resumes from `last` comes by
    /// the numbered one of a later step again, but never by one of an earlier step.
    pub(super) fn save_periodic(&mut self) -> Result<(), TrainError> {
        self.loggers.sync()?;
        if self.config.keep_checkpoints > 0 {
            self.save(&self.run_dir.step_checkpoint(self.record.steps), false)?;
            self.forget_old_checkpoints();
        }
        self.save(&self.run_dir.last_checkpoint(), true)?;
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
        checkpoint::save(folder, &config, &counters, &snapshot, store)?;
        if with_store {
            self.count_progress();
        }
        Ok(())
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
            checkpoint::discard(&path);
        }
    }

    /// What a run that fails now leaves behind.
    pub(super) fn kept(&self) -> Kept {
        let unsaved = checkpoint::list(&self.run_dir.checkpoints()).is_empty();
        if unsaved { Kept::Nothing } else { Kept::Checkpoint }
    }

    pub(super) fn write_config(&self) -> Result<(), TrainError> {
        let path = self.run_dir.config();
        let text = crate::yaml::to_yaml(&as_json("config", &self.config)?);
        write_to(&path, crate::files::write_atomic(&path, text.as_bytes()))
    }

    pub(super) fn write_metadata(&mut self) -> Result<(), TrainError> {
        self.count_progress();
        write_to(&self.run_dir.metadata(), self.metadata.write(&self.run_dir.metadata()))
    }

    /// Metadata speak of the last checkpoint, also when a full disk is what the run ends with.
    fn count_progress(&mut self) {
        let progress = &mut self.metadata.progress;
        progress.timesteps = self.record.steps;
        progress.episodes = self.record.episodes;
        progress.total_timesteps = self.config.total_timesteps;
        progress.elapsed_seconds = self.seconds_before + self.begun.elapsed().as_secs_f64();
    }
}

fn as_json<T: serde::Serialize>(name: &str, value: &T) -> Result<Value, TrainError> {
    serde_json::to_value(value).map_err(|e| misfit(name, &e))
}
