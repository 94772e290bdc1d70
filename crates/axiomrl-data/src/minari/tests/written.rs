use super::*;
use crate::testing::recording;
use crate::{Ending, EpisodeBuf, Metadata};
use axiomrl_envs::{BoxSpace, ObsBuf, Space, Spaces};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// One of each kind of space, nested, with masks and images large enough to be taken for such.
fn rich() -> Recording {
    let inner = vec![("gear".to_owned(), Space::Discrete { n: 4 }), ("bits".to_owned(), Space::MultiBinary { n: 2 })];
    let entries = vec![
        ("pair".to_owned(), Space::Box(BoxSpace::uniform(2, f32::NEG_INFINITY, f32::INFINITY))),
        ("camera".to_owned(), Space::Box(BoxSpace::image(32, 32, 1))),
        ("inner".to_owned(), Space::Dict { entries: inner }),
        ("arms".to_owned(), Space::MultiDiscrete { nvec: vec![3, 2] }),
    ];
    let spaces = Spaces { masks: 3, ..Spaces::new(Space::Dict { entries }, Space::Discrete { n: 3 }) };
    let mut recording = Recording::new("rich", spaces);
    for (steps, ending) in [(2, Ending::Terminated), (1, Ending::Truncated), (3, Ending::Stopped)] {
        let mut obs = ObsBuf::zeros(recording.spaces.obs().widths, steps + 1);
        for (i, row) in obs.floats.chunks_exact_mut(7).enumerate() {
            row.copy_from_slice(&[0.1 * i as f32, 0.5, (i % 4) as f32, 1.0, 0.0, 2.0, (i % 2) as f32]);
        }
        obs.bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
        recording.episodes.push(EpisodeBuf {
            obs,
            masks: (0..3 * (steps + 1)).map(|i| i % 2 == 0).collect(),
            actions: (0..steps).map(|i| (i % 3) as f32).collect(),
            rewards: (0..steps).map(|i| i as f32 - 0.5).collect(),
            ending,
        });
    }
    recording
}

#[test]
fn what_is_written_is_read_again_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let mut plain = recording(&[3, 1, 5, 2, 1, 1, 1, 1, 1, 1, 1, 2]);
    plain.metadata = Metadata {
        env_id: Some("Pendulum-v1".into()),
        env_kwargs: json!({"g": 9.5}).as_object().unwrap().clone(),
        max_episode_steps: Some(200),
        algorithm: Some("by hand".into()),
        author: vec!["A".into()],
        author_email: vec!["a@b.c".into()],
        code_permalink: Some("somewhere".into()),
        description: Some("Infinity and NaN as words".into()),
        ..Metadata::default()
    };
    let mut rich = rich();
    rich.metadata.env_id = Some("Own-v0".into());
    for (mut original, id) in [(plain, "pendulum/test/plain-v0"), (rich, "rich-v1")] {
        let data = super::super::write(root.path(), id, &mut original.reader()).unwrap();
        assert_eq!(data, root.path().join(id).join("data"));
        assert_eq!(names(&data), ["main_data.hdf5", METADATA]);
        let found = Recording::read(&mut open(&data).unwrap()).unwrap();
        original.name = data.display().to_string();
        original.metadata.dataset_id = Some(id.into());
        assert_eq!(found, original);
    }
    assert_eq!(names(root.path()), ["pendulum", "rich-v1"]);
    assert_eq!(names(&root.path().join("pendulum")), ["namespace_metadata.json", "test"]);
}

#[test]
fn metadata_is_what_minari_asks_for() {
    let root = tempfile::tempdir().unwrap();
    let fields = |id: &str, recording: &Recording| -> Map<String, Value> {
        let data = super::super::write(root.path(), id, &mut recording.reader()).unwrap();
        serde_json::from_str(&fs::read_to_string(data.join(METADATA)).unwrap()).unwrap()
    };
    let mut plain = recording(&[3, 1]);
    let found = fields("a-v0", &plain);
    assert_eq!(
        (&found["data_format"], &found["minari_version"], &found["dataset_id"]),
        (&json!("hdf5"), &json!("0.5.0"), &json!("a-v0"))
    );
    assert_eq!((&found["total_episodes"], &found["total_steps"]), (&json!(2), &json!(4)));
    let text = found["observation_space"].as_str().unwrap();
    assert!(text.contains(r#""low": [-9.0, -Infinity], "high": [9.0, Infinity]"#), "{text}");
    assert!(!found.contains_key("env_spec") && !found.contains_key("jpeg_encoding"));
    // Its own time limit is told in the place that Gymnasium has for it.
    plain.metadata.env_id = Some("CartPole-v1".into());
    plain.metadata.env_kwargs = json!({"max_episode_steps": 50}).as_object().unwrap().clone();
    let found = fields("b-v0", &plain);
    let spec: Value = serde_json::from_str(found["env_spec"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&spec["max_episode_steps"], &spec["kwargs"], &spec["additional_wrappers"]),
        (&json!(50), &json!({}), &json!([]))
    );
    let images = fields("c-v0", &rich());
    assert_eq!((&images["minari_version"], &images["jpeg_encoding"]), (&json!("0.5.4"), &json!(false)));
}

#[test]
fn nothing_is_left_of_what_fails() {
    let root = tempfile::tempdir().unwrap();
    let write = |id: &str, recording: &Recording| super::super::write(root.path(), id, &mut recording.reader());
    let mut broken = recording(&[2, 2]);
    broken.episodes[1].rewards.pop();
    let slash = {
        let mut recording = recording(&[2]);
        recording.spaces.observation = Space::Dict { entries: vec![("a/b".into(), recording.spaces.observation)] };
        recording
    };
    for (id, data, words) in [
        ("ns/broken-v0", &broken, "recording, episode 1: 6 observed numbers for 1 steps"),
        ("ns/empty-v0", &recording(&[]), "it holds no step"),
        ("noversion", &recording(&[2]), "it has no version"),
        ("ns/slash-v0", &slash, "`a/b` cannot be the name"),
    ] {
        let error = write(id, data).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(names(root.path()).is_empty(), "{:?}", names(root.path()));
    }
    write("ns/good-v0", &recording(&[2])).unwrap();
    let again = write("ns/good-v0", &recording(&[2])).unwrap_err().to_string();
    assert!(again.contains("is there already"), "{again}");
    assert_eq!(names(&root.path().join("ns")), ["good-v0", "namespace_metadata.json"]);
}
