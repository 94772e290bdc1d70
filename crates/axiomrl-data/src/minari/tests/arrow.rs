use super::*;
use crate::Ending;
use arrow_array::builder::{FixedSizeListBuilder, Float64Builder};
use arrow_array::{ArrayRef, BooleanArray, Float32Array, Int64Array, RecordBatch, StructArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field};
use std::sync::Arc;

type Columns = Vec<(&'static str, ArrayRef)>;

fn lists(values: &[f64], width: usize) -> ArrayRef {
    let mut builder = FixedSizeListBuilder::new(Float64Builder::new(), width as i32);
    for row in values.chunks_exact(width) {
        builder.values().append_slice(row);
        builder.append(true);
    }
    Arc::new(builder.finish())
}

/// Three steps and, in all but the observations, a row of padding that must not be seen.
fn columns(first: f64) -> Columns {
    let observations: Vec<f64> = (0..4).flat_map(|t| [first + f64::from(t), -0.5]).collect();
    vec![
        ("observations", lists(&observations, 2)),
        ("actions", lists(&[0.0, 0.1, 0.2, 99.0], 1)),
        ("rewards", lists(&[0.0; 4], 1)),
        ("rewards", Arc::new(Float32Array::from(vec![0.25, 1.25, 2.25, 99.0]))),
        ("terminations", Arc::new(BooleanArray::from(vec![false, false, true, false]))),
        ("truncations", Arc::new(BooleanArray::from(vec![false, false, false, true]))),
    ]
    .into_iter()
    .filter(|(name, array): &(&str, ArrayRef)| *name != "rewards" || *array.data_type() == DataType::Float32)
    .collect()
}

fn write(folder: &Folder, number: usize, name: &str, batches: &[Columns]) {
    let path = folder.data().join(number.to_string());
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("metadata.json"), format!("{{\"id\": {number}, \"total_steps\": 3}}")).unwrap();
    fs::write(path.join("_ignored"), "no arrow").unwrap();
    let batches: Vec<RecordBatch> =
        batches.iter().map(|columns| RecordBatch::try_from_iter(columns.clone()).unwrap()).collect();
    let file = fs::File::create(path.join(name)).unwrap();
    let mut writer = FileWriter::try_new(file, &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

#[test]
fn padding_is_dropped_and_episodes_come_by_number() {
    let folder = Folder::new("arrow", 11, 33);
    (0..11).rev().for_each(|number| write(&folder, number, "part-0.arrow", &[columns(100.0 * number as f64)]));
    let found = folder.read().unwrap();
    assert_eq!(found.episodes.len(), 11);
    for (number, episode) in found.episodes.iter().enumerate() {
        let first = 100.0 * number as f32;
        assert_eq!(episode.obs.floats, [first, -0.5, first + 1.0, -0.5, first + 2.0, -0.5, first + 3.0, -0.5]);
        assert_eq!((&episode.actions[..], &episode.rewards[..]), (&[0.0, 0.1, 0.2][..], &[0.25, 1.25, 2.25][..]));
        assert_eq!(episode.ending, Ending::Terminated);
    }
}

#[test]
fn several_batches_and_files_are_one_episode() {
    let folder = Folder::new("arrow", 1, 5);
    let part = |rows: std::ops::Range<usize>| -> Columns {
        columns(0.0).into_iter().map(|(name, array)| (name, array.slice(rows.start, rows.len()))).collect()
    };
    // The first two rows, then all four in two batches: six rows, five steps.
    write(&folder, 0, "part-0.arrow", &[part(0..2)]);
    write(&folder, 0, "part-1.arrow", &[part(0..2), part(2..4)]);
    let found = folder.read().unwrap();
    let seen: Vec<f32> = found.episodes[0].obs.floats.iter().step_by(2).copied().collect();
    assert_eq!((seen, found.episodes[0].steps()), (vec![0.0, 1.0, 0.0, 1.0, 2.0, 3.0], 5));
    assert_eq!(found.episodes[0].actions, [0.0, 0.1, 0.0, 0.1, 0.2]);
}

#[test]
fn structs_are_dicts_and_tuples() {
    let mut folder = Folder::new("arrow", 1, 3);
    let tuple = r#"{"type": "Tuple", "subspaces": [{"type": "Discrete", "dtype": "int64", "start": 2, "n": 3}]}"#;
    folder.set(
        "observation_space",
        json!(format!(r#"{{"type": "Dict", "subspaces": {{"z": {OBSERVATION}, "a": {tuple}}}}}"#)),
    );
    folder.set("action_space", json!(r#"{"type": "Discrete", "dtype": "int64", "start": 5, "n": 3}"#));
    let field = |name: &str, array: &ArrayRef| Arc::new(Field::new(name, array.data_type().clone(), true));
    let group = |entries: Vec<(&str, ArrayRef)>| -> ArrayRef {
        let entries: Vec<_> = entries.into_iter().map(|(name, array)| (field(name, &array), array)).collect();
        Arc::new(StructArray::from(entries))
    };
    let choice: ArrayRef = Arc::new(Int64Array::from(vec![2, 3, 4, 2]));
    let observations =
        group(vec![("a", group(vec![("0", choice)])), ("z", lists(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 2))]);
    let mut episode = columns(0.0);
    episode[0].1 = observations;
    episode[1].1 = Arc::new(Int64Array::from(vec![5, 7, 6, 0]));
    write(&folder, 0, "part-0.arrow", &[episode]);
    let found = folder.read().unwrap();
    assert_eq!(found.episodes[0].obs.floats, [0.0, 1.0, 0.0, 2.0, 3.0, 1.0, 4.0, 5.0, 2.0, 6.0, 7.0, 0.0]);
    assert_eq!(found.episodes[0].actions, [0.0, 2.0, 1.0]);
}

#[test]
fn what_is_wrong_is_named_with_file_and_column() {
    let problem = |at: usize, array: ArrayRef| {
        let folder = Folder::new("arrow", 1, 3);
        let mut episode = columns(0.0);
        episode[at].1 = array;
        write(&folder, 0, "part-0.arrow", &[episode]);
        folder.problem()
    };
    let binary: ArrayRef = Arc::new(arrow_array::BinaryArray::from(vec![b"jpeg".as_slice(); 4]));
    let text: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["text"; 4]));
    let gaps: ArrayRef = Arc::new(Float32Array::from(vec![Some(1.0), None, Some(1.0), None]));
    for (at, array, words) in [
        (0, binary, "`observations` holds images packed as JPEG"),
        (0, lists(&[0.0; 12], 3), "`observations` has rows of 3 numbers, where its space has 2"),
        (1, text, "`actions` holds text, not numbers"),
        (2, gaps, "`rewards` has gaps"),
    ] {
        let found = problem(at, array);
        assert!(found.contains("part-0.arrow") && found.contains(words), "{found}");
    }
    let folder = Folder::new("arrow", 1, 3);
    let mut short = columns(0.0);
    short.remove(4);
    write(&folder, 0, "part-0.arrow", &[short]);
    assert!(folder.problem().contains("`truncations` is missing"));
    let folder = Folder::new("arrow", 2, 6);
    write(&folder, 0, "part-0.arrow", &[columns(0.0)]);
    let missing = folder.problem();
    assert!(missing.contains(&folder.data().join("1").display().to_string()), "{missing}");
    fs::write(folder.data().join("0/part-0.arrow"), "no arrow at all").unwrap();
    assert!(folder.problem().contains("is no Arrow file that can be read"));
}
