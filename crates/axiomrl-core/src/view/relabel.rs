//! Transitions seen with the goal that was reached instead of the one that was wanted.

use super::{View, Window};
use crate::ring::{Ring, RingSpec};
use crate::{Batch, SampleOptions, StoreError};
use axiomrl_envs::{ActionMap, GoalParts, Rows, TaskRules};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Which of the goals reached in an episode a transition may be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalStrategy {
    /// One reached at this step or later.
    #[default]
    Future,
    /// The one reached last.
    Final,
    /// Any one.
    Episode,
}

/// How transitions are relabelled.
#[derive(Clone)]
pub struct Relabel {
    pub strategy: GoalStrategy,
    /// The part of a batch that is given another goal.
    pub share: f64,
    pub goal: GoalParts,
    /// What a transition is worth with another goal.
    pub rules: Arc<dyn TaskRules>,
    /// From the stored actions to the environment's units, which the rules are asked in; `None` where they are the same.
    pub actions: Option<ActionMap>,
}

impl fmt::Debug for Relabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { strategy, share, goal, .. } = self;
        f.debug_struct("Relabel").field("strategy", strategy).field("share", share).field("goal", goal).finish()
    }
}

/// Columns that are needed for the length of a call, kept to be allocated once.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    given: Vec<bool>,
    action: Vec<f32>,
    reward: Vec<f32>,
    terminated: Vec<bool>,
}

impl Relabel {
    pub(super) fn check(&self, window: Window, spec: &RingSpec) -> Result<(), StoreError> {
        // Rewards of several steps could not be judged anew.
        if window.n_step != 1 || window.is_sequence() {
            return Err(StoreError::RelabelledWindow);
        }
        let invalid = |problem: String| Err(StoreError::Invalid(problem));
        if !(0.0..=1.0).contains(&self.share) {
            return invalid(format!("{} is no share of relabelled transitions; it lies between 0 and 1", self.share));
        }
        let GoalParts { achieved, desired } = &self.goal;
        if achieved.len() != desired.len() || achieved.end.max(desired.end) > spec.widths.floats {
            return invalid(format!(
                "goals in columns {desired:?} cannot be exchanged for those in {achieved:?} of {} numbers",
                spec.widths.floats
            ));
        }
        Ok(())
    }
}

impl<S: Deref<Target = Ring>> View<S> {
    /// Gives some of the rows that were just drawn other goals, with the rewards and ends that follow from them. Of an
    /// unfinished episode, what has been reached so far counts.
    pub(super) fn relabel(
        &mut self,
        rows: Range<usize>,
        options: &mut SampleOptions<'_>,
        out: &mut Batch,
    ) -> Result<(), StoreError> {
        let Some(relabel) = &self.relabel else { return Ok(()) };
        let Scratch { given, action, reward, terminated } = &mut self.scratch;
        given.clear();
        for row in rows.clone() {
            let relabelled = options.rng.random_bool(relabel.share);
            given.push(relabelled);
            if !relabelled {
                continue;
            }
            let (lane, number) = self.store.named(out.index[row]);
            let episode = self.store.episode_of(lane, number);
            let at = match relabel.strategy {
                GoalStrategy::Future => options.rng.random_range(number..episode.end),
                GoalStrategy::Final => episode.end - 1,
                GoalStrategy::Episode => options.rng.random_range(episode),
            };
            let goal = self.store.floats_after(lane, at, &relabel.goal.achieved);
            for row in [row, out.rows + row] {
                out.obs.row_mut(row).floats[relabel.goal.desired.clone()].copy_from_slice(goal);
            }
        }
        if !given.contains(&true) {
            return Ok(());
        }
        // The rules are asked once, about rows as they lie; what they say of rows that kept their goal is not used.
        reward.resize(rows.len(), 0.0);
        terminated.resize(rows.len(), false);
        let width = self.store.spec().action_width;
        let stored = &out.action[rows.start * width..rows.end * width];
        let done = match &relabel.actions {
            None => stored,
            Some(map) => {
                action.resize(stored.len(), 0.0);
                map.to_env(stored, action);
                action
            }
        };
        let next_obs = out.obs.range(rows.start + out.rows..rows.end + out.rows);
        let asked = Rows { obs: out.obs.range(rows.clone()), action: done, next_obs };
        relabel.rules.apply(asked, Some(reward), terminated).map_err(StoreError::Rules)?;
        for (k, row) in rows.enumerate().filter(|&(k, _)| given[k]) {
            out.reward[row] = options.reward.apply(reward[k]);
            out.discount[row] = if terminated[k] { 0.0 } else { self.window.gamma };
        }
        Ok(())
    }
}
