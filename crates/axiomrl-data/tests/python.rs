//! Our files in the hands of numpy and the real Minari, and theirs in ours.

mod support;

use axiomrl_data::{Ending, EpisodeBuf, EpisodeReader, Metadata, OpenOptions, Recording, minari, npz, open};
use axiomrl_envs::{BoxSpace, ObsBuf, Space, Spaces};
use serde_json::{Value, json};
use std::path::Path;
use support::interop;

/// Numbers that no two columns share and that every format holds exactly.
fn counted(from: &mut usize) -> f32 {
    *from += 1;
    *from as f32 / 64.0
}

/// Two numbers, one of them without bounds, and one action.
fn plain(lengths: &[usize]) -> Recording {
    let high = [9.0, f32::INFINITY];
    let seen = Space::Box(BoxSpace::vector(&high.map(|high| -high), &high));
    let mut recording = Recording::new("plain", Spaces::new(seen, Space::Box(BoxSpace::uniform(1, -2.0, 2.0))));
    let mut count = 0;
    for (number, &steps) in lengths.iter().enumerate() {
        let mut obs = ObsBuf::zeros(recording.spaces.obs().widths, steps + 1);
        obs.floats.iter_mut().for_each(|value| *value = counted(&mut count));
        recording.episodes.push(EpisodeBuf {
            obs,
            masks: Vec::new(),
            actions: (0..steps).map(|_| counted(&mut count) % 2.0).collect(),
            rewards: (0..steps).map(|_| counted(&mut count)).collect(),
            ending: [Ending::Terminated, Ending::Truncated, Ending::Stopped][number % 3],
        });
    }
    recording
}

/// A Dict in an order of its own, with an image, a Dict in it, and masks.
fn deep() -> Recording {
    let inner = Space::Dict { entries: vec![("gear".into(), Space::Discrete { n: 4 })] };
    let entries = vec![
        ("zebra".to_owned(), Space::Box(BoxSpace::uniform(2, f32::NEG_INFINITY, f32::INFINITY))),
        ("camera".to_owned(), Space::Box(BoxSpace::image(32, 32, 1))),
        ("inner".to_owned(), inner),
    ];
    let spaces = Spaces { masks: 3, ..Spaces::new(Space::Dict { entries }, Space::Discrete { n: 3 }) };
    let mut recording = Recording::new("deep", spaces);
    for steps in [2, 3] {
        let mut obs = ObsBuf::zeros(recording.spaces.obs().widths, steps + 1);
        for (t, row) in obs.floats.chunks_exact_mut(3).enumerate() {
            row.copy_from_slice(&[t as f32, -1.5, (t % 4) as f32]);
        }
        obs.bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i % 256) as u8);
        recording.episodes.push(EpisodeBuf {
            obs,
            masks: (0..=steps).flat_map(|_| [true, false, true]).collect(),
            actions: (0..steps).map(|t| (t % 3) as f32).collect(),
            rewards: vec![1.0; steps],
            ending: Ending::Terminated,
        });
    }
    recording
}

fn read(path: &Path) -> Recording {
    Recording::read(&mut open(path, &OpenOptions::default()).unwrap()).unwrap()
}

fn problem(path: &Path) -> String {
    let read = || Recording::read(&mut open(path, &OpenOptions::default())?);
    read().expect_err("it should be refused").to_string()
}

