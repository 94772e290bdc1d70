use super::*;

fn spec() -> RolloutSpec {
    let widths = ObsWidths { floats: 2, bytes: 0 };
    RolloutSpec { steps: 3, lanes: 2, widths, action_width: 1, mask_width: 2, raw: false, intrinsic: false }
}

/// Lane 0 is truncated at step 1 (V(final) = 60), lane 1 terminates at step 0; bootstrap values 80 and 8.
fn filled() -> Rollout {
    let mut rollout = Rollout::new(spec());
    for (t, (values, rewards)) in
        [([10.0, 1.0], [1.0, 1.0]), ([20.0, 2.0], [2.0, 1.0]), ([40.0, 4.0], [4.0, 1.0])].into_iter().enumerate()
    {
        let obs = [t as f32, 0.0, t as f32, 1.0];
        rollout.begin_row(
            t,
            ObsRef::of_floats(2, &obs),
            &[true, false, true, true],
            &[0.0, 1.0],
            &[-0.5, -0.7],
            &values,
        );
        rollout.set_outcome(t, 1, rewards[1], t == 0, false);
        assert_eq!(rollout.filled, t);
        rollout.set_outcome(t, 0, rewards[0], false, t == 1);
        assert_eq!(rollout.filled, t + 1);
        if t == 1 {
            rollout.set_next_value(1, 0, 60.0);
        }
    }
    rollout.set_next_value(2, 0, 80.0);
    rollout.set_next_value(2, 1, 8.0);
    rollout
}

#[test]
fn next_values_come_from_the_following_row_except_at_ends() {
    let rollout = filled();
    assert_eq!(rollout.next_value, [20.0, 0.0, 60.0, 4.0, 80.0, 8.0]);
    assert!(rollout.is_full());
}

#[test]
fn gae_of_both_lanes() {
    let mut rollout = filled();
    rollout.compute_gae(0.5, 0.5);
    // Lane 0 as in the table of `gae`; lane 1: δ = 1−1, 1+2−2, 1+4−4 = 0, 1, 1.
    assert_eq!(rollout.advantage, [4.0, 0.0, 12.0, 1.25, 4.0, 1.0]);
    assert_eq!(rollout.returns, [14.0, 1.0, 32.0, 3.25, 44.0, 5.0]);
}

#[test]
fn a_partly_filled_rollout_survives_a_file() {
    let mut rollout = filled();
    rollout.filled = 2;
    let mut bytes = Vec::new();
    rollout.write(&mut bytes).unwrap();
    let mut back = Rollout::new(spec());
    back.read(&mut bytes.as_slice()).unwrap();
    let mut again = Vec::new();
    back.write(&mut again).unwrap();
    assert_eq!((back.filled, &again), (2, &bytes));
    rollout.compute_gae(0.9, 0.8);
    back.compute_gae(0.9, 0.8);
    assert_eq!(back.advantage[..4], rollout.advantage[..4]);
    assert_eq!(back.obs.range(0..4), rollout.obs.range(0..4));
}

#[test]
fn a_row_half_way_survives_a_file() {
    let mut rollout = filled();
    rollout.clear();
    rollout.begin_row(
        0,
        ObsRef::of_floats(2, &[1.0, 2.0, 3.0, 4.0]),
        &[true; 4],
        &[0.0, 1.0],
        &[-0.1, -0.2],
        &[5.0, 6.0],
    );
    rollout.set_outcome(0, 0, 7.0, false, false);
    let mut bytes = Vec::new();
    rollout.write(&mut bytes).unwrap();
    let mut back = Rollout::new(spec());
    back.read(&mut bytes.as_slice()).unwrap();
    for half in [&mut rollout, &mut back] {
        half.set_outcome(0, 1, 8.0, true, false);
        assert_eq!((half.filled, &half.reward[..2], &half.value[..2]), (1, &[7.0, 8.0][..], &[5.0, 6.0][..]));
    }
    let files = [&rollout, &back].map(|r| {
        let mut bytes = Vec::new();
        r.write(&mut bytes).unwrap();
        bytes
    });
    assert_eq!(files[0], files[1]);
}

