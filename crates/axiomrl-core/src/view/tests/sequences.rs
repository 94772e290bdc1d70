//! Sequences as windows of the ring.

use super::stored::{Saved, load, saved};
use super::*;
use crate::mixed_error;

fn window(length: usize, stride: usize, n_step: usize) -> Window {
    Window { n_step, gamma: 0.5, length, stride }
}

fn sequences(spec: RingSpec, window: Window, priorities: Option<PrioritySpec>) -> View<Owned> {
    View::new(Owned(Ring::new(spec)), window, priorities, None).unwrap().with_memories(1)
}

/// One step that shows `obs`, remembers `-obs` before it and pays `obs`; 'T' terminates and 'L' meets the time limit, both at
/// `obs + 0.5`; the next episode, like the next step, shows `obs + 1`.
fn step(view: &mut View<Owned>, lane: usize, obs: f32, end: char) {
    let (next, last) = ([obs + 1.0], [obs + 0.5]);
    view.remember(lane, &[-obs]);
    view.store.push(lane, &[obs + 100.0], obs, end == 'T', end == 'L', floats(&next), &[], floats(&last), &[]);
}

/// Steps 1, 2, 3 … of the first lane with the given endings.
fn played(mut view: View<Owned>, ends: &str) -> View<Owned> {
    (0..view.lanes.len()).for_each(|lane| view.store.begin(lane, floats(&[1.0]), &[]));
    ends.chars().enumerate().for_each(|(t, end)| step(&mut view, 0, t as f32 + 1.0, end));
    view
}

/// Every sequence once, oldest first, as a batch of one row each, as long as it has to be.
fn rows(view: &mut View<Owned>) -> Vec<Batch> {
    let (mut found, mut rng): (Vec<Batch>, _) = (Vec::new(), stream(1, "test"));
    for _ in 0..400 {
        let mut batch = Batch::default();
        sample(view, 1, 0.0, &mut rng, &mut batch);
        batch.trim();
        if !found.iter().any(|known| known.index == batch.index) {
            found.push(batch);
        }
    }
    found.sort_by_key(|batch| batch.index[0]);
    assert_eq!(found.len(), view.ready());
    found
}

#[test]
fn an_episode_that_was_cut_off_has_an_entry_more() {
    let mut view = played(sequences(spec(40, 1), window(5, 5, 2), None), "..L..");
    let [row] = &rows(&mut view)[..] else { panic!("one sequence of five steps") };
    assert_eq!(row.obs.floats, [1.0, 2.0, 3.0, 3.5, 4.0, 5.0, 6.0]);
    assert_eq!(row.starts, [true, false, false, false, true, false, false]);
    assert_eq!(row.valid, [true, true, true, false, true, true]);
    assert_eq!(row.action, [101.0, 102.0, 103.0, 0.0, 104.0, 105.0]);
    // Windows of two rewards; those that reach the end stop there, with the discount of their own length.
    assert_eq!(row.reward, [1.0 + 1.0, 2.0 + 1.5, 3.0, 0.0, 4.0 + 2.5, 5.0]);
    assert_eq!(row.discount, [0.25, 0.25, 0.5, 0.0, 0.25, 0.5]);
    assert_eq!(row.next, [2, 3, 3, 3, 6, 6]);
    assert_eq!(row.state, [-1.0]);
}