#[test]
fn numpy_reads_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let data = plain(&[2, 1, 2]);
    npz::write(&folder.path().join("written.npz"), &mut data.reader()).unwrap();
    let all = |of: &dyn Fn(&EpisodeBuf) -> Vec<f32>| -> Vec<f32> { data.episodes.iter().flat_map(of).collect() };
    let obs = all(&|episode| episode.obs.floats[..2 * episode.steps()].to_vec());
    let next = all(&|episode| episode.obs.floats[2..].to_vec());
    let expected = json!({
        "obs": ["float32", [5, 2], obs],
        "next_obs": ["float32", [5, 2], next],
        "actions": ["float32", [5, 1], all(&|episode| episode.actions.clone())],
        "rewards": ["float32", [5], all(&|episode| episode.rewards.clone())],
        "terminations": ["bool", [5], [false, true, false, false, false]],
        "truncations": ["bool", [5], [false, false, true, false, true]],
    });
    std::fs::write(folder.path().join("expected.json"), expected.to_string()).unwrap();
    interop("read_npz", folder.path());
    let choices = deep();
    npz::write(&folder.path().join("written.npz"), &mut choices.reader()).unwrap();
    let rows = |first: usize, width: usize, of: &dyn Fn(&EpisodeBuf) -> Vec<u8>| -> Vec<u8> {
        let cut = |episode: &EpisodeBuf| of(episode)[first * width..(first + episode.steps()) * width].to_vec();
        choices.episodes.iter().flat_map(cut).collect()
    };
    let part = |first: usize, at: std::ops::Range<usize>| -> Vec<f32> {
        let of = |episode: &EpisodeBuf| -> Vec<f32> {
            (first..first + episode.steps()).flat_map(|t| episode.obs.row(t).floats[at.clone()].to_vec()).collect()
        };
        choices.episodes.iter().flat_map(of).collect()
    };
    let masks = |first: usize| rows(first, 3, &|episode| episode.masks.iter().map(|&mask| u8::from(mask)).collect());
    let bytes = |first: usize| rows(first, 1024, &|episode| episode.obs.bytes.clone());
    let expected: Value = json!({
        "obs/zebra": ["float32", [5, 2], part(0, 0..2)],
        "next_obs/zebra": ["float32", [5, 2], part(1, 0..2)],
        "obs/camera": ["uint8", [5, 32, 32, 1], bytes(0)],
        "next_obs/camera": ["uint8", [5, 32, 32, 1], bytes(1)],
        "obs/inner/gear": ["int64", [5], part(0, 2..3)],
        "next_obs/inner/gear": ["int64", [5], part(1, 2..3)],
        "actions": ["int64", [5], [0, 1, 0, 1, 2]],
        "rewards": ["float32", [5], [1.0, 1.0, 1.0, 1.0, 1.0]],
        "terminations": ["bool", [5], [false, true, false, false, true]],
        "truncations": ["bool", [5], [false, false, false, false, false]],
        "action_masks": ["bool", [5, 3], masks(0)],
        "next_action_masks": ["bool", [5, 3], masks(1)],
    });
    std::fs::write(folder.path().join("expected.json"), expected.to_string()).unwrap();
    interop("read_npz", folder.path());
}

#[test]
fn what_numpy_writes_is_read() {
    let folder = tempfile::tempdir().unwrap();
    interop("write_npz", folder.path());
    let of = |name: &str| folder.path().join(name);
    let (found, packed) = (read(&of("plain.npz")), read(&of("packed.npz")));
    assert_eq!(found.episodes, packed.episodes);
    assert_eq!(found.spaces.action, Space::Discrete { n: 4 });
    let ends: Vec<_> = found.episodes.iter().map(|episode| (episode.steps(), episode.ending)).collect();
    assert_eq!(ends, [(13, Ending::Terminated), (26, Ending::Truncated)]);
    assert_eq!(found.episodes[1].rewards[0], 13.0);
    assert!(problem(&of("fortran.npz")).contains("`obs` lies column by column"));
    assert!(problem(&of("big_endian.npz")).contains("`rewards` has big-endian numbers"));
    assert!(problem(&of("objects.npz")).contains("`rewards` holds Python objects"));
}

#[test]
fn minari_reads_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut data = plain(&[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]);
    data.metadata = Metadata {
        env_id: Some("Pendulum-v1".into()),
        env_kwargs: json!({"g": 9.5}).as_object().unwrap().clone(),
        max_episode_steps: Some(77),
        author: vec!["A".into()],
        ..Metadata::default()
    };
    minari::write(folder.path(), "own/plain-v0", &mut data.reader()).unwrap();
    minari::write(folder.path(), "own/deep/dict-v3", &mut deep().reader()).unwrap();
    for known in ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0"] {
        data.metadata = Metadata { env_id: Some(known.into()), ..Metadata::default() };
        minari::write(folder.path(), &format!("env/{}", known.to_lowercase()), &mut data.reader()).unwrap();
    }
    interop("read_minari", folder.path());
    // With an episode that Minari has added.
    let found = read(&folder.path().join("own/plain-v0"));
    assert_eq!(found.episodes[..11], data.episodes);
    assert_eq!(found.episodes[11].rewards, [0.25, 1.25, 2.25]);
}

