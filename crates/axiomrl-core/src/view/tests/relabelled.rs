//! Other goals than those that were wanted.

use super::*;
use axiomrl_envs::{ActionMap, BoxSpace, EnvError, GoalParts, GoalRules, ObsSpace, Rows, Space, TaskRules, goal_space};
use std::sync::{Arc, Mutex};

/// Position, achieved position, goal. The goal is 9, never reached.
fn obs(position: f32) -> [f32; 3] {
    [position, position, 9.0]
}

fn relabel(strategy: GoalStrategy, share: f64) -> Relabel {
    let unit = BoxSpace::uniform(1, -100.0, 100.0);
    let space = goal_space(unit.clone(), unit);
    let judge = |achieved: &[f32], desired: &[f32]| {
        let reached = achieved == desired;
        (if reached { 0.0 } else { -1.0 }, reached)
    };
    let goal = GoalParts::of(&ObsSpace::of(&space)).unwrap();
    Relabel { strategy, share, goal, rules: GoalRules::shared(&space, judge).unwrap(), actions: None }
}

fn goal_spec(capacity: usize) -> RingSpec {
    RingSpec { widths: ObsWidths { floats: 3, bytes: 0 }, ..spec(capacity, 1) }
}

/// Two episodes of three steps, at 0 1 2 3 and 10 11 12 13, and one step of a third, at 20 21.
fn store(capacity: usize) -> Ring {
    let mut ring = Ring::new(goal_spec(capacity));
    ring.begin(0, floats(&obs(0.0)), &[]);
    for (next, last) in
        [(1.0, None), (2.0, None), (10.0, Some(3.0)), (11.0, None), (12.0, None), (20.0, Some(13.0)), (21.0, None)]
    {
        let (next, final_obs) = (obs(next), obs(last.unwrap_or(0.0)));
        ring.push(0, &[0.0], -1.0, false, last.is_some(), floats(&next), &[], floats(&final_obs), &[]);
    }
    ring
}

fn goal_view(ring: Ring, relabel: Relabel) -> View<Owned> {
    View::new(Owned(ring), Window::steps(1, 0.5), None, Some(relabel)).unwrap()
}

/// The goals each starting position was given, over many draws.
fn goals(ring: &Ring, strategy: GoalStrategy, from: f32) -> Vec<f32> {
    let mut view = goal_view(ring.clone(), relabel(strategy, 1.0));
    let (mut rng, mut batch) = (stream(1, "goals"), Batch::default());
    let mut found = Vec::new();
    for _ in 0..40 {
        sample(&mut view, 32, 0.0, &mut rng, &mut batch);
        for row in 0..32 {
            let (obs, next) = (batch.obs().row(row).floats, batch.next_obs().row(row).floats);
            assert_eq!(obs[2], next[2], "one goal for both ends");
            let reached = next[1] == next[2];
            assert_eq!(batch.reward[row], if reached { 0.0 } else { -1.0 });
            assert_eq!(batch.discount[row], if reached { 0.0 } else { 0.5 });
            if obs[0] == from {
                found.push(obs[2]);
            }
        }
    }
    found.sort_by(f32::total_cmp);
    found.dedup();
    found
}

#[test]
fn goals_come_from_the_same_episode_and_the_chosen_part_of_it() {
    let ring = store(20);
    assert_eq!(goals(&ring, GoalStrategy::Future, 0.0), [1.0, 2.0, 3.0]);
    assert_eq!(goals(&ring, GoalStrategy::Future, 12.0), [13.0]);
    assert_eq!(goals(&ring, GoalStrategy::Final, 10.0), [13.0]);
    assert_eq!(goals(&ring, GoalStrategy::Episode, 12.0), [11.0, 12.0, 13.0]);
    assert_eq!(goals(&ring, GoalStrategy::Future, 20.0), [21.0], "what has been reached so far");
}

#[test]
fn goals_are_drawn_as_in_version_0_1() {
    for (strategy, first) in [(GoalStrategy::Future, 2.0), (GoalStrategy::Episode, 1.0)] {
        let mut view = goal_view(store(20), relabel(strategy, 0.8));
        let (mut rng, mut batch) = (stream(1, "goals"), Batch::default());
        (0..3).for_each(|_| sample(&mut view, 8, 0.0, &mut rng, &mut batch));
        assert_eq!(batch.index, [1, 0, 1, 0, 4, 3, 0, 3]);
        let goals: Vec<f32> = (0..8).map(|row| batch.obs().row(row).floats[2]).collect();
        assert_eq!(goals, [first, 2.0, 3.0, 3.0, 13.0, 13.0, 2.0, 12.0]);
    }
}

#[test]
fn what_was_overwritten_is_no_goal() {
    // Five transitions kept: those from 2, 10, 11, 12 and 20.
    let ring = store(5);
    assert_eq!(goals(&ring, GoalStrategy::Episode, 2.0), [3.0]);
    assert_eq!(goals(&ring, GoalStrategy::Episode, 11.0), [11.0, 12.0, 13.0]);
}

