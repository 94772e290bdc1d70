//! When a learner of stored transitions is updated.

use crate::agent::{Clock, Need};
use crate::state::{StateError, StateIo};

/// How many updates environment steps call for, and how far they have been made. A run may stop between any two updates,
/// so the place within a burst is part of the state.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Steps of random actions before the first update.
    learning_starts: u64,
    /// Environment steps between bursts of updates.
    train_frequency: u64,
    /// Updates in a burst.
    burst: u64,
    /// Updates before the first environment step: whole bursts, or all of them.
    pretraining: u64,
    /// Environment steps whose updates are done.
    trained_until: u64,
    /// Updates made of those that the steps since then call for.
    made: u64,
}

impl Pace {
    /// `gradient_steps` is `None` for as many updates as steps were taken.
    pub fn new(learning_starts: u64, train_frequency: u64, gradient_steps: Option<u64>, pretraining: u64) -> Self {
        let burst = gradient_steps.unwrap_or(train_frequency);
        Self { learning_starts, train_frequency, burst, pretraining, trained_until: 0, made: 0 }
    }

    /// Whether actions are still random.
    pub fn is_warming_up(&self, clock: Clock) -> bool {
        clock.env_steps < self.learning_starts
    }

    /// Whether updates are made before any step is taken.
    pub fn is_pretraining(&self, clock: Clock) -> bool {
        clock.updates < self.pretraining
    }

    /// Updates that the steps up to `steps` call for.
    fn due(&self, steps: u64) -> u64 {
        let from = self.trained_until.max(self.learning_starts);
        let bursts = (steps / self.train_frequency).saturating_sub(from / self.train_frequency);
        bursts * self.burst
    }

    /// Whether updates are missing that steps have called for.
    pub fn is_behind(&self, clock: Clock) -> bool {
        self.made < self.due(clock.env_steps)
    }

    /// What to do next. `ready` says whether there is anything to learn from. Where all updates are made the steps are closed:
    /// `close` is told of steps `before + 1 ..= after`.
    pub fn need(&mut self, clock: Clock, ready: bool, close: impl FnOnce(u64, u64)) -> Need {
        if self.is_pretraining(clock) || (ready && self.is_behind(clock)) {
            return Need::Update;
        }
        self.waive(clock, close);
        if clock.is_over() { Need::Done } else { Need::Steps }
    }

    /// Whether the next update is the last one of its burst.
    pub fn closes_burst(&self, clock: Clock) -> bool {
        // Updates that nothing calls for are in bursts, too.
        let counted = !self.is_pretraining(clock) && self.is_behind(clock);
        let made = if counted { self.made } else { clock.updates };
        (made + 1).is_multiple_of(self.burst)
    }

    /// An update was made. One that nothing called for leaves the others to be made.
    pub fn updated(&mut self, clock: Clock) {
        if !self.is_pretraining(clock) && self.is_behind(clock) {
            self.made += 1;
        }
    }

    /// The updates that steps have called for so far are called for no more; `close` as for [`Pace::need`].
    pub fn waive(&mut self, clock: Clock, close: impl FnOnce(u64, u64)) {
        if self.trained_until < clock.env_steps {
            close(self.trained_until, clock.env_steps);
            (self.trained_until, self.made) = (clock.env_steps, 0);
        }
    }

    pub fn pretraining(&self) -> u64 {
        self.pretraining
    }

