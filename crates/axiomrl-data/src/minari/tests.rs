mod arrow;
mod hdf5;
mod written;

use super::*;
use crate::{DataError, EpisodeReader, Recording};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder for a dataset, with its `metadata.json`.
struct Folder {
    root: tempfile::TempDir,
    fields: Map<String, Value>,
}

const OBSERVATION: &str =
    r#"{"type": "Box", "dtype": "float64", "shape": [2], "low": [-Infinity, -1.0], "high": [Infinity, 1.0]}"#;
const ACTION: &str = r#"{"type": "Box", "dtype": "float32", "shape": [1], "low": [-2.0], "high": [2.0]}"#;

impl Folder {
    fn new(format: &str, episodes: usize, steps: usize) -> Self {
        let fields = json!({
            "data_format": format,
            "observation_space": OBSERVATION,
            "action_space": ACTION,
            "total_episodes": episodes,
            "total_steps": steps,
            "dataset_id": "test/some-v0",
            "minari_version": "0.5.4",
            "ref_max_score": "left out",
        });
        let Value::Object(fields) = fields else { unreachable!() };
        let folder = Self { root: tempfile::tempdir().unwrap(), fields };
        folder.save();
        folder
    }

    fn set(&mut self, key: &str, value: Value) {
        self.fields.insert(key.into(), value);
        self.save();
    }

    fn save(&self) {
        fs::create_dir_all(self.data()).unwrap();
        let text = serde_json::to_string(&self.fields).unwrap();
        // Python writes such numbers in the outer text too.
        let text = text.replace("\"left out\"", "NaN");
        fs::write(self.data().join(METADATA), text).unwrap();
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn read(&self) -> Result<Recording, DataError> {
        Recording::read(&mut open(self.root.path())?)
    }

    fn problem(&self) -> String {
        self.read().expect_err("it should be refused").to_string()
    }
}

#[test]
fn origin_is_read_where_it_is_told() {
    let mut folder = Folder::new("hdf5", 0, 0);
    let spec = r#"{"id": "Pendulum-v1", "entry_point": "somewhere", "max_episode_steps": 150, "order_enforce": true,
        "autoreset": false, "apply_api_compatibility": false, "kwargs": {"g": 9.81}, "additional_wrappers": []}"#;
    folder.set("env_spec", json!(spec));
    folder.set("author", json!(["A", "B"]));
    folder.set("algorithm_name", json!("SAC"));
    let Head { metadata, spaces, .. } = Head::read(&folder.data()).unwrap();
    assert_eq!((metadata.env_id.as_deref(), metadata.max_episode_steps), (Some("Pendulum-v1"), Some(150)));
    assert_eq!(metadata.env_kwargs["g"], json!(9.81));
    assert_eq!((metadata.author.len(), metadata.algorithm.as_deref()), (2, Some("SAC")));
    assert_eq!(metadata.dataset_id.as_deref(), Some("test/some-v0"));
    let axiomrl_envs::Space::Box(seen) = spaces.observation else { panic!("{spaces:?}") };
    assert_eq!(seen.high, [f32::INFINITY, 1.0]);
    // A specification that cannot be read is none.
    folder.set("env_spec", json!("{"));
    assert_eq!(Head::read(&folder.data()).unwrap().metadata.env_id, None);
}

#[test]
fn metadata_that_cannot_be_followed_is_refused_by_key() {
    let image = r#"{"type": "Box", "dtype": "uint8", "shape": [32, 32], "low": L, "high": H}"#;
    let list = |value: u8| serde_json::to_string(&vec![vec![value; 32]; 32]).unwrap();
    let image = image.replace('L', &list(0)).replace('H', &list(255));
    let dict = format!(r#"{{"type": "Dict", "subspaces": {{"a": {ACTION}}}}}"#);
    for (key, value, words) in [
        ("data_format", json!("parquet"), "`data_format` is parquet, which cannot be read"),
        ("data_format", json!("zarr"), "`data_format` is `zarr`, which is unknown"),
        ("data_format", json!(5), "`data_format` must be text"),
        ("observation_space", json!({"type": "Box"}), "`observation_space` must be text"),
        ("observation_space", json!(r#"{"type": "Text", "max_length": 3}"#), "`observation_space` holds Text"),
        ("observation_space", json!(image), "`observation_space` has images, which this dataset packs as JPEG"),
        ("action_space", json!(dict), "`action_space` is made of several spaces"),
        ("total_episodes", json!("many"), "`total_episodes` must be there, as a number"),
        ("total_steps", json!(-1), "`total_steps` must be there, as a number"),
    ] {
        let mut folder = Folder::new("hdf5", 0, 0);
        folder.set(key, value);
        let problem = folder.problem();
        assert!(problem.contains(METADATA) && problem.contains(words), "{problem}");
    }
    let mut folder = Folder::new("hdf5", 0, 0);
    folder.fields.remove("action_space");
    folder.save();
    assert!(folder.problem().contains("`action_space` is missing"));
    // Images as they are can be read.
    folder.set("action_space", json!(ACTION));
    folder.set("observation_space", json!(image));
    folder.set("jpeg_encoding", json!(false));
    assert!(Head::read(&folder.data()).is_ok());
    fs::write(folder.data().join(METADATA), "{").unwrap();
    assert!(folder.problem().contains("metadata.json: is damaged"));
}