#[test]
fn what_was_not_done_is_left_out_and_reaches_no_other_row() {
    // Lane 0: reward 1, then its environment begins an episode instead of a step, then reward 4.
    let play = |left_out: bool| {
        let mut rollout = Rollout::new(RolloutSpec { lanes: 1, mask_width: 0, ..spec() });
        for (t, reward) in [1.0, if left_out { 0.0 } else { 99.0 }, 4.0].into_iter().enumerate() {
            rollout.begin_row(t, ObsRef::of_floats(1, &[0.0; 2]), &[], &[0.0], &[0.0], &[10.0]);
            match (t, left_out) {
                (1, true) => rollout.leave_out(1, 0),
                _ => rollout.set_outcome(t, 0, reward, false, false),
            }
        }
        rollout.set_next_value(2, 0, 10.0);
        rollout.compute_gae(0.5, 0.5);
        rollout
    };
    let rollout = play(true);
    assert_eq!(rollout.valid, [true, false, true]);
    assert!(rollout.truncated[0] && !rollout.terminated[0], "cut off, and valued where it stood");
    // 1 + 0.5 * 10 - 10 and 4 + 0.5 * 10 - 10.
    assert_eq!((rollout.advantage[0], rollout.advantage[2]), (-4.0, -1.0));
    assert_ne!(play(false).advantage[0], -4.0);
}

#[test]
fn a_foreign_or_cut_file_changes_nothing() {
    let mut bytes = Vec::new();
    filled().write(&mut bytes).unwrap();
    let mut other = Rollout::new(RolloutSpec { lanes: 3, ..spec() });
    let error = other.read(&mut bytes.as_slice()).unwrap_err().to_string();
    assert!(error.contains("num_envs = 2, this run has 3"), "{error}");
    let mut same = filled();
    same.clear();
    assert!(same.read(&mut &bytes[..bytes.len() - 1]).is_err());
    assert_eq!(same.filled, 0);
}

#[test]
fn both_blocks_are_kept_and_survive_a_file() {
    let widths = ObsWidths { floats: 1, bytes: 2 };
    let spec = RolloutSpec { steps: 1, widths, mask_width: 0, ..spec() };
    let mut rollout = Rollout::new(spec.clone());
    let obs = ObsRef { rows: 2, floats: &[0.5, -0.5], bytes: &[1, 2, 3, 255] };
    rollout.begin_row(0, obs, &[], &[0.0; 2], &[0.0; 2], &[0.0; 2]);
    (0..2).for_each(|lane| rollout.set_outcome(0, lane, 1.0, false, false));
    let mut bytes = Vec::new();
    rollout.write(&mut bytes).unwrap();
    let mut back = Rollout::new(spec);
    back.read(&mut bytes.as_slice()).unwrap();
    assert_eq!((rollout.obs.as_ref(), back.obs.as_ref()), (obs, obs));
}

#[test]
fn raw_rows_and_what_they_led_to_survive_a_file_even_half_way() {
    let spec = RolloutSpec { raw: true, mask_width: 0, ..spec() };
    let mut rollout = Rollout::new(spec.clone());
    let row = |rollout: &mut Rollout, t: usize, raw: [f32; 4]| {
        rollout.begin_row(t, ObsRef::of_floats(2, &raw.map(|x| x / 10.0)), &[], &[0.0; 2], &[0.0; 2], &[0.0; 2]);
        rollout.set_raw(t, ObsRef::of_floats(2, &raw));
    };
    row(&mut rollout, 0, [1.0, 2.0, 3.0, 4.0]);
    for lane in 0..2 {
        rollout.set_next_obs(0, lane, ObsRef::of_floats(1, &[5.0 + lane as f32, 0.0]));
        rollout.set_outcome(0, lane, 1.0, lane == 0, false);
    }
    row(&mut rollout, 1, [7.0; 4]);
    rollout.set_next_obs(1, 1, ObsRef::of_floats(1, &[9.0, 9.0]));
    rollout.set_outcome(1, 1, 1.0, false, false);
    let raw = rollout.raw.as_ref().unwrap();
    assert_eq!(raw.obs.floats[..8], [1.0, 2.0, 3.0, 4.0, 7.0, 7.0, 7.0, 7.0]);
    assert_eq!(raw.next_obs.floats[..8], [5.0, 0.0, 6.0, 0.0, 0.0, 0.0, 9.0, 9.0]);
    assert_eq!(rollout.obs.floats[..4], [0.1, 0.2, 0.3, 0.4]);
    let mut bytes = Vec::new();
    rollout.write(&mut bytes).unwrap();
    let mut back = Rollout::new(spec.clone());
    back.read(&mut bytes.as_slice()).unwrap();
    let read = back.raw.as_ref().unwrap();
    assert_eq!((&read.obs, &read.next_obs), (&raw.obs, &raw.next_obs));
    let refused = Rollout::new(RolloutSpec { raw: false, ..spec.clone() }).read(&mut bytes.as_slice());
    assert!(refused.is_err(), "a rollout without raw rows is another one");
    // Nothing of an earlier rollout is left in a row that is begun anew.
    rollout.clear();
    row(&mut rollout, 0, [8.0; 4]);
    assert_eq!(rollout.raw.unwrap().next_obs.floats[..4], [0.0; 4]);
}

