//! The loop: act, step, observe, learn, and what is due.
//!
//! It exists once, for every algorithm. Environment steps are the only clock: environments are stepped in a fixed
//! round, and a round is split where something is due, so that evaluations, checkpoints and the end of the run fall on
//! exactly the step they were set for, whatever the number of environments.

mod checks;
mod early_stop;
mod edited;
mod error;
mod record;
mod resuming;
mod saving;
#[cfg(test)]
mod tests;

pub use early_stop::StopReason;
pub use error::{Kept, TrainError};

use crate::evaluate::{EVALUATION_SEED, EvalOptions, Evaluation, evaluate_unless};
use crate::loggers::Loggers;
use crate::memory::{self, Purpose};
use crate::metadata::{Best, Metadata, RunStatus};
use crate::progress::ProgressDisplay;
use crate::run_dir::{RunDir, RunLock};
use crate::session::{SessionError, build_agent, training_env};
use axiomrl_algos::{Agent, Progress, RunConfig};
use axiomrl_envs::VecEnv;
use record::Record;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// How to run, apart from what to run.
#[derive(Clone, Debug, Default)]
pub struct TrainOptions {
    /// The run folder, exactly; otherwise one is made below `output_dir`.
    pub run_dir: Option<PathBuf>,
    pub quiet: bool,
    /// Raised from outside to stop cleanly.
    pub stop: Arc<AtomicBool>,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub run_dir: PathBuf,
    pub steps: u64,
    pub updates: u64,
    /// Seconds since this process began the run or resumed it.
    pub wall_seconds: f64,
    pub steps_per_second: f64,
    pub evaluation: Option<Evaluation>,
    pub best: Option<Best>,
    pub reason: StopReason,
}

/// A run at work.
pub struct Trainer {
    config: RunConfig,
    options: TrainOptions,
    run_dir: RunDir,
    _lock: RunLock,
    env: Box<dyn VecEnv>,
    agent: Box<dyn Agent>,
    /// Actions of the current round, one row per environment.
    actions: Vec<f32>,
    record: Record,
    loggers: Loggers,
    display: ProgressDisplay,
    metadata: Metadata,
    begun: Instant,
    /// Steps and seconds that were there when this process took over.
    steps_before: u64,
    seconds_before: f64,
}

impl Trainer {
    /// Sets up a new run. Nothing is written before the configuration has proved sound.
    pub fn start(config: RunConfig, options: TrainOptions) -> Result<Self, TrainError> {
        let (env, agent) = new_pair(&config)?;
        let output_dir = Path::new(&config.output_dir);
        let explicit = options.run_dir.as_deref();
        let run_dir = RunDir::create(output_dir, &config.algo, &config.env_id, config.seed, explicit)?;
        let lock = run_dir.lock()?;
        let metadata = Metadata { tags: config.tags.clone(), ..Metadata::collect(config.total_timesteps) };
        let loggers = Loggers::open(&run_dir, &config.env_id, metadata.created_at_unix)?;
        let mut trainer = Self::assemble(config, options, run_dir, lock, env, agent, loggers, metadata);
        trainer.write_config()?;
        trainer.write_metadata()?;
        Ok(trainer)
    }

    fn assemble(
        config: RunConfig,
        options: TrainOptions,
        run_dir: RunDir,
        lock: RunLock,
        env: Box<dyn VecEnv>,
        agent: Box<dyn Agent>,
        loggers: Loggers,
        metadata: Metadata,
    ) -> Self {
        Self {
            actions: vec![0.0; config.num_envs * env.action_space().width()],
            display: ProgressDisplay::new(config.total_timesteps, options.quiet),
            config,
            options,
            run_dir,
            _lock: lock,
            env,
            agent,
            record: Record::default(),
            loggers,
            metadata,
            begun: Instant::now(),
            steps_before: 0,
            seconds_before: 0.0,
        }
    }

    /// Where the run is kept.
    pub fn run_dir(&self) -> &Path {
        self.run_dir.path()
    }

    /// What is being run, with every default filled in.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// Runs to the end, or until something stops it.
    pub fn run(mut self) -> Result<Outcome, TrainError> {
        let outcome = self.run_rounds();
        self.display.finish();
        if outcome.is_err() {
            self.metadata.progress.status = RunStatus::Failed;
            // The error that ended the run is the one to report.
            let _ = self.loggers.flush();
            let _ = self.metadata.write(&self.run_dir.metadata());
        }
        outcome
    }

