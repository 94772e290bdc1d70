//! The loop, driven by what the agent needs: act, step, observe, update, and what is due.
//!
//! It exists once, for every algorithm, as [`Trainer::unit`]: the smallest piece after which a run can be saved. Running to
//! the end, running on for so many steps and every front end are loops over it. Environments are stepped in a fixed round, and
//! a round is split where something is due, so that evaluations, checkpoints and the end of the run fall on exactly the
//! step they were set for, whatever the number of environments. Environments that step only as a whole batch, or that cannot
//! be saved, are stepped in whole rounds, and what is due comes at the end of the round.

mod by_hand;
mod checks;
mod duties;
mod early_stop;
mod edited;
mod error;
mod folder;
mod record;
mod resuming;
mod saving;
mod stepping;
#[cfg(test)]
mod tests;

pub use by_hand::{Collecting, Updated};
pub use early_stop::StopReason;
pub use error::{Kept, TrainError};

use crate::evaluate::{Evaluation, Evaluator};
use crate::experiment::{Experiment, SessionError};
use crate::memory::Purpose;
use crate::metadata::{Best, RunStatus};
use crate::observe::{Event, Observer};
use crate::progress::ProgressDisplay;
use axiomrl_algos::{Agent, Clock, Need, Phases, RunConfig};
use axiomrl_core::{Dataset, Metrics};
use axiomrl_envs::{ActionMap, EnvSource, Stepping, VecEnv};
use folder::Folder;
use record::Record;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// How to run, apart from what to run.
#[derive(Clone, Debug, Default)]
pub struct TrainOptions {
    /// The run folder, exactly; otherwise one is made below `output_dir`.
    pub run_dir: Option<PathBuf>,
    /// Keep nothing on disk: no folder, no logs, no checkpoints.
    pub without_folder: bool,
    pub quiet: bool,
    /// The recorded transitions that a resumed run learns from, if it does: they are not part of its checkpoints.
    pub prior: Option<Dataset>,
    /// Raised from outside to stop cleanly.
    pub stop: Arc<AtomicBool>,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Empty for a run without a folder.
    pub run_dir: PathBuf,
    pub steps: u64,
    pub updates: u64,
    /// What intervals count: steps, and the updates of a phase without.
    pub at: u64,
    /// Seconds since this process began the run or resumed it.
    pub wall_seconds: f64,
    pub steps_per_second: f64,
    pub evaluation: Option<Evaluation>,
    pub best: Option<Best>,
    pub reason: StopReason,
}

/// What a piece of a run was.
#[derive(Clone, Debug)]
pub enum Unit {
    /// Environments stepped.
    Round,
    /// The agent was updated.
    Update,
    /// What was due at this step was done.
    Duties,
    Ended(Outcome),
}

/// A run at work.
pub struct Trainer {
    experiment: Experiment,
    options: TrainOptions,
    folder: Option<Folder>,
    observers: Vec<Box<dyn Observer>>,
    env: Box<dyn VecEnv>,
    evaluator: Evaluator,
    agent: Box<dyn Agent>,
    phases: Phases,
    metrics: Metrics,
    action_map: ActionMap,
    /// Actions of the current round, one row per environment, as chosen and in the environments' units.
    actions: Vec<f32>,
    executed: Vec<f32>,
    /// Whether rounds may not be split.
    whole_rounds: bool,
    record: Record,
    display: ProgressDisplay,
    begun: Instant,
    /// Where the clock stood when this process took over, and the seconds until then.
    at_before: u64,
    seconds_before: f64,
    /// What an observer asked for.
    asked_to_stop: Option<StopReason>,
}

impl Trainer {
    /// Sets up a new run. Nothing is written before the configuration has proved sound.
    pub fn new(
        mut experiment: Experiment,
        options: TrainOptions,
        observers: Vec<Box<dyn Observer>>,
    ) -> Result<Self, TrainError> {
        let told = experiment.load_prior().map_err(SessionError::from)?;
        let mut env = experiment.training_env()?;
        let agent = experiment.agent(env.as_ref(), Purpose::Train)?;
        env.reset(None).map_err(TrainError::environment)?;
        let folder = if options.without_folder { None } else { Some(Folder::create(&experiment.config, &options)?) };
        let mut trainer = Self::assemble(experiment, options, folder, observers, env, agent)?;
        trainer.tell_all(&told)?;
        trainer.begin_episodes()?;
        trainer.write_config()?;
        trainer.write_metadata()?;
        Ok(trainer)
    }

