//! Reading an environment's options, with errors that name the right ones.

use crate::EnvError;
use crate::names::{short, suggestion};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// The options given for environment `env`.
pub(crate) struct Kwargs<'a> {
    env: &'a str,
    given: &'a Map<String, Value>,
}

impl<'a> Kwargs<'a> {
    /// Refuses options that are not among `known`.
    pub fn new(env: &'a str, given: &'a Map<String, Value>, known: &[&str]) -> Result<Self, EnvError> {
        let kwargs = Self { env, given };
        match given.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(kwargs.bad(key, format!("unknown option `{}`{}", short(key), suggestion(key, known)))),
            None => Ok(kwargs),
        }
    }

    pub fn number(&self, name: &str, default: f64) -> Result<f64, EnvError> {
        self.read(name, default, "a number", Value::as_f64)
    }

    pub fn flag(&self, name: &str, default: bool) -> Result<bool, EnvError> {
        self.read(name, default, "true or false", Value::as_bool)
    }

    pub fn whole(&self, name: &str, default: u64, range: RangeInclusive<u64>) -> Result<u64, EnvError> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        self.read(name, default, &wanted, |value| value.as_u64().filter(|n| range.contains(n)))
    }

    /// One of a few words, if it is given.
    pub fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, EnvError> {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.read(name, None, &format!("one of {}", known.join(", ")), |value| {
            words.iter().find(|(word, _)| value.as_str() == Some(*word)).map(|(_, choice)| Some(*choice))
        })
    }

    /// What is wrong with the option `name`.
    pub fn bad(&self, name: &str, problem: String) -> EnvError {
        EnvError::BadSetting { env: self.env.into(), key: format!("env_kwargs.{name}"), problem }
    }

    fn read<T>(
        &self,
        name: &str,
        default: T,
        wanted: &str,
        convert: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, EnvError> {
        let Some(value) = self.given.get(name) else { return Ok(default) };
        convert(value).ok_or_else(|| {
            let given = short(&value.to_string());
            // `size: "84"` looks right until one sees the quotes.
            let unquoted = value.as_str().is_some_and(|text| text.parse::<f64>().is_ok());
            let remedy = if unquoted { "; remove the quotes" } else { "" };
            self.bad(name, format!("option `{name}` must be {wanted}, not {given}{remedy}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{EnvError, make};
    use serde_json::{Value, json};

    /// The key that is blamed for these options of PendulumPixels, and the message.
    fn refused(options: &Value) -> (String, String) {
        let error = make("PendulumPixels-v0", options.as_object().unwrap()).err().unwrap();
        let message = error.to_string();
        match error {
            EnvError::BadSetting { key, .. } => (key, message),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn mistakes_name_their_key_and_what_belongs_there() {
        for (options, key, words) in [
            (json!({ "sise": 84 }), "env_kwargs.sise", "unknown option `sise`; did you mean `size`?"),
            (json!({ "xyz": 84 }), "env_kwargs.xyz", "known: g, size, color, max_episode_steps"),
            (json!({ "size": "84" }), "env_kwargs.size", "a whole number from 8 to 512, not \"84\"; remove the quotes"),
            (json!({ "size": 7 }), "env_kwargs.size", "from 8 to 512, not 7"),
            (json!({ "color": 1 }), "env_kwargs.color", "true or false, not 1"),
            (json!({ "g": "strong" }), "env_kwargs.g", "must be a number, not \"strong\""),
        ] {
            let (blamed, message) = refused(&options);
            assert_eq!(blamed, key);
            assert!(message.contains(words) && message.contains("`PendulumPixels-v0`"), "{message}");
        }
    }

    #[test]
    fn the_message_stays_short_whatever_was_written() {
        assert!(refused(&json!({ "g": "x".repeat(1_000_000) })).1.len() < 300);
        assert!(refused(&json!({ "x".repeat(1_000_000): 1 })).1.len() < 300);
    }
}
