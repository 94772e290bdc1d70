//! What every store hands to a learner.

use axiomrl_envs::{DType, ObsBuf};

/// Transitions to learn from, row by row. There is no `done` here: whoever forms `reward + discount * value(next_obs)`
/// cannot confuse the end of the world with the end of the clock.
///
/// The buffers are kept from one sample to the next, so a batch of constant shape is allocated once.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub rows: usize,
    /// `rows * obs_width`
    pub obs: ObsBuf,
    /// `rows * mask_width`: the choices that were allowed in `obs`; empty without masks
    pub mask: Vec<bool>,
    /// `rows * action_width`
    pub action: Vec<f32>,
    /// discounted sum over the window
    pub reward: Vec<f32>,
    /// γ^k·(1−terminated), with k the length of the window used
    pub discount: Vec<f32>,
    /// `rows * obs_width`: the observation after the window, before any restart
    pub next_obs: ObsBuf,
    /// `rows * mask_width`: the choices allowed in `next_obs`; empty without masks
    pub next_mask: Vec<bool>,
    /// importance weights, 1 unless the store is prioritised
    pub weight: Vec<f32>,
    /// names of the rows, for priority updates
    pub index: Vec<u64>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            rows: 0,
            obs: ObsBuf::F32(Vec::new()),
            mask: Vec::new(),
            action: Vec::new(),
            reward: Vec::new(),
            discount: Vec::new(),
            next_obs: ObsBuf::F32(Vec::new()),
            next_mask: Vec::new(),
            weight: Vec::new(),
            index: Vec::new(),
        }
    }
}

impl Batch {
    /// Gives every buffer its size for `rows` rows. What the buffers hold afterwards is unspecified.
    pub fn resize(&mut self, rows: usize, dtype: DType, obs_width: usize, action_width: usize, mask_width: usize) {
        self.rows = rows;
        resize_obs(&mut self.obs, dtype, rows * obs_width);
        resize_obs(&mut self.next_obs, dtype, rows * obs_width);
        self.mask.resize(rows * mask_width, true);
        self.next_mask.resize(rows * mask_width, true);
        self.action.resize(rows * action_width, 0.0);
        self.reward.resize(rows, 0.0);
        self.discount.resize(rows, 0.0);
        self.weight.resize(rows, 1.0);
        self.index.resize(rows, 0);
    }
}

/// Keeps the buffer when it already has the right kind of numbers.
pub(crate) fn resize_obs(buffer: &mut ObsBuf, dtype: DType, len: usize) {
    match (&mut *buffer, dtype) {
        (ObsBuf::F32(values), DType::F32) => values.resize(len, 0.0),
        (ObsBuf::U8(values), DType::U8) => values.resize(len, 0),
        _ => *buffer = ObsBuf::zeros(dtype, len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resizing_sets_every_length_and_keeps_the_memory() {
        let mut batch = Batch::default();
        batch.resize(8, DType::U8, 3, 2, 4);
        assert_eq!(batch.obs, ObsBuf::U8(vec![0; 24]));
        assert_eq!((batch.action.len(), batch.mask.len(), batch.next_mask.len()), (16, 32, 32));
        let before = batch.reward.as_ptr();
        batch.resize(4, DType::U8, 3, 2, 4);
        batch.resize(8, DType::U8, 3, 2, 4);
        assert_eq!(batch.reward.as_ptr(), before);
        assert_eq!((batch.rows, batch.next_obs.len(), batch.index.len()), (8, 24, 8));
    }

    #[test]
    fn the_kind_of_numbers_can_change() {
        let mut batch = Batch::default();
        batch.resize(2, DType::F32, 3, 1, 0);
        batch.resize(2, DType::U8, 3, 1, 0);
        assert_eq!(batch.next_obs.dtype(), DType::U8);
    }
}
