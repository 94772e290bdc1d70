//! Whole sequences of a rollout side by side, for the clipped objective.

use crate::parts::torso::Sequences;
use crate::policy_gradient::ppo_loss::{Minibatch, PpoGradient, PpoReport, PpoTerms, ppo_loss};
use crate::policy_gradient::shared::standardise;
use crate::regimes::Played;
use axiomrl_core::Rollout;
use axiomrl_envs::ObsBuf;
use axiomrl_nn::Distribution;

/// A rollout cut into sequences: number `i` is part `i / lanes` of environment `i % lanes`.
pub struct Source<'a> {
    rollout: &'a Rollout,
    starts: &'a [bool],
    states: &'a [f32],
    length: usize,
    state_width: usize,
}

impl<'a> Source<'a> {
    pub fn new(played: Played<'a>, state_width: usize) -> Self {
        let Played { rollout, starts, states, length } = played;
        Self { rollout, starts, states, length, state_width }
    }

    /// Sequences there are.
    pub fn count(&self) -> usize {
        self.rollout.filled.div_ceil(self.length) * self.rollout.lanes
    }

    /// Steps of sequence `i`.
    fn len(&self, i: usize) -> usize {
        self.length.min(self.rollout.filled - i / self.rollout.lanes * self.length)
    }

    /// The row of the rollout that holds time `t` of sequence `i`.
    fn row(&self, i: usize, t: usize) -> usize {
        let lanes = self.rollout.lanes;
        (i / lanes * self.length + t) * lanes + i % lanes
    }
}

/// Sequences time-major, the shorter ones padded at their end, and the real steps among them.
#[derive(Default)]
pub struct SequenceMinibatch {
    steps: usize,
    rows: usize,
    obs: ObsBuf,
    resets: Vec<bool>,
    /// The memory before each sequence.
    pub state: Vec<f32>,
    /// Places of the real steps.
    real: Vec<usize>,
    /// What the objective needs, of the real steps alone.
    batch: Minibatch,
}

impl SequenceMinibatch {
    /// Copies the chosen sequences side by side.
    pub fn gather(&mut self, source: &Source<'_>, chosen: &[u32], normalize: bool) {
        let rollout = source.rollout;
        let chosen: Vec<usize> = chosen.iter().map(|&i| i as usize).collect();
        self.rows = chosen.len();
        self.steps = chosen.iter().map(|&i| source.len(i)).max().unwrap_or(0);
        // Padding is shown as zeros.
        self.obs = ObsBuf::zeros(rollout.obs.widths(), self.steps * self.rows);
        self.resets.clear();
        self.resets.resize(self.steps * self.rows, false);
        self.state.clear();
        self.real.clear();
        self.batch = Minibatch::default();
        for &i in &chosen {
            self.state.extend_from_slice(&source.states[i * source.state_width..(i + 1) * source.state_width]);
        }
        for t in 0..self.steps {
            for (row, &i) in chosen.iter().enumerate().filter(|&(_, &i)| t < source.len(i)) {
                let (from, to) = (source.row(i, t), t * self.rows + row);
                self.obs.row_mut(to).copy_from(rollout.obs.row(from));
                self.resets[to] = source.starts[from];
                if rollout.valid[from] {
                    self.real.push(to);
                    self.copy_step(rollout, from);
                }
            }
        }
        if normalize && self.batch.rows > 1 {
            standardise(&mut self.batch.advantage);
        }
    }

    fn copy_step(&mut self, rollout: &Rollout, from: usize) {
        let (actions, masks) = (rollout.spec().action_width, rollout.spec().mask_width);
        let batch = &mut self.batch;
        batch.rows += 1;
        batch.action.extend_from_slice(&rollout.action[from * actions..(from + 1) * actions]);
        batch.masks.extend_from_slice(&rollout.masks[from * masks..(from + 1) * masks]);
        batch.log_prob.push(rollout.log_prob[from]);
        batch.advantage.push(rollout.advantage[from]);
        batch.returns.push(rollout.returns[from]);
        batch.value.push(rollout.value[from]);
    }

    pub fn sequences(&self) -> Sequences<'_> {
        Sequences { steps: self.steps, rows: self.rows, obs: self.obs.as_ref(), resets: &self.resets }
    }

    /// The objective of the real steps; padding has no gradient.
    pub fn loss(
        &self,
        distribution: &Distribution,
        head: &[f32],
        values: &[f32],
        log_std: &[f32],
        terms: PpoTerms,
    ) -> (PpoReport, PpoGradient) {
        let width = distribution.head_width();
        let pick = |all: &[f32], width: usize| -> Vec<f32> {
            self.real.iter().flat_map(|&at| &all[at * width..(at + 1) * width]).copied().collect()
        };
        let (report, gradient) =
            ppo_loss(distribution, &pick(head, width), &pick(values, 1), log_std, &self.batch, terms);
        let spread = |picked: &[f32], width: usize| {
            let mut all = vec![0.0; self.steps * self.rows * width];
            for (&at, one) in self.real.iter().zip(picked.chunks_exact(width)) {
                all[at * width..(at + 1) * width].copy_from_slice(one);
            }
            all
        };
        let (head, value) = (spread(&gradient.head, width), spread(&gradient.value, 1));
        (report, PpoGradient { head, value, log_std: gradient.log_std })
    }

    /// The largest distance of a probability ratio from 1: nothing, before the first step on a rollout.
    #[cfg(test)]
    pub fn largest_ratio_error(&self, distribution: &Distribution, head: &[f32], log_std: &[f32]) -> f32 {
        let (width, actions) = (distribution.head_width(), distribution.action_width());
        let ratio = |(k, &at): (usize, &usize)| {
            let action = &self.batch.action[k * actions..(k + 1) * actions];
            let now = distribution.log_prob(&head[at * width..(at + 1) * width], log_std, &[], action);
            (now - self.batch.log_prob[k]).exp()
        };
        self.real.iter().enumerate().map(ratio).fold(0.0, |worst, r| worst.max((r - 1.0).abs()))
    }
}