    fn run_rounds(&mut self) -> Result<Outcome, TrainError> {
        let n = self.env.num_envs();
        if self.record.unattended
            && let Some(outcome) = self.attend()?
        {
            return Ok(outcome);
        }
        let mut due = self.next_due();
        while !self.progress().is_over() {
            let first = self.record.round;
            if first == 0 {
                if let Some(reason) = self.interruption() {
                    return self.interrupt(reason);
                }
                self.agent.act(self.env.state(), self.progress(), &mut self.actions);
            }
            let left = usize::try_from(due - self.record.steps).unwrap_or(n);
            let last = n.min(first + left);
            self.env.step(first..last, &self.actions);
            self.check_rewards(first..last)?;
            self.agent.observe(first..last, &self.actions, self.env.state());
            self.record.stepped((last - first) as u64);
            self.record_episodes()?;
            self.record.round = last % n;
            if self.record.round == 0 || self.progress().is_over() {
                let learned = self.agent.learn(self.env.state(), self.progress());
                learned.map_err(|diverged| TrainError::Diverged(diverged, self.kept()))?;
            }
            if self.record.steps == due {
                if let Some(outcome) = self.attend()? {
                    return Ok(outcome);
                }
                due = self.next_due();
            }
        }
        self.finish(StopReason::Finished)
    }

    fn progress(&self) -> Progress {
        Progress { steps: self.record.steps, total: self.config.total_timesteps }
    }

    /// The next step at which something is due.
    fn next_due(&self) -> u64 {
        let steps = self.record.steps;
        let after = |every: u64| steps.checked_div(every).map_or(u64::MAX, |done| (done + 1).saturating_mul(every));
        let config = &self.config;
        let periodic = after(config.log_interval).min(after(config.eval_every())).min(after(config.checkpoint_every()));
        periodic.min(config.total_timesteps)
    }

    /// Does what is due at this step. Gives the outcome where that ends the run.
    fn attend(&mut self) -> Result<Option<Outcome>, TrainError> {
        let steps = self.record.steps;
        let at = |every: u64| every > 0 && steps.is_multiple_of(every);
        let over = self.progress().is_over();
        self.record.unattended = false;
        let mut evaluation = None;
        if over || at(self.config.eval_every()) {
            evaluation = self.evaluate()?;
            // An evaluation that was broken off leaves nothing behind: whoever resumes the run begins with it.
            self.record.unattended = evaluation.is_none();
            if self.record.unattended {
                return self.interrupt(StopReason::Interrupted).map(Some);
            }
        }
        if over || evaluation.is_some() || at(self.config.log_interval) {
            self.log(evaluation.as_ref())?;
        }
        let reason = match &evaluation {
            Some(result) => self.after_evaluation(result)?,
            None => None,
        };
        self.record.last_evaluation = evaluation.or(self.record.last_evaluation.take());
        if !over && reason.is_none() && at(self.config.checkpoint_every()) {
            self.save_periodic()?;
        }
        reason.map(|reason| self.finish(reason)).transpose()
    }

    /// `None` when asked to stop meanwhile.
    fn evaluate(&mut self) -> Result<Option<Evaluation>, TrainError> {
        let options = EvalOptions { episodes: self.config.eval_episodes, seed: EVALUATION_SEED, deterministic: true };
        let normalizer = self.env.normalizer().cloned();
        let (stop, agent) = (&self.options.stop, self.agent.as_mut());
        let result = evaluate_unless(stop, agent, &self.config, normalizer.as_ref(), &options);
        Ok(result.map_err(SessionError::from)?)
    }

    /// Keeps the best policy and asks whether to go on.
    fn after_evaluation(&mut self, result: &Evaluation) -> Result<Option<StopReason>, TrainError> {
        let steps = self.record.steps;
        self.loggers.evaluation(steps, &result.returns, &result.lengths)?;
        let mean = result.mean_reward();
        let min_delta = self.config.early_stopping.as_ref().map_or(0.0, |e| e.min_delta);
        self.record.count_evaluation(mean, min_delta);
        if self.metadata.best.as_ref().is_none_or(|best| mean > best.mean_reward) {
            let best = Best { step: steps, mean_reward: mean, std_reward: result.std_reward() };
            self.metadata.best = Some(best.clone());
            self.record.best = Some(best);
            self.save(&self.run_dir.best_checkpoint(), false)?;
        }
        self.display.evaluated(steps, mean);
        Ok(early_stop::decide(&self.config, &self.record, mean))
    }

    fn check_rewards(&self, envs: std::ops::Range<usize>) -> Result<(), TrainError> {
        let rewards = &self.env.state().reward;
        match envs.into_iter().find(|&env| !rewards[env].is_finite()) {
            None => Ok(()),
            Some(env) => {
                let (reward, step, kept) = (rewards[env], self.record.steps + 1, self.kept());
                Err(TrainError::BadReward { env, reward, step, kept })
            }
        }
    }