    fn assemble(
        experiment: Experiment,
        options: TrainOptions,
        folder: Option<Folder>,
        observers: Vec<Box<dyn Observer>>,
        env: Box<dyn VecEnv>,
        agent: Box<dyn Agent>,
    ) -> Result<Self, TrainError> {
        let action_map = ActionMap::of(&env.spaces().action).map_err(TrainError::environment)?;
        let actions = vec![0.0; env.num_envs() * env.spaces().action.width()];
        let total = experiment.config.total_timesteps;
        Ok(Self {
            whole_rounds: env.stepping() == Stepping::Whole || env.snapshot().is_none(),
            evaluator: Evaluator::new(experiment.environments.clone()),
            display: ProgressDisplay::new(total, options.quiet),
            phases: agent.phases(total),
            executed: actions.clone(),
            actions,
            action_map,
            experiment,
            options,
            folder,
            observers,
            env,
            agent,
            metrics: Metrics::default(),
            record: Record::default(),
            begun: Instant::now(),
            at_before: 0,
            seconds_before: 0.0,
            asked_to_stop: None,
        })
    }

    /// Where the run is kept, if it is.
    pub fn run_dir(&self) -> Option<&Path> {
        self.folder.as_ref().map(|folder| folder.run_dir.path())
    }

    /// What is being run, with every default filled in.
    pub fn config(&self) -> &RunConfig {
        &self.experiment.config
    }

    /// Where its environments come from.
    pub fn environments(&self) -> Arc<dyn EnvSource> {
        self.experiment.environments.clone()
    }

    pub fn agent(&mut self) -> &mut dyn Agent {
        self.agent.as_mut()
    }

    /// Where the run stands.
    pub fn clock(&self) -> Clock {
        let Record { env_steps, updates, .. } = self.record;
        let at = updates.min(self.phases.updates) + env_steps;
        Clock { env_steps, updates, at, total: self.phases.updates + self.phases.steps }
    }

    /// Runs to the end, or until something stops it.
    pub fn run(mut self) -> Result<Outcome, TrainError> {
        self.run_to_end()
    }

    /// As [`Trainer::run`], keeping the trainer: what was trained can be used, or trained on.
    pub fn run_to_end(&mut self) -> Result<Outcome, TrainError> {
        loop {
            if let Unit::Ended(outcome) = self.unit()? {
                return Ok(outcome);
            }
        }
    }

