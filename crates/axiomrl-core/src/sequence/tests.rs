use super::*;
use crate::{Rng, stream};
use axiomrl_envs::ObsRef;

fn spec(length: usize, overlap: usize) -> SequenceSpec {
    SequenceSpec {
        capacity: 40,
        lanes: 1,
        length,
        overlap,
        widths: ObsWidths { floats: 1, bytes: 0 },
        action_width: 1,
        mask_width: 0,
        state_width: 1,
        n_step: 1,
        gamma: 0.5,
        prioritized: None,
    }
}

/// One step that shows `obs`, remembers `-obs` and pays `obs`; 'T' terminates, 'L' meets the time limit (at `obs + 0.5`).
fn step(store: &mut SequenceStore, lane: usize, obs: f32, end: char) {
    let masks = store.spec().mask_width;
    let state = vec![-obs; store.spec().state_width];
    store.open(lane, ObsRef::of_floats(1, &[obs]), &vec![true; masks], &state);
    let last = [obs + 0.5];
    let outcome = SequenceOutcome {
        reward: obs,
        terminated: end == 'T',
        truncated: end == 'L',
        final_obs: ObsRef::of_floats(1, &last),
        final_mask: &vec![false; masks],
    };
    store.close(lane, &[obs + 100.0], &outcome);
}

/// Steps 1, 2, 3 … with the given endings.
fn played(spec: SequenceSpec, ends: &str) -> SequenceStore {
    let mut store = SequenceStore::new(spec);
    ends.chars().enumerate().for_each(|(t, end)| step(&mut store, 0, t as f32 + 1.0, end));
    store
}

/// Every chunk once, oldest first, as the columns of one batch each.
fn chunks(store: &SequenceStore) -> Vec<SequenceBatch> {
    let mut found: Vec<SequenceBatch> = Vec::new();
    let mut rng = stream(1, "test");
    for _ in 0..400 {
        let mut batch = SequenceBatch::default();
        store.sample(1, 0.0, &mut rng, &mut batch);
        if !found.iter().any(|known| known.index == batch.index) {
            found.push(batch);
        }
    }
    found.sort_by_key(|batch| batch.index[0]);
    assert_eq!(found.len(), store.ready());
    found
}

fn obs(batch: &SequenceBatch) -> Vec<f32> {
    batch.obs.floats.clone()
}

