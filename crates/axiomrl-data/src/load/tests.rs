use super::*;
use crate::testing::{recording, spaces};
use crate::{EpisodeBuf, Recording};
use axiomrl_core::{Batch, RewardScale};
use axiomrl_envs::{BoxSpace, Space};

fn loaded(data: &Recording, target: &Spaces) -> Result<(Dataset, Report), DataError> {
    data.clone().into_dataset(target, &LoadOptions::default())
}

fn problem(data: &Recording, target: &Spaces) -> String {
    loaded(data, target).expect_err("it should be refused").to_string()
}

#[test]
fn actions_are_mapped_by_the_environments_bounds_and_what_was_clipped_is_counted() {
    let mut data = recording(&[3, 1]);
    data.episodes[0].actions = vec![-2.0, 1.0, 3.0];
    data.episodes[1].actions = vec![-2.5];
    let (dataset, report) = loaded(&data, &spaces()).unwrap();
    let actions: Vec<f32> = (0..4).map(|number| dataset.action(number)[0]).collect();
    assert_eq!(actions, [-1.0, 0.5, 1.0, -1.0]);
    assert_eq!((report.clipped, report.action_numbers), (2, 4));
    // Other bounds are other units, unless somebody says otherwise.
    let wider = Spaces { action: Space::Box(BoxSpace::uniform(1, -4.0, 4.0)), ..spaces() };
    assert!(problem(&data, &wider).contains("recording: actions lie in [-2, 2] in the data, and in [-4, 4]"));
    let any = LoadOptions { any_action_bounds: true };
    let (dataset, report) = data.clone().into_dataset(&wider, &any).unwrap();
    assert_eq!((dataset.action(2)[0], report.clipped), (0.75, 0));
    assert_eq!(dataset.spaces(), &wider);
}

#[test]
fn endings_are_counted_and_those_without_a_mark_are_truncations() {
    let data = recording(&[2, 2, 2, 1]);
    let (dataset, report) = loaded(&data, &spaces()).unwrap();
    assert_eq!(report.endings, Endings { terminated: 2, truncated: 1, stopped: 1 });
    assert_eq!((report.episodes, report.transitions), (4, 7));
    assert_eq!(dataset.episodes(), [0..2, 2..4, 4..6, 6..7]);
    let mut batch = Batch::default();
    dataset.gather(&[0, 1, 3, 5, 6], 0.5, RewardScale::default(), &mut batch).unwrap();
    assert_eq!(batch.discount, [0.5, 0.0, 0.5, 0.5, 0.0]);
    // What the last step led to is its own, not the next episode's.
    assert_eq!(batch.next_obs().row(2).floats, &data.episodes[1].obs.floats[4..6]);
    let text = report.to_string();
    assert!(text.contains("recording: 7 transitions in 4 episodes (2 terminated, 1 truncated, 1 just stop)"), "{text}");
    assert!(text.contains("just stop are taken for truncated"), "{text}");
}

#[test]
fn numbers_that_are_not_finite_are_refused_with_their_place() {
    let with = |change: fn(&mut EpisodeBuf)| {
        let mut data = recording(&[2, 3]);
        change(&mut data.episodes[1]);
        problem(&data, &spaces())
    };
    assert_eq!(with(|episode| episode.rewards[2] = f32::NAN), "recording, episode 1, step 2: the reward is NaN");
    assert_eq!(with(|episode| episode.actions[1] = f32::INFINITY), "recording, episode 1, step 1: the action is inf");
    assert_eq!(with(|episode| episode.obs.floats[7] = f32::NAN), "recording, episode 1, step 3: NaN was observed");
}

#[test]
fn what_does_not_fit_is_refused() {
    let data = recording(&[2]);
    let target = |observation: Space, action: Space| Spaces::new(observation, action);
    let seen = |dim| Space::Box(BoxSpace::uniform(dim, -1.0, 1.0));
    let error = problem(&data, &target(seen(3), spaces().action));
    assert_eq!(error, "recording: the observation has shape [2] in the data, and [3] in the environment");
    let error = problem(&data, &target(seen(2), Space::Discrete { n: 2 }));
    assert_eq!(error, "recording: actions are a Box of shape [1] in the data, and Discrete(2) in the environment");
    // Bounds of observations may be what they like.
    assert!(loaded(&data, &target(seen(2), spaces().action)).is_ok());
    assert!(problem(&recording(&[]), &spaces()).contains("it holds no step"));
    let mut unbounded = data.clone();
    unbounded.spaces.action = Space::Box(BoxSpace::uniform(1, f32::NEG_INFINITY, f32::INFINITY));
    let error = load(&mut unbounded.reader(), None, &LoadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("recording: ") && error.contains("finite bounds"), "{error}");
    let mut choices = data.clone();
    choices.spaces.action = Space::Discrete { n: 2 };
    choices.episodes[0].actions = vec![0.0, 2.0];
    let error = load(&mut choices.reader(), None, &LoadOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "recording, episode 0, step 1: action: 2 is none of the choices 0 to 1");
    let mut short = data.clone();
    short.episodes[0].obs.floats.pop();
    assert!(problem(&short, &spaces()).contains("episode 0: 5 observed numbers for 2 steps"));
}

#[test]
fn masks_that_nobody_asks_for_are_left_out_and_told() {
    let mut data = recording(&[2]);
    data.spaces.action = Space::Discrete { n: 2 };
    data.spaces.masks = 2;
    data.episodes[0].actions = vec![0.0, 1.0];
    data.episodes[0].masks = vec![true; 6];
    let plain = Spaces { masks: 0, ..data.spaces.clone() };
    let (_, report) = loaded(&data, &plain).unwrap();
    assert!(report.notes[0].contains("asks for no masks"), "{:?}", report.notes);
    assert!(loaded(&data, &data.spaces).unwrap().1.notes.is_empty());
    data.spaces.masks = 0;
    data.episodes[0].masks.clear();
    assert!(problem(&data, &Spaces { masks: 2, ..plain }).contains("says which actions are allowed"));
}

#[test]
fn the_same_data_has_the_same_hash_whatever_it_came_in() {
    let folder = tempfile::tempdir().unwrap();
    let data = recording(&[4, 2, 6]);
    let mut data = Recording { episodes: data.episodes, ..data };
    // A flat file has no word for the third way to end.
    data.episodes[2].ending = crate::Ending::Truncated;
    let hash = |mut reader: Box<dyn EpisodeReader>| {
        load(&mut reader, Some(&spaces()), &LoadOptions::default()).unwrap().0.sha256()
    };
    let direct = loaded(&data, &spaces()).unwrap().0.sha256();
    let path = folder.path().join("data.npz");
    crate::npz::write(&path, &mut data.reader()).unwrap();
    let minari = crate::minari::write(folder.path(), "data-v0", &mut data.reader()).unwrap();
    assert_eq!(hash(crate::open(&path, &Default::default()).unwrap()), direct);
    assert_eq!(hash(crate::open(&minari, &Default::default()).unwrap()), direct);
    data.episodes[2].rewards[5] += 1.0;
    assert_ne!(loaded(&data, &spaces()).unwrap().0.sha256(), direct);
}
