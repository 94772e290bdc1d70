//! What a batch of Gymnasium's environments is to the engine, wherever it runs.

use axiomrl_envs::{EnvError, Frame, Spaces, TaskRules};
use std::ops::Range;
use std::sync::Arc;

/// Environments that write what they show into arrays: `python/axiomrl/_bridge.py`, in a process of its own or in this one.
pub trait Bridge: Send {
    fn spaces(&self) -> &Spaces;
    fn num_envs(&self) -> usize;

    /// Starts an episode everywhere, with a seed for each or going on with the chances that they have.
    fn reset(&mut self, seeds: Option<&[u64]>) -> Result<(), EnvError>;

    /// Starts an episode in one of them. Says whether that was done.
    fn begin(&mut self, env: usize, seed: u64) -> Result<bool, EnvError>;

    /// Steps them all; rows are in the environments' own units.
    fn step(&mut self, actions: &[f32]) -> Result<(), EnvError>;

    /// Hands over the arrays of environments `range`, part by part: together the parts are all environments in order.
    fn arrays(&self, part: &mut dyn FnMut(Range<usize>, Arrays<'_>));

    fn render(&mut self, env: usize) -> Result<Option<Frame>, EnvError>;

    /// What other goals would have been worth, where the environments can say.
    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        None
    }
}

/// Outcomes of some environments, a row for each; named as in [`axiomrl_envs::VecState`].
#[derive(Clone, Copy, Debug)]
pub struct Arrays<'a> {
    pub obs_floats: &'a [f32],
    pub obs_bytes: &'a [u8],
    pub final_floats: &'a [f32],
    pub final_bytes: &'a [u8],
    pub reward: &'a [f64],
    pub terminated: &'a [u8],
    pub truncated: &'a [u8],
    pub stepped: &'a [u8],
    pub masks: &'a [u8],
    pub final_masks: &'a [u8],
    pub info: &'a [f32],
}
