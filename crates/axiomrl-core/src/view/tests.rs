//! Tables by hand, and the store against a model too simple to be wrong.

mod frames;
mod model;
mod prioritized;
mod relabelled;
mod sequences;
mod stored;

use super::*;
use crate::ring::tests::spec;
use crate::{Owned, RewardScale, RingSpec, Rng, stream};
use axiomrl_envs::{FrameSpec, ObsRef, ObsWidths};

fn view_of(spec: RingSpec, n_step: usize, priorities: Option<PrioritySpec>) -> View<Owned> {
    View::new(Owned(Ring::new(spec)), Window::steps(n_step, 0.5), priorities, None).unwrap()
}

fn view(capacity: usize, lanes: usize, n_step: usize) -> View<Owned> {
    view_of(spec(capacity, lanes), n_step, None)
}

fn floats(values: &[f32]) -> ObsRef<'_> {
    ObsRef::of_floats(1, values)
}

/// A whole batch.
fn sample(view: &mut View<Owned>, rows: usize, beta: f32, rng: &mut Rng, batch: &mut Batch) {
    batch.resize(&view.shape(), rows);
    view.fill(0..rows, &mut SampleOptions { rng, beta, reward: RewardScale::default() }, batch).unwrap();
}

/// Every window that can be sampled, in order, as a batch of one row.
fn each(view: &mut View<Owned>) -> Vec<Batch> {
    view.catch_up();
    let mut all = Vec::new();
    for lane in 0..view.lanes.len() {
        for number in view.lanes[lane].oldest..view.lanes[lane].admitted {
            let mut batch = Batch::default();
            batch.resize(&view.shape(), 1);
            view.gather(&[view.store.row(lane, number)], 0, &mut batch, |reward| reward);
            all.push(batch);
        }
    }
    assert_eq!(all.len(), view.ready());
    all
}

/// How a step ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    No,
    Terminated,
    Truncated,
    Both,
}
use End::*;

/// Pushes a step whose action is `reward`, too; `next` is what to act on, `last` the final observation.
fn push(ring: &mut Ring, lane: usize, reward: f32, end: End, next: f32, last: f32) {
    let (terminated, truncated) = (matches!(end, Terminated | Both), matches!(end, Truncated | Both));
    let (next, last) = ([next], [last]);
    ring.push(lane, &[reward], reward, terminated, truncated, floats(&next), &[], floats(&last), &[]);
}

/// Every window that can be sampled, in order: (obs, action, reward, discount, next_obs).
fn windows(view: &mut View<Owned>) -> Vec<(f32, f32, f32, f32, f32)> {
    let row = |b: Batch| (b.obs().floats[0], b.action[0], b.reward[0], b.discount[0], b.next_obs().floats[0]);
    each(view).into_iter().map(row).collect()
}

/// Observations 0, 1, 2, 3 with rewards 1, 2, 4; the third step ends as given (final observation 9, restart at 3).
fn three_steps(n_step: usize, end: End) -> View<Owned> {
    let mut view = view(10, 1, n_step);
    view.store.begin(0, floats(&[0.0]), &[]);
    push(&mut view.store, 0, 1.0, No, 1.0, -1.0);
    push(&mut view.store, 0, 2.0, No, 2.0, -1.0);
    push(&mut view.store, 0, 4.0, end, 3.0, 9.0);
    view
}

#[test]
fn one_step_truth_table() {
    let first = [(0.0, 1.0, 1.0, 0.5, 1.0), (1.0, 2.0, 2.0, 0.5, 2.0)];
    for (end, last) in [
        (No, (2.0, 4.0, 4.0, 0.5, 3.0)),
        (Terminated, (2.0, 4.0, 4.0, 0.0, 9.0)),
        (Truncated, (2.0, 4.0, 4.0, 0.5, 9.0)),
        (Both, (2.0, 4.0, 4.0, 0.0, 9.0)),
    ] {
        assert_eq!(windows(&mut three_steps(1, end)), [first[0], first[1], last], "{end:?}");
    }
}

#[test]
fn three_step_truth_table() {
    // 1 + 2/2 + 4/4 = 3, 2 + 4/2 = 4, 4; each with its own power of γ.
    assert_eq!(windows(&mut three_steps(3, No)), [(0.0, 1.0, 3.0, 0.125, 3.0)]);
    assert_eq!(
        windows(&mut three_steps(3, Terminated)),
        [(0.0, 1.0, 3.0, 0.0, 9.0), (1.0, 2.0, 4.0, 0.0, 9.0), (2.0, 4.0, 4.0, 0.0, 9.0)]
    );
    assert_eq!(
        windows(&mut three_steps(3, Truncated)),
        [(0.0, 1.0, 3.0, 0.125, 9.0), (1.0, 2.0, 4.0, 0.25, 9.0), (2.0, 4.0, 4.0, 0.5, 9.0)]
    );
}

