//! Columns that only some learners ask for: the action that was taken next, and what the episode still brought.

use super::View;
use crate::ring::{Ring, TERMINATED};
use crate::{Batch, Extra, RewardScale, StoreError};
use std::ops::{Deref, Range};

/// The action that followed a transition; zeros where none is known.
pub const NEXT_ACTION: &str = "next_action";
/// 1 where the next action is known, or of no use because the world ended; otherwise 0.
pub const NEXT_ACTION_KNOWN: &str = "next_action_known";
/// The discounted sum of the rewards from a transition on; −∞ while its episode is unfinished.
pub const RETURN_TO_GO: &str = "return_to_go";

/// Rewards at a time limit whose mean stands for all that would have followed.
const TAIL: usize = 20;

/// Which columns a view adds to its batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    pub next_action: bool,
    pub return_to_go: bool,
}

/// Returns of all stored transitions, worked out once for each episode when it has ended.
#[derive(Clone, Debug)]
pub(super) struct Returns {
    /// By row of the store.
    values: Vec<f32>,
    /// For each lane, the number before which all returns are known.
    known: Vec<u64>,
    /// What they were worked out with.
    scale: RewardScale,
}

impl Returns {
    fn new(store: &Ring) -> Self {
        let lanes = store.lanes().len();
        Self { values: vec![0.0; store.ring * lanes], known: vec![0; lanes], scale: RewardScale::IDENTITY }
    }

    fn catch_up(&mut self, store: &Ring, gamma: f32, scale: RewardScale) {
        if self.scale != scale {
            self.known.fill(0);
            self.scale = scale;
        }
        for lane in 0..self.known.len() {
            let mut number = self.known[lane].max(store.oldest(lane));
            while number < store.lanes()[lane].episode {
                let episode = store.episode_of(lane, number);
                self.sum_up(store, lane, episode.clone(), gamma);
                number = episode.end;
            }
            self.known[lane] = number;
        }
    }

    /// G = r + γ·(1 − terminated)·G', backwards through a finished episode.
    fn sum_up(&mut self, store: &Ring, lane: usize, episode: Range<u64>, gamma: f32) {
        let last = store.row(lane, episode.end - 1);
        let mut following = 0.0;
        if store.flags[last] & TERMINATED == 0 && gamma < 1.0 {
            // A clock has no say in what would have come: it is taken to go on as it went last.
            let tail = episode.end.saturating_sub(TAIL as u64).max(episode.start)..episode.end;
            let count = (tail.end - tail.start) as f32;
            let sum: f32 = tail.map(|number| self.scale.apply(store.reward[store.row(lane, number)])).sum();
            following = sum / count / (1.0 - gamma);
        }
        for number in episode.rev() {
            let row = store.row(lane, number);
            following = self.scale.apply(store.reward[row]) + gamma * following;
            self.values[row] = following;
        }
    }
}

impl<S: Deref<Target = Ring>> View<S> {
    /// Adds columns to every batch. Only single steps have them.
    pub fn with_extras(mut self, extras: Extras) -> Result<Self, StoreError> {
        if extras != Extras::default() && (self.window.is_sequence() || self.window.n_step != 1) {
            let problem = "next actions and returns go with single steps: set `n_step` to 1, and `memory` to `none`";
            return Err(StoreError::Invalid(problem.into()));
        }
        self.extras = extras;
        self.returns = extras.return_to_go.then(|| Returns::new(&self.store));
        Ok(self)
    }

    /// Fills the columns of rows that were drawn.
    pub(super) fn fill_extras(&mut self, rows: Range<usize>, scale: RewardScale, out: &mut Batch) {
        let store: &Ring = &self.store;
        if self.extras.next_action {
            let width = store.spec().action_width;
            let known = column(out, NEXT_ACTION_KNOWN, 1);
            let actions = column(out, NEXT_ACTION, width);
            for row in rows.clone() {
                let (lane, number) = store.named(out.index[row]);
                let at = store.row(lane, number);
                let place = row * width..(row + 1) * width;
                let follows = store.flags[at] == 0 && number + 1 < store.next(lane);
                if follows {
                    let next = store.after(at) * width;
                    out.extra[actions].values[place].copy_from_slice(&store.action[next..next + width]);
                } else {
                    out.extra[actions].values[place].fill(0.0);
                }
                let told = follows || store.flags[at] & TERMINATED != 0;
                out.extra[known].values[row] = if told { 1.0 } else { 0.0 };
            }
        }
        if let Some(returns) = &mut self.returns {
            returns.catch_up(store, self.window.gamma, scale);
            let values = column(out, RETURN_TO_GO, 1);
            for row in rows {
                let (lane, number) = store.named(out.index[row]);
                let known = number < returns.known[lane];
                out.extra[values].values[row] =
                    if known { returns.values[store.row(lane, number)] } else { f32::NEG_INFINITY };
            }
        }
    }
}

