//! For those who write the loop themselves: the pieces of [`Trainer::unit`] by kind.
//!
//! It is the same loop. Steps and what is due come from `unit`, which `collect` lets go as far as the next update; an update
//! is the one that `unit` would have made, or one more. So collecting and updating by turns is [`Trainer::run`], to the bit.

use super::{Outcome, TrainError, Trainer, Unit};
use axiomrl_algos::{Handed, Need, Refused, Replay};
use std::borrow::Cow;

/// How far collecting has come.
#[derive(Clone, Debug)]
pub enum Collecting {
    /// There is more to collect.
    GoesOn,
    /// As many steps were taken as were asked for.
    Enough,
    /// The agent learns from what there is before it steps on.
    NeedsUpdate,
    Ended(Outcome),
}

/// What an update came to.
#[derive(Clone, Debug)]
pub enum Updated {
    /// An update was made, or a piece of the work that some agents do between updates.
    Made,
    /// What was due before it ended the run.
    Ended(Outcome),
}

impl Trainer {
    /// A piece of the run that is no update, until the agent needs one; with `until`, until so many steps have been taken and all
    /// environments have had their turn. Updates that were called for by then and not made are called for no more.
    pub fn collect(&mut self, until: Option<u64>) -> Result<Collecting, TrainError> {
        if until.is_some_and(|until| self.clock().env_steps >= until) && self.is_settled() {
            return Ok(Collecting::Enough);
        }
        if self.is_about_to_learn() {
            if until.is_some() {
                self.agent.waive(self.clock());
            }
            if until.is_none() || self.is_about_to_learn() {
                return Ok(Collecting::NeedsUpdate);
            }
        }
        Ok(match self.unit()? {
            Unit::Ended(outcome) => Collecting::Ended(outcome),
            Unit::Round | Unit::Update | Unit::Duties => Collecting::GoesOn,
        })
    }

    /// The agent's next update, whether it asks for one or not.
    pub fn update_by_hand(&mut self) -> Result<Updated, TrainError> {
        if let Some(outcome) = self.make_way()? {
            return Ok(Updated::Ended(outcome));
        }
        let clock = self.clock();
        if self.agent.need(clock) != Need::Update {
            self.agent.check_spare_update(clock)?;
        }
        let done = self.update(clock).map(drop);
        self.noted(done)
    }

    /// An update from rows that were handed over.
    pub fn learn_from(&mut self, rows: &Handed) -> Result<Updated, TrainError> {
        if let Some(outcome) = self.make_way()? {
            return Ok(Updated::Ended(outcome));
        }
        let clock = self.clock();
        let replay = self.agent.replay()?;
        let done = replay.learn(rows, clock, &mut self.metrics).map_err(|error| self.failed(error));
        let done = done.and_then(|made| self.updated(made));
        self.noted(done)
    }

    /// The agent's store of single steps.
    pub fn replay(&mut self) -> Result<&mut dyn Replay, TrainError> {
        Ok(self.agent.replay()?)
    }

    /// From here on the metrics of updates are averaged once more for [`Trainer::watched_metrics`].
    pub fn watch_metrics(&mut self) {
        self.metrics.watch();
    }

    /// What the updates since then reported; the logs have it as well.
    pub fn watched_metrics(&mut self) -> Vec<(Cow<'static, str>, f64)> {
        self.metrics.watched()
    }

    /// Does what is due before another update, and refuses one where there is no place for it.
    fn make_way(&mut self) -> Result<Option<Outcome>, TrainError> {
        let clock = self.clock();
        if !self.is_settled() {
            let problem = "some environments have stepped and others have not yet; `collect` ends their round";
            return Err(Refused::NotYet(problem.into()).into());
        }
        if self.is_due_before(clock) && self.record.served < clock.at {
            // Steps, which would come next, are `collect`'s.
            let attended = self.attend().inspect_err(|_| self.end_in_failure())?;
            if attended.is_some() {
                return Ok(attended);
            }
        }
        if clock.env_steps == 0 && self.phases.updates > 0 && clock.updates >= self.phases.updates {
            let problem =
                format!("the run has made its {} updates from recorded steps; `collect` goes on", self.phases.updates);
            return Err(Refused::NotYet(problem).into());
        }
        Ok(None)
    }

    /// An error has ended the run, unless it is a refusal.
    fn noted(&mut self, done: Result<(), TrainError>) -> Result<Updated, TrainError> {
        match done {
            Ok(()) => Ok(Updated::Made),
            Err(refused @ TrainError::Refused(_)) => Err(refused),
            Err(error) => {
                self.end_in_failure();
                Err(error)
            }
        }
    }
}
