//! Keys that had other names in earlier versions. A run file is told of its mistake; what a program kept cannot be asked.

use serde_json::Value;
use std::borrow::Cow;

/// Algorithms, the old name of one of their settings, and the new one.
const RENAMED: &[(&[&str], &str, &str)] = &[(&["drqv2", "drq", "curl"], "noise_clip", "target_noise_clip")];

/// A kept configuration under today's names.
pub fn with_new_names(config: &Value) -> Cow<'_, Value> {
    let algo = config.get("algo").and_then(Value::as_str).unwrap_or_default();
    let old = |key: &str| config.get("algo_kwargs").is_some_and(|settings| settings.get(key).is_some());
    let mut config = Cow::Borrowed(config);
    for (_, from, to) in RENAMED.iter().filter(|(algos, from, _)| algos.contains(&algo) && old(from)) {
        if let Some(settings) = config.to_mut().get_mut("algo_kwargs").and_then(Value::as_object_mut)
            && let Some(value) = settings.remove(*from)
        {
            settings.entry(*to).or_insert(value);
        }
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn old_names_become_new_ones_where_they_were_in_use() {
        let old = json!({"algo": "drqv2", "algo_kwargs": {"noise_clip": 0.3, "shift": 2}});
        let new = json!({"algo": "drqv2", "algo_kwargs": {"target_noise_clip": 0.3, "shift": 2}});
        assert_eq!(with_new_names(&old).into_owned(), new);
        assert!(matches!(with_new_names(&new), Cow::Borrowed(_)));
        let other = json!({"algo": "sac", "algo_kwargs": {"noise_clip": 0.3}});
        assert_eq!(with_new_names(&other).into_owned(), other);
        assert_eq!(with_new_names(&json!(3)).into_owned(), json!(3));
    }
}
