//! The settings of the value learners that remember.

use crate::config::{Problem, choices, layer_widths, some_updates};
use crate::parts::input::Vision;
use axiomrl_core::Schedule;
use axiomrl_nn::{Activation, CellKind};
use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of DRQN and R2D2.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct DrqnConfig {
    /// Step size of Adam.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Adam's small number.
    #[garde(range(min = 0.0, max = 1.0))]
    pub adam_eps: f32,
    /// Transitions kept.
    #[garde(range(min = 1, max = 100_000_000))]
    pub buffer_capacity: usize,
    /// Sequences per update.
    #[garde(range(min = 1, max = 65_536))]
    pub batch_size: usize,
    /// Random steps before the first update.
    #[garde(range(max = 1_000_000_000_000_000_u64))]
    pub learning_starts: u64,
    /// Environment steps between bursts of updates.
    #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
    pub train_frequency: u64,
    /// Updates in a burst; -1 makes as many as steps were taken.
    #[garde(range(min = -1, max = 100_000), custom(some_updates))]
    pub gradient_steps: i64,
    /// Environment steps between updates of the target network.
    #[garde(range(min = 1, max = 1_000_000_000_000_u64))]
    pub target_update_interval: u64,
    /// How much of the online network the target takes over: 1 copies.
    #[garde(range(min = 0.0, max = 1.0))]
    pub tau: f32,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Largest global norm of a gradient.
    #[garde(range(min = 0.0))]
    pub max_grad_norm: f32,

    /// What looks at images, before the layers before the memory.
    pub vision: Vision,
    /// Widths of the layers before the memory; without any it sees the observation itself.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Kind of memory.
    #[schemars(schema_with = "choices::<CellKind>")]
    pub cell: CellKind,
    /// Width of the memory.
    #[garde(range(min = 1, max = 16_384))]
    pub recurrent_hidden_size: usize,
    /// Widths of the hidden layers after the memory.
    #[garde(custom(layer_widths))]
    pub head_sizes: Vec<usize>,
    /// Non-linearity of the hidden layers.
    #[schemars(schema_with = "choices::<Activation>")]
    pub activation: Activation,
    /// Value of the state and advantage of the action in heads of their own.
    pub dueling: bool,

    /// Steps of a sequence, those of the burn-in included.
    #[garde(range(min = 1, max = 100_000))]
    pub sequence_length: usize,
    /// Steps at its beginning that only fill the memory.
    #[garde(range(max = 100_000))]
    pub burn_in: usize,
    /// Steps that a sequence shares with the next one; absent is half of it.
    #[garde(inner(range(max = 100_000)))]
    pub overlap: Option<usize>,
    /// Begin a sequence with the memory that the policy had there, instead of an empty one.
    pub stored_state: bool,

    /// Chance of a random action at the start.
    #[garde(range(min = 0.0, max = 1.0))]
    pub epsilon_start: f64,
    /// Chance of a random action after `exploration_fraction` of the run.
    #[garde(range(min = 0.0, max = 1.0))]
    pub epsilon_end: f64,
    /// Part of the run over which the chance falls.
    #[garde(range(min = 0.0, max = 1.0))]
    pub exploration_fraction: f64,

    /// Choose the next action with the online network and value it with the target.
    pub double_q: bool,
    /// Rewards summed before bootstrapping.
    #[garde(range(min = 1, max = 1000))]
    pub n_step: usize,
    /// Learn the values on a scale on which large ones are close together.
    pub value_rescale: bool,
    /// Draw sequences in proportion to their error.
    pub prioritized_replay: bool,
    /// How strongly the error counts: 0 is uniform.
    #[garde(range(min = 0.0, max = 1.0))]
    pub prioritized_alpha: f32,
    /// Correction for the uneven drawing, over the run.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub prioritized_beta: Schedule,
    /// Smallest error, so that no sequence is forgotten.
    #[garde(range(min = 0.0))]
    pub prioritized_eps: f32,
    /// Part of the largest error in that of a sequence; the rest is the mean.
    #[garde(range(min = 0.0, max = 1.0))]
    pub priority_eta: f32,
}

