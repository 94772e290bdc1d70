//! The rules of a task, on rows: what a transition is worth and whether it ends the episode, asked from outside.

use crate::{BoxSpace, EnvError, ObsRef, ObsSpace, Space};
use std::ops::Range;
use std::sync::Arc;

/// Transitions to be judged, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    pub obs: ObsRef<'a>,
    /// In the environment's own units.
    pub action: &'a [f32],
    pub next_obs: ObsRef<'a>,
}

/// What an environment's rules say of transitions that need not have happened: hindsight asks what a transition would have
/// been worth with another goal, a learned model where its imagined episodes end.
///
/// An environment has one (`Env::task_rules`) only if rewards and ends follow from observations and actions alone.
pub trait TaskRules: Send + Sync {
    /// Writes whether each row ends the episode and, where asked for, its reward.
    fn apply(&self, rows: Rows<'_>, reward: Option<&mut [f32]>, terminated: &mut [bool]) -> Result<(), EnvError>;

    /// Moves rows of observed numbers that were guessed to the nearest that the environment can show, in place: an angle's sine
    /// and cosine back to the circle, say. Where nothing is known they stay as they are.
    fn project(&self, _obs: &mut [f32]) {}
}

/// Rules of one row at a time, for vectors of numbers: reward and end of observation, action and next observation, and what
/// brings a guessed observation back to a possible one.
pub struct RowRules<J, P> {
    pub judge: J,
    pub project: P,
}

impl<J, P> RowRules<J, P>
where
    J: Fn(&[f32], &[f32], &[f32]) -> (f32, bool) + Send + Sync + 'static,
    P: Fn(&mut [f32]) + Send + Sync + 'static,
{
    pub fn shared(judge: J, project: P) -> Option<Arc<dyn TaskRules>> {
        Some(Arc::new(Self { judge, project }))
    }
}

impl<J, P> TaskRules for RowRules<J, P>
where
    J: Fn(&[f32], &[f32], &[f32]) -> (f32, bool) + Send + Sync,
    P: Fn(&mut [f32]) + Send + Sync,
{
    fn apply(&self, rows: Rows<'_>, mut reward: Option<&mut [f32]>, terminated: &mut [bool]) -> Result<(), EnvError> {
        let width = rows.action.len() / terminated.len().max(1);
        for (row, terminated) in terminated.iter_mut().enumerate() {
            let action = &rows.action[row * width..(row + 1) * width];
            let (worth, ends) = (self.judge)(rows.obs.row(row).floats, action, rows.next_obs.row(row).floats);
            *terminated = ends;
            if let Some(reward) = &mut reward {
                reward[row] = worth;
            }
        }
        Ok(())
    }

    fn project(&self, obs: &mut [f32]) {
        (self.project)(obs);
    }
}

/// Where goals lie among the numbers of an observation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GoalParts {
    /// Columns of what has been achieved.
    pub achieved: Range<usize>,
    /// Columns of what is desired.
    pub desired: Range<usize>,
}

impl GoalParts {
    /// Of an observation that has both parts, with Gymnasium's names.
    pub fn of(space: &ObsSpace) -> Option<Self> {
        let place = |name| space.part(name).map(|part| part.at.clone());
        Some(Self { achieved: place("achieved_goal")?, desired: place("desired_goal")? })
    }
}

/// Reward and end as a function of what was achieved and what was desired.
pub struct GoalRules<F> {
    goal: GoalParts,
    judge: F,
}

impl<F: Fn(&[f32], &[f32]) -> (f32, bool) + Send + Sync + 'static> GoalRules<F> {
    /// For an observation of [`goal_space`]; `judge` gives the reward and whether the episode ends. `None` where there are
    /// no goals.
    pub fn shared(space: &Space, judge: F) -> Option<Arc<dyn TaskRules>> {
        Some(Arc::new(Self { goal: GoalParts::of(&ObsSpace::of(space))?, judge }))
    }
}

impl<F: Fn(&[f32], &[f32]) -> (f32, bool) + Send + Sync> TaskRules for GoalRules<F> {
    fn apply(&self, rows: Rows<'_>, mut reward: Option<&mut [f32]>, terminated: &mut [bool]) -> Result<(), EnvError> {
        for (row, terminated) in terminated.iter_mut().enumerate() {
            let seen = rows.next_obs.row(row).floats;
            let (worth, ends) = (self.judge)(&seen[self.goal.achieved.clone()], &seen[self.goal.desired.clone()]);
            *terminated = ends;
            if let Some(reward) = &mut reward {
                reward[row] = worth;
            }
        }
        Ok(())
    }
}

/// The Dict space of a goal task, with Gymnasium's names.
pub fn goal_space(observation: BoxSpace, goal: BoxSpace) -> Space {
    let entries = [("observation", observation), ("achieved_goal", goal.clone()), ("desired_goal", goal)];
    Space::Dict { entries: entries.map(|(name, space)| (name.to_owned(), Space::Box(space))).into() }
}
