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

/// A row of the rollout, and its place in the minibatch.
#[derive(Clone, Copy)]
pub(super) struct Copied {
    from: usize,
    to: usize,
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
    pub(super) chosen: Vec<Place>,
    /// All steps of the sequences.
    pub(super) shown: Vec<Copied>,
    /// Those that were really played; the columns below hold these alone.
    pub(super) learned: Vec<Copied>,
    pub action: Vec<f32>,
    pub masks: Vec<bool>,
    pub log_prob: Vec<f32>,
    pub advantage: Vec<f32>,
    /// One for each kind of reward, side by side; so are the values.
    pub returns: Vec<f32>,
    pub value: Vec<f32>,
}

impl Minibatch {
    /// Copies the chosen sequences side by side.
    pub fn gather(&mut self, from: &PlayedSequences<'_>, chosen: &[u32], normalize_advantage: bool) {
        self.arrange(from, chosen);
        self.copy_inputs(from);
        self.copy_learned(from.played.rollout);
        if normalize_advantage && self.learned.len() > 1 {
            standardise(&mut self.advantage);
        }
    }

    /// Gives every step its place.
    fn arrange(&mut self, from: &PlayedSequences<'_>, chosen: &[u32]) {
        let rollout = from.played.rollout;
        refill(&mut self.chosen, chosen.iter().map(|&i| from.place(i as usize)));
        self.rows = chosen.len();
        self.steps = self.chosen.iter().map(|place| place.steps).max().unwrap_or(0);
        self.shown.clear();
        for t in 0..self.steps {
            let places = self.chosen.iter().enumerate().filter(|(_, place)| t < place.steps);
            let at = |(row, place): (usize, &Place)| Copied {
                from: place.first + t * rollout.lanes,
                to: t * self.rows + row,
            };
            self.shown.extend(places.map(at));
        }
        refill(&mut self.learned, self.shown.iter().copied().filter(|step| rollout.valid[step.from]));
    }

    /// What the network is shown.
    fn copy_inputs(&mut self, from: &PlayedSequences<'_>) {
        let Played { rollout, starts, states, .. } = from.played;
        let (widths, entries) = (rollout.obs.widths(), self.steps * self.rows);
        self.obs.reshape(widths, entries);
        if self.shown.len() < entries {
            // Padding is shown as zeros.
            self.obs.floats.fill(0.0);
            self.obs.bytes.fill(0);
        }
        copy_rows(&rollout.obs.floats, widths.floats, &self.shown, &mut self.obs.floats);
        copy_rows(&rollout.obs.bytes, widths.bytes, &self.shown, &mut self.obs.bytes);
        self.resets.clear();
        self.state.clear();
        let width = from.state_width;
        if width > 0 {
            self.resets.resize(entries, false);
            copy_rows(starts, 1, &self.shown, &mut self.resets);
            for &Place { sequence, .. } in &self.chosen {
                self.state.extend_from_slice(&states[sequence * width..(sequence + 1) * width]);
            }
        }
    }

    /// What the objective asks for.
    fn copy_learned(&mut self, rollout: &Rollout) {
        let (actions, masks) = (rollout.spec().action_width, rollout.spec().mask_width);
        self.action.clear();
        self.masks.clear();
        for &Copied { from, .. } in &self.learned {
            self.action.extend_from_slice(&rollout.action[from * actions..(from + 1) * actions]);
            self.masks.extend_from_slice(&rollout.masks[from * masks..(from + 1) * masks]);
        }
        let rows = || self.learned.iter().map(|step| step.from);
        refill(&mut self.log_prob, rows().map(|row| rollout.log_prob[row]));
        refill(&mut self.advantage, rows().map(|row| rollout.advantage[row]));
        match &rollout.intrinsic {
            None => {
                refill(&mut self.returns, rows().map(|row| rollout.returns[row]));
                refill(&mut self.value, rows().map(|row| rollout.value[row]));
            }
            Some(own) => {
                refill(&mut self.returns, rows().flat_map(|row| [rollout.returns[row], own.returns[row]]));
                refill(&mut self.value, rows().flat_map(|row| [rollout.value[row], own.value[row]]));
            }
        }
    }

    /// How many steps are learned from.
    pub fn len(&self) -> usize {
        self.learned.len()
    }

