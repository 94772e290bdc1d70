//! From the arrays of one episode to an episode.

use super::metadata::Head;
use crate::rows::{Values, assemble};
use crate::{Ending, EpisodeBuf};
use axiomrl_envs::ObsSpace;

/// The arrays of an episode of `n` steps, with `n` rows of all but observations and masks, which have one more.
pub(super) struct Arrays {
    /// In the order of the parts.
    pub observations: Vec<Values>,
    pub actions: Vec<f32>,
    pub rewards: Vec<f32>,
    pub terminations: Vec<f32>,
    pub truncations: Vec<f32>,
    /// Empty without masks.
    pub masks: Vec<f32>,
}

impl Arrays {
    /// Choices count from 0 afterwards. An end before the last step is refused, with the step.
    pub fn finish(mut self, head: &Head, space: &ObsSpace) -> Result<EpisodeBuf, (usize, String)> {
        let steps = self.rewards.len();
        for (place, values) in head.observation.iter().zip(&mut self.observations) {
            if let Values::Floats(floats) = values {
                subtract(&place.leaf.start, floats);
            }
        }
        subtract(&head.action.leaf.start, &mut self.actions);
        let early = (0..steps.saturating_sub(1)).find(|&t| self.terminations[t] != 0.0 || self.truncations[t] != 0.0);
        if let Some(t) = early {
            return Err((t, format!("the episode ends here, and {} more steps follow", steps - t - 1)));
        }
        let last = |marks: &[f32]| marks.last().is_some_and(|&mark| mark != 0.0);
        Ok(EpisodeBuf {
            obs: assemble(space, steps + 1, self.observations),
            masks: self.masks.iter().map(|&mask| mask != 0.0).collect(),
            actions: self.actions,
            rewards: self.rewards,
            ending: match (last(&self.terminations), last(&self.truncations)) {
                (true, _) => Ending::Terminated,
                (false, true) => Ending::Truncated,
                (false, false) => Ending::Stopped,
            },
        })
    }
}

fn subtract(start: &[f32], values: &mut [f32]) {
    for row in values.chunks_exact_mut(start.len().max(1)) {
        row.iter_mut().zip(start).for_each(|(value, start)| *value -= start);
    }
}