#[test]
fn a_window_does_not_reach_into_the_next_episode() {
    let mut view = three_steps(3, Truncated);
    push(&mut view.store, 0, 8.0, No, 4.0, -1.0);
    assert_eq!((view.store.len(), view.ready()), (4, 3));
    push(&mut view.store, 0, 16.0, No, 5.0, -1.0);
    push(&mut view.store, 0, 32.0, No, 6.0, -1.0);
    assert_eq!(windows(&mut view)[2..], [(2.0, 4.0, 4.0, 0.5, 9.0), (3.0, 8.0, 24.0, 0.125, 6.0)]);
}

#[test]
fn the_oldest_make_room_and_windows_pass_the_seam() {
    let mut view = view(4, 1, 3);
    view.store.begin(0, floats(&[0.0]), &[]);
    for t in 0..23 {
        push(&mut view.store, 0, t as f32, No, t as f32 + 1.0, -1.0);
    }
    assert_eq!((view.store.len(), view.ready()), (4, 2));
    let window = |t: f32| (t, t, t + (t + 1.0) / 2.0 + (t + 2.0) / 4.0, 0.125, t + 3.0);
    assert_eq!(windows(&mut view), [window(19.0), window(20.0)]);
}

#[test]
fn a_window_longer_than_the_store_waits_for_an_end() {
    let mut view = view(2, 1, 5);
    view.store.begin(0, floats(&[0.0]), &[]);
    for t in 0..9 {
        push(&mut view.store, 0, 1.0, No, t as f32, -1.0);
    }
    assert_eq!((view.store.len(), view.ready()), (2, 0));
    push(&mut view.store, 0, 1.0, Terminated, 0.0, 9.0);
    assert_eq!(windows(&mut view).iter().map(|w| w.2).collect::<Vec<_>>(), [1.5, 1.0]);
}

#[test]
fn a_restart_from_outside_counts_as_truncation() {
    let mut view = three_steps(3, No);
    view.store.begin(0, floats(&[7.0]), &[]);
    assert_eq!(
        windows(&mut view),
        [(0.0, 1.0, 3.0, 0.125, 3.0), (1.0, 2.0, 4.0, 0.25, 3.0), (2.0, 4.0, 4.0, 0.5, 3.0)]
    );
    // The new episode starts where the restart says, and a second restart before any step changes only that.
    view.store.begin(0, floats(&[8.0]), &[]);
    push(&mut view.store, 0, 1.0, Terminated, 0.0, 5.0);
    assert_eq!(windows(&mut view)[2..], [(2.0, 4.0, 4.0, 0.5, 3.0), (8.0, 1.0, 1.0, 0.0, 5.0)]);
}

#[test]
fn uneven_lanes_are_sampled_evenly_over_their_windows() {
    let mut view = view(30, 3, 1);
    for (lane, steps) in [(0, 2), (1, 9), (2, 0)] {
        view.store.begin(lane, floats(&[0.0]), &[]);
        (0..steps).for_each(|t| push(&mut view.store, lane, (10 * lane + t) as f32, No, 0.0, -1.0));
    }
    let (mut batch, mut rng) = (Batch::default(), stream(1, "store"));
    sample(&mut view, 11_000, 1.0, &mut rng, &mut batch);
    let mut counts = std::collections::BTreeMap::new();
    batch.action.iter().for_each(|&a| *counts.entry(a as u32).or_insert(0u32) += 1);
    assert_eq!(counts.len(), 11);
    // Six standard deviations of about 30.
    assert!(counts.values().all(|&c| c.abs_diff(1_000) < 181), "{counts:?}");
    assert!(batch.weight.iter().all(|&w| w == 1.0));
}

#[test]
fn bytes_stay_bytes_and_masks_follow_their_observations() {
    let widths = ObsWidths { floats: 1, bytes: 2 };
    let mut view = view_of(RingSpec { widths, mask_width: 2, ..spec(4, 1) }, 1, None);
    let obs = |floats, bytes| ObsRef { rows: 1, floats, bytes };
    let none = obs(&[0.0], &[0, 0]);
    let ring = &mut view.store;
    ring.begin(0, obs(&[0.1], &[1, 2]), &[true, false]);
    ring.push(0, &[0.0], 1.0, false, false, obs(&[0.3], &[3, 4]), &[false, true], none, &[false, false]);
    let last = obs(&[0.9], &[255, 8]);
    ring.push(0, &[1.0], 1.0, false, true, obs(&[0.5], &[5, 6]), &[true, true], last, &[true, false]);
    let [first, second] = &each(&mut view)[..] else { panic!("two transitions") };
    assert_eq!((first.obs(), first.next_obs()), (obs(&[0.1], &[1, 2]), obs(&[0.3], &[3, 4])));
    assert_eq!((first.masks(), first.next_masks()), (&[true, false][..], &[false, true][..]));
    assert_eq!((second.obs(), second.next_obs()), (obs(&[0.3], &[3, 4]), last));
    assert_eq!((second.masks(), second.next_masks()), (&[false, true][..], &[true, false][..]));
}