impl Default for DrqnConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(1e-3),
            adam_eps: 1e-8,
            buffer_capacity: 50_000,
            batch_size: 32,
            learning_starts: 1000,
            train_frequency: 4,
            gradient_steps: 1,
            target_update_interval: 500,
            tau: 1.0,
            gamma: 0.99,
            max_grad_norm: 10.0,
            vision: Vision::Auto,
            hidden_sizes: vec![64],
            cell: CellKind::Lstm,
            recurrent_hidden_size: 64,
            head_sizes: Vec::new(),
            activation: Activation::Relu,
            dueling: false,
            sequence_length: 10,
            burn_in: 0,
            overlap: None,
            stored_state: false,
            epsilon_start: 1.0,
            epsilon_end: 0.05,
            exploration_fraction: 0.2,
            double_q: false,
            n_step: 1,
            value_rescale: false,
            prioritized_replay: false,
            prioritized_alpha: 0.6,
            prioritized_beta: Schedule::linear(0.4, 1.0),
            prioritized_eps: 1e-6,
            priority_eta: 0.9,
        }
    }
}

impl DrqnConfig {
    /// What R2D2 adds.
    pub fn r2d2() -> Self {
        Self {
            adam_eps: 1e-3,
            head_sizes: vec![64],
            dueling: true,
            sequence_length: 20,
            burn_in: 5,
            stored_state: true,
            double_q: true,
            n_step: 5,
            value_rescale: true,
            prioritized_replay: true,
            prioritized_alpha: 0.9,
            prioritized_beta: Schedule::Constant(0.6),
            ..Self::default()
        }
    }

    /// Steps that a sequence shares with the next.
    pub fn overlap(&self) -> usize {
        self.overlap.unwrap_or(self.sequence_length / 2)
    }

    /// What garde cannot see: settings that contradict each other.
    pub fn check(&self) -> Result<(), Problem> {
        let (length, burn_in, n_step, capacity) =
            (self.sequence_length, self.burn_in, self.n_step, self.buffer_capacity);
        let overlap = self.overlap();
        Problem::when(length <= burn_in, &["burn_in", "sequence_length"], || {
            format!(
                "`burn_in` {burn_in} leaves nothing to learn of a `sequence_length` of {length}; make the sequence longer or \
                 the burn-in shorter"
            )
        })?;
        Problem::when(n_step >= length, &["n_step", "sequence_length"], || {
            format!(
                "`n_step` {n_step} does not fit into a `sequence_length` of {length}; make the sequence longer or sum fewer \
                 rewards"
            )
        })?;
        Problem::when(overlap >= length, &["overlap", "sequence_length"], || {
            format!(
                "`overlap` {overlap} must be below `sequence_length` {length}, or no sequence would bring anything new; lower it"
            )
        })?;
        Problem::when(capacity < length, &["buffer_capacity", "sequence_length"], || {
            format!(
                "`buffer_capacity` {capacity} has no room for a `sequence_length` of {length}; make the buffer larger"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_say_what_to_change() {
        let plain = DrqnConfig::default;
        assert_eq!(plain().check(), Ok(()));
        assert_eq!(DrqnConfig::r2d2().check(), Ok(()));
        for (config, named, advice) in [
            (DrqnConfig { burn_in: 10, ..plain() }, "`burn_in` 10", "make the sequence longer"),
            (DrqnConfig { n_step: 10, ..plain() }, "`n_step` 10", "sum fewer rewards"),
            (DrqnConfig { overlap: Some(10), ..plain() }, "`overlap` 10", "lower it"),
            (DrqnConfig { buffer_capacity: 9, ..plain() }, "`buffer_capacity` 9", "make the buffer larger"),
        ] {
            let problem = config.check().unwrap_err().message;
            assert!(problem.contains(named) && problem.contains(advice), "{problem}");
        }
        let least = DrqnConfig { burn_in: 9, n_step: 9, overlap: Some(9), buffer_capacity: 10, ..plain() };
        assert_eq!(least.check(), Ok(()));
    }
}
