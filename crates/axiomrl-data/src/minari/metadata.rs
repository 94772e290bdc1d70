//! `metadata.json`.

use super::env_specs;
use super::json::quote_tokens;
use super::spaces::{Place, Tree, is_image, print};
use crate::{DataError, Metadata};
use axiomrl_envs::{Space, Spaces};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

pub(crate) const METADATA: &str = "metadata.json";

/// Where names, options and time limits of environments that are not Gymnasium's are kept. Minari passes it over.
const OWN: &str = "axiomrl";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Hdf5,
    Arrow,
}

/// What the file says.
#[derive(Debug)]
pub(super) struct Head {
    pub format: Format,
    pub spaces: Spaces,
    /// In the order of the parts.
    pub observation: Vec<Place>,
    pub action: Place,
    pub episodes: usize,
    pub steps: u64,
    pub metadata: Metadata,
}

impl Head {
    pub fn read(data: &Path) -> Result<Self, DataError> {
        let path = data.join(METADATA);
        let text = fs::read_to_string(&path).map_err(|error| DataError::io(&path, error))?;
        let fields: Map<String, Value> = serde_json::from_str(&quote_tokens(&text))
            .map_err(|error| DataError::file(&path, format!("is damaged: {error}")))?;
        let fault = |key: &str, problem: &str| DataError::key(&path, key, problem);
        let string = |key: &str| match fields.get(key) {
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(_) => Err(fault(key, "must be text")),
            None => Err(fault(key, "is missing")),
        };
        let count =
            |key: &str| fields.get(key).and_then(Value::as_u64).ok_or_else(|| fault(key, "must be there, as a number"));
        let format = match string("data_format")? {
            "hdf5" => Format::Hdf5,
            "arrow" => Format::Arrow,
            "parquet" => {
                return Err(fault(
                    "data_format",
                    "is parquet, which cannot be read; convert the dataset to hdf5 or arrow",
                ));
            }
            other => {
                return Err(fault(
                    "data_format",
                    &format!("is `{other}`, which is unknown; hdf5 and arrow can be read"),
                ));
            }
        };
        let tree = |key: &str| Tree::parse(string(key)?).map_err(|problem| fault(key, &problem));
        let (observation, action) = (tree("observation_space")?, tree("action_space")?);
        let packed = fields.get("jpeg_encoding").and_then(Value::as_bool).unwrap_or(true);
        for (tree, key) in [(&observation, "observation_space"), (&action, "action_space")] {
            if packed && tree.places().iter().any(|place| is_image(&place.leaf.space)) {
                let problem = "has images, which this dataset packs as JPEG and so has changed; record it with \
                    `jpeg_encoding=False`";
                return Err(fault(key, problem));
            }
        }
        let mut actions = action.places();
        let (
            Some(place),
            Space::Box(_) | Space::Discrete { .. } | Space::MultiDiscrete { .. } | Space::MultiBinary { .. },
        ) = (actions.pop(), action.space())
        else {
            return Err(fault(
                "action_space",
                "is made of several spaces; only a Box or one kind of choices can be learned from",
            ));
        };
        Ok(Self {
            format,
            spaces: Spaces::new(observation.space(), action.space()),
            observation: observation.places(),
            action: place,
            episodes: count("total_episodes")? as usize,
            steps: count("total_steps")?,
            metadata: origin(&fields),
        })
    }
}

/// What is only told, and may be missing.
fn origin(fields: &Map<String, Value>) -> Metadata {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let list = |key: &str| match fields.get(key) {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    };
    let spec = text("env_spec").and_then(|spec| serde_json::from_str(&quote_tokens(&spec)).ok());
    let env = spec.as_ref().or(fields.get(OWN));
    let of = |key: &str| env.and_then(|env: &Value| env.get(key));
    Metadata {
        dataset_id: text("dataset_id"),
        env_id: of("id").and_then(Value::as_str).map(str::to_owned),
        env_kwargs: of("kwargs").and_then(Value::as_object).cloned().unwrap_or_default(),
        max_episode_steps: of("max_episode_steps").and_then(Value::as_u64),
        algorithm: text("algorithm_name"),
        author: list("author"),
        author_email: list("author_email"),
        code_permalink: text("code_permalink"),
        description: text("description"),
    }
}

/// The text of the file for a dataset that is written here.
pub(super) fn describe(
    id: &str,
    spaces: &Spaces,
    origin: &Metadata,
    episodes: usize,
    steps: u64,
    bytes: u64,
) -> String {
    let raw_images = {
        let tree = Tree::parse(&print(&spaces.observation));
        tree.is_ok_and(|tree| tree.places().iter().any(|place| is_image(&place.leaf.space)))
    };
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    set("dataset_id", json!(id));
    set("data_format", json!("hdf5"));
    set("observation_space", json!(print(&spaces.observation)));
    set("action_space", json!(print(&spaces.action)));
    set("total_episodes", json!(episodes));
    set("total_steps", json!(steps));
    set("dataset_size", json!((bytes as f64 / 1e5).round() / 10.0));
    // Readers take versions up to their own, so the oldest that is right; images as they are came with 0.5.4, and older
    // readers would take them for JPEG.
    set("minari_version", json!(if raw_images { "0.5.4" } else { "0.5.0" }));
    if raw_images {
        set("jpeg_encoding", json!(false));
    }
    for (key, text) in [
        ("algorithm_name", &origin.algorithm),
        ("code_permalink", &origin.code_permalink),
        ("description", &origin.description),
    ] {
        if let Some(text) = text {
            set(key, json!(text));
        }
    }
    for (key, list) in [("author", &origin.author), ("author_email", &origin.author_email)] {
        if !list.is_empty() {
            set(key, json!(list));
        }
    }
    if let Some(env) = &origin.env_id {
        let mut kwargs = origin.env_kwargs.clone();
        // To us a time limit is an option like others, to Gymnasium it is not.
        let limit = kwargs.remove("max_episode_steps").and_then(|limit| limit.as_u64()).or(origin.max_episode_steps);
        match env_specs::of(env, &kwargs, limit) {
            Some(spec) => set("env_spec", json!(spec.to_string())),
            None => set(OWN, json!({"id": env, "kwargs": kwargs, "max_episode_steps": limit})),
        };
    }
    serde_json::to_string_pretty(&Value::Object(fields)).unwrap_or_default()
}