#[test]
fn a_chunk_across_a_termination() {
    let store = played(SequenceSpec { n_step: 2, ..spec(4, 0) }, "..T..");
    let [chunk] = &chunks(&store)[..] else { panic!("one chunk of four steps") };
    assert_eq!(obs(chunk), [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(chunk.action, [101.0, 102.0, 103.0, 104.0]);
    assert_eq!(chunk.starts, [true, false, false, true, false]);
    assert_eq!(chunk.mask, [true; 4]);
    // Windows of two steps; the one from step 2 ends with the episode, the last one with the chunk.
    assert_eq!(chunk.reward, [1.0 + 1.0, 2.0 + 1.5, 3.0, 4.0]);
    assert_eq!(chunk.discount, [0.25, 0.0, 0.0, 0.5]);
    assert_eq!(chunk.next, [2, 3, 3, 4]);
    assert_eq!(chunk.state, [-1.0]);
}

#[test]
fn a_chunk_across_a_time_limit_shows_the_last_observation() {
    let store = played(SequenceSpec { n_step: 2, ..spec(5, 0) }, "..L...");
    let [chunk] = &chunks(&store)[..] else { panic!("one chunk of five rows") };
    assert_eq!(obs(chunk), [1.0, 2.0, 3.0, 3.5, 4.0, 5.0]);
    assert_eq!(chunk.starts, [true, false, false, false, true, false]);
    assert_eq!(chunk.mask, [true, true, true, false, true]);
    // Both windows that reach the limit bootstrap from the observation there, with the discount of their own length.
    assert_eq!(chunk.reward[..3], [1.0 + 1.0, 2.0 + 1.5, 3.0]);
    assert_eq!(chunk.discount[..3], [0.25, 0.25, 0.5]);
    assert_eq!(chunk.next[..3], [2, 3, 3]);
    assert_eq!((chunk.reward[4], chunk.discount[4], chunk.next[4]), (4.0, 0.5, 5));
}

#[test]
fn the_last_step_of_a_chunk_bootstraps_from_its_own_episode() {
    // The time limit falls on the chunk's last step: the row after it is that episode's last observation.
    let limit = &chunks(&played(spec(3, 0), "..L"))[0];
    assert_eq!((obs(limit), limit.discount[2], limit.next[2]), (vec![1.0, 2.0, 3.0, 3.5], 0.5, 3));
    // A termination there bootstraps from nothing.
    let end = &chunks(&played(spec(3, 0), "..T."))[0];
    assert_eq!((end.discount[2], end.starts[3]), (0.0, true));
}

#[test]
fn chunks_overlap_and_keep_the_memory_they_began_with() {
    let store = played(spec(4, 2), ".........");
    let found: Vec<_> = chunks(&store).iter().map(|c| (obs(c), c.state[0])).collect();
    assert_eq!(
        found,
        [
            (vec![1.0, 2.0, 3.0, 4.0, 5.0], -1.0),
            (vec![3.0, 4.0, 5.0, 6.0, 7.0], -3.0),
            (vec![5.0, 6.0, 7.0, 8.0, 9.0], -5.0),
        ]
    );
}

#[test]
fn the_oldest_chunk_makes_room() {
    let store = played(SequenceSpec { capacity: 4, ..spec(2, 0) }, "...........");
    assert_eq!(store.ready(), 2);
    let found: Vec<_> = chunks(&store).iter().map(|c| (c.index[0], obs(c)[0])).collect();
    assert_eq!(found, [(3, 7.0), (4, 9.0)]);
}

#[test]
fn chunks_are_drawn_in_proportion_to_their_priority() {
    let prioritized = Some(PrioritySpec { alpha: 0.5, eps: 0.0 });
    let mut store = played(SequenceSpec { prioritized, capacity: 6, ..spec(2, 0) }, ".......");
    assert_eq!(store.ready(), 3);
    store.update_priorities(&[0, 1, 2], &[1.0, 4.0, f32::NAN]);
    let mut batch = SequenceBatch::default();
    let (mut counts, mut rng) = ([0u32; 3], stream(1, "test"));
    for _ in 0..1_000 {
        store.sample(8, 1.0, &mut rng, &mut batch);
        batch.index.iter().for_each(|&i| counts[i as usize] += 1);
    }
    // Masses 1, √4 and (the error was no number) 1 as at first.
    assert!(counts[0].abs_diff(2_000) < 150 && counts[1].abs_diff(4_000) < 150, "{counts:?}");
    // Weights (N·P)^-1 = 4/3 and 2/3, relative to the largest.
    for (index, weight) in batch.index.iter().zip(&batch.weight) {
        let wanted = if *index == 1 { 0.5 } else { 1.0 };
        assert!((weight - wanted).abs() < 1e-6);
    }
    // New chunks get the largest priority so far; an error for a chunk that is gone touches nothing.
    step(&mut store, 0, 8.0, '.');
    step(&mut store, 0, 9.0, '.');
    let before = store.priorities.as_ref().unwrap().total();
    assert_eq!(before, 2.0 + 1.0 + 2.0);
    store.update_priorities(&[0], &[100.0]);
    assert_eq!(store.priorities.as_ref().unwrap().total(), before);
}

#[test]
fn the_error_of_a_chunk_mixes_largest_and_mean() {
    assert!((mixed_error([1.0, -3.0, 2.0].into_iter(), 0.9) - (0.9 * 3.0 + 0.1 * 2.0)).abs() < 1e-6);
    assert_eq!(mixed_error([].into_iter(), 0.9), 0.0);
}

fn bytes(store: &SequenceStore) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.write(&mut bytes).unwrap();
    bytes
}

fn sampled(store: &SequenceStore, rng: &mut Rng) -> SequenceBatch {
    let mut batch = SequenceBatch::default();
    store.sample(5, 0.4, rng, &mut batch);
    batch
}

#[test]
fn a_store_read_back_goes_on_as_if_nothing_had_happened() {
    let prioritized = Some(PrioritySpec { alpha: 0.6, eps: 1e-3 });
    for spec in [
        SequenceSpec { lanes: 2, ..spec(3, 1) },
        SequenceSpec { prioritized, mask_width: 2, state_width: 3, n_step: 2, capacity: 7, ..spec(4, 3) },
        SequenceSpec { state_width: 0, ..spec(2, 0) },
    ] {
        let mut store = played(spec.clone(), "..T....L..L.T...");
        // A step that has been opened only.
        store.open(0, ObsRef::of_floats(1, &[9.0]), &vec![true; spec.mask_width], &vec![2.0; spec.state_width]);
        let written = bytes(&store);
        let mut back = SequenceStore::new(spec.clone());
        back.read(&mut written.as_slice()).unwrap();
        assert_eq!(bytes(&back), written);
        let (mut one, mut two) = (stream(5, "store"), stream(5, "store"));
        for both in [&mut store, &mut back] {
            let outcome = SequenceOutcome {
                reward: 1.0,
                terminated: false,
                truncated: false,
                final_obs: ObsRef::of_floats(1, &[0.0]),
                final_mask: &[],
            };
            both.close(0, &[1.0], &outcome);
        }
        for round in 0..30 {
            let (a, b) = (sampled(&store, &mut one), sampled(&back, &mut two));
            assert_eq!(a, b, "{spec:?}");
            for both in [&mut store, &mut back] {
                both.update_priorities(&a.index, &a.reward);
                step(both, spec.lanes - 1, round as f32, if round % 4 == 0 { 'L' } else { '.' });
            }
        }
        assert_eq!(bytes(&back), bytes(&store), "{spec:?}");
    }
}

#[test]
fn a_foreign_or_cut_file_is_refused_and_changes_nothing() {
    let mut store = played(spec(3, 1), "..T....L..");
    let before = bytes(&store);
    let error = store.read(&mut bytes(&played(spec(4, 1), "....")).as_slice()).unwrap_err().to_string();
    assert!(error.contains("sequence_length = 4, this run has 3"), "{error}");
    for length in 0..before.len() {
        assert!(store.read(&mut &before[..length]).is_err(), "cut at {length}");
    }
    // After the eleven numbers of the header: how many chunks there ever were.
    let mut forged = before.clone();
    forged[88..96].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(store.read(&mut forged.as_slice()).unwrap_err().to_string().contains("never completed"));
    assert_eq!(bytes(&store), before);
}

#[test]
fn rewards_are_scaled_and_clipped_one_by_one_before_they_are_summed() {
    // Rewards 1, 2, 3, 4; doubled and clipped at 5 they are 2, 4, 5, 5.
    let mut store = played(SequenceSpec { n_step: 2, ..spec(4, 0) }, ".....");
    store.reward_scale = crate::RewardScale { scale: 2.0, shift: 0.0, clip: Some(5.0) };
    let [chunk] = &chunks(&store)[..] else { panic!("one chunk of four steps") };
    assert_eq!(chunk.reward, [4.0, 6.5, 7.5, 5.0]);
}

#[test]
fn what_is_cut_off_is_valued_where_it_stood_and_nothing_is_learned_there() {
    // Two steps, then the environment is lost before the third; then a new episode.
    let mut store = played(spec(4, 0), "..");
    store.cut_off(0, ObsRef::of_floats(1, &[2.5]), &[]);
    for obs in [7.0, 8.0] {
        step(&mut store, 0, obs, '.');
    }
    let [chunk] = &chunks(&store)[..] else { panic!("one chunk of four rows") };
    assert_eq!(obs(chunk), [1.0, 2.0, 2.5, 7.0, 8.0]);
    assert_eq!(chunk.mask, [true, true, false, true]);
    assert_eq!(chunk.starts, [true, false, false, true, false]);
    assert_eq!((chunk.next[1], chunk.discount[1]), (2, 0.5), "valued, for the world did not end");
    // A step that was opened and then lost is such a place itself.
    let mut store = played(spec(4, 0), "..");
    store.open(0, ObsRef::of_floats(1, &[2.5]), &[], &[0.0]);
    store.cut_off(0, ObsRef::of_floats(1, &[9.0]), &[]);
    for obs in [7.0, 8.0] {
        step(&mut store, 0, obs, '.');
    }
    assert_eq!(chunks(&store)[0].mask, [true, true, false, true]);
}
