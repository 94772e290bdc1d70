//! Tasks whose goal is part of the observation.

use crate::{BoxSpace, Space};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What it is worth to have achieved something when something was desired.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    pub reward: f32,
    /// Whether the episode ends there.
    pub terminated: bool,
}

/// Where goals lie in an observation, and what reaching one is worth. Whoever stores transitions can so ask what they would
/// have been worth with another goal.
#[derive(Clone)]
pub struct GoalTask {
    /// Columns of what has been achieved.
    pub achieved: Range<usize>,
    /// Columns of what is desired.
    pub desired: Range<usize>,
    judge: Arc<dyn Fn(&[f32], &[f32]) -> Verdict + Send + Sync>,
}

impl GoalTask {
    /// For an observation of [`goal_space`]; `judge` is given what was achieved and what was desired.
    pub fn new(space: &Space, judge: impl Fn(&[f32], &[f32]) -> Verdict + Send + Sync + 'static) -> Option<Self> {
        let ranges = space.named_ranges();
        let place = |name: &str| ranges.iter().find(|r| r.name == name).map(|r| r.start..r.end);
        Some(Self { achieved: place("achieved_goal")?, desired: place("desired_goal")?, judge: Arc::new(judge) })
    }

    pub fn judge(&self, achieved: &[f32], desired: &[f32]) -> Verdict {
        (self.judge)(achieved, desired)
    }
}

impl fmt::Debug for GoalTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoalTask").field("achieved", &self.achieved).field("desired", &self.desired).finish()
    }
}

/// The Dict space of a goal task, with Gymnasium's names.
pub fn goal_space(observation: BoxSpace, goal: BoxSpace) -> Space {
    let entries = [("observation", observation), ("achieved_goal", goal.clone()), ("desired_goal", goal)];
    Space::Dict { entries: entries.map(|(name, space)| (name.to_owned(), Space::Box(space))).into() }
}