    /// Only the updates of the round under way may be missing: a gap as long as a run would take as long to fill.
    pub fn check_place(&self, env_steps: u64, num_envs: usize) -> Result<(), StateError> {
        let until = self.trained_until;
        let fits = until <= env_steps && env_steps - until <= num_envs as u64 && self.made <= self.due(env_steps);
        if fits { Ok(()) } else { Err(StateError::other_moment("trained_until")) }
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.value("trained_until", &mut self.trained_until)?;
        io.value("burst_made", &mut self.made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(env_steps: u64, updates: u64) -> Clock {
        Clock { env_steps, updates, at: env_steps, total: 100 }
    }

    /// What is asked for after each step, up to the given number of steps.
    fn updates_after_each_step(mut pace: Pace, steps: u64) -> (Vec<u64>, Vec<(u64, u64)>) {
        let (mut updates, mut closed, mut total) = (Vec::new(), Vec::new(), 0);
        for step in 1..=steps {
            let mut here = 0;
            while pace.need(at(step, total), true, |before, after| closed.push((before, after))) == Need::Update {
                pace.updated(at(step, total));
                (here, total) = (here + 1, total + 1);
            }
            updates.push(here);
        }
        (updates, closed)
    }

    #[test]
    fn bursts_come_after_every_so_many_steps_once_learning_has_begun() {
        let (updates, closed) = updates_after_each_step(Pace::new(4, 3, Some(2), 0), 9);
        assert_eq!(updates, [0, 0, 0, 0, 0, 2, 0, 0, 2]);
        assert_eq!(closed.len(), 9);
        assert_eq!(closed[5], (5, 6));
        let (updates, _) = updates_after_each_step(Pace::new(0, 4, None, 0), 8);
        assert_eq!(updates, [0, 0, 0, 4, 0, 0, 0, 4]);
    }

    #[test]
    fn asking_twice_changes_nothing_and_nothing_is_learned_from_nothing() {
        let mut pace = Pace::new(0, 1, Some(2), 0);
        let never = |_, _| panic!("steps are closed after their updates");
        assert_eq!(pace.need(at(1, 0), true, never), Need::Update);
        assert_eq!(pace.need(at(1, 0), true, never), Need::Update);
        assert!(!pace.closes_burst(at(1, 0)));
        pace.updated(at(1, 0));
        assert!(pace.closes_burst(at(1, 1)));
        pace.updated(at(1, 1));
        assert_eq!(pace.need(at(1, 2), true, |_, _| {}), Need::Steps);
        assert_eq!(pace.need(at(1, 2), true, |_, _| panic!("closed once")), Need::Steps);
        assert_eq!(Pace::new(0, 1, Some(1), 0).need(at(1, 0), false, |_, _| {}), Need::Steps);
        assert_eq!(pace.need(Clock { at: 100, ..at(100, 9) }, false, |_, _| {}), Need::Done);
    }

    #[test]
    fn updates_that_nothing_called_for_are_not_counted_and_those_waived_are_not_made_up_for() {
        let mut pace = Pace::new(0, 1, Some(2), 0);
        // Nothing is behind: bursts by the number of the update.
        assert!(!pace.closes_burst(at(0, 0)) && pace.closes_burst(at(0, 1)));
        pace.updated(at(0, 0));
        assert_eq!(pace.need(at(3, 1), true, |_, _| {}), Need::Update);
        pace.updated(at(3, 1));
        let mut closed = Vec::new();
        pace.waive(at(3, 2), |before, after| closed.push((before, after)));
        assert_eq!(closed, [(0, 3)]);
        assert_eq!(pace.need(at(3, 2), true, |_, _| panic!("closed once")), Need::Steps);
        pace.check_place(3, 1).unwrap();
        assert_eq!(pace.need(at(4, 2), true, |_, _| {}), Need::Update);
        assert!(!pace.closes_burst(at(4, 2)));
    }

    #[test]
    fn pretraining_comes_first_and_leaves_the_bursts_alone() {
        let mut pace = Pace::new(0, 1, Some(2), 4);
        for updates in 0..4 {
            assert_eq!(pace.need(at(0, updates), true, |_, _| {}), Need::Update);
            assert_eq!(pace.closes_burst(at(0, updates)), updates % 2 == 1);
            pace.updated(at(0, updates));
        }
        assert_eq!(pace.need(at(0, 4), true, |_, _| {}), Need::Steps);
        assert_eq!(pace.need(at(1, 4), true, |_, _| {}), Need::Update);
        assert!(!pace.closes_burst(at(1, 4)));
    }
}
