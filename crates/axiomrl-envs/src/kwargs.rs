//! Reading an environment's options, with errors that name the right ones.

use crate::EnvError;
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
            Some(key) => Err(kwargs.bad(format!("unknown option `{key}`; it takes {}", known.join(", ")))),
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

    pub fn bad(&self, problem: String) -> EnvError {
        EnvError::BadOption { env: self.env.into(), problem }
    }

    fn read<T>(
        &self,
        name: &str,
        default: T,
        wanted: &str,
        convert: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, EnvError> {
        let Some(value) = self.given.get(name) else { return Ok(default) };
        convert(value).ok_or_else(|| self.bad(format!("option `{name}` must be {wanted}, not {value}")))
    }
}