#[test]
fn a_range_of_rows_leaves_the_others_alone() {
    let mut view = three_steps(1, Terminated);
    let (mut batch, mut rng) = (Batch::default(), stream(1, "store"));
    batch.resize(&view.shape(), 8);
    batch.obs.floats.fill(-7.0);
    batch.reward.fill(-7.0);
    batch.starts.fill(true);
    let mut options = SampleOptions { rng: &mut rng, beta: 0.0, reward: RewardScale::default() };
    view.fill(2..5, &mut options, &mut batch).unwrap();
    for row in 0..8 {
        let inside = (2..5).contains(&row);
        let untouched = [batch.obs().floats[row], batch.next_obs().floats[row], batch.reward[row]] == [-7.0; 3];
        assert_eq!((untouched, batch.starts[row], batch.starts[8 + row]), (!inside, !inside, !inside), "row {row}");
    }
    // The same draws as in a batch of three.
    let mut three = Batch::default();
    sample(&mut view, 3, 0.0, &mut stream(1, "store"), &mut three);
    assert_eq!((&batch.index[2..5], &batch.reward[2..5]), (&three.index[..], &three.reward[..]));
}

#[test]
fn rewards_are_scaled_before_they_are_summed() {
    // Rewards 1, 2, 4 become 1, 3, 3 (clipped): 1 + 3/2 + 3/4.
    let mut view = three_steps(3, No);
    let (mut batch, mut rng) = (Batch::default(), stream(1, "store"));
    batch.resize(&view.shape(), 1);
    let reward = RewardScale { scale: 2.0, shift: -1.0, clip: Some((-3.0, 3.0)) };
    view.fill(0..1, &mut SampleOptions { rng: &mut rng, beta: 0.0, reward }, &mut batch).unwrap();
    assert_eq!(batch.reward, [3.25]);
}

#[test]
fn nothing_to_draw_and_batches_of_another_shape_are_errors() {
    let mut view = view(4, 1, 1);
    let (mut batch, mut rng) = (Batch::default(), stream(1, "store"));
    let mut options = SampleOptions { rng: &mut rng, beta: 0.0, reward: RewardScale::default() };
    batch.resize(&view.shape(), 2);
    assert!(matches!(view.fill(0..2, &mut options, &mut batch), Err(StoreError::NothingReady)));
    assert!(view.fill(0..0, &mut options, &mut batch).is_ok());
    assert!(view.fill(1..3, &mut options, &mut batch).unwrap_err().to_string().contains("rows 1..3 of a batch of 2"));
    batch.resize(&BatchShape { mask_width: 3, ..view.shape() }, 2);
    let error = view.fill(0..2, &mut options, &mut batch).unwrap_err().to_string();
    assert!(error.contains("mask_width: 3") && error.contains("mask_width: 0"), "{error}");
    let none = Window::steps(0, 0.5);
    assert!(View::new(Owned(Ring::new(spec(4, 1))), none, None, None).is_err());
}

#[test]
fn draws_are_those_of_version_0_1() {
    let mut draws = Vec::new();
    for priorities in [None, Some(PrioritySpec { alpha: 1.0, eps: 0.5 })] {
        let mut view = view_of(spec(50, 3), 2, priorities);
        (0..3).for_each(|lane| view.store.begin(lane, floats(&[0.0]), &[]));
        let (mut batch, mut rng) = (Batch::default(), stream(7, "store"));
        for t in 0..120 {
            let (lane, end) = (t * t % 3, if t % 11 == 5 { Truncated } else { No });
            push(&mut view.store, lane, t as f32, end, 0.0, -1.0);
            if t % 20 == 19 {
                sample(&mut view, 5, 0.5, &mut rng, &mut batch);
                view.learned(0..5, &batch, &batch.action);
            }
        }
        draws.push((batch.index, batch.reward));
    }
    let uniform = (vec![199, 199, 102, 202, 99], vec![150.5, 150.5, 154.5, 152.5, 150.0]);
    let prioritized = (vec![75, 90, 102, 229, 205], vec![114.0, 136.5, 154.5, 115.0, 155.0]);
    assert_eq!(draws, [uniform, prioritized]);
}
