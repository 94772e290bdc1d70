//! Steps of a rollout side by side, in whole sequences. Without a memory a sequence is a single step.

use super::ppo_loss::{PpoGradient, PpoReport, PpoTerms, ppo_loss};
use super::shared::standardise;
use crate::parts::torso::Sequences;
use crate::regimes::Played;
use axiomrl_core::Rollout;
use axiomrl_envs::ObsBuf;
use axiomrl_nn::Distribution;

/// A rollout cut into sequences: number `i` is part `i / lanes` of environment `i % lanes`.
pub struct PlayedSequences<'a> {
    played: Played<'a>,
    state_width: usize,
}

/// Where a sequence lies: its time `t` is row `first + t * lanes` of the rollout.
#[derive(Clone, Copy)]
pub(super) struct Place {
    sequence: usize,
    first: usize,
    steps: usize,
}

impl<'a> PlayedSequences<'a> {
    pub fn new(played: Played<'a>, state_width: usize) -> Self {
        Self { played, state_width }
    }

    /// Sequences with anything to learn from: a step that was not played is none.
    pub fn numbers(&self) -> Vec<u32> {
        let Played { rollout, length, .. } = self.played;
        let count = rollout.filled.div_ceil(length) * rollout.lanes;
        let played = |i: &u32| {
            let Place { first, steps, .. } = self.place(*i as usize);
            (0..steps).any(|t| rollout.valid[first + t * rollout.lanes])
        };
        (0..count as u32).filter(played).collect()
    }

    /// How many sequences `steps` steps are, one at least.
    pub fn in_steps(&self, steps: usize) -> usize {
        (steps / self.played.length).max(1)
    }

    fn place(&self, sequence: usize) -> Place {
        let Played { rollout: Rollout { lanes, filled, .. }, length, .. } = self.played;
        if length == 1 {
            return Place { sequence, first: sequence, steps: 1 };
        }
        let (part, lane) = (sequence / lanes, sequence % lanes);
        Place { sequence, first: part * length * lanes + lane, steps: length.min(filled - part * length) }
    }
}

/// Sequences time-major, the shorter ones padded at their end, and what is learned from among them.
#[derive(Default)]
pub struct Minibatch {
    pub(super) steps: usize,
    pub(super) rows: usize,
    pub(super) obs: ObsBuf,
    pub(super) resets: Vec<bool>,
    /// The memory before each sequence.
    pub state: Vec<f32>,
    /// Places of the steps that were really played; the columns below hold these alone.
    pub(super) real: Vec<usize>,
    pub action: Vec<f32>,
    pub masks: Vec<bool>,
    pub log_prob: Vec<f32>,
    pub advantage: Vec<f32>,
    pub returns: Vec<f32>,
    pub value: Vec<f32>,
    pub(super) chosen: Vec<Place>,
}

impl Minibatch {
    /// Copies the chosen sequences side by side.
    pub fn gather(&mut self, from: &PlayedSequences<'_>, chosen: &[u32], normalize_advantage: bool) {
        let Played { rollout, starts, states, .. } = from.played;
        let width = from.state_width;
        self.clear();
        self.chosen.extend(chosen.iter().map(|&i| from.place(i as usize)));
        self.rows = chosen.len();
        self.steps = self.chosen.iter().map(|place| place.steps).max().unwrap_or(0);
        self.obs.reshape(rollout.obs.widths(), self.steps * self.rows);
        if self.chosen.iter().any(|place| place.steps < self.steps) {
            // Padding is shown as zeros.
            self.obs.floats.fill(0.0);
            self.obs.bytes.fill(0);
        }
        if width > 0 {
            self.resets.resize(self.steps * self.rows, false);
            for place in &self.chosen {
                self.state.extend_from_slice(&states[place.sequence * width..(place.sequence + 1) * width]);
            }
        }
        for t in 0..self.steps {
            for row in 0..self.rows {
                let place = self.chosen[row];
                if t >= place.steps {
                    continue;
                }
                let (from, to) = (place.first + t * rollout.lanes, t * self.rows + row);
                self.obs.row_mut(to).copy_from(rollout.obs.row(from));
                if width > 0 {
                    self.resets[to] = starts[from];
                }
                if rollout.valid[from] {
                    self.real.push(to);
                    self.copy_step(rollout, from);
                }
            }
        }
        if normalize_advantage && self.real.len() > 1 {
            standardise(&mut self.advantage);
        }
    }

