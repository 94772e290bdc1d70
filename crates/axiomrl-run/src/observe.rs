//! What a run tells those who watch it.

use crate::evaluate::Evaluation;
use crate::train::{Outcome, StopReason};
use axiomrl_algos::Clock;
use axiomrl_envs::{EpisodeEnd, VecState};
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;

/// Something that happened in a run.
pub enum Event<'a> {
    /// Environments have stepped.
    Round(Clock, &'a VecState),
    /// The agent was updated.
    Updated(Clock),
    Episode(Clock, &'a EpisodeEnd),
    /// Something that the user should know.
    Note(&'a str),
    /// A row of metrics, by their names in the logs.
    Logged(Clock, &'a [(String, f64)]),
    Evaluated(Clock, &'a Evaluation),
    /// A checkpoint was written.
    Saved(Clock, &'a Path),
    Ended(&'a Outcome),
}

/// Watches a run, and may stop it.
pub trait Observer: Send {
    /// Breaking off stops the run after this piece; it can be resumed.
    fn on(&mut self, event: &Event<'_>) -> Result<ControlFlow<StopReason>, Box<dyn Error + Send + Sync>>;

    /// A checkpoint is about to be written: what was told so far must not be lost.
    fn sync(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    /// The run goes on from here: what was told of later moments did not happen.
    fn resumed_at(&mut self, _at: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}