    /// Kinds of reward, each with values of its own.
    pub fn streams(&self) -> usize {
        self.returns.len() / self.log_prob.len().max(1)
    }

    /// The part of a table of masks that belongs to step `row` of those that are learned from.
    pub fn mask(&self, row: usize) -> &[bool] {
        let width = self.masks.len() / self.log_prob.len().max(1);
        &self.masks[row * width..(row + 1) * width]
    }

    pub fn sequences(&self) -> Sequences<'_> {
        Sequences { steps: self.steps, rows: self.rows, obs: self.obs.as_ref(), resets: &self.resets }
    }

    /// The objective of the steps that are learned from, given heads and values of all; the others have no gradient.
    pub fn loss(
        &self,
        distribution: &Distribution,
        head: &[f32],
        values: &[f32],
        log_std: &[f32],
        terms: PpoTerms,
    ) -> (PpoReport, PpoGradient) {
        if self.learned.len() == self.steps * self.rows {
            return ppo_loss(distribution, head, values, log_std, self, terms);
        }
        let (width, streams) = (distribution.head_width(), self.streams());
        let (head, values) = (self.pick(head, width), self.pick(values, streams));
        let (report, gradient) = ppo_loss(distribution, &head, &values, log_std, self, terms);
        let PpoGradient { head, value, log_std } = gradient;
        (report, PpoGradient { head: self.spread(head, width), value: self.spread(value, streams), log_std })
    }

    /// A column of the rollout at the steps that are learned from.
    pub fn column(&self, rollout_column: &[f32]) -> Vec<f32> {
        self.learned.iter().map(|step| rollout_column[step.from]).collect()
    }

    /// The rows that are learned from.
    pub fn pick(&self, all: &[f32], width: usize) -> Vec<f32> {
        if self.learned.len() == self.steps * self.rows {
            return all.to_vec();
        }
        self.learned.iter().flat_map(|&Copied { to, .. }| &all[to * width..(to + 1) * width]).copied().collect()
    }

    /// Puts them back to where they came from, zeros between them.
    pub fn spread(&self, picked: Vec<f32>, width: usize) -> Vec<f32> {
        if self.learned.len() == self.steps * self.rows {
            return picked;
        }
        let mut all = vec![0.0; self.steps * self.rows * width];
        for (&Copied { to, .. }, row) in self.learned.iter().zip(picked.chunks_exact(width)) {
            all[to * width..(to + 1) * width].copy_from_slice(row);
        }
        all
    }

    /// Rows of a test's own, all of them to be learned from.
    #[cfg(test)]
    pub fn learn_from_all(&mut self, rows: usize) {
        (self.steps, self.rows) = (1, rows);
        self.learned = (0..rows).map(|row| Copied { from: row, to: row }).collect();
    }

    /// The largest distance of a probability ratio from 1: nothing, before the first step on a rollout.
    #[cfg(test)]
    pub fn largest_ratio_error(&self, distribution: &Distribution, head: &[f32], log_std: &[f32]) -> f32 {
        let (width, actions) = (distribution.head_width(), distribution.action_width());
        let masks = self.masks.len() / self.learned.len();
        let heads = self.pick(head, width);
        let ratio = |k: usize| {
            let (action, mask) =
                (&self.action[k * actions..(k + 1) * actions], &self.masks[k * masks..(k + 1) * masks]);
            let now = distribution.log_prob(&heads[k * width..(k + 1) * width], log_std, mask, action);
            (now - self.log_prob[k]).exp()
        };
        (0..self.learned.len()).map(ratio).fold(0.0, |worst, r| worst.max((r - 1.0).abs()))
    }
}

/// Replaces what is in `list`, keeping its memory.
fn refill<T>(list: &mut Vec<T>, with: impl Iterator<Item = T>) {
    list.clear();
    list.extend(with);
}

/// Copies rows of `width` entries to their places.
fn copy_rows<T: Copy>(from: &[T], width: usize, rows: &[Copied], into: &mut [T]) {
    if width == 0 {
        return;
    }
    for row in rows {
        let to = &mut into[row.to * width..(row.to + 1) * width];
        to.copy_from_slice(&from[row.from * width..(row.from + 1) * width]);
    }
}
