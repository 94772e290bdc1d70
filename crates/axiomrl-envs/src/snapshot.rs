//! From typed states to JSON and back.

use crate::{DType, EnvError};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A state as JSON. States are plain structs of numbers and strings, for which this cannot fail.
pub(crate) fn to_value<T: Serialize>(state: &T) -> Value {
    serde_json::to_value(state).expect("a plain state has a JSON form")
}

/// Reads what [`to_value`] wrote; the error names whose snapshot was at fault.
pub(crate) fn parse<T: DeserializeOwned>(env: &str, value: &Value) -> Result<T, EnvError> {
    T::deserialize(value).map_err(|e| EnvError::BadSnapshot { env: env.into(), problem: e.to_string() })
}

/// Refuses a snapshot of another size before any of it is used.
pub(crate) fn check_len(env: &str, what: &str, found: usize, needed: usize) -> Result<(), EnvError> {
    if found == needed {
        return Ok(());
    }
    let problem = format!("it holds {found} {what} where {needed} are needed; was it made with other settings?");
    Err(EnvError::BadSnapshot { env: env.into(), problem })
}

/// Refuses observations of another number type.
pub(crate) fn check_dtype(env: &str, found: DType, needed: DType) -> Result<(), EnvError> {
    if found == needed {
        return Ok(());
    }
    Err(EnvError::BadSnapshot { env: env.into(), problem: format!("its observations are {found:?}, not {needed:?}") })
}