    fn record_episodes(&mut self) -> Result<(), TrainError> {
        let episodes = &self.env.state().episodes;
        if episodes.is_empty() {
            return Ok(());
        }
        let seconds = self.seconds();
        for end in episodes {
            self.record.episode_ended(end.episode_return, end.length);
            self.loggers.episode(end.episode_return, end.length, seconds, self.record.steps)?;
        }
        self.display.update(self.record.steps, self.record.mean_return());
        Ok(())
    }

    /// One row in every log.
    fn log(&mut self, evaluation: Option<&Evaluation>) -> Result<(), TrainError> {
        let steps = self.record.steps;
        let seconds = self.seconds();
        let mut row: Vec<(String, f64)> = Vec::new();
        if let Some((mean_return, mean_length)) = self.record.recent() {
            row.push(("rollout/ep_rew_mean".into(), mean_return));
            row.push(("rollout/ep_len_mean".into(), mean_length));
        }
        row.push(("time/total_timesteps".into(), steps as f64));
        row.push(("time/episodes".into(), self.record.episodes as f64));
        row.push(("time/time_elapsed".into(), seconds));
        row.push(("time/fps".into(), self.speed()));
        for note in self.agent.metrics().take_notes() {
            self.display.note(&format!("warning: {note}"));
        }
        for (name, value) in self.agent.metrics().take() {
            let group = if name == "exploration_rate" { "rollout" } else { "train" };
            row.push((format!("{group}/{name}"), value));
        }
        row.push(("train/n_updates".into(), self.agent.updates() as f64));
        if let Some(result) = evaluation {
            row.push(("eval/mean_reward".into(), result.mean_reward()));
            row.push(("eval/std_reward".into(), result.std_reward()));
            row.push(("eval/mean_ep_length".into(), result.mean_length()));
            row.extend(result.success_rate().map(|rate| ("eval/success_rate".into(), rate)));
        }
        let wall_time = self.metadata.created_at_unix + seconds;
        self.loggers.log(steps, wall_time, &row)?;
        self.display.update(steps, self.record.mean_return());
        Ok(())
    }

    /// Seconds of training, summed over resumes.
    fn seconds(&self) -> f64 {
        self.seconds_before + self.begun.elapsed().as_secs_f64()
    }

    fn speed(&self) -> f64 {
        (self.record.steps - self.steps_before) as f64 / self.begun.elapsed().as_secs_f64().max(1e-9)
    }

    /// Why the run should pause between two rounds: it can be resumed.
    fn interruption(&self) -> Option<StopReason> {
        if self.options.stop.load(Ordering::Relaxed) {
            return Some(StopReason::Interrupted);
        }
        if self.config.max_seconds.is_some_and(|limit| self.seconds() >= limit) {
            return Some(StopReason::OutOfTime);
        }
        if self.config.max_updates.is_some_and(|limit| self.agent.updates() >= limit) {
            return Some(StopReason::EnoughUpdates);
        }
        None
    }

    fn interrupt(&mut self, reason: StopReason) -> Result<Outcome, TrainError> {
        self.metadata.progress.status = RunStatus::Interrupted;
        self.close(reason)
    }

    fn finish(&mut self, reason: StopReason) -> Result<Outcome, TrainError> {
        self.metadata.progress.status = RunStatus::Finished;
        self.close(reason)
    }

    /// The last checkpoint and the last words.
    fn close(&mut self, reason: StopReason) -> Result<Outcome, TrainError> {
        self.loggers.sync()?;
        self.save(&self.run_dir.last_checkpoint(), true)?;
        self.write_metadata()?;
        Ok(Outcome {
            run_dir: self.run_dir.path().to_path_buf(),
            steps: self.record.steps,
            updates: self.agent.updates(),
            wall_seconds: self.begun.elapsed().as_secs_f64(),
            steps_per_second: self.speed(),
            evaluation: self.record.last_evaluation.clone(),
            best: self.record.best.clone(),
            reason,
        })
    }
}

/// Environments and an agent at the beginning of a run, if there is memory for them.
fn new_pair(config: &RunConfig) -> Result<(Box<dyn VecEnv>, Box<dyn Agent>), SessionError> {
    let mut env = training_env(config)?;
    memory::check(config, env.as_ref(), Purpose::Train)?;
    let agent = build_agent(config, env.as_ref())?;
    env.reset();
    Ok((env, agent))
}

fn write_to<T>(path: &Path, result: io::Result<T>) -> Result<T, TrainError> {
    result.map_err(|source| TrainError::Write { path: path.to_path_buf(), source })
}