/// The place of a column of the batch, which is made where it is missing.
fn column(out: &mut Batch, name: &'static str, width: usize) -> usize {
    out.extra.iter().position(|column| column.name == name).unwrap_or_else(|| {
        let values = vec![0.0; out.steps * out.rows * width];
        out.extra.push(Extra { name: name.into(), width, values });
        out.extra.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BatchSource, Owned, RingSpec, SampleOptions, Window, stream};
    use axiomrl_envs::{FrameSpec, ObsRef, ObsWidths};

    /// Transitions of one lane with these rewards, each with its number as action; true ends the world, false the clock.
    fn store(capacity: usize, steps: &[(f32, Option<bool>)]) -> Ring {
        let widths = ObsWidths { floats: 1, bytes: 0 };
        let spec =
            RingSpec { capacity, lanes: 1, widths, byte_frames: FrameSpec::SINGLE, action_width: 1, mask_width: 0 };
        let (mut ring, shown) = (Ring::new(spec), [0.0]);
        let obs = ObsRef::of_floats(1, &shown);
        ring.begin(0, obs, &[]);
        for (number, &(reward, end)) in steps.iter().enumerate() {
            let (terminated, truncated) = (end == Some(true), end == Some(false));
            ring.push(0, &[number as f32], reward, terminated, truncated, obs, &[], obs, &[]);
        }
        ring
    }

    /// Columns of the rows that have these actions.
    fn drawn(ring: Ring, gamma: f32, scale: RewardScale) -> Vec<(f32, f32, f32, f32)> {
        let extras = Extras { next_action: true, return_to_go: true };
        let view = View::new(Owned(ring), Window::steps(1, gamma), None, None).unwrap();
        let (mut view, mut batch, mut rng) = (view.with_extras(extras).unwrap(), Batch::default(), stream(1, "extras"));
        batch.resize(&view.shape(), 200);
        let mut options = SampleOptions { rng: &mut rng, beta: 1.0, reward: scale };
        view.fill(0..200, &mut options, &mut batch).unwrap();
        let of = |name: &str, row: usize| batch.extra(name).unwrap()[row];
        let rows = (0..200)
            .map(|row| (batch.action[row], of(NEXT_ACTION, row), of(NEXT_ACTION_KNOWN, row), of(RETURN_TO_GO, row)));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows.dedup();
        rows
    }

    #[test]
    fn next_actions_and_returns_by_hand() {
        let steps = [(1.0, None), (2.0, Some(true)), (-1.0, None), (-1.0, Some(false)), (3.0, None), (4.0, None)];
        let none = f32::NEG_INFINITY;
        let found = drawn(store(10, &steps), 0.9, RewardScale::IDENTITY);
        // After a time limit the mean of the last rewards goes on for ever: -1 / (1 - 0.9).
        let expected = [
            (0.0, 1.0, 1.0, 1.0 + 0.9 * 2.0),
            (1.0, 0.0, 1.0, 2.0),
            (2.0, 3.0, 1.0, -10.0),
            (3.0, 0.0, 0.0, -10.0),
            (4.0, 5.0, 1.0, none),
            (5.0, 0.0, 0.0, none),
        ];
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!((found.0, found.1, found.2), (expected.0, expected.1, expected.2));
            assert!(found.3 == expected.3 || (found.3 - expected.3).abs() < 1e-4, "{found:?} {expected:?}");
        }
        let scaled = drawn(store(10, &steps), 0.9, RewardScale { scale: 0.5, ..RewardScale::IDENTITY });
        assert!((scaled[0].3 - 0.5 * 2.8).abs() < 1e-6 && (scaled[3].3 + 5.0).abs() < 1e-4, "{scaled:?}");
    }

    #[test]
    fn a_store_that_forgets_keeps_its_returns_right() {
        // Room for three: the end of an episode whose beginning is gone.
        let steps = [(9.0, None), (1.0, None), (2.0, Some(true)), (5.0, Some(true))];
        let found = drawn(store(3, &steps), 0.5, RewardScale::IDENTITY);
        let found: Vec<_> = found.iter().map(|row| (row.0, row.3)).collect();
        assert_eq!(found, [(1.0, 2.0), (2.0, 2.0), (3.0, 5.0)]);
    }

    #[test]
    fn sequences_and_sums_of_rewards_have_none() {
        let view = View::new(Owned(store(10, &[(1.0, None)])), Window::steps(3, 0.9), None, None).unwrap();
        let refused = view.with_extras(Extras { next_action: true, return_to_go: false }).unwrap_err().to_string();
        assert!(refused.contains("`n_step` to 1"), "{refused}");
    }
}