    fn clear(&mut self) {
        for column in [
            &mut self.state,
            &mut self.action,
            &mut self.log_prob,
            &mut self.advantage,
            &mut self.returns,
            &mut self.value,
        ] {
            column.clear();
        }
        self.resets.clear();
        self.masks.clear();
        self.real.clear();
        self.chosen.clear();
    }

    fn copy_step(&mut self, rollout: &Rollout, from: usize) {
        let (actions, masks) = (rollout.spec().action_width, rollout.spec().mask_width);
        self.action.extend_from_slice(&rollout.action[from * actions..(from + 1) * actions]);
        self.masks.extend_from_slice(&rollout.masks[from * masks..(from + 1) * masks]);
        self.log_prob.push(rollout.log_prob[from]);
        self.advantage.push(rollout.advantage[from]);
        self.returns.push(rollout.returns[from]);
        self.value.push(rollout.value[from]);
    }

    pub fn sequences(&self) -> Sequences<'_> {
        Sequences { steps: self.steps, rows: self.rows, obs: self.obs.as_ref(), resets: &self.resets }
    }

    /// The objective of the real steps, from heads and values of all; padding has no gradient.
    pub fn loss(
        &self,
        distribution: &Distribution,
        head: &[f32],
        values: &[f32],
        log_std: &[f32],
        terms: PpoTerms,
    ) -> (PpoReport, PpoGradient) {
        if self.real.len() == self.steps * self.rows {
            return ppo_loss(distribution, head, values, log_std, self, terms);
        }
        let width = distribution.head_width();
        let (head, values) = (self.pick(head, width), self.pick(values, 1));
        let (report, gradient) = ppo_loss(distribution, &head, &values, log_std, self, terms);
        let (head, value) = (self.spread(&gradient.head, width), self.spread(&gradient.value, 1));
        (report, PpoGradient { head, value, ..gradient })
    }

    /// The rows of real steps.
    fn pick(&self, all: &[f32], width: usize) -> Vec<f32> {
        self.real.iter().flat_map(|&at| &all[at * width..(at + 1) * width]).copied().collect()
    }

    /// Puts them back to where they came from, zeros between them.
    fn spread(&self, picked: &[f32], width: usize) -> Vec<f32> {
        let mut all = vec![0.0; self.steps * self.rows * width];
        for (&at, row) in self.real.iter().zip(picked.chunks_exact(width)) {
            all[at * width..(at + 1) * width].copy_from_slice(row);
        }
        all
    }

    /// The largest distance of a probability ratio from 1: nothing, before the first step on a rollout.
    #[cfg(test)]
    pub fn largest_ratio_error(&self, distribution: &Distribution, head: &[f32], log_std: &[f32]) -> f32 {
        let (width, actions) = (distribution.head_width(), distribution.action_width());
        let masks = self.masks.len() / self.real.len();
        let ratio = |(k, &at): (usize, &usize)| {
            let (action, mask) =
                (&self.action[k * actions..(k + 1) * actions], &self.masks[k * masks..(k + 1) * masks]);
            let now = distribution.log_prob(&head[at * width..(at + 1) * width], log_std, mask, action);
            (now - self.log_prob[k]).exp()
        };
        self.real.iter().enumerate().map(ratio).fold(0.0, |worst, r| worst.max((r - 1.0).abs()))
    }
}
