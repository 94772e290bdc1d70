//! What the training loop sees of an algorithm.

use crate::state::{StateError, StateIo};
use axiomrl_core::{FrameSpec, Metrics};
use axiomrl_envs::{DType, GoalTask, ObsRef, Rng, Space, VecState};
use std::io;
use std::ops::Range;

/// Where a run stands. Schedules follow the fraction, so a resumed run never jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub steps: u64,
    pub total: u64,
}

impl Progress {
    /// From 0 at the start to 1 at the end.
    pub fn fraction(&self) -> f64 {
        if self.total == 0 { 1.0 } else { (self.steps as f64 / self.total as f64).min(1.0) }
    }

    pub fn is_over(&self) -> bool {
        self.steps >= self.total
    }
}

/// A number that stopped being one. The run stops here; the last good checkpoint stays.
#[derive(Debug, thiserror::Error)]
#[error("{what} became {value} at update {update}. {}", remedy())]
pub struct Diverged {
    pub what: String,
    pub value: f32,
    pub update: u64,
}

fn remedy() -> &'static str {
    "Try a lower learning rate, gradient clipping, or reward normalisation"
}

/// Fails with the name of the thing if `value` is not finite.
pub fn finite(what: &str, value: f32, update: u64) -> Result<f32, Diverged> {
    if value.is_finite() { Ok(value) } else { Err(Diverged { what: what.to_owned(), value, update }) }
}

/// What an agent is built for.
#[derive(Clone, Debug)]
pub struct Setup {
    pub observation_space: Space,
    pub action_space: Space,
    pub num_envs: usize,
    pub seed: u64,
    /// Whether the environment says which actions are allowed.
    pub masked: bool,
    /// Observations that are shown together.
    pub frame_stack: usize,
    /// Where goals are part of the observation.
    pub goal_task: Option<GoalTask>,
}

impl Setup {
    pub fn obs_width(&self) -> usize {
        self.observation_space.width()
    }

    pub fn action_width(&self) -> usize {
        self.action_space.width()
    }

    pub fn mask_width(&self) -> usize {
        if self.masked { self.action_space.mask_width() } else { 0 }
    }

    /// How observations are made of frames. Only images are taken apart: they are what fills memories, and no running
    /// statistics ever change them.
    pub fn frames(&self) -> FrameSpec {
        match &self.observation_space {
            Space::Box(space) if self.frame_stack > 1 && space.dtype == DType::U8 => {
                let stacked = space.shape.last().copied().unwrap_or(self.frame_stack);
                FrameSpec { count: self.frame_stack, chunk: stacked / self.frame_stack }
            }
            _ => FrameSpec::SINGLE,
        }
    }

    pub fn rng(&self, stream: &str) -> Rng {
        axiomrl_core::stream(self.seed, stream)
    }
}

/// What a policy remembers within an episode: empty for memoryless ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyMemory {
    /// One row of hidden state per environment.
    pub hidden: Vec<f32>,
    /// Environments at the first step of an episode.
    pub starts: Vec<bool>,
}

/// An algorithm at work: a data regime round a learner.
pub trait Agent: Send {
    /// Chooses an exploring action for every environment.
    fn act(&mut self, state: &VecState, progress: Progress, actions: &mut [f32]);

    /// Takes in what the step of environments `envs` brought; `actions` are the rows for all environments.
    fn observe(&mut self, envs: Range<usize>, actions: &[f32], state: &VecState);

    /// Does the updates that are due. Called whenever every environment has stepped once more, and at the run's end.
    fn learn(&mut self, state: &VecState, progress: Progress) -> Result<(), Diverged>;

    /// Chooses actions without learning from them.
    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        deterministic: bool,
        memory: &mut PolicyMemory,
        rng: &mut Rng,
        actions: &mut [f32],
    );

    /// What the agent thinks each observation is worth if it acts by its deterministic policy from there on.
    fn values(&mut self, obs: ObsRef<'_>, masks: &[bool], rows: usize, values: &mut [f32]);

    /// Gradient updates so far.
    fn updates(&self) -> u64;

    fn metrics(&mut self) -> &mut Metrics;

    /// Saves or loads everything except the store: one function for both directions, so they cannot drift apart.
    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;

    /// After loading state and store: whether they belong to a run of `steps` steps in whose current round `round`
    /// environments have stepped (0 between rounds). What contradicts itself would otherwise be found out by a panic.
    fn check_place(&self, _steps: u64, _round: usize) -> Result<(), StateError> {
        Ok(())
    }

    fn write_store(&self, to: &mut dyn io::Write) -> io::Result<()>;
    fn read_store(&mut self, from: &mut dyn io::Read) -> io::Result<()>;
}
