//! A run file with its overrides, as one tree; and the same for a configuration that a program kept.

use super::RunConfig;
use super::error::ConfigError;
use super::moved::move_data_keys;
use super::problem::{Idle, Problem};
use super::renamed::renamed;
use super::tree::{Content, Entry, Node, Place};
use super::typed::Mistake;
use super::yaml;
use axiomrl_envs::names::short;
use garde::Validate;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where an algorithm's settings stand.
const SETTINGS: &str = "algo_kwargs";

/// What a run file and its overrides say, each piece with its place, before anything is made of it.
pub struct Document {
    name: String,
    text: String,
    assignments: Vec<String>,
    root: Node,
}

impl Document {
    /// A run file and the `key=value` overrides that are put over it, in their order.
    pub fn parse(text: &str, name: &str, assignments: &[String]) -> Result<Self, ConfigError> {
        let root = Node::of(&Value::Null, Place::Nowhere);
        let mut document =
            Self { name: name.to_owned(), text: text.to_owned(), assignments: assignments.to_vec(), root };
        document.root = yaml::parse(text).map_err(|unreadable| {
            let place = unreadable.at.map_or(Place::Nowhere, |(line, column)| Place::File { line, column });
            document.error(place, unreadable.message)
        })?;
        for number in 0..assignments.len() {
            let place = Place::Override(number);
            document.assign(number).map_err(|message| document.error(place, message))?;
        }
        document.complete()
    }

    /// A configuration that was kept as JSON; `name` says where, in messages.
    pub fn of(config: &Value, name: &str) -> Result<Self, ConfigError> {
        let root = Node::of(config, Place::Nowhere);
        Self { name: name.to_owned(), text: String::new(), assignments: Vec::new(), root }.complete()
    }

    fn complete(mut self) -> Result<Self, ConfigError> {
        match self.root.content {
            Content::Map(_) => {}
            Content::Null => self.root.content = Content::Map(Vec::new()),
            _ => {
                let message = format!("{} where `key: value` lines belong", self.root.words());
                return Err(self.error(self.root.place, message));
            }
        }
        // A key left empty asks for nothing of its own.
        self.root.fill_empty(SETTINGS, Content::Map(Vec::new()));
        self.root.fill_empty("env_kwargs", Content::Map(Vec::new()));
        self.root.fill_empty("tags", Content::List(Vec::new()));
        move_data_keys(&mut self.root, SETTINGS);
        Ok(self)
    }

    /// Applies the override `a.b.c=value`, the value read as YAML.
    fn assign(&mut self, number: usize) -> Result<(), String> {
        let (path, text) = self.assignments[number].split_once('=').ok_or("expected key=value")?;
        let value = yaml::parse(text).map_err(|unreadable| unreadable.message)?;
        self.root.set(path.trim(), Node::of(&value.to_value(), Place::Override(number)))
    }

    /// The text at a key that must be there.
    pub fn name_at(&self, key: &'static str) -> Result<&str, ConfigError> {
        match self.root.get(key) {
            None => Err(self.error(Place::Nowhere, format!("the key `{key}` is missing"))),
            Some(Node { content: Content::Text(text), .. }) => Ok(text),
            Some(other) => Err(self.error(other.place, format!("`{key}`: {} where a name belongs", other.words()))),
        }
    }

    /// All but the algorithm's settings, which stay as they were written.
    pub(crate) fn run(&self) -> Result<RunConfig, ConfigError> {
        let config = RunConfig::deserialize(&self.root).map_err(|mistake| self.mistake(&mistake))?;
        config.validate().map_err(|report| self.out_of_range("", &report))?;
        Ok(config)
    }

    /// The algorithm's settings: those of the document over those of the preset.
    pub(crate) fn settings<K>(&self, preset: &K) -> Result<K, ConfigError>
    where
        K: DeserializeOwned + Serialize + Validate<Context = ()>,
    {
        let written = self.root.get(SETTINGS);
        let place = written.map_or(Place::Nowhere, |node| node.place);
        let settings: K = overlay(preset, written).map_err(|mistake| self.mistake(&mistake.inside(SETTINGS, place)))?;
        settings.validate().map_err(|report| self.out_of_range(SETTINGS, &report))?;
        Ok(settings)
    }

    /// Settings, all of them filled in, of which one was written although it has no effect.
    pub(crate) fn idle(&self, settings: &Value, defaults: &Value, idle: &[Idle]) -> Result<(), ConfigError> {
        let written = |key: &str| self.root.get(SETTINGS).and_then(|own| own.entry(key));
        for entry in idle.iter().filter(|entry| entry.now && entry.switch.and_then(written).is_none()) {
            // A file with every default filled in is right, too.
            let changed = |key: &&&str| written(key).is_some() && settings.get(**key) != defaults.get(**key);
            if let Some(key) = entry.keys.iter().find(changed) {
                let message = format!("`{SETTINGS}.{key}` has no effect here: {}, or remove this key", entry.why);
                return Err(self.blame(&[&format!("{SETTINGS}.{key}")], message));
            }
        }
        Ok(())
    }