/// One lane, two steps whose values of both kinds are known; the first step ends the episode.
fn paid_by_itself() -> Rollout {
    let widths = ObsWidths { floats: 1, bytes: 0 };
    let spec = RolloutSpec { steps: 2, lanes: 1, widths, action_width: 1, mask_width: 0, raw: false, intrinsic: true };
    let mut rollout = Rollout::new(spec);
    for (t, values) in [[10.0, 2.0], [20.0, 3.0]].into_iter().enumerate() {
        rollout.begin_row(t, ObsRef::of_floats(1, &[0.0]), &[], &[0.0], &[0.0], &values);
        rollout.set_outcome(t, 0, 5.0, t == 0, false);
    }
    rollout.set_next_value(1, 0, 30.0);
    let intrinsic = rollout.intrinsic.as_mut().unwrap();
    intrinsic.set_next_value(1, 4.0);
    intrinsic.reward.fill(1.0);
    rollout
}

#[test]
fn what_the_learner_pays_itself_goes_on_after_an_end() {
    let mut rollout = paid_by_itself();
    rollout.compute_gae(0.9, 1.0);
    assert_eq!(rollout.advantage, [-5.0, 12.0]);
    rollout.add_intrinsic(0.9, 1.0, [2.0, 1.0]);
    let own = rollout.intrinsic.as_ref().unwrap();
    // δ = 1 + 2.7 − 2 and 1 + 3.6 − 3, the second reached by the first; with an end it would be −1.
    for (found, wanted) in own.advantage.iter().zip([1.7 + 0.9 * 1.6, 1.6]) {
        assert!((found - wanted).abs() < 1e-5, "{own:?}");
    }
    for (found, wanted) in rollout.advantage.iter().zip([-10.0 + (1.7 + 0.9 * 1.6), 24.0 + 1.6]) {
        assert!((found - wanted).abs() < 1e-5, "{:?}", rollout.advantage);
    }
    assert_eq!(rollout.returns, [5.0, 32.0], "returns stay apart");
    assert!((own.returns[0] - 5.14).abs() < 1e-5 && (own.returns[1] - 4.6).abs() < 1e-5);
}

#[test]
fn a_lane_that_was_interrupted_is_cut() {
    let mut rollout = paid_by_itself();
    rollout.clear();
    for (t, values) in [[10.0, 2.0], [20.0, 3.0]].into_iter().enumerate() {
        rollout.begin_row(t, ObsRef::of_floats(1, &[0.0]), &[], &[0.0], &[0.0], &values);
        rollout.set_outcome(t, 0, 5.0, false, false);
        let own = rollout.intrinsic.as_mut().unwrap();
        own.reward[t] = 1.0;
        own.set_next_value(t, 4.0);
        if t == 0 {
            rollout.cut_off(0);
        }
    }
    rollout.compute_gae(0.9, 1.0);
    rollout.add_intrinsic(0.9, 1.0, [0.0, 1.0]);
    // The first step is worth 1 + 0.9 · 4 − 2, by what was known when it was cut off, and nothing of the second.
    assert!((rollout.advantage[0] - 2.6).abs() < 1e-5 && (rollout.advantage[1] - 1.6).abs() < 1e-5);
    let mut bytes = Vec::new();
    rollout.write(&mut bytes).unwrap();
    let mut back = paid_by_itself();
    back.read(&mut bytes.as_slice()).unwrap();
    back.compute_gae(0.9, 1.0);
    back.add_intrinsic(0.9, 1.0, [0.0, 1.0]);
    assert_eq!(back.advantage, rollout.advantage);
}

#[test]
fn a_step_that_was_left_out_cuts_the_one_before() {
    let mut rollout = paid_by_itself();
    rollout.clear();
    rollout.begin_row(0, ObsRef::of_floats(1, &[0.0]), &[], &[0.0], &[0.0], &[10.0, 2.0]);
    rollout.set_outcome(0, 0, 5.0, true, false);
    rollout.begin_row(1, ObsRef::of_floats(1, &[0.0]), &[], &[0.0], &[0.0], &[20.0, 3.0]);
    rollout.leave_out(1, 0);
    rollout.compute_gae(0.9, 1.0);
    rollout.add_intrinsic(0.9, 1.0, [0.0, 1.0]);
    assert!((rollout.advantage[0] - 0.7).abs() < 1e-5, "0.9 · 3 − 2, whatever the row that was left out says");
}
