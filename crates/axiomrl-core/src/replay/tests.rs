//! Tables by hand, and the store against a model too simple to be wrong.

mod frames;
mod model;
mod prioritized;
mod stored;

use super::*;
use crate::{Batch, Rng, stream};

pub(super) fn spec(capacity: usize, lanes: usize, n_step: usize) -> ReplaySpec {
    ReplaySpec {
        capacity,
        lanes,
        obs_width: 1,
        obs_dtype: DType::F32,
        frames: FrameSpec::SINGLE,
        action_width: 1,
        mask_width: 0,
        n_step,
        gamma: 0.5,
        prioritized: None,
    }
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
fn push(replay: &mut Replay, lane: usize, reward: f32, end: End, next: f32, last: f32) {
    let (terminated, truncated) = (matches!(end, Terminated | Both), matches!(end, Truncated | Both));
    let (next, last) = ([next], [last]);
    replay.push(lane, &[reward], reward, terminated, truncated, ObsRef::F32(&next), &[], ObsRef::F32(&last), &[]);
}

/// Every window that can be sampled, in order: (obs, action, reward, discount, next_obs).
fn windows(replay: &Replay) -> Vec<(f32, f32, f32, f32, f32)> {
    let mut batch = Batch::default();
    let spec = &replay.spec;
    batch.resize(1, spec.obs_dtype, spec.obs_width, spec.action_width, spec.mask_width);
    let mut all = Vec::new();
    for lane in 0..replay.lanes.len() {
        for number in replay.lanes[lane].oldest..replay.lanes[lane].sampleable {
            replay.gather(&[replay.row(lane, number)], 0, &mut batch);
            let (obs, next) = (batch.obs.as_ref().to_f32()[0], batch.next_obs.as_ref().to_f32()[0]);
            all.push((obs, batch.action[0], batch.reward[0], batch.discount[0], next));
        }
    }
    assert_eq!(all.len(), replay.ready());
    all
}

/// Observations 0, 1, 2, 3 with rewards 1, 2, 4; the third step ends as given (final observation 9, restart at 3).
fn three_steps(n_step: usize, end: End) -> Replay {
    let mut replay = Replay::new(spec(10, 1, n_step));
    replay.begin(0, ObsRef::F32(&[0.0]), &[]);
    push(&mut replay, 0, 1.0, No, 1.0, -1.0);
    push(&mut replay, 0, 2.0, No, 2.0, -1.0);
    push(&mut replay, 0, 4.0, end, 3.0, 9.0);
    replay
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
        assert_eq!(windows(&three_steps(1, end)), [first[0], first[1], last], "{end:?}");
    }
}

#[test]
fn three_step_truth_table() {
    // 1 + 2/2 + 4/4 = 3, 2 + 4/2 = 4, 4; each with its own power of γ.
    assert_eq!(windows(&three_steps(3, No)), [(0.0, 1.0, 3.0, 0.125, 3.0)]);
    assert_eq!(
        windows(&three_steps(3, Terminated)),
        [(0.0, 1.0, 3.0, 0.0, 9.0), (1.0, 2.0, 4.0, 0.0, 9.0), (2.0, 4.0, 4.0, 0.0, 9.0)]
    );
    assert_eq!(
        windows(&three_steps(3, Truncated)),
        [(0.0, 1.0, 3.0, 0.125, 9.0), (1.0, 2.0, 4.0, 0.25, 9.0), (2.0, 4.0, 4.0, 0.5, 9.0)]
    );
}

#[test]
fn a_window_does_not_reach_into_the_next_episode() {
    let mut replay = three_steps(3, Truncated);
    push(&mut replay, 0, 8.0, No, 4.0, -1.0);
    assert_eq!((replay.len(), replay.ready()), (4, 3));
    push(&mut replay, 0, 16.0, No, 5.0, -1.0);
    push(&mut replay, 0, 32.0, No, 6.0, -1.0);
    assert_eq!(windows(&replay)[2..], [(2.0, 4.0, 4.0, 0.5, 9.0), (3.0, 8.0, 24.0, 0.125, 6.0)]);
}

#[test]
fn the_oldest_make_room_and_windows_pass_the_seam() {
    let mut replay = Replay::new(spec(4, 1, 3));
    replay.begin(0, ObsRef::F32(&[0.0]), &[]);
    for t in 0..23 {
        push(&mut replay, 0, t as f32, No, t as f32 + 1.0, -1.0);
    }
    assert_eq!((replay.len(), replay.ready()), (4, 2));
    let window = |t: f32| (t, t, t + (t + 1.0) / 2.0 + (t + 2.0) / 4.0, 0.125, t + 3.0);
    assert_eq!(windows(&replay), [window(19.0), window(20.0)]);
}

