//! Priorities on hand numbers.

use super::*;

fn prioritized(capacity: usize, n_step: usize, alpha: f32) -> View<Owned> {
    view_of(spec(capacity, 1), n_step, Some(PrioritySpec { alpha, eps: 0.0 }))
}

/// Tells the view of errors of transitions by their names.
fn learned(view: &mut View<Owned>, index: &[u64], errors: &[f32]) {
    let batch = Batch { index: index.to_vec(), ..Batch::default() };
    view.learned(0..index.len(), &batch, errors);
}

fn mass(view: &mut View<Owned>) -> f64 {
    view.catch_up();
    view.priorities().unwrap().total()
}

/// Four transitions whose action is their number, with priorities 1, 2, 3, 4 (α = 1).
fn four(mut view: View<Owned>) -> View<Owned> {
    view.store.begin(0, floats(&[0.0]), &[]);
    (0..4).for_each(|t| push(&mut view.store, 0, t as f32, No, 0.0, -1.0));
    learned(&mut view, &[0, 1, 2, 3], &[1.0, -2.0, 3.0, 4.0]);
    view
}

#[test]
fn weights_are_those_of_the_formula() {
    let mut view = four(prioritized(4, 1, 1.0));
    let (mut batch, mut rng) = (Batch::default(), stream(1, "store"));
    // Ten equal parts of a mass of 10: one draw from the first item, two from the second, three, four.
    sample(&mut view, 10, 0.5, &mut rng, &mut batch);
    assert_eq!(batch.action, [0.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]);
    // w = (4·p/10)^−½, largest for p = 1: w/max = p^−½.
    for (weight, p) in [(batch.weight[0], 1.0), (batch.weight[1], 2.0), (batch.weight[3], 3.0), (batch.weight[6], 4.0)]
    {
        assert!((weight - f32::powf(p, -0.5)).abs() < 1e-6, "{weight} for {p}");
    }
    sample(&mut view, 10, 0.0, &mut rng, &mut batch);
    assert!(batch.weight.iter().all(|&w| w == 1.0));
}

#[test]
fn alpha_and_eps_shape_the_priority() {
    let priorities = four(view_of(spec(4, 1), 1, Some(PrioritySpec { alpha: 0.5, eps: 1.0 }))).priorities.unwrap();
    for (leaf, squared) in [2.0f64, 3.0, 4.0, 5.0].into_iter().enumerate() {
        assert!((priorities.get(leaf) - squared.sqrt()).abs() < 1e-12);
    }
}

#[test]
fn new_transitions_have_the_largest_priority_so_far() {
    let mut view = four(prioritized(8, 1, 1.0));
    push(&mut view.store, 0, 4.0, No, 0.0, -1.0);
    assert_eq!(mass(&mut view), 14.0);
    assert_eq!(view.priorities().unwrap().get(4), 4.0);
}

#[test]
fn overwritten_rows_and_broken_errors_change_nothing() {
    let mut view = four(prioritized(4, 1, 1.0));
    // Transition 5 takes the row that number 0 had (five rows for four transitions and the open one).
    (4..6).for_each(|t| push(&mut view.store, 0, t as f32, No, 0.0, -1.0));
    let before = mass(&mut view);
    learned(&mut view, &[0, 1, 6, 1_000, 2, 3], &[50.0, 50.0, 50.0, 50.0, f32::NAN, f32::INFINITY]);
    assert_eq!(mass(&mut view), before);
    let (mut batch, mut rng) = (Batch::default(), stream(2, "store"));
    sample(&mut view, 400, 0.4, &mut rng, &mut batch);
    assert!(batch.action.iter().all(|&a| (2.0..6.0).contains(&a)), "an overwritten transition was drawn");
    assert!(batch.index.iter().zip(&batch.action).all(|(&i, &a)| i as f32 == a));
}

#[test]
fn errors_that_are_all_zero_leave_a_store_that_can_be_sampled() {
    let mut view = four(prioritized(4, 1, 0.6));
    learned(&mut view, &[0, 1, 2, 3], &[0.0; 4]);
    let (mut batch, mut rng) = (Batch::default(), stream(3, "store"));
    sample(&mut view, 8, 0.4, &mut rng, &mut batch);
    assert_eq!(batch.action, [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    assert!(batch.weight.iter().all(|&w| w == 1.0));
}

#[test]
fn unfinished_windows_have_no_mass() {
    let mut view = prioritized(8, 3, 1.0);
    view.store.begin(0, floats(&[0.0]), &[]);
    (0..3).for_each(|t| push(&mut view.store, 0, t as f32, No, 0.0, -1.0));
    assert_eq!(mass(&mut view), 1.0);
    learned(&mut view, &[2], &[9.0]);
    assert_eq!(mass(&mut view), 1.0, "number 2 is no window yet");
    push(&mut view.store, 0, 3.0, Truncated, 0.0, 9.0);
    assert_eq!(mass(&mut view), 4.0);
}

#[test]
fn a_view_that_did_not_look_for_long_finds_the_same() {
    // One looks after every step, the other once the lane has gone round several times.
    let (mut often, mut seldom) = (four(prioritized(4, 2, 1.0)), four(prioritized(4, 2, 1.0)));
    for t in 4..31 {
        let end = if t % 7 == 0 { Terminated } else { No };
        push(&mut often.store, 0, t as f32, end, 0.0, -1.0);
        push(&mut seldom.store, 0, t as f32, end, 0.0, -1.0);
        often.catch_up();
    }
    let masses = |view: &View<Owned>| (0..5).map(|slot| view.priorities().unwrap().get(slot)).collect::<Vec<_>>();
    assert_ne!(masses(&often), masses(&seldom));
    seldom.catch_up();
    assert_eq!((masses(&often), &often.lanes), (masses(&seldom), &seldom.lanes));
}

#[test]
fn newcomers_start_with_the_largest_priority_of_when_they_came() {
    let mut view = four(prioritized(8, 1, 1.0));
    // Stored after the last draw, before its errors are told.
    push(&mut view.store, 0, 4.0, No, 0.0, -1.0);
    learned(&mut view, &[0], &[50.0]);
    assert_eq!(view.priorities().unwrap().get(4), 4.0);
}
