use super::*;
use crate::testing::{recording, spaces};
use crate::{Ending, Recording};
use axiomrl_envs::{BoxSpace, ObsBuf, Space};

fn of(recording: &Recording) -> Description {
    describe(&mut recording.reader()).unwrap()
}

/// Three episodes of 1, 2 and 3 steps with these rewards in a row.
fn small(rewards: [f32; 6]) -> Recording {
    let mut recording = recording(&[1, 2, 3]);
    let mut rewards = rewards.into_iter();
    for episode in &mut recording.episodes {
        episode.rewards.iter_mut().for_each(|reward| *reward = rewards.next().unwrap());
    }
    recording
}

#[test]
fn returns_lengths_and_endings_are_counted() {
    let found = of(&small([1.0, 2.0, 3.0, -4.0, 0.5, 0.5]));
    assert_eq!((found.episodes, found.transitions), (3, 6));
    assert_eq!(found.endings, Endings { terminated: 1, truncated: 1, stopped: 1 });
    assert_eq!(found.returns, Spread { min: -3.0, median: 1.0, mean: 1.0, max: 5.0 });
    assert_eq!(found.lengths, Spread { min: 1.0, median: 2.0, mean: 2.0, max: 3.0 });
    // Of an even number the median is half-way.
    assert_eq!(found.rewards, Spread { min: -4.0, median: 0.75, mean: 0.5, max: 3.0 });
    assert_eq!(found.returns_histogram, Histogram { min: -3.0, max: 5.0, counts: vec![1, 2] });
    assert!(!found.reward_free && of(&small([0.0; 6])).reward_free);
    assert_eq!(of(&small([0.0; 6])).returns_histogram, Histogram { min: 0.0, max: 0.0, counts: vec![3] });
}

#[test]
fn columns_have_ranges_and_actions_their_bounds() {
    let mut data = recording(&[4]);
    data.episodes[0].obs.floats = vec![0.0, 7.0, 1.0, 7.0, -2.0, 7.0, 3.0, 7.0, 0.0, 7.0];
    // The Box is [−2, 2]: one on its bound but for rounding, one beyond.
    data.episodes[0].actions = vec![2.000_000_2, -2.5, 0.0, 1.0];
    let found = of(&data);
    let ranges: Vec<_> = found.observations.iter().map(|column| (column.index, column.min, column.max)).collect();
    assert_eq!(ranges, [(Some(0), -2.0, 3.0), (Some(1), 7.0, 7.0)]);
    assert!(!found.observations[0].never_varies() && found.observations[1].never_varies());
    let action = &found.actions[0];
    assert_eq!((action.min, action.max, action.at_bound, action.outside), (-2.5, 2.000_000_2, 1, 1));
    assert!((action.mean - 0.125).abs() < 1e-6 && !action.never_varies());
    assert_eq!((found.at_bound(), found.outside()), (0.25, 0.25));
    data.episodes[0].actions = vec![1.0; 4];
    assert!(of(&data).actions[0].never_varies());
}

#[test]
fn choices_are_counted() {
    let mut data = recording(&[5]);
    data.spaces.action = Space::Discrete { n: 3 };
    data.episodes[0].actions = vec![0.0, 2.0, 2.0, 3.0, 0.5];
    let found = of(&data);
    assert_eq!((&found.actions[0].choices, found.actions[0].outside), (&vec![1, 0, 2], 2));
}

#[test]
fn bytes_are_taken_together() {
    let image = Space::Box(BoxSpace::image(2, 2, 1));
    let mut data = Recording::new("images", axiomrl_envs::Spaces { observation: image, ..spaces() });
    let mut obs = ObsBuf::zeros(data.spaces.obs().widths, 2);
    obs.bytes.copy_from_slice(&[3, 4, 5, 6, 7, 8, 200, 10]);
    let (actions, rewards) = (vec![0.0], vec![1.0]);
    data.episodes.push(crate::EpisodeBuf { obs, masks: vec![], actions, rewards, ending: Ending::Stopped });
    let found = of(&data);
    let [column] = found.observations.as_slice() else { panic!("{:?}", found.observations) };
    assert_eq!((column.index, column.min, column.max), (None, 3.0, 200.0));
}

#[test]
fn numbers_that_are_not_finite_are_counted_and_left_out() {
    let mut data = small([1.0, f32::NAN, 3.0, -4.0, 0.5, 0.5]);
    data.episodes[0].obs.floats[0] = f32::INFINITY;
    data.episodes[2].actions[1] = f32::NAN;
    let found = of(&data);
    assert_eq!(found.not_finite, NotFinite { observations: 1, actions: 1, rewards: 1 });
    assert_eq!((found.returns.min, found.returns.max), (-3.0, 1.0));
    assert!(found.observations[0].max.is_finite() && found.actions[0].mean.is_finite());
    assert_eq!(found.observations[0].not_finite, 1);
}

#[test]
fn duplicates_are_found_exactly() {
    let data = recording(&[3, 3]);
    assert_eq!((of(&data).duplicate_episodes, of(&data).duplicate_transitions), (0, 0));
    let mut twice = data.clone();
    twice.episodes.push(data.episodes[0].clone());
    assert_eq!((of(&twice).duplicate_episodes, of(&twice).duplicate_transitions), (1, 3));
    // Another last reward: two of its transitions are still the same.
    *twice.episodes[2].rewards.last_mut().unwrap() += 1.0;
    assert_eq!((of(&twice).duplicate_episodes, of(&twice).duplicate_transitions), (0, 2));
    let mut ends = data.clone();
    ends.episodes.push(data.episodes[0].clone());
    ends.episodes[2].ending = Ending::Truncated;
    assert_eq!((of(&ends).duplicate_episodes, of(&ends).duplicate_transitions), (0, 2));
}

#[test]
fn nothing_at_all_can_be_described() {
    let found = of(&recording(&[]));
    assert_eq!((found.episodes, found.transitions, found.at_bound()), (0, 0, 0.0));
    assert_eq!((found.returns, found.returns_histogram.counts.len()), (Spread::default(), 0));
    let mut broken = recording(&[2]);
    broken.episodes[0].actions.pop();
    let error = describe(&mut broken.reader()).unwrap_err().to_string();
    assert!(error.contains("recording, episode 0: 1 numbers of actions for 2 steps"), "{error}");
}
