use super::*;
use crate::Ending;
use hdf5_pure::{EnumTypeBuilder, FileBuilder, GroupBuilder, make_i8_type};

/// Groups that a test may change before they are written.
type Change<'a> = &'a dyn Fn(&str, &mut GroupBuilder) -> bool;

fn marks(group: &mut GroupBuilder, name: &str, steps: usize, at: &[usize]) {
    let boolean = EnumTypeBuilder::with_base(make_i8_type()).value("FALSE", 0).value("TRUE", 1).build().unwrap();
    let values: Vec<u8> = (0..steps).map(|t| u8::from(at.contains(&t))).collect();
    group.create_dataset(name).with_enum_u8_data(boolean, &values);
}

/// An episode as Minari writes it, whose observations count from `first`. `change` may write an array in its own way, and then
/// says so.
fn fill(group: &mut GroupBuilder, steps: usize, first: f64, change: Change<'_>) {
    if !change("observations", group) {
        let observations: Vec<f64> = (0..=steps).flat_map(|t| [first + t as f64, -0.5]).collect();
        group.create_dataset("observations").with_f64_data(&observations).with_shape(&[steps as u64 + 1, 2]);
    }
    if !change("actions", group) {
        let actions: Vec<f32> = (0..steps).map(|t| t as f32 / 10.0).collect();
        group.create_dataset("actions").with_f32_data(&actions).with_shape(&[steps as u64, 1]);
    }
    if !change("rewards", group) {
        let rewards: Vec<f64> = (0..steps).map(|t| first + t as f64 + 0.25).collect();
        group.create_dataset("rewards").with_f64_data(&rewards);
    }
    if !change("terminations", group) {
        marks(group, "terminations", steps, &[]);
    }
    if !change("truncations", group) {
        marks(group, "truncations", steps, &[steps - 1]);
    }
    change("infos", group);
}

/// Three steps in each of these episodes, in the order given.
fn write(folder: &Folder, numbers: &[usize], change: Change<'_>) {
    let mut builder = FileBuilder::new();
    for &number in numbers {
        let mut group = builder.create_group(&format!("episode_{number}"));
        fill(&mut group, 3, 100.0 * number as f64, change);
        builder.add_group(group.finish());
    }
    builder.write(folder.data().join("main_data.hdf5")).unwrap();
}

const AS_IT_IS: Change<'_> = &|_, _| false;

#[test]
fn episodes_come_by_number_with_one_more_observation_than_steps() {
    let folder = Folder::new("hdf5", 11, 33);
    // As text, 10 comes before 2.
    write(&folder, &[10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9], AS_IT_IS);
    let mut reader = open(folder.root.path()).unwrap();
    assert_eq!(reader.transitions(), Some(33));
    let found = Recording::read(&mut reader).unwrap();
    assert_eq!(found.episodes.len(), 11);
    for (number, episode) in found.episodes.iter().enumerate() {
        let first = 100.0 * number as f32;
        assert_eq!(episode.obs.floats, [first, -0.5, first + 1.0, -0.5, first + 2.0, -0.5, first + 3.0, -0.5]);
        assert_eq!((&episode.actions[..], episode.rewards[2]), (&[0.0, 0.1, 0.2][..], first + 2.25));
        assert_eq!(episode.ending, Ending::Truncated);
    }
}

#[test]
fn endings_are_told_apart() {
    let endings = |terminated: &'static [usize], truncated: &'static [usize]| {
        let folder = Folder::new("hdf5", 1, 3);
        write(&folder, &[0], &|name, group| match name {
            "terminations" => {
                marks(group, name, 3, terminated);
                true
            }
            "truncations" => {
                marks(group, name, 3, truncated);
                true
            }
            _ => false,
        });
        folder.read().map(|found| found.episodes[0].ending)
    };
    assert_eq!(endings(&[2], &[]).unwrap(), Ending::Terminated);
    assert_eq!(endings(&[], &[2]).unwrap(), Ending::Truncated);
    assert_eq!(endings(&[2], &[2]).unwrap(), Ending::Terminated);
    assert_eq!(endings(&[], &[]).unwrap(), Ending::Stopped);
    let early = endings(&[], &[0]).unwrap_err().to_string();
    assert!(early.contains("episode 0, step 0: the episode ends here, and 2 more steps follow"), "{early}");
}