    /// Runs on until `by` more steps are taken, or the run ends.
    pub fn advance(&mut self, by: u64) -> Result<Option<Outcome>, TrainError> {
        let until = self.clock().at.saturating_add(by);
        while self.clock().at < until {
            if let Unit::Ended(outcome) = self.unit()? {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    /// Does the smallest piece after which the run can be saved.
    pub fn unit(&mut self) -> Result<Unit, TrainError> {
        let done = self.next_unit();
        if let Ok(Unit::Ended(_)) = &done {
            self.display.finish();
        }
        done.inspect_err(|_| self.end_in_failure())
    }

    /// An error has ended the run.
    fn end_in_failure(&mut self) {
        self.display.finish();
        if let Some(folder) = &mut self.folder {
            folder.metadata.progress.status = RunStatus::Failed;
            // The error that ended the run is the one to report.
            let _ = folder.loggers.flush();
            let _ = folder.metadata.write(&folder.run_dir.metadata());
        }
    }

    fn next_unit(&mut self) -> Result<Unit, TrainError> {
        if let Some(reason) = self.interruption() {
            return self.interrupt(reason).map(Unit::Ended);
        }
        let clock = self.clock();
        if self.is_about_to_learn() {
            return self.update(clock);
        }
        if clock.at >= self.next_due() && self.record.served < clock.at {
            return Ok(self.attend()?.map_or(Unit::Duties, Unit::Ended));
        }
        if clock.is_over() {
            return self.finish(StopReason::Finished).map(Unit::Ended);
        }
        if self.record.round == 0 {
            if let Some(reason) = self.budget_spent() {
                return self.interrupt(reason).map(Unit::Ended);
            }
            self.begin_chosen_episodes()?;
            let acted = self.agent.act(self.env.state(), clock, &mut self.actions);
            acted.map_err(|error| self.failed(error))?;
            self.action_map.to_env(&self.actions, &mut self.executed);
        }
        self.step(clock)
    }

    /// Whether the next unit is an update, unless the run is stopped before it: what was collected is about to be learned from.
    pub fn is_about_to_learn(&mut self) -> bool {
        let clock = self.clock();
        // The steps of a round, then the updates they call for, then what is due.
        self.is_settled() && self.agent.need(clock) == Need::Update && !self.is_due_before(clock)
    }

    /// Whether no round of steps is under way.
    fn is_settled(&self) -> bool {
        self.record.round == 0 || self.clock().is_over()
    }

    /// While updates move the clock, what is due comes between two of them.
    fn is_due_before(&self, clock: Clock) -> bool {
        clock.updates <= self.phases.updates && clock.env_steps == 0 && clock.at > 0 && clock.at >= self.next_due()
    }

    fn update(&mut self, clock: Clock) -> Result<Unit, TrainError> {
        let made = self.agent.update(clock, &mut self.metrics).map_err(|error| self.failed(error))?;
        self.updated(made)?;
        Ok(Unit::Update)
    }

    fn updated(&mut self, made: u64) -> Result<(), TrainError> {
        self.record.updates += made;
        if self.observers.is_empty() { Ok(()) } else { self.tell(&Event::Updated(self.clock())) }
    }

    /// Says what is to be known about the data.
    fn tell_all(&mut self, notes: &[String]) -> Result<(), TrainError> {
        for note in notes {
            self.display.note(&format!("note: {note}"));
            self.tell(&Event::Note(note))?;
        }
        Ok(())
    }

    /// The environments begin with what they show now.
    fn begin_episodes(&mut self) -> Result<(), TrainError> {
        let all = 0..self.env.num_envs();
        self.agent.restarted(all, self.env.state()).map_err(|error| self.failed(error))
    }

    /// Why the run should pause: it can be resumed.
    fn interruption(&mut self) -> Option<StopReason> {
        if self.options.stop.load(Ordering::Relaxed) {
            return Some(StopReason::Interrupted);
        }
        self.asked_to_stop.take()
    }

    /// Looked at between two rounds.
    fn budget_spent(&self) -> Option<StopReason> {
        let config = &self.experiment.config;
        if config.max_seconds.is_some_and(|limit| self.seconds() >= limit) {
            return Some(StopReason::OutOfTime);
        }
        config.max_updates.is_some_and(|limit| self.record.updates >= limit).then_some(StopReason::EnoughUpdates)
    }

    fn interrupt(&mut self, reason: StopReason) -> Result<Outcome, TrainError> {
        self.close(reason, RunStatus::Interrupted)
    }

    fn finish(&mut self, reason: StopReason) -> Result<Outcome, TrainError> {
        self.close(reason, RunStatus::Finished)
    }

    /// The last checkpoint and the last words.
    fn close(&mut self, reason: StopReason, status: RunStatus) -> Result<Outcome, TrainError> {
        if let Some(folder) = &mut self.folder {
            folder.metadata.progress.status = status;
        }
        self.save_last()?;
        let outcome = Outcome {
            run_dir: self.run_dir().map(Path::to_path_buf).unwrap_or_default(),
            steps: self.record.env_steps,
            updates: self.record.updates,
            at: self.clock().at,
            wall_seconds: self.begun.elapsed().as_secs_f64(),
            steps_per_second: self.speed(),
            evaluation: self.record.last_evaluation.clone(),
            best: self.record.best.clone(),
            reason,
        };
        self.tell(&Event::Ended(&outcome))?;
        Ok(outcome)
    }

    /// Seconds of training, summed over resumes.
    fn seconds(&self) -> f64 {
        self.seconds_before + self.begun.elapsed().as_secs_f64()
    }

    fn speed(&self) -> f64 {
        (self.clock().at - self.at_before) as f64 / self.begun.elapsed().as_secs_f64().max(1e-9)
    }

    /// Tells all observers; the first that wants the run to stop is heard.
    fn tell(&mut self, event: &Event<'_>) -> Result<(), TrainError> {
        for observer in &mut self.observers {
            if let ControlFlow::Break(reason) = observer.on(event).map_err(TrainError::Observer)? {
                self.asked_to_stop.get_or_insert(reason);
            }
        }
        Ok(())
    }

    fn tell_round(&mut self) -> Result<(), TrainError> {
        let clock = self.clock();
        let (observers, state) = (&mut self.observers, self.env.state());
        for observer in observers {
            if let ControlFlow::Break(reason) =
                observer.on(&Event::Round(clock, state)).map_err(TrainError::Observer)?
            {
                self.asked_to_stop.get_or_insert(reason);
            }
        }
        Ok(())
    }
}
