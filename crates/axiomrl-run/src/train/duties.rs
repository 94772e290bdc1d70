//! What is due at certain steps: a row in the logs, an evaluation, checkpoints.

use super::{Outcome, StopReason, TrainError, Trainer, early_stop};
use crate::evaluate::{EVALUATION_SEED, EvalError, EvalOptions, Evaluation};
use crate::metadata::Best;
use crate::observe::Event;

impl Trainer {
    /// The next moment, after the last that was attended to, at which something is due.
    pub(super) fn next_due(&self) -> u64 {
        let served = self.record.served;
        let after = |every: u64| served.checked_div(every).map_or(u64::MAX, |done| (done + 1).saturating_mul(every));
        let config = &self.experiment.config;
        let periodic = after(config.log_interval).min(after(config.eval_every())).min(after(config.checkpoint_every()));
        periodic.min(self.phases.updates + self.phases.steps)
    }

    /// Does what is due. Gives the outcome where that ends the run.
    pub(super) fn attend(&mut self) -> Result<Option<Outcome>, TrainError> {
        let (clock, served) = (self.clock(), self.record.served);
        let crossed = |every: u64| every > 0 && served / every < clock.at / every;
        let over = clock.is_over();
        let config = &self.experiment.config;
        let (evaluates, logs, saves) =
            (crossed(config.eval_every()), crossed(config.log_interval), crossed(config.checkpoint_every()));
        let mut evaluation = None;
        // Without an environment there is nothing to report but losses; the run has said so.
        if (over || evaluates) && self.evaluator.has_environments() {
            evaluation = self.evaluate()?;
            // An evaluation that was broken off leaves nothing behind: it stays due.
            if evaluation.is_none() {
                return self.interrupt(StopReason::Interrupted).map(Some);
            }
        }
        self.record.served = clock.at;
        if over || evaluation.is_some() || logs {
            self.log(evaluation.as_ref())?;
        }
        let reason = match &evaluation {
            Some(result) => self.after_evaluation(result)?,
            None => None,
        };
        self.record.last_evaluation = evaluation.or(self.record.last_evaluation.take());
        if !over && reason.is_none() && saves {
            self.save_periodic()?;
        }
        reason.map(|reason| self.finish(reason)).transpose()
    }

    /// `None` when asked to stop meanwhile.
    pub(super) fn evaluate(&mut self) -> Result<Option<Evaluation>, TrainError> {
        let episodes = self.experiment.config.eval_episodes;
        let options = EvalOptions { episodes, seed: EVALUATION_SEED, deterministic: true };
        match self.evaluator.evaluate_unless(&self.options.stop, self.agent.policy(), &options) {
            // As in training: nothing but the evaluation is lost, and that stays due.
            Err(EvalError::Env(source)) => {
                self.save_last()?;
                Err(TrainError::Environment { source, step: self.record.env_steps, kept: self.kept() })
            }
            other => Ok(other?),
        }
    }

    /// Keeps the best policy and asks whether to go on.
    fn after_evaluation(&mut self, result: &Evaluation) -> Result<Option<StopReason>, TrainError> {
        let clock = self.clock();
        if let Some(folder) = &mut self.folder {
            folder.loggers.evaluation(clock.at, &result.returns, &result.lengths)?;
        }
        self.tell(&Event::Evaluated(clock, result))?;
        let mean = result.mean_reward();
        let min_delta = self.experiment.config.early_stopping.as_ref().map_or(0.0, |e| e.min_delta);
        self.record.count_evaluation(mean, min_delta);
        if self.record.best.as_ref().is_none_or(|best| mean > best.mean_reward) {
            let best = Best { step: clock.at, mean_reward: mean, std_reward: result.std_reward() };
            if let Some(folder) = &mut self.folder {
                folder.metadata.best = Some(best.clone());
            }
            self.record.best = Some(best);
            self.save_best()?;
        }
        self.display.evaluated(clock.at, mean);
        Ok(early_stop::decide(&self.experiment.config, &self.record, mean))
    }

    pub(super) fn record_episodes(&mut self) -> Result<(), TrainError> {
        if self.env.state().episodes.is_empty() {
            return Ok(());
        }
        let (seconds, clock) = (self.seconds(), self.clock());
        for at in 0..self.env.state().episodes.len() {
            let end = self.env.state().episodes[at];
            self.record.episode_ended(end.episode_return, end.length);
            if let Some(folder) = &mut self.folder {
                folder.loggers.episode(end.episode_return, end.length, seconds, clock.at)?;
            }
            if !self.observers.is_empty() {
                self.tell(&Event::Episode(clock, &end))?;
            }
        }
        self.display.update(clock.at, self.record.mean_return());
        Ok(())
    }

    /// One row in every log.
    fn log(&mut self, evaluation: Option<&Evaluation>) -> Result<(), TrainError> {
        let (clock, seconds) = (self.clock(), self.seconds());
        let mut row: Vec<(String, f64)> = Vec::new();
        if let Some((mean_return, mean_length)) = self.record.recent() {
            row.push(("rollout/ep_rew_mean".into(), mean_return));
            row.push(("rollout/ep_len_mean".into(), mean_length));
        }
        row.extend(self.info_columns());
        row.push(("time/total_timesteps".into(), clock.env_steps as f64));
        row.push(("time/episodes".into(), self.record.episodes as f64));
        row.push(("time/time_elapsed".into(), seconds));
        row.push(("time/fps".into(), self.speed()));
        for note in self.metrics.take_notes() {
            self.display.note(&format!("warning: {note}"));
            self.tell(&Event::Note(&note))?;
        }
        for (name, value) in self.metrics.take() {
            let group = if name == "exploration_rate" { "rollout" } else { "train" };
            row.push((format!("{group}/{name}"), value));
        }
        row.push(("train/n_updates".into(), clock.updates as f64));
        if let Some(result) = evaluation {
            row.push(("eval/mean_reward".into(), result.mean_reward()));
            row.push(("eval/std_reward".into(), result.std_reward()));
            row.push(("eval/mean_ep_length".into(), result.mean_length()));
            row.extend(result.success_rate().map(|rate| ("eval/success_rate".into(), rate)));
        }
        if let Some(folder) = &mut self.folder {
            let wall_time = folder.metadata.created_at_unix + seconds;
            folder.loggers.log(clock.at, wall_time, &row)?;
        }
        self.tell(&Event::Logged(clock, &row))?;
        self.display.update(clock.at, self.record.mean_return());
        Ok(())
    }

    /// The environments' own numbers, averaged over them.
    fn info_columns(&self) -> Vec<(String, f64)> {
        let (names, state) = (&self.env.spaces().info, self.env.state());
        let mean = |column: usize| {
            let values = state.info.iter().skip(column).step_by(names.len());
            values.map(|&value| f64::from(value)).sum::<f64>() / self.env.num_envs() as f64
        };
        names.iter().enumerate().map(|(column, name)| (format!("info/{name}"), mean(column))).collect()
    }
}