#[test]
fn numbers_may_be_of_any_kind() {
    let folder = Folder::new("hdf5", 1, 3);
    write(&folder, &[0], &|name, group| {
        match name {
            "rewards" => group.create_dataset(name).with_i32_data(&[1, -2, 3]),
            "actions" => group.create_dataset(name).with_f64_data(&[0.5, 1.0, -2.0]),
            "terminations" => group.create_dataset(name).with_u8_data(&[0, 0, 1]),
            _ => return false,
        };
        true
    });
    let found = folder.read().unwrap();
    assert_eq!(
        (&found.episodes[0].rewards[..], &found.episodes[0].actions[..]),
        (&[1.0, -2.0, 3.0][..], &[0.5, 1.0, -2.0][..])
    );
    assert_eq!(found.episodes[0].ending, Ending::Terminated);
}

#[test]
fn dicts_tuples_and_starts_are_followed() {
    let mut folder = Folder::new("hdf5", 1, 3);
    folder.set("action_space", json!(r#"{"type": "Discrete", "dtype": "int64", "start": 5, "n": 3}"#));
    let pair = OBSERVATION;
    let inner = r#"{"type": "Tuple", "subspaces": [{"type": "Discrete", "dtype": "int64", "start": -1, "n": 3}]}"#;
    folder
        .set("observation_space", json!(format!(r#"{{"type": "Dict", "subspaces": {{"z": {pair}, "a": {inner}}}}}"#)));
    write(&folder, &[0], &|name, group| {
        match name {
            "actions" => {
                group.create_dataset(name).with_i64_data(&[5, 7, 6]);
            }
            "observations" => {
                let mut outer = group.create_group(name);
                outer.create_dataset("z").with_f32_data(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).with_shape(&[4, 2]);
                let mut tuple = outer.create_group("a");
                tuple.create_dataset("_index_0").with_i64_data(&[-1, 0, 1, 0]);
                outer.add_group(tuple.finish());
                group.add_group(outer.finish());
            }
            _ => return false,
        }
        true
    });
    let found = folder.read().unwrap();
    assert_eq!(found.episodes[0].actions, [0.0, 2.0, 1.0]);
    // In the order of the text, not of the alphabet.
    assert_eq!(found.episodes[0].obs.floats, [0.0, 1.0, 0.0, 2.0, 3.0, 1.0, 4.0, 5.0, 2.0, 6.0, 7.0, 1.0]);
    let names: Vec<String> = found.spaces.obs().parts.into_iter().map(|part| part.name).collect();
    assert_eq!(names, ["z", "a/0"]);
}

#[test]
fn masks_are_read_from_infos() {
    let mut folder = Folder::new("hdf5", 1, 3);
    folder.set("action_space", json!(r#"{"type": "Discrete", "dtype": "int64", "start": 0, "n": 2}"#));
    let with = |mask: &'static [i8]| {
        write(&folder, &[0], &move |name, group| {
            match name {
                "actions" => {
                    group.create_dataset(name).with_i64_data(&[0, 1, 1]);
                }
                "infos" => {
                    let mut infos = group.create_group(name);
                    infos.create_dataset("action_mask").with_i8_data(mask).with_shape(&[4, mask.len() as u64 / 4]);
                    group.add_group(infos.finish());
                }
                _ => return false,
            }
            true
        });
        folder.read().unwrap()
    };
    let found = with(&[1, 0, 0, 1, 1, 1, 1, 0]);
    assert_eq!((found.spaces.masks, &found.episodes[0].masks[..3]), (2, &[true, false, false][..]));
    // One of another width is some other thing.
    assert_eq!(with(&[1; 12]).spaces.masks, 0);
}

#[test]
fn what_is_wrong_with_an_episode_is_named() {
    let problem = |wrong: &'static str, change: &dyn Fn(&mut GroupBuilder)| {
        let folder = Folder::new("hdf5", 2, 6);
        write(&folder, &[0, 1], &|name, group| {
            if name == wrong {
                change(group);
            }
            name == wrong
        });
        folder.problem()
    };
    for (wrong, change, words) in [
        ("actions", &(|_: &mut GroupBuilder| ()) as &dyn Fn(&mut GroupBuilder), "`episode_0/actions` is missing"),
        (
            "observations",
            &|group| {
                group.create_dataset("observations").with_f64_data(&[0.0; 6]).with_shape(&[3, 2]);
            },
            "`episode_0/observations` has 3 rows, where there should be 4",
        ),
        (
            "observations",
            &|group| {
                group.create_dataset("observations").with_f64_data(&[0.0; 12]).with_shape(&[4, 3]);
            },
            "`episode_0/observations` has rows of shape [3], where its space has [2]",
        ),
        (
            "actions",
            &|group| {
                group.create_dataset("actions").with_f64_data(&[0.0; 2]);
            },
            "`episode_0/actions` has 2 rows, where there should be 3",
        ),
        (
            "rewards",
            &|group| {
                group.create_dataset("rewards").with_vlen_strings(&["a", "b", "c"]);
            },
            "`episode_0/rewards` holds text, not numbers",
        ),
    ] {
        let found = problem(wrong, change);
        assert!(found.contains("main_data.hdf5") && found.contains(words), "{found}");
    }
}

#[test]
fn files_that_are_not_what_metadata_says_are_refused() {
    let folder = Folder::new("hdf5", 3, 9);
    assert!(folder.problem().contains("main_data.hdf5"));
    write(&folder, &[0, 2], AS_IT_IS);
    let missing = folder.problem();
    assert!(missing.contains("`episode_1` is missing, and metadata.json speaks of 3 episodes"), "{missing}");
    fs::write(folder.data().join("main_data.hdf5"), "some text").unwrap();
    assert!(folder.problem().contains("is no HDF5 file that can be read"));
    let mut builder = FileBuilder::new();
    builder.create_dataset("pressure").with_f32_data(&[1.0]);
    builder.write(folder.data().join("main_data.hdf5")).unwrap();
    let foreign = folder.problem();
    assert!(foreign.contains("is not Minari's: there is no group `episode_0`"), "{foreign}");
    // By itself it is a file of nobody.
    fs::remove_file(folder.data().join(METADATA)).unwrap();
    let path = folder.data().join("main_data.hdf5");
    let foreign = crate::open(&path, &Default::default()).err().unwrap().to_string();
    assert!(foreign.contains("neither of D4RL") && foreign.contains("pressure"), "{foreign}");
}

#[test]
fn episodes_that_metadata_does_not_count_are_left_out_and_told() {
    let folder = Folder::new("hdf5", 1, 3);
    write(&folder, &[0, 1], AS_IT_IS);
    let mut reader = crate::open(&folder.data().join("main_data.hdf5"), &Default::default()).unwrap();
    assert_eq!(Recording::read(&mut reader).unwrap().episodes.len(), 1);
    assert!(reader.notes()[0].contains("1 episodes of the file are left out"), "{:?}", reader.notes());
}

#[test]
fn damaged_files_are_refused_and_never_a_panic() {
    let folder = Folder::new("hdf5", 2, 6);
    write(&folder, &[0, 1], AS_IT_IS);
    let path = folder.data().join("main_data.hdf5");
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(37) {
        fs::write(&path, &whole[..length]).unwrap();
        folder.problem();
    }
    for at in (0..whole.len()).step_by(11) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(&path, &bytes).unwrap();
        // Numbers have no checksum; all that is asked for is an answer.
        let _ = folder.read();
    }
}

#[test]
fn d4rls_flat_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d4rl.hdf5");
    let mut builder = FileBuilder::new();
    let observations: Vec<f32> = (0..8).map(|value| value as f32).collect();
    builder
        .create_dataset("observations")
        .with_f32_data(&observations)
        .with_shape(&[4, 2])
        .with_chunks(&[3, 1])
        .with_deflate(4);
    builder.create_dataset("actions").with_f32_data(&[0.0, 0.5, 1.0, -1.0]).with_shape(&[4, 1]).with_deflate(4);
    builder.create_dataset("rewards").with_f64_data(&[1.0, 2.0, 3.0, 4.0]);
    for (name, at) in [("terminals", 2), ("timeouts", 1)] {
        let boolean = EnumTypeBuilder::with_base(make_i8_type()).value("FALSE", 0).value("TRUE", 1).build().unwrap();
        let values: Vec<u8> = (0..4).map(|row| u8::from(row == at)).collect();
        builder.create_dataset(name).with_enum_u8_data(boolean, &values);
    }
    let mut infos = builder.create_group("infos");
    infos.create_dataset("qpos").with_f32_data(&[0.0]);
    builder.add_group(infos.finish());
    builder.write(&path).unwrap();
    let found = Recording::read(&mut crate::open(&path, &Default::default()).unwrap()).unwrap();
    assert_eq!(found.episodes.len(), 2);
    assert_eq!(
        (&found.episodes[0].obs.floats[..], found.episodes[0].ending),
        (&[0.0, 1.0, 2.0, 3.0][..], Ending::Truncated)
    );
    assert_eq!(
        (&found.episodes[1].obs.floats[..], found.episodes[1].ending),
        (&[4.0, 5.0, 4.0, 5.0][..], Ending::Terminated)
    );
    assert_eq!(found.episodes[1].rewards, [3.0]);
}