#[test]
fn an_episode_that_terminated_is_followed_by_the_next_one() {
    let mut view = played(sequences(spec(40, 1), window(5, 5, 2), None), "..T..");
    let [row] = &rows(&mut view)[..] else { panic!("one sequence of five steps") };
    assert_eq!(row.obs.floats, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(row.starts, [true, false, false, true, false, false]);
    assert_eq!((row.steps, &row.valid[..]), (5, &[true; 5][..]));
    assert_eq!(row.action, [101.0, 102.0, 103.0, 104.0, 105.0]);
    assert_eq!(row.reward, [1.0 + 1.0, 2.0 + 1.5, 3.0, 4.0 + 2.5, 5.0]);
    // No value is taken from what comes after.
    assert_eq!(row.discount, [0.25, 0.0, 0.0, 0.25, 0.5]);
    assert_eq!(row.state, [-1.0]);
}

#[test]
fn a_sequence_that_ends_with_its_episode_needs_no_entry_more() {
    let mut view = played(sequences(spec(40, 1), window(3, 3, 1), None), "..L");
    let [row] = &rows(&mut view)[..] else { panic!("one sequence") };
    assert_eq!((&row.obs.floats[..], row.discount[2], row.next[2]), (&[1.0, 2.0, 3.0, 3.5][..], 0.5, 3));
    let mut view = played(sequences(spec(40, 1), window(3, 3, 1), None), "..T");
    assert_eq!((rows(&mut view)[0].discount[2], rows(&mut view)[0].steps), (0.0, 3));
    // The one after it begins an episode.
    let mut view = played(sequences(spec(40, 1), window(3, 3, 1), None), "..T...");
    assert_eq!(rows(&mut view).iter().map(|row| row.starts[0]).collect::<Vec<_>>(), [true, true]);
    let mut view = played(sequences(spec(40, 1), window(3, 3, 1), None), "......");
    assert_eq!(rows(&mut view).iter().map(|row| row.starts[0]).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn sequences_overlap_and_keep_the_memory_they_began_with() {
    let mut view = played(sequences(spec(40, 1), window(4, 2, 1), None), ".........");
    let found: Vec<_> =
        rows(&mut view).iter().map(|row| (row.obs.floats.clone(), row.state[0], row.index[0])).collect();
    assert_eq!(
        found,
        [
            (vec![1.0, 2.0, 3.0, 4.0, 5.0], -1.0, 0),
            (vec![3.0, 4.0, 5.0, 6.0, 7.0], -3.0, 1),
            (vec![5.0, 6.0, 7.0, 8.0, 9.0], -5.0, 2),
        ]
    );
}

#[test]
fn what_left_the_store_begins_no_sequence() {
    // Room for five transitions: number 8 to 12 are left, and sequences start at 9 and 11 of the numbers 0, 3, 6, 9, 12.
    let mut view = played(sequences(spec(5, 1), window(2, 3, 1), None), ".............");
    let found: Vec<_> = rows(&mut view).iter().map(|row| (row.index[0], row.obs.floats[0], row.state[0])).collect();
    assert_eq!(found, [(3, 10.0, -10.0)]);
    step(&mut view, 0, 14.0, '.');
    let found: Vec<_> = rows(&mut view).iter().map(|row| (row.index[0], row.obs.floats[0], row.state[0])).collect();
    assert_eq!(found, [(3, 10.0, -10.0), (4, 13.0, -13.0)]);
}

#[test]
fn shorter_rows_are_padded_and_nothing_is_learned_there() {
    let mut view = played(sequences(spec(40, 1), window(3, 3, 2), None), "LL....");
    let mut batch = Batch::default();
    let mut rng = stream(1, "test");
    let both = std::iter::repeat_with(|| {
        sample(&mut view, 2, 0.0, &mut rng, &mut batch);
        batch.trim();
        batch.clone()
    });
    let batch = both.into_iter().find(|batch| batch.index == [0, 1]).unwrap();
    // Two episodes cut off in the first row, none in the second.
    assert_eq!((batch.steps, batch.rows), (5, 2));
    let column = |values: &[bool], row: usize| values.iter().skip(row).step_by(2).copied().collect::<Vec<bool>>();
    assert_eq!(column(&batch.valid, 0), [true, false, true, false, true]);
    assert_eq!(column(&batch.valid, 1), [true, true, true, false, false]);
    assert_eq!(column(&batch.starts, 0), [true, false, true, false, true, false]);
    assert_eq!(column(&batch.starts, 1), [false; 6]);
    let shown: Vec<f32> = batch.obs.floats.iter().skip(1).step_by(2).copied().collect();
    assert_eq!(shown, [4.0, 5.0, 6.0, 7.0, 0.0, 0.0]);
    assert!(batch.next.iter().all(|&next| (next as usize) <= batch.steps));
}

#[test]
fn the_room_for_a_batch_does_not_show_in_it() {
    let view = || played(sequences(spec(40, 1), window(3, 3, 2), None), "......LL.");
    let (mut narrow, mut wide) = (view(), view());
    let (mut a, mut b) = (Batch::default(), Batch::default());
    for seed in 0..20 {
        sample(&mut narrow, 2, 0.0, &mut stream(seed, "test"), &mut a);
        let shape = wide.shape();
        b.resize(&BatchShape { steps: shape.steps + 4, ..shape }, 2);
        let rng = &mut stream(seed, "test");
        wide.fill(0..2, &mut SampleOptions { rng, beta: 0.0, reward: RewardScale::default() }, &mut b).unwrap();
        a.trim();
        b.trim();
        assert_eq!(a, b);
    }
    // Too little room is refused.
    let shape = narrow.shape();
    b.resize(&BatchShape { steps: shape.steps - 1, ..shape }, 2);
    let rng = &mut stream(1, "test");
    let options = &mut SampleOptions { rng, beta: 0.0, reward: RewardScale::default() };
    assert!(matches!(narrow.fill(0..2, options, &mut b), Err(StoreError::Shape(_))));
}

#[test]
fn an_environment_that_begins_anew_cuts_its_episode_off_where_it_stood() {
    let mut view = played(sequences(spec(40, 1), window(4, 4, 1), None), "..");
    view.store.begin(0, floats(&[7.0]), &[]);
    step(&mut view, 0, 7.0, '.');
    step(&mut view, 0, 8.0, '.');
    let [row] = &rows(&mut view)[..] else { panic!("one sequence") };
    assert_eq!(row.obs.floats, [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]);
    assert_eq!(row.valid, [true, true, false, true, true]);
    assert_eq!((row.next[1], row.discount[1]), (2, 0.5), "valued, for the world did not end");
}

#[test]
fn sequences_are_drawn_in_proportion_to_their_priority() {
    let priorities = Some(PrioritySpec { alpha: 0.5, eps: 0.0 });
    let mut view = played(sequences(spec(7, 1), window(2, 2, 1), priorities), "......");
    let mut batch = Batch::default();
    let (mut counts, mut rng) = ([0u32; 3], stream(1, "test"));
    sample(&mut view, 1, 0.0, &mut rng, &mut batch);
    let shape = view.shape();
    batch.resize(&shape, 3);
    batch.index.copy_from_slice(&[0, 1, 2]);
    view.learned(0..3, &batch, &[1.0, 4.0, f32::NAN]);
    for _ in 0..1_000 {
        sample(&mut view, 8, 1.0, &mut rng, &mut batch);
        batch.index.iter().for_each(|&i| counts[i as usize] += 1);
    }
    // Masses 1, √4 and (the error was no number) 1 as at first.
    assert!(counts[0].abs_diff(2_000) < 150 && counts[1].abs_diff(4_000) < 150, "{counts:?}");
    // Weights (N·P)^-1 = 4/3 and 2/3, relative to the largest.
    for (index, weight) in batch.index.iter().zip(&batch.weight) {
        assert!((weight - if *index == 1 { 0.5 } else { 1.0 }).abs() < 1e-6);
    }
    // Newcomers get the largest priority so far; an error for what is gone touches nothing.
    step(&mut view, 0, 7.0, '.');
    step(&mut view, 0, 8.0, '.');
    assert_eq!(view.ready(), 3);
    view.learned(0..1, &Batch { index: vec![0], ..batch.clone() }, &[100.0]);
    assert_eq!(view.priorities().unwrap().total(), 2.0 + 1.0 + 2.0);
}

#[test]
fn the_error_of_a_sequence_mixes_largest_and_mean() {
    assert!((mixed_error([1.0, -3.0, 2.0].into_iter(), 0.9) - (0.9 * 3.0 + 0.1 * 2.0)).abs() < 1e-6);
    assert_eq!(mixed_error([].into_iter(), 0.9), 0.0);
}

#[test]
fn rewards_are_scaled_and_clipped_one_by_one_before_they_are_summed() {
    // Rewards 1, 2, 3, 4; doubled and clipped at 5 they are 2, 4, 5, 5.
    let mut view = played(sequences(spec(40, 1), window(4, 4, 2), None), "....");
    let mut batch = Batch::default();
    batch.resize(&view.shape(), 1);
    let reward = RewardScale { scale: 2.0, shift: 0.0, clip: Some((-5.0, 5.0)) };
    let rng = &mut stream(1, "test");
    view.fill(0..1, &mut SampleOptions { rng, beta: 0.0, reward }, &mut batch).unwrap();
    assert_eq!(batch.reward, [4.0, 6.5, 7.5, 5.0]);
}

fn memories(view: &mut View<Owned>) -> Vec<u8> {
    let mut bytes = Vec::new();
    view.write_memories(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_view_read_back_goes_on_as_if_nothing_had_happened() {
    let prioritized = Some(PrioritySpec { alpha: 0.6, eps: 1e-3 });
    for (spec, window, priorities) in [
        (spec(40, 2), window(3, 2, 1), None),
        (spec(7, 1), window(4, 1, 2), prioritized),
        (spec(9, 2), window(2, 2, 1), prioritized),
    ] {
        let fresh = || sequences(spec.clone(), window, priorities);
        let mut view = played(fresh(), "..T....L..L.T...");
        let mut before = Batch::default();
        sample(&mut view, 4, 0.4, &mut stream(3, "test"), &mut before);
        view.learned(0..4, &before, &[0.5, 3.0, 0.1, 1.0]);
        let (kept, remembered): (Saved, Vec<u8>) = (saved(&mut view), memories(&mut view));
        let mut back = fresh();
        load(&mut back, &kept).unwrap();
        back.read_memories(&mut remembered.as_slice()).unwrap();
        assert_eq!((saved(&mut back), memories(&mut back)), (kept, remembered));
        let (mut one, mut two) = (stream(5, "store"), stream(5, "store"));
        for round in 0..30 {
            let (mut a, mut b) = (Batch::default(), Batch::default());
            sample(&mut view, 5, 0.4, &mut one, &mut a);
            sample(&mut back, 5, 0.4, &mut two, &mut b);
            a.trim();
            b.trim();
            assert_eq!(a, b, "{spec:?}");
            for view in [&mut view, &mut back] {
                view.learned(0..5, &a, &a.reward[..5]);
                step(view, spec.lanes - 1, round as f32, if round % 4 == 0 { 'L' } else { '.' });
            }
        }
        assert_eq!(memories(&mut back), memories(&mut view), "{spec:?}");
        // Cut short, or of other sequences, they are refused.
        let whole = memories(&mut view);
        assert!((0..whole.len()).all(|length| back.read_memories(&mut &whole[..length]).is_err()));
        let other = Window { length: window.length + 1, ..window };
        let error = sequences(spec.clone(), other, priorities).read_memories(&mut whole.as_slice()).unwrap_err();
        assert!(error.to_string().contains("sequence length"), "{error}");
    }
}

#[test]
fn images_of_stacked_frames_are_put_together_again() {
    let frames = FrameSpec { count: 2, chunk: 1 };
    let widths = ObsWidths { floats: 0, bytes: 2 };
    let spec = RingSpec { widths, byte_frames: frames, ..spec(20, 1) };
    let mut view = View::new(Owned(Ring::new(spec)), window(3, 3, 1), None, None).unwrap();
    view.store.begin(0, ObsRef::of_bytes(1, &[1, 1]), &[]);
    let mut push = |end: bool, next: [u8; 2], last: [u8; 2]| {
        let (next, last) = (ObsRef::of_bytes(1, &next), ObsRef::of_bytes(1, &last));
        view.store.push(0, &[0.0], 0.0, false, end, next, &[], last, &[]);
    };
    push(false, [1, 2], [0, 0]);
    push(true, [9, 9], [2, 3]);
    push(false, [9, 10], [0, 0]);
    let mut batch = Batch::default();
    sample(&mut view, 1, 0.0, &mut stream(1, "test"), &mut batch);
    assert_eq!(batch.obs.bytes, [1, 1, 1, 2, 2, 3, 9, 9, 9, 10]);
}

#[test]
fn windows_that_make_no_sense_are_refused() {
    for window in [window(0, 1, 1), window(3, 0, 1), window(1, 2, 1), window(3, 1, 0)] {
        assert!(View::new(Owned(Ring::new(spec(9, 1))), window, None, None).is_err(), "{window:?}");
    }
}