    /// Settings of the algorithm that do not go together, placed.
    pub fn problem(&self, problem: &Problem) -> ConfigError {
        let keys: Vec<String> = problem.keys.iter().map(|key| format!("{SETTINGS}.{key}")).collect();
        self.blame(&keys.iter().map(String::as_str).collect::<Vec<_>>(), format!("{SETTINGS}: {problem}"))
    }

    /// An error at the first of these keys (`a` or `a.b`) that an override gave, or else the file.
    pub fn blame(&self, keys: &[&str], message: String) -> ConfigError {
        self.blame_one(keys, |entry| entry.key_place, message)
    }

    /// As [`Document::blame`], at the value of the key.
    pub fn blame_value(&self, keys: &[&str], message: String) -> ConfigError {
        self.blame_one(keys, |entry| entry.value.place, message)
    }

    fn blame_one(&self, keys: &[&str], place: impl Fn(&Entry) -> Place, message: String) -> ConfigError {
        let find = |key: &&str| {
            let (outer, last) = key.rsplit_once('.').map_or((None, *key), |(outer, last)| (Some(outer), last));
            let map = outer.map_or(Some(&self.root), |outer| self.root.get(outer))?;
            map.entry(last).map(&place)
        };
        let places: Vec<Place> = keys.iter().filter_map(find).collect();
        let overridden = places.iter().find(|place| matches!(place, Place::Override(_)));
        self.error(*overridden.or(places.first()).unwrap_or(&Place::Nowhere), message)
    }

    fn mistake(&self, mistake: &Mistake) -> ConfigError {
        self.error(mistake.place.unwrap_or(Place::Nowhere), mistake.to_string())
    }

    /// What garde found, below `outer`.
    fn out_of_range(&self, outer: &str, report: &garde::Report) -> ConfigError {
        let Some((path, error)) = report.iter().next() else {
            return self.error(Place::Nowhere, "a value is out of range".to_owned());
        };
        // garde counts what is inside an option as a level without a name, and puts numbers of items into brackets.
        let path = format!("{outer}.{path}");
        let path: Vec<&str> = path.split(['.', '[', ']']).filter(|part| !part.is_empty()).collect();
        let node = self.root.nearest_to(&path);
        let message = error.message();
        let bound = message.starts_with("lower than") || message.starts_with("greater than");
        let value = if bound { format!("{} is ", node.words()) } else { String::new() };
        self.error(node.place, format!("`{}`: {value}{message}", path.join(".")))
    }

    fn error(&self, place: Place, message: String) -> ConfigError {
        let source_name = self.name.clone();
        match place {
            Place::Nowhere => ConfigError::Whole { source_name, message },
            Place::File { line, column } => {
                let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
                let snippet = self.text.lines().nth(index).unwrap_or("").to_owned();
                ConfigError::At { source_name, line, column, message, snippet }
            }
            Place::Override(number) => {
                let assignment = self.assignments.get(number).map_or(String::new(), |text| short(text));
                ConfigError::Override { assignment, message }
            }
        }
    }
}

/// The one way in which settings are filled in: what was written, over the preset that goes with the algorithm's name.
/// Files, overrides, checkpoints and programs all come through here, so a key they do not have means the same to all.
pub(crate) fn overlay<K>(preset: &K, written: Option<&Node>) -> Result<K, Mistake>
where
    K: DeserializeOwned + Serialize,
{
    let mut all = Node::of(&plain(preset), Place::Nowhere);
    match written {
        None => {}
        Some(Node { content: Content::Map(entries), .. }) => {
            let Content::Map(base) = &mut all.content else { return K::deserialize(&all) };
            let written = |key: &str| entries.iter().any(|entry| entry.key == key);
            for entry in entries {
                let today = match renamed(&entry.key) {
                    Some(new) if !base.iter().any(|known| known.key == entry.key) && !written(new) => new,
                    _ => &entry.key,
                };
                match base.iter_mut().find(|known| known.key == today) {
                    Some(known) => *known = Entry { key: today.to_owned(), ..entry.clone() },
                    None => base.push(entry.clone()),
                }
            }
        }
        Some(other) => all = other.clone(),
    }
    K::deserialize(&all)
}

/// Settings as plain JSON. By way of text, in which a single-precision number is as short as someone would write it:
/// 0.98, and not the 0.9800000190734863 of the double that is nearest to it.
pub(crate) fn plain<K: Serialize>(settings: &K) -> Value {
    serde_json::to_string(settings).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}
