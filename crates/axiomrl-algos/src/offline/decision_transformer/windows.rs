//! Windows of recorded episodes, each step with what the rest of its episode brought.

use crate::agent::LearnError;
use axiomrl_core::random::below;
use axiomrl_core::{Batch, BatchShape, Dataset, Extra, RewardScale, Rng};

/// The columns of a batch besides the usual ones.
pub const RETURN_TO_GO: &str = "return_to_go";
pub const TIMESTEP: &str = "timestep";

pub struct Windows {
    data: Dataset,
    /// Of each transition: the sum of rewards from there to the end of its episode.
    returns: Vec<f32>,
    /// The most steps of a window.
    context: usize,
    /// The steps of a batch one after the other, kept to be allocated once.
    steps: Batch,
}

impl Windows {
    pub fn new(data: Dataset, context: usize) -> Self {
        let mut returns = vec![0.0; data.len()];
        for episode in data.episodes() {
            let mut to_go = 0.0f64;
            for number in episode.rev() {
                to_go += f64::from(data.reward(number));
                returns[number as usize] = to_go as f32;
            }
        }
        Self { data, returns, context, steps: Batch::default() }
    }

    /// The best return of a whole episode, and the largest by size.
    pub fn extremes(&self) -> (f32, f32) {
        let whole = self.data.episodes().into_iter().map(|episode| self.returns[episode.start as usize]);
        whole.fold((f32::NEG_INFINITY, 0.0), |(best, size), r| (r.max(best), r.abs().max(size)))
    }

    /// Draws `rows` windows: a transition, each as likely, and what follows it in its episode.
    pub fn draw(&mut self, rows: usize, rng: &mut Rng, batch: &mut Batch) -> Result<(), LearnError> {
        let starts: Vec<u64> = (0..rows).map(|_| below(rng, self.returns.len()) as u64).collect();
        self.gather(&starts, batch)
    }

    /// The windows that start with these transitions. What is left of a row's steps after its window is not valid.
    pub fn gather(&mut self, starts: &[u64], batch: &mut Batch) -> Result<(), LearnError> {
        let rows = starts.len();
        let window = |start: u64| start..self.data.episode_of(0, start).end.min(start + self.context as u64);
        let numbers: Vec<u64> = starts.iter().flat_map(|&start| window(start)).collect();
        let longest = starts.iter().map(|&start| window(start).count()).max().unwrap_or(1);
        self.data.gather(&numbers, 1.0, RewardScale::IDENTITY, &mut self.steps)?;
        batch.resize(&BatchShape { steps: longest, ..self.steps.shape() }, rows);
        let masks = batch.masks.len() / batch.starts.len().max(1);
        let width = self.data.spec().action_width;
        let mut columns = [RETURN_TO_GO, TIMESTEP].map(|name| {
            let values = vec![0.0; longest * rows];
            Extra { name: name.into(), width: 1, values }
        });
        batch.valid.fill(false);
        batch.starts.fill(false);
        batch.weight.fill(1.0);
        batch.index.copy_from_slice(starts);
        let mut from = 0;
        for (row, &start) in starts.iter().enumerate() {
            let episode = self.data.episode_of(0, start);
            for (step, number) in window(start).enumerate() {
                let to = step * rows + row;
                batch.obs.row_mut(to).copy_from(self.steps.obs.row(from));
                batch.masks[to * masks..(to + 1) * masks]
                    .copy_from_slice(&self.steps.masks[from * masks..(from + 1) * masks]);
                batch.action[to * width..(to + 1) * width].copy_from_slice(self.data.action(number));
                batch.reward[to] = self.steps.reward[from];
                batch.discount[to] = self.steps.discount[from];
                batch.valid[to] = true;
                columns[0].values[to] = self.returns[number as usize];
                columns[1].values[to] = (number - episode.start) as f32;
                from += 1;
            }
        }
        batch.extra = columns.into();
        Ok(())
    }
}