#[test]
fn what_minari_writes_is_read() {
    let folder = tempfile::tempdir().unwrap();
    interop("write_minari", folder.path());
    let of = |id: &str| folder.path().join("minari").join(id);
    for format in ["hdf5", "arrow"] {
        let found = read(&of(&format!("{format}/plain-v0")));
        let Space::Box(seen) = &found.spaces.observation else { panic!("{:?}", found.spaces) };
        assert_eq!((&seen.low[..], &seen.high[..]), (&[f32::NEG_INFINITY, -1.0][..], &[f32::INFINITY, 1.0][..]));
        assert_eq!((found.episodes.len(), &found.metadata.author[..]), (11, &["Somebody".to_owned()][..]));
        for (number, episode) in found.episodes.iter().enumerate() {
            let first = 100.0 * number as f32;
            assert_eq!(episode.obs.floats, [first, 0.5, first + 1.0, 0.5, first + 2.0, 0.5, first + 3.0, 0.5]);
            assert_eq!(
                (&episode.actions[..], &episode.rewards[..]),
                (&[0.0, 0.25, 0.5][..], &[0.25, 1.25, 2.25].map(|r| r + first)[..])
            );
            assert_eq!(episode.ending, if number % 2 == 0 { Ending::Terminated } else { Ending::Truncated });
        }
        let found = read(&of(&format!("{format}/dict-v0")));
        let names: Vec<String> = found.spaces.obs().parts.into_iter().map(|part| part.name).collect();
        // Gymnasium has put them in order.
        assert_eq!(names, ["apple/0", "apple/1", "zebra"]);
        let episode = &found.episodes[10];
        assert_eq!(episode.obs.row(1).floats, [(11 % 3) as f32, 1.0, 0.0, 1.0, 11.0, -1.0]);
        assert_eq!(episode.actions, [2.0, 3.0, 0.0]);
    }
    for raw in ["raw-v0", "raw_arrow-v0"] {
        let found = read(&of(&format!("images/{raw}")));
        let bytes: Vec<u8> = (0..4).flat_map(|t| vec![t; 32 * 32 * 3]).collect();
        assert_eq!((&found.episodes[0].obs.bytes, found.episodes[0].ending), (&bytes, Ending::Stopped));
    }
    for (id, words) in [
        ("images/packed-v0", "JPEG"),
        ("images/packed_arrow-v0", "JPEG"),
        ("images/parquet-v0", "parquet"),
        ("text-v0", "Text"),
    ] {
        let found = problem(&of(id));
        assert!(found.contains(words), "{found}");
    }
    let pendulum = open(&of("pendulum-v0"), &OpenOptions::default()).unwrap();
    assert_eq!(
        (pendulum.metadata().env_id.as_deref(), pendulum.metadata().max_episode_steps),
        (Some("Pendulum-v1"), Some(200))
    );
    assert_eq!(pendulum.metadata().algorithm.as_deref(), Some("SAC"));
}

#[test]
fn five_thousand_episodes_go_there_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let entries = vec![
        ("narrow".to_owned(), Space::Box(BoxSpace::uniform(1, -1.0, 1.0))),
        ("wide".to_owned(), Space::Box(BoxSpace::uniform(3, f32::NEG_INFINITY, f32::INFINITY))),
    ];
    let spaces = Spaces::new(Space::Dict { entries }, Space::Box(BoxSpace::uniform(2, -1.0, 1.0)));
    let mut data = Recording::new("many", spaces);
    let mut count = 0;
    for number in 0..5000 {
        let steps = 1 + number % 7;
        let mut obs = ObsBuf::zeros(data.spaces.obs().widths, steps + 1);
        obs.floats.iter_mut().for_each(|value| *value = counted(&mut count));
        data.episodes.push(EpisodeBuf {
            obs,
            masks: Vec::new(),
            actions: (0..2 * steps).map(|_| counted(&mut count) % 1.0).collect(),
            rewards: (0..steps).map(|_| counted(&mut count)).collect(),
            ending: if number % 2 == 0 { Ending::Terminated } else { Ending::Truncated },
        });
    }
    minari::write(folder.path(), "many/episodes-v0", &mut data.reader()).unwrap();
    interop("there_and_back", folder.path());
    let found = read(&folder.path().join("many/again-v0"));
    assert_eq!((found.spaces, found.episodes.len()), (data.spaces, 5000));
    assert!(found.episodes == data.episodes);
}
