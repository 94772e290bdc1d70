//! What every source hands to a learner.

use axiomrl_envs::{ObsBuf, ObsRef, ObsWidths};
use std::borrow::Cow;

/// The name of a row whose source keeps no names: nothing is learned about it.
pub const NO_INDEX: u64 = u64::MAX;

/// How wide the rows of a batch are, and how many steps each has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchShape {
    /// transitions of a row; 1 for single steps
    pub steps: usize,
    pub widths: ObsWidths,
    pub action_width: usize,
    /// entries of an action mask, 0 without masks
    pub mask_width: usize,
    /// numbers of the memory a row begins with, 0 without one
    pub state_width: usize,
}

/// Rows to learn from, each a sequence of `steps` transitions, time-major: entry `(t, row)` of a column is at
/// `t * rows + row`. A single step is a sequence of one, so its columns begin with the observations of all rows, followed
/// by the next observations of all rows.
///
/// There is no `done` here: whoever forms `reward + discount * value(next)` cannot confuse the end of the world with the
/// end of the clock.
///
/// The buffers are kept from one sample to the next, so a batch of constant shape is allocated once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub steps: usize,
    pub rows: usize,
    /// `(steps + 1) * rows` rows
    pub obs: ObsBuf,
    /// `(steps + 1) * rows * mask_width`: the choices that are allowed; empty without masks
    pub masks: Vec<bool>,
    /// `(steps + 1) * rows`: whether the memory is emptied before this observation; never within single steps
    pub starts: Vec<bool>,
    /// `steps * rows * action_width`
    pub action: Vec<f32>,
    /// `steps * rows`: discounted sum over the window
    pub reward: Vec<f32>,
    /// `steps * rows`: γ^k·(1−terminated), with k the length of the window used
    pub discount: Vec<f32>,
    /// `steps * rows`: the time whose observation follows the window, before any restart; 1 for single steps, however
    /// long their windows. What a window shows that is followed by no value (`discount` 0) may be another episode's
    pub next: Vec<u32>,
    /// `steps * rows`: whether something was done there, so that it can be learned from
    pub valid: Vec<bool>,
    /// `rows * state_width`: the memory before the first observation
    pub state: Vec<f32>,
    /// importance weights, 1 unless the source has priorities
    pub weight: Vec<f32>,
    /// names of the rows, for what is learned about them; [`NO_INDEX`] where they have none
    pub index: Vec<u64>,
    pub extra: Vec<Extra>,
}

/// A column that only some sources have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    pub name: Cow<'static, str>,
    pub width: usize,
    /// `steps * rows * width`
    pub values: Vec<f32>,
}

impl Batch {
    /// Gives every buffer its size for `rows` rows, without extra columns. What the buffers hold afterwards is unspecified.
    pub fn resize(&mut self, shape: &BatchShape, rows: usize) {
        (self.steps, self.rows) = (shape.steps, rows);
        let (acted, seen) = (shape.steps * rows, (shape.steps + 1) * rows);
        self.obs.reshape(shape.widths, seen);
        self.masks.resize(seen * shape.mask_width, true);
        self.starts.resize(seen, false);
        self.action.resize(acted * shape.action_width, 0.0);
        self.reward.resize(acted, 0.0);
        self.discount.resize(acted, 0.0);
        self.next.resize(acted, 1);
        self.valid.resize(acted, true);
        self.state.resize(rows * shape.state_width, 0.0);
        self.weight.resize(rows, 1.0);
        self.index.resize(rows, NO_INDEX);
        self.extra.clear();
    }

    /// Cuts the last steps in which no row has anything to learn from. What a batch is then depends on its rows alone, and not
    /// on how much room there was.
    pub fn trim(&mut self) {
        let rows = self.rows.max(1);
        let used = self.valid.iter().rposition(|&valid| valid).map_or(1, |last| last / rows + 1);
        if used < self.steps {
            let shape = BatchShape { steps: used, ..self.shape() };
            let extra = std::mem::take(&mut self.extra);
            self.resize(&shape, self.rows);
            self.extra = extra;
            for column in &mut self.extra {
                column.values.truncate(used * rows * column.width);
            }
        }
    }

    /// A column that its source has added, `steps * rows * width` numbers.
    pub fn extra(&self, name: &str) -> Option<&[f32]> {
        self.extra.iter().find(|column| column.name == name).map(|column| &column.values[..])
    }

    /// The first observation of each row.
    pub fn obs(&self) -> ObsRef<'_> {
        self.obs.range(0..self.rows)
    }

    /// The observations after the first: of single steps, what the window led to.
    pub fn next_obs(&self) -> ObsRef<'_> {
        self.obs.range(self.rows..(self.steps + 1) * self.rows)
    }

    /// The choices allowed in [`Batch::obs`]; empty without masks.
    pub fn masks(&self) -> &[bool] {
        &self.masks[..self.rows * self.mask_width()]
    }

    /// The choices allowed in [`Batch::next_obs`]; empty without masks.
    pub fn next_masks(&self) -> &[bool] {
        &self.masks[self.rows * self.mask_width()..]
    }

    fn mask_width(&self) -> usize {
        self.masks.len() / self.starts.len().max(1)
    }

    /// What the batch was last resized to.
    pub fn shape(&self) -> BatchShape {
        let rows = self.rows.max(1);
        BatchShape {
            steps: self.steps,
            widths: self.obs.widths(),
            action_width: self.action.len() / (self.steps * rows).max(1),
            mask_width: self.mask_width(),
            state_width: self.state.len() / rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: BatchShape = BatchShape {
        steps: 1,
        widths: ObsWidths { floats: 1, bytes: 3 },
        action_width: 2,
        mask_width: 4,
        state_width: 0,
    };

    #[test]
    fn resizing_sets_every_length_and_keeps_the_memory() {
        let mut batch = Batch::default();
        batch.resize(&SHAPE, 8);
        assert_eq!((batch.obs.floats.len(), batch.obs.bytes.len()), (16, 48));
        assert_eq!((batch.action.len(), batch.masks.len(), batch.starts.len()), (16, 64, 16));
        let before = batch.reward.as_ptr();
        batch.resize(&SHAPE, 4);
        batch.resize(&SHAPE, 8);
        assert_eq!(batch.reward.as_ptr(), before);
        assert_eq!((batch.rows, batch.next.len(), batch.index.len(), batch.shape()), (8, 8, 8, SHAPE));
    }

    #[test]
    fn a_single_step_is_two_halves() {
        let mut batch = Batch::default();
        batch.resize(&SHAPE, 2);
        batch.obs.floats.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
        batch.masks[8..].fill(false);
        assert_eq!((batch.obs().floats, batch.next_obs().floats), (&[1.0, 2.0][..], &[3.0, 4.0][..]));
        assert_eq!((batch.next_obs().rows, batch.next_obs().bytes.len()), (2, 6));
        assert_eq!((batch.masks(), batch.next_masks()), (&[true; 8][..], &[false; 8][..]));
        batch.resize(&BatchShape { mask_width: 0, ..SHAPE }, 2);
        assert!(batch.masks().is_empty() && batch.next_masks().is_empty());
    }

    #[test]
    fn sequences_have_one_observation_more_than_steps() {
        let mut batch = Batch::default();
        let shape = BatchShape { steps: 3, state_width: 5, ..SHAPE };
        batch.resize(&shape, 2);
        assert_eq!((batch.obs.rows(), batch.reward.len(), batch.state.len()), (8, 6, 10));
        assert_eq!((batch.obs().rows, batch.next_obs().rows, batch.shape()), (2, 6, shape));
    }
}
