//! Keys of `env_kwargs` that are for the worker processes and not for the environment.

use axiomrl_envs::EnvError;
use serde_json::{Map, Value};
use std::time::Duration;

/// How environments are run, and what is left for them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Processes that a batch is shared out among (`workers`).
    pub workers: usize,
    /// Processes that may be lost and replaced in a run (`restarts`).
    pub restarts: usize,
    /// How long making environments may take (`start_timeout`, seconds).
    pub start_timeout: Duration,
    /// How long a step may take (`step_timeout`, seconds).
    pub step_timeout: Duration,
    /// For the environment.
    pub kwargs: Value,
}

impl Settings {
    pub fn take(env: &str, kwargs: &Map<String, Value>) -> Result<Self, EnvError> {
        let mut left = kwargs.clone();
        let mut number =
            |key: &str, default: f64, range: std::ops::RangeInclusive<f64>, whole: bool| match left.remove(key) {
                None => Ok(default),
                Some(value) => {
                    let fits = |number: &f64| range.contains(number) && (!whole || number.fract() == 0.0);
                    value.as_f64().filter(fits).ok_or_else(|| {
                        let kind = if whole { "a whole number" } else { "a number of seconds" };
                        let problem =
                            format!("`env_kwargs.{key}` must be {kind} from {} to {}", range.start(), range.end());
                        EnvError::BadSetting { env: env.to_owned(), key: format!("env_kwargs.{key}"), problem }
                    })
                }
            };
        let workers = number("workers", 1.0, 1.0..=256.0, true)? as usize;
        let restarts = number("restarts", 3.0, 0.0..=1000.0, true)? as usize;
        let start_timeout = Duration::from_secs_f64(number("start_timeout", 120.0, 0.1..=86_400.0, false)?);
        let step_timeout = Duration::from_secs_f64(number("step_timeout", 60.0, 0.1..=86_400.0, false)?);
        Ok(Self { workers, restarts, start_timeout, step_timeout, kwargs: Value::Object(left) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_for_the_workers_is_taken_out_and_checked() {
        let take = |kwargs: Value| Settings::take("x", kwargs.as_object().unwrap());
        let settings = take(json!({ "workers": 2, "step_timeout": 0.5, "gravity": -3.0 })).unwrap();
        assert_eq!((settings.workers, settings.restarts), (2, 3));
        assert_eq!((settings.step_timeout, settings.kwargs), (Duration::from_millis(500), json!({ "gravity": -3.0 })));
        for (key, bad) in
            [("workers", json!(0)), ("workers", json!(1.5)), ("restarts", json!("3")), ("step_timeout", json!(0))]
        {
            let error = take(json!({ key: bad })).unwrap_err().to_string();
            assert!(error.contains(&format!("env_kwargs.{key}")), "{error}");
        }
    }
}
