//! Reading a run file with exact places for every mistake.

use super::RunConfig;
use super::error::{ConfigError, nearest};
use garde::Validate;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The first reading: only the name of the algorithm matters.
#[derive(Deserialize)]
struct Head {
    algo: String,
}

/// Which algorithm a document asks for.
pub fn algo_name(text: &str, source_name: &str) -> Result<String, ConfigError> {
    let head: Head = serde_saphyr::from_str(text).map_err(|e| explain(&e, text, source_name))?;
    Ok(head.algo)
}

/// The second reading, as the algorithm's own type.
///
/// `preset` are the defaults that go with the algorithm's name. `assignments` are `key=value` overrides; they are
/// applied after the file has been found sound by itself, so a mistake in them is not blamed on the file.
pub fn read_run<K>(text: &str, source_name: &str, preset: &K, assignments: &[String]) -> Result<RunConfig, ConfigError>
where
    K: DeserializeOwned + Serialize + Default + Validate<Context = ()>,
{
    serde_saphyr::from_str_valid::<RunConfig<K>>(text).map_err(|e| explain(&e, text, source_name))?;
    let mut document: Value = serde_saphyr::from_str(text).map_err(|e| explain(&e, text, source_name))?;
    for assignment in assignments {
        assign(&mut document, assignment)?;
        check_assignment::<K>(&document, assignment)?;
    }
    let written = document.get("algo_kwargs").cloned().unwrap_or(Value::Null);
    let whole =
        |message: String| ConfigError::Whole { source_name: source_name.to_owned(), message, hint: String::new() };
    let settings: K = serde_json::from_value(overlay(preset, &written)).map_err(|e| whole(e.to_string()))?;
    settings.validate().map_err(|e| whole(e.to_string().trim().to_owned()))?;
    if let Some(map) = document.as_object_mut() {
        let mut resolved = serde_json::to_value(&settings).map_err(|e| whole(e.to_string()))?;
        as_written(&mut resolved);
        map.insert("algo_kwargs".into(), resolved);
    }
    serde_json::from_value(document).map_err(|e| whole(e.to_string()))
}

/// A single-precision setting widened to double shows digits nobody wrote (0.98 as 0.9800000190734863). The shortest
/// text that means the same single-precision number is what was written, or as good.
fn as_written(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(as_written),
        Value::Object(map) => map.values_mut().for_each(as_written),
        Value::Number(number) if number.is_f64() => {
            let wide = number.as_f64().unwrap_or_default();
            if f64::from(wide as f32) == wide
                && let Ok(short) = (wide as f32).to_string().parse::<f64>()
            {
                *value = short.into();
            }
        }
        _ => {}
    }
}

/// `preset` with every key of `written` put over it.
fn overlay<K: Serialize>(preset: &K, written: &Value) -> Value {
    let mut base = serde_json::to_value(preset).unwrap_or_default();
    if let (Value::Object(base), Value::Object(written)) = (&mut base, written) {
        base.extend(written.clone());
    }
    base
}

fn check_assignment<K>(document: &Value, assignment: &str) -> Result<(), ConfigError>
where
    K: DeserializeOwned + Validate<Context = ()> + Default,
{
    let blame = |message: String| ConfigError::Override { assignment: assignment.to_owned(), message };
    // Through YAML once more, for the unknown-key errors that carry their candidates.
    let text = serde_json::to_string(document).map_err(|e| blame(e.to_string()))?;
    let run: Result<RunConfig<K>, _> = serde_saphyr::from_str_valid(&text);
    run.map(drop).map_err(|e| {
        let (message, hint) = describe(e.without_snippet());
        blame(format!("{message}{hint}"))
    })
}

/// Applies one `a.b.c=value`, the value read as YAML.
fn assign(document: &mut Value, assignment: &str) -> Result<(), ConfigError> {
    let blame =
        |message: &str| ConfigError::Override { assignment: assignment.to_owned(), message: message.to_owned() };
    let (path, text) = assignment.split_once('=').ok_or_else(|| blame("expected key=value"))?;
    let value: Value = serde_saphyr::from_str(text).map_err(|_| blame("the value is not valid YAML"))?;
    set_path(document, path.trim(), value).map_err(|m| blame(&m))
}

/// Puts `value` at a dotted path, making the mappings on the way.
pub fn set_path(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let mut at = document;
    let mut keys = path.split('.').peekable();
    while let Some(key) = keys.next() {
        if key.is_empty() {
            return Err("an empty key".to_owned());
        }
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        let map = at.as_object_mut().ok_or_else(|| format!("`{key}` is inside something that has no keys"))?;
        if keys.peek().is_none() {
            map.insert(key.to_owned(), value);
            return Ok(());
        }
        at = map.entry(key).or_insert(Value::Null);
    }
    Ok(())
}

/// Turns the reader's error into ours: file, line, column, the line itself and the nearest valid choice.
fn explain(error: &serde_saphyr::Error, text: &str, source_name: &str) -> ConfigError {
    let error = error.without_snippet();
    let (message, hint) = describe(error);
    let source_name = source_name.to_owned();
    match error.location() {
        Some(at) if at.line() > 0 => {
            let snippet = text.lines().nth(usize::try_from(at.line() - 1).unwrap_or(0)).unwrap_or("").to_owned();
            ConfigError::At { source_name, line: at.line(), column: at.column(), message, snippet, hint }
        }
        _ => ConfigError::Whole { source_name, message, hint },
    }
}

fn describe(error: &serde_saphyr::Error) -> (String, String) {
    use serde_saphyr::Error as E;
    match error {
        E::WithSnippet { error, .. } => describe(error),
        E::SerdeUnknownField { field, expected, .. } => (format!("unknown key `{field}`"), nearest(field, expected)),
        E::SerdeUnknownVariant { variant, expected, .. } => {
            (format!("unknown value `{variant}`"), nearest(variant, expected))
        }
        E::SerdeMissingField { field, .. } => (format!("the key `{field}` is missing"), String::new()),
        E::SerdeInvalidType { unexpected, expected, .. } | E::SerdeInvalidValue { unexpected, expected, .. } => {
            (format!("{unexpected} where {expected} belongs"), String::new())
        }
        E::InvalidScalar { ty, .. } => (format!("not a valid {ty}"), String::new()),
        E::ValidationError { issues, .. } => match issues.first() {
            Some(issue) => (describe_issue(issue), String::new()),
            None => ("a value is out of range".to_owned(), String::new()),
        },
        E::ValidationErrors { errors, .. } => match errors.first() {
            Some(first) => describe(first),
            None => ("a value is out of range".to_owned(), String::new()),
        },
        other => (other.to_string().lines().next().unwrap_or("not valid YAML").to_owned(), String::new()),
    }
}

fn describe_issue(issue: &serde_saphyr::ValidationIssue) -> String {
    let message = issue.message.clone().unwrap_or_else(|| issue.code.clone());
    let path: Vec<&str> = issue.path.segments().map(|(_, name)| name).collect();
    format!("`{}`: {message}", path.join("."))
}
