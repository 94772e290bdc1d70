//! One environment.

use crate::names::{did_you_mean, nearest, short};
use crate::{ObsMut, Space, TaskRules};
use rand_chacha::ChaCha8Rng;
use std::error::Error;
use std::sync::Arc;

/// What one step brought, besides the observation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    pub reward: f64,
    /// The world reached an end: there is no future to value.
    pub terminated: bool,
    /// The clock ran out: the future goes on unseen.
    pub truncated: bool,
}

/// A picture: `width * height` RGB triples, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    #[error("unknown environment `{name}`{hint}; `axiomrl envs` lists the ones that are built in")]
    Unknown { name: String, hint: String },
    #[error("environment `{env}`: {problem}")]
    BadOption { env: String, problem: String },
    /// As [`EnvError::BadOption`], where it is known which key of the run file is to blame.
    #[error("environment `{env}`: {problem}")]
    BadSetting { env: String, key: String, problem: String },
    #[error("environment `{env}` cannot be restored from this snapshot: {problem}")]
    BadSnapshot { env: String, problem: String },
    /// The environment itself gave up; what it said is the source.
    #[error("{0}")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// One of a batch gave up.
    #[error("environment {env} failed: {source}")]
    OneOfMany { env: usize, source: Box<EnvError> },
}

impl EnvError {
    /// For a name that nobody knows; the nearest of those that are known is suggested.
    pub fn unknown(name: &str, known: &[&str]) -> Self {
        // The message names the command that lists them all.
        let hint = nearest(name, known).map_or(String::new(), did_you_mean);
        Self::Unknown { name: short(name), hint }
    }

    /// For environments that cannot go on: a text, or an error of their own.
    pub fn failed(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(reason.into())
    }

    /// For snapshots that do not fit.
    pub fn bad_snapshot(env: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::BadSnapshot { env: env.into(), problem: problem.into() }
    }

    pub(crate) fn of_env(self, env: usize) -> Self {
        Self::OneOfMany { env, source: Box::new(self) }
    }
}

/// One world with Gymnasium's meaning.
///
/// The random generator is handed in, not owned, so that whoever steps the environment also saves the generator.
/// A wrapper answers [`Env::inner`], and masks, info columns and pictures are then those of the environment inside. Snapshots
/// and rules are never inherited: a wrapper that counts, or changes rewards, would be wrong in silence.
pub trait Env: Send {
    fn observation_space(&self) -> &Space;
    fn action_space(&self) -> &Space;

    /// Starts a new episode.
    fn reset(&mut self, rng: &mut ChaCha8Rng) -> Result<(), EnvError>;

    /// Takes one step. `action` is a row of [`Space::width`] numbers in the environment's own units.
    fn step(&mut self, action: &[f32], rng: &mut ChaCha8Rng) -> Result<Step, EnvError>;

    /// Writes the current observation: numbers to one block, bytes to the other, parts in the order of the space.
    fn observe(&self, out: ObsMut<'_>);

    /// The environment that a wrapper wraps.
    fn inner(&self) -> Option<&dyn Env> {
        None
    }

    /// Writes which choices are allowed now ([`Space::mask_width`] entries). Environments without masks leave it alone.
    fn action_mask(&self, out: &mut [bool]) {
        if let Some(inner) = self.inner() {
            inner.action_mask(out);
        }
    }

    /// Whether [`Env::action_mask`] says anything.
    fn has_action_mask(&self) -> bool {
        self.inner().is_some_and(|inner| inner.has_action_mask())
    }

    /// Names of numbers that are logged with each step but not learned from. One called `success` says at an episode's end
    /// whether the task was done.
    fn info_names(&self) -> Vec<String> {
        self.inner().map_or_else(Vec::new, |inner| inner.info_names())
    }

    /// Writes those numbers, as of the latest step.
    fn info(&self, out: &mut [f32]) {
        if let Some(inner) = self.inner() {
            inner.info(out);
        }
    }

    /// Rewards and ends as a function of rows, for environments where they are one.
    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        None
    }

    /// The whole state, so that a run can stop here and go on as if it had not. Environments without one are reset when a run
    /// is resumed.
    fn snapshot(&self) -> Option<Vec<u8>> {
        None
    }

    fn restore(&mut self, _snapshot: &[u8]) -> Result<(), EnvError> {
        Err(EnvError::bad_snapshot("this one", "it makes no snapshots; it has to be reset"))
    }

    /// The current picture, for environments that have one.
    fn render(&self) -> Option<Frame> {
        self.inner().and_then(|inner| inner.render())
    }
}

/// A boxed environment is an environment, so that wrappers take either.
impl<E: Env + ?Sized> Env for Box<E> {
    fn observation_space(&self) -> &Space {
        (**self).observation_space()
    }

    fn action_space(&self) -> &Space {
        (**self).action_space()
    }

    fn reset(&mut self, rng: &mut ChaCha8Rng) -> Result<(), EnvError> {
        (**self).reset(rng)
    }

    fn step(&mut self, action: &[f32], rng: &mut ChaCha8Rng) -> Result<Step, EnvError> {
        (**self).step(action, rng)
    }

    fn observe(&self, out: ObsMut<'_>) {
        (**self).observe(out);
    }

    fn inner(&self) -> Option<&dyn Env> {
        (**self).inner()
    }

    fn action_mask(&self, out: &mut [bool]) {
        (**self).action_mask(out);
    }

    fn has_action_mask(&self) -> bool {
        (**self).has_action_mask()
    }

    fn info_names(&self) -> Vec<String> {
        (**self).info_names()
    }

    fn info(&self, out: &mut [f32]) {
        (**self).info(out);
    }

    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        (**self).task_rules()
    }

    fn snapshot(&self) -> Option<Vec<u8>> {
        (**self).snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        (**self).restore(snapshot)
    }

    fn render(&self) -> Option<Frame> {
        (**self).render()
    }
}