#[test]
fn a_share_of_nothing_changes_nothing_and_files_keep_the_ends() {
    let mut with = goal_view(store(20), relabel(GoalStrategy::Future, 0.0));
    let mut without = view_of(goal_spec(20), 1, None);
    stored::load(&mut without, &stored::saved(&mut with)).unwrap();
    let mut batches = [Batch::default(), Batch::default()];
    sample(&mut with, 8, 0.0, &mut stream(1, "goals"), &mut batches[0]);
    sample(&mut without, 8, 0.0, &mut stream(1, "goals"), &mut batches[1]);
    assert_eq!(batches[0], batches[1]);
    assert!((0..7).all(|n| without.store.episode_of(0, n) == with.store.episode_of(0, n)));
}

#[test]
fn rewards_given_in_hindsight_are_scaled_like_the_others() {
    let mut view = goal_view(store(20), relabel(GoalStrategy::Future, 0.5));
    let (mut rng, mut batch) = (stream(1, "goals"), Batch::default());
    batch.resize(&view.shape(), 64);
    let reward = RewardScale { scale: 10.0, shift: 1.0, clip: None };
    view.fill(0..64, &mut SampleOptions { rng: &mut rng, beta: 0.0, reward }, &mut batch).unwrap();
    for row in 0..64 {
        let next = batch.next_obs().row(row).floats;
        assert_eq!(batch.reward[row], if next[1] == next[2] { 1.0 } else { -9.0 });
    }
}

/// Notes what it is asked, and fails when told to.
struct Asked {
    actions: Mutex<Vec<f32>>,
    fails: bool,
}

impl TaskRules for Asked {
    fn apply(&self, rows: Rows<'_>, reward: Option<&mut [f32]>, terminated: &mut [bool]) -> Result<(), EnvError> {
        if self.fails {
            return Err(EnvError::Failed("out of order".into()));
        }
        assert_eq!((rows.obs.rows, rows.next_obs.rows, rows.action.len()), (3, 3, 3));
        self.actions.lock().unwrap().extend(rows.action);
        reward.unwrap().fill(7.0);
        terminated.fill(true);
        Ok(())
    }
}

#[test]
fn rules_are_asked_in_the_units_of_the_environment_and_may_fail() {
    let mut ring = Ring::new(goal_spec(4));
    ring.begin(0, floats(&obs(0.0)), &[]);
    ring.push(0, &[0.5], -1.0, false, false, floats(&obs(1.0)), &[], floats(&obs(1.0)), &[]);
    let map = ActionMap::of(&Space::Box(BoxSpace::uniform(1, 0.0, 4.0))).unwrap();
    let rules = Arc::new(Asked { actions: Mutex::default(), fails: false });
    let asked = Relabel { rules: rules.clone(), actions: Some(map.clone()), ..relabel(GoalStrategy::Final, 1.0) };
    let (mut rng, mut batch) = (stream(1, "goals"), Batch::default());
    let mut view = goal_view(ring.clone(), asked.clone());
    batch.resize(&view.shape(), 5);
    batch.reward.fill(0.25);
    let mut options = SampleOptions { rng: &mut rng, beta: 0.0, reward: RewardScale::default() };
    view.fill(1..4, &mut options, &mut batch).unwrap();
    assert_eq!(*rules.actions.lock().unwrap(), [3.0; 3]);
    assert_eq!((&batch.reward[..], &batch.discount[1..4]), (&[0.25, 7.0, 7.0, 7.0, 0.25][..], &[0.0; 3][..]));
    assert_eq!(batch.action[1..4], [0.5; 3], "the learner keeps its own units");

    let fails = Relabel { rules: Arc::new(Asked { actions: Mutex::default(), fails: true }), ..asked };
    let error = goal_view(ring, fails).fill(1..4, &mut options, &mut batch).unwrap_err().to_string();
    assert!(error.contains("rules of the task") && error.contains("out of order"), "{error}");
}

#[test]
fn what_cannot_be_relabelled_is_refused() {
    let refused = |n_step: usize, relabel: Relabel| {
        View::new(Owned(store(20)), Window::steps(n_step, 0.5), None, Some(relabel)).unwrap_err().to_string()
    };
    assert_eq!(refused(2, relabel(GoalStrategy::Future, 0.5)), "`n_sampled_goal` goes with `n_step: 1`");
    assert!(refused(1, relabel(GoalStrategy::Future, 1.5)).contains("1.5 is no share"));
    let outside = Relabel { goal: GoalParts { achieved: 2..3, desired: 3..4 }, ..relabel(GoalStrategy::Future, 0.5) };
    assert!(refused(1, outside).contains("of 3 numbers"));
}
