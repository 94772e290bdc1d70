//! Priorities on hand numbers.

use super::*;

fn prioritized(capacity: usize, alpha: f32) -> ReplaySpec {
    ReplaySpec { prioritized: Some(PrioritySpec { alpha, eps: 0.0 }), ..spec(capacity, 1, 1) }
}

/// Four transitions whose action is their number, with priorities 1, 2, 3, 4 (α = 1).
fn four(spec: ReplaySpec) -> Replay {
    let mut replay = Replay::new(spec);
    replay.begin(0, ObsRef::F32(&[0.0]), &[]);
    (0..4).for_each(|t| push(&mut replay, 0, t as f32, No, 0.0, -1.0));
    replay.update_priorities(&[0, 1, 2, 3], &[1.0, -2.0, 3.0, 4.0]);
    replay
}

#[test]
fn weights_are_those_of_the_formula() {
    let replay = four(prioritized(4, 1.0));
    let (mut batch, mut rng) = (Batch::default(), stream(1, "store"));
    // Ten equal parts of a mass of 10: one draw from the first item, two from the second, three, four.
    replay.sample(10, 0.5, &mut rng, &mut batch);
    assert_eq!(batch.action, [0.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]);
    // w = (4·p/10)^−½, largest for p = 1: w/max = p^−½.
    for (weight, p) in [(batch.weight[0], 1.0), (batch.weight[1], 2.0), (batch.weight[3], 3.0), (batch.weight[6], 4.0)]
    {
        assert!((weight - f32::powf(p, -0.5)).abs() < 1e-6, "{weight} for {p}");
    }
    replay.sample(10, 0.0, &mut rng, &mut batch);
    assert!(batch.weight.iter().all(|&w| w == 1.0));
}

#[test]
fn alpha_and_eps_shape_the_priority() {
    let spec = ReplaySpec { prioritized: Some(PrioritySpec { alpha: 0.5, eps: 1.0 }), ..spec(4, 1, 1) };
    let tree = four(spec).priorities.unwrap().tree;
    for (leaf, squared) in [2.0f64, 3.0, 4.0, 5.0].into_iter().enumerate() {
        assert!((tree.get(leaf) - squared.sqrt()).abs() < 1e-12);
    }
}

#[test]
fn new_transitions_have_the_largest_priority_so_far() {
    let mut replay = four(prioritized(8, 1.0));
    push(&mut replay, 0, 4.0, No, 0.0, -1.0);
    let priorities = replay.priorities.as_ref().unwrap();
    assert_eq!((priorities.tree.get(4), priorities.tree.total()), (4.0, 14.0));
}

#[test]
fn overwritten_rows_and_broken_errors_change_nothing() {
    let mut replay = four(prioritized(4, 1.0));
    // Transition 5 takes the row that number 0 had (five rows for four transitions and the open one).
    (4..6).for_each(|t| push(&mut replay, 0, t as f32, No, 0.0, -1.0));
    let before = replay.priorities.as_ref().unwrap().tree.total();
    replay.update_priorities(&[0, 1, 6, 1_000, 2, 3], &[50.0, 50.0, 50.0, 50.0, f32::NAN, f32::INFINITY]);
    assert_eq!(replay.priorities.as_ref().unwrap().tree.total(), before);
    let (mut batch, mut rng) = (Batch::default(), stream(2, "store"));
    replay.sample(400, 0.4, &mut rng, &mut batch);
    assert!(batch.action.iter().all(|&a| (2.0..6.0).contains(&a)), "an overwritten transition was drawn");
    assert!(batch.index.iter().zip(&batch.action).all(|(&i, &a)| i as f32 == a));
}

#[test]
fn errors_that_are_all_zero_leave_a_store_that_can_be_sampled() {
    let mut replay = four(prioritized(4, 0.6));
    replay.update_priorities(&[0, 1, 2, 3], &[0.0; 4]);
    let (mut batch, mut rng) = (Batch::default(), stream(3, "store"));
    replay.sample(8, 0.4, &mut rng, &mut batch);
    assert_eq!(batch.action, [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    assert!(batch.weight.iter().all(|&w| w == 1.0));
}

#[test]
fn unfinished_windows_have_no_mass() {
    let mut replay = Replay::new(ReplaySpec { n_step: 3, ..prioritized(8, 1.0) });
    replay.begin(0, ObsRef::F32(&[0.0]), &[]);
    let mass = |replay: &Replay| replay.priorities.as_ref().unwrap().tree.total();
    (0..3).for_each(|t| push(&mut replay, 0, t as f32, No, 0.0, -1.0));
    assert_eq!(mass(&replay), 1.0);
    replay.update_priorities(&[2], &[9.0]);
    assert_eq!(mass(&replay), 1.0, "number 2 is no window yet");
    push(&mut replay, 0, 3.0, Truncated, 0.0, 9.0);
    assert_eq!(mass(&replay), 4.0);
}
