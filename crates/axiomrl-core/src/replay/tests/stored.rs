//! The store in a file.

use super::*;

fn filled(spec: &ReplaySpec, steps: usize) -> Replay {
    let mut replay = Replay::new(spec.clone());
    let obs = |x: usize| match spec.obs_dtype {
        DType::F32 => ObsBuf::F32(vec![x as f32 / 3.0; spec.obs_width]),
        DType::U8 => ObsBuf::U8(vec![x as u8; spec.obs_width]),
    };
    let mask = |x: usize| (0..spec.mask_width).map(|i| (x + i).is_multiple_of(2)).collect::<Vec<bool>>();
    for lane in 0..spec.lanes {
        replay.begin(lane, obs(lane).as_ref(), &mask(lane));
        // Lanes of different length, the last one untouched when there are several.
        for t in 0..steps / (lane + 1) * usize::from(lane == 0 || lane + 1 < spec.lanes) {
            replay.push(
                lane,
                &vec![t as f32; spec.action_width],
                t as f32,
                t % 5 == 4,
                t % 7 == 6,
                obs(t).as_ref(),
                &mask(t),
                obs(t + 1).as_ref(),
                &mask(t + 1),
            );
        }
    }
    let mut batch = Batch::default();
    replay.sample(16, 0.4, &mut stream(9, "store"), &mut batch);
    let errors: Vec<f32> = (0..16).map(|i| 0.1 + i as f32).collect();
    replay.update_priorities(&batch.index, &errors);
    replay
}

fn bytes(replay: &Replay) -> Vec<u8> {
    let mut bytes = Vec::new();
    replay.write(&mut bytes).unwrap();
    bytes
}

fn samples(replay: &Replay, rng: &mut Rng) -> Batch {
    let mut batch = Batch::default();
    replay.sample(32, 0.4, rng, &mut batch);
    batch
}

fn shapes() -> Vec<ReplaySpec> {
    let prioritized = Some(PrioritySpec { alpha: 0.6, eps: 1e-6 });
    vec![
        spec(20, 1, 1),
        ReplaySpec { prioritized, ..spec(20, 3, 3) },
        ReplaySpec { obs_dtype: DType::U8, obs_width: 3, mask_width: 4, action_width: 2, ..spec(33, 2, 2) },
        ReplaySpec { prioritized, mask_width: 2, ..spec(64, 2, 1) },
    ]
}

#[test]
fn a_store_read_back_goes_on_as_if_nothing_had_happened() {
    for spec in shapes() {
        for steps in [4, 19, 20, 21, 60] {
            let mut replay = filled(&spec, steps);
            let written = bytes(&replay);
            let mut back = Replay::new(spec.clone());
            back.read(&mut written.as_slice()).unwrap();
            assert_eq!(bytes(&back), written, "{spec:?}");
            assert_eq!((back.len(), back.ready()), (replay.len(), replay.ready()));
            let (mut one, mut two) = (stream(5, "store"), stream(5, "store"));
            for round in 0..40 {
                let (a, b) = (samples(&replay, &mut one), samples(&back, &mut two));
                assert_eq!(a, b, "{spec:?}");
                for store in [&mut replay, &mut back] {
                    store.update_priorities(&a.index, &a.action);
                    let obs = ObsBuf::zeros(spec.obs_dtype, spec.obs_width);
                    let (action, mask) = (vec![0.5; spec.action_width], vec![true; spec.mask_width]);
                    store.push(0, &action, 1.0, round % 3 == 0, false, obs.as_ref(), &mask, obs.as_ref(), &mask);
                }
            }
            assert_eq!(bytes(&back), bytes(&replay), "{spec:?}");
        }
    }
}

#[test]
fn only_filled_rows_are_written() {
    let large = ReplaySpec { capacity: 1_000_000, ..spec(20, 1, 1) };
    assert!(bytes(&filled(&large, 20)).len() < 1_000);
}

#[test]
fn a_foreign_or_cut_file_is_refused_and_changes_nothing() {
    let spec = &shapes()[1];
    let mut replay = filled(spec, 30);
    let before = bytes(&replay);
    let other = bytes(&filled(&ReplaySpec { n_step: 2, ..spec.clone() }, 30));
    let error = replay.read(&mut other.as_slice()).unwrap_err().to_string();
    assert!(error.contains("n_step = 2, this run has 3"), "{error}");
    for length in 0..before.len() {
        assert!(replay.read(&mut &before[..length]).is_err(), "cut at {length}");
    }
    assert_eq!(bytes(&replay), before);
}

#[test]
fn impossible_counters_are_refused() {
    let mut replay = filled(&spec(20, 1, 1), 10);
    let mut damaged = bytes(&replay);
    // After the header: how far the lane has come (counter 1), and where its complete windows end (counter 4).
    let good = damaged.clone();
    for (counter, value) in [(1, 1_000u64), (4, 9), (4, 11)] {
        damaged.clone_from(&good);
        let at = 8 * (10 + counter);
        damaged[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let error = replay.read(&mut damaged.as_slice()).unwrap_err().to_string();
        assert!(error.contains("impossible counters"), "{error}");
    }
}