#[test]
fn a_window_longer_than_the_store_waits_for_an_end() {
    let mut replay = Replay::new(spec(2, 1, 5));
    replay.begin(0, ObsRef::F32(&[0.0]), &[]);
    for t in 0..9 {
        push(&mut replay, 0, 1.0, No, t as f32, -1.0);
    }
    assert_eq!((replay.len(), replay.ready()), (2, 0));
    push(&mut replay, 0, 1.0, Terminated, 0.0, 9.0);
    assert_eq!(windows(&replay).iter().map(|w| w.2).collect::<Vec<_>>(), [1.5, 1.0]);
}

#[test]
fn a_restart_from_outside_counts_as_truncation() {
    let mut replay = three_steps(3, No);
    replay.begin(0, ObsRef::F32(&[7.0]), &[]);
    assert_eq!(windows(&replay), [(0.0, 1.0, 3.0, 0.125, 3.0), (1.0, 2.0, 4.0, 0.25, 3.0), (2.0, 4.0, 4.0, 0.5, 3.0)]);
    // The new episode starts where the restart says, and a second restart before any step changes only that.
    replay.begin(0, ObsRef::F32(&[8.0]), &[]);
    push(&mut replay, 0, 1.0, Terminated, 0.0, 5.0);
    assert_eq!(windows(&replay)[2..], [(2.0, 4.0, 4.0, 0.5, 3.0), (8.0, 1.0, 1.0, 0.0, 5.0)]);
}

#[test]
fn uneven_lanes_are_sampled_evenly_over_their_windows() {
    let mut replay = Replay::new(spec(30, 3, 1));
    for (lane, steps) in [(0, 2), (1, 9), (2, 0)] {
        replay.begin(lane, ObsRef::F32(&[0.0]), &[]);
        (0..steps).for_each(|t| push(&mut replay, lane, (10 * lane + t) as f32, No, 0.0, -1.0));
    }
    let (mut batch, mut rng) = (Batch::default(), stream(1, "store"));
    replay.sample(11_000, 1.0, &mut rng, &mut batch);
    let mut counts = std::collections::BTreeMap::new();
    batch.action.iter().for_each(|&a| *counts.entry(a as u32).or_insert(0u32) += 1);
    assert_eq!(counts.len(), 11);
    // Six standard deviations of about 30.
    assert!(counts.values().all(|&c| c.abs_diff(1_000) < 181), "{counts:?}");
    assert!(batch.weight.iter().all(|&w| w == 1.0));
}

#[test]
fn capacity_is_rounded_up_to_whole_lanes() {
    let mut replay = Replay::new(spec(5, 2, 1));
    for lane in 0..2 {
        replay.begin(lane, ObsRef::F32(&[0.0]), &[]);
        (0..20).for_each(|t| push(&mut replay, lane, t as f32, No, 0.0, -1.0));
    }
    assert_eq!(replay.len(), 6);
}

#[test]
fn the_pool_of_final_observations_does_not_grow_for_ever() {
    let mut replay = Replay::new(spec(8, 2, 2));
    for lane in 0..2 {
        replay.begin(lane, ObsRef::F32(&[0.0]), &[]);
    }
    for t in 0..1_000 {
        for lane in 0..2 {
            push(&mut replay, lane, 1.0, if t % 3 == 0 { Truncated } else { Terminated }, 0.0, t as f32);
        }
    }
    // Four steps of each lane are kept, and one more end is there while the oldest is being replaced.
    assert!(replay.finals.rows() <= 10, "{}", replay.finals.rows());
    assert!(windows(&replay).iter().all(|w| w.4 >= 996.0));
}

#[test]
fn bytes_stay_bytes_and_masks_follow_their_observations() {
    let spec = ReplaySpec { obs_dtype: DType::U8, obs_width: 2, mask_width: 2, ..spec(4, 1, 1) };
    let mut replay = Replay::new(spec);
    replay.begin(0, ObsRef::U8(&[1, 2]), &[true, false]);
    let none = ObsRef::U8(&[0, 0]);
    replay.push(0, &[0.0], 1.0, false, false, ObsRef::U8(&[3, 4]), &[false, true], none, &[false, false]);
    replay.push(0, &[1.0], 1.0, false, true, ObsRef::U8(&[5, 6]), &[true, true], ObsRef::U8(&[255, 8]), &[true, false]);
    let mut batch = Batch::default();
    batch.resize(1, DType::U8, 2, 1, 2);
    replay.gather(&[0], 0, &mut batch);
    assert_eq!((&batch.obs, &batch.next_obs), (&ObsBuf::U8(vec![1, 2]), &ObsBuf::U8(vec![3, 4])));
    assert_eq!((batch.mask.as_slice(), batch.next_mask.as_slice()), (&[true, false][..], &[false, true][..]));
    replay.gather(&[1], 0, &mut batch);
    assert_eq!((&batch.obs, &batch.next_obs), (&ObsBuf::U8(vec![3, 4]), &ObsBuf::U8(vec![255, 8])));
    assert_eq!((batch.mask.as_slice(), batch.next_mask.as_slice()), (&[false, true][..], &[true, false][..]));
}
