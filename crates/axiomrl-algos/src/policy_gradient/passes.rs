//! Shuffled passes over a rollout, one minibatch at a time.

use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How far the passes over a rollout have come. A run may stop between any two minibatches, so all of it is saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Passes {
    /// What the current pass goes through, in its order; empty between rollouts.
    order: Vec<u32>,
    /// Passes begun.
    epoch: usize,
    /// Entries of `order` that were used.
    at: usize,
    /// The largest divergence of the current pass.
    divergence: f32,
}

impl Passes {
    /// The next minibatch, as a range of [`Passes::order`]. `all` names what there is to learn from, asked for once a rollout.
    pub fn next(&mut self, size: usize, rng: &mut Rng, all: impl FnOnce() -> Vec<u32>) -> Range<usize> {
        if self.order.is_empty() {
            *self = Self { order: all(), ..Self::default() };
        }
        if self.at == 0 {
            self.order.shuffle(rng);
            self.epoch += 1;
            self.divergence = 0.0;
        }
        let from = self.at;
        self.at = self.order.len().min(from + size);
        from..self.at
    }

    /// Passes begun.
    pub fn epoch(&self) -> usize {
        self.epoch
    }

    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// A step was taken on the minibatch. Says whether it was the last one on this rollout: after `epochs` passes, or after
    /// one that moved the policy 1.5 times as far as it may.
    pub fn stepped(&mut self, divergence: f32, epochs: usize, target_kl: Option<f32>) -> bool {
        self.divergence = self.divergence.max(divergence);
        if self.at < self.order.len() {
            return false;
        }
        self.at = 0;
        let done = self.epoch >= epochs || target_kl.is_some_and(|limit| self.divergence > 1.5 * limit);
        if done {
            *self = Self::default();
        }
        done
    }

    /// `rows` is the most that a rollout has.
    pub fn visit_state(&mut self, rows: usize, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.value("passes", self)?;
        let sound = self.order.len() <= rows
            && self.at <= self.order.len()
            && self.order.iter().all(|&row| (row as usize) < rows);
        if sound {
            return Ok(());
        }
        let problem = format!("it names more than the {rows} rows of a rollout");
        Err(StateError::Misfit { name: "passes".to_owned(), problem })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(passes: &mut Passes, rng: &mut Rng, divergence: f32, target: Option<f32>) -> (Vec<u32>, bool) {
        let chosen = passes.next(2, rng, || (0..5).collect());
        let chosen = passes.order()[chosen].to_vec();
        let done = passes.stepped(divergence, 2, target);
        (chosen, done)
    }

    #[test]
    fn every_pass_uses_every_row_once() {
        let (mut passes, mut rng) = (Passes::default(), axiomrl_core::stream(1, "passes"));
        let mut seen: Vec<(Vec<u32>, bool)> = (0..6).map(|_| drive(&mut passes, &mut rng, 0.0, None)).collect();
        assert_eq!(seen.iter().map(|s| s.1).collect::<Vec<_>>(), [false, false, false, false, false, true]);
        for pass in seen.chunks_mut(3) {
            assert_eq!(pass.iter().map(|s| s.0.len()).collect::<Vec<_>>(), [2, 2, 1]);
            let mut rows: Vec<u32> = pass.iter().flat_map(|s| s.0.clone()).collect();
            rows.sort_unstable();
            assert_eq!(rows, [0, 1, 2, 3, 4]);
        }
        assert_eq!(passes, Passes::default());
    }

    #[test]
    fn a_policy_that_moved_too_far_ends_after_its_pass() {
        let (mut passes, mut rng) = (Passes::default(), axiomrl_core::stream(1, "passes"));
        let ends: Vec<bool> = [0.9, 0.1, 0.1].iter().map(|&kl| drive(&mut passes, &mut rng, kl, Some(0.5)).1).collect();
        assert_eq!(ends, [false, false, true], "0.9 is more than 1.5 times 0.5");
    }

    #[test]
    fn a_row_that_no_rollout_has_is_refused() {
        let mut passes = Passes { order: vec![7], epoch: 1, at: 0, divergence: 0.0 };
        let mut saved = crate::state::Snapshot::default();
        passes.visit_state(8, &mut StateIo::save(&mut saved, None)).unwrap();
        assert!(passes.visit_state(7, &mut StateIo::load(&saved, None)).is_err());
    }
}
