//! How often a learner of sequences is updated: so many replayed rows for each environment step.

use crate::agent::{Clock, Need};
use crate::state::{StateError, StateIo};

/// Updates by a ratio of replayed rows to steps. The first update comes as soon as there is enough to learn from; steps before
/// it call for none.
#[derive(Clone, Debug)]
pub struct TrainRatio {
    /// Updates that a step calls for.
    per_step: f64,
    /// Environment steps at the first update.
    start: Option<u64>,
    made: u64,
}

impl TrainRatio {
    /// `ratio` rows are replayed for each step, `rows` of them in an update.
    pub fn new(ratio: f64, rows: usize) -> Self {
        Self { per_step: ratio / rows as f64, start: None, made: 0 }
    }

    /// Updates that the steps up to `steps` call for.
    fn due(&self, steps: u64) -> u64 {
        self.start.map_or(0, |start| 1 + (steps.saturating_sub(start) as f64 * self.per_step).floor() as u64)
    }

    /// What to do next. `ready` says whether there is enough to learn from.
    pub fn need(&mut self, clock: Clock, ready: bool) -> Need {
        if self.start.is_none() && ready {
            self.start = Some(clock.env_steps);
        }
        match () {
            () if self.made < self.due(clock.env_steps) => Need::Update,
            () if clock.is_over() => Need::Done,
            () => Need::Steps,
        }
    }

    /// An update was made after so many steps. One that they did not call for leaves the others to be made.
    pub fn updated(&mut self, steps: u64) {
        self.made = (self.made + 1).min(self.due(steps)).max(self.made);
    }

    /// The updates that these steps have called for are called for no more.
    pub fn waive(&mut self, steps: u64) {
        self.made = self.due(steps).max(self.made);
    }

    /// Only the updates of the round under way may be missing: a gap as long as a run would take as long to fill.
    pub fn check_place(&self, env_steps: u64, num_envs: usize) -> Result<(), StateError> {
        let before = env_steps.saturating_sub(num_envs as u64);
        let closed = if self.start.is_some_and(|start| start < before) { self.due(before) } else { 0 };
        let fits =
            self.start.is_none_or(|start| start <= env_steps) && (closed..=self.due(env_steps)).contains(&self.made);
        if fits { Ok(()) } else { Err(StateError::other_moment("train_ratio")) }
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.value("train_ratio.start", &mut self.start)?;
        io.value("train_ratio.made", &mut self.made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Updates after each of so many steps, from the fourth of which on there is enough to learn from.
    fn updates(mut ratio: TrainRatio, steps: u64) -> Vec<u64> {
        let each = |step: u64| {
            let clock = Clock { env_steps: step, updates: 0, at: step, total: 1000 };
            let mut here = 0;
            while ratio.need(clock, step >= 4) == Need::Update {
                ratio.updated(step);
                here += 1;
            }
            ratio.check_place(step, 1).unwrap();
            here
        };
        (1..=steps).map(each).collect()
    }

    #[test]
    fn the_first_update_comes_at_once_and_the_rest_of_a_fraction_is_kept() {
        // 64 rows a step in updates of 128: every other step.
        assert_eq!(updates(TrainRatio::new(64.0, 128), 9), [0, 0, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(updates(TrainRatio::new(48.0, 32), 8), [0, 0, 0, 1, 1, 2, 1, 2]);
    }

    #[test]
    fn what_is_waived_is_not_made_up_for() {
        let mut ratio = TrainRatio::new(1.0, 1);
        let at = |steps| Clock { env_steps: steps, updates: 0, at: steps, total: 9 };
        assert_eq!(ratio.need(at(2), true), Need::Update);
        ratio.waive(5);
        assert_eq!(ratio.need(at(5), true), Need::Steps);
        ratio.check_place(5, 1).unwrap();
        assert_eq!(ratio.need(at(6), true), Need::Update);
    }

    #[test]
    fn asking_twice_changes_nothing_and_other_moments_are_noticed() {
        let mut ratio = TrainRatio::new(1.0, 1);
        let clock = Clock { env_steps: 5, updates: 0, at: 5, total: 5 };
        assert_eq!(ratio.need(clock, false), Need::Done);
        assert_eq!(ratio.need(clock, true), Need::Update);
        assert_eq!(ratio.need(clock, true), Need::Update);
        ratio.updated(5);
        assert_eq!(ratio.need(clock, true), Need::Done);
        // Nobody asked for another one.
        ratio.updated(5);
        assert!(
            ratio.check_place(5, 1).is_ok() && ratio.check_place(4, 1).is_err() && ratio.check_place(50, 1).is_err()
        );
    }
}
