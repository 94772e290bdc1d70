//! Whether somebody changed `config.yaml` since it was written.

use axiomrl_algos::config::{ConfigError, algo_name};
use axiomrl_algos::{RunConfig, find};
use serde_json::Value;

/// Reads the file as a run file is read.
pub(super) fn read(text: &str) -> Result<RunConfig, ConfigError> {
    let name = "config.yaml";
    let algo = algo_name(text, name)?;
    let unknown = || {
        let message = format!("unknown algorithm `{algo}`");
        ConfigError::Whole { source_name: name.to_owned(), message, hint: String::new() }
    };
    find(&algo).ok_or_else(unknown)?.read(text, name, &[])
}

/// In one line.
pub(super) fn mistake(error: &ConfigError) -> String {
    match error {
        ConfigError::At { line, column, message, .. } => format!("{line}:{column}: {message}"),
        ConfigError::Whole { message, .. } | ConfigError::Override { message, .. } => message.clone(),
    }
}

/// What differs, as `key: before -> after`. Not the number of steps: that one can be changed.
pub(super) fn differences(saved: &RunConfig, file: &RunConfig) -> Vec<String> {
    let mut found = Vec::new();
    let as_value = |config: &RunConfig| {
        let same_length = RunConfig { total_timesteps: saved.total_timesteps, ..config.clone() };
        serde_json::to_value(same_length).unwrap_or_default()
    };
    compare(String::new(), &as_value(saved), &as_value(file), &mut found);
    found
}

fn compare(path: String, before: &Value, after: &Value, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            for key in old.keys().chain(added) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                compare(path, &of(old), &of(new), found);
            }
        }
        // 1 and 1.0 are the same number.
        (Value::Number(old), Value::Number(new)) if old.as_f64() == new.as_f64() => {}
        _ if before == after => {}
        _ => found.push(format!("{path}: {before} -> {after}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configs;
    use crate::session::validated_config;
    use crate::yaml::to_yaml;

    #[test]
    fn what_the_program_writes_is_never_taken_for_an_edit() {
        for packaged in configs::list() {
            let config = configs::read(packaged.name, &[]).unwrap();
            let value = serde_json::to_value(&config).unwrap();
            let (file, saved) = (read(&to_yaml(&value)).unwrap(), validated_config(&value).unwrap());
            assert_eq!((&file, &saved), (&config, &config), "{}", packaged.name);
            assert_eq!(differences(&saved, &file), Vec::<String>::new(), "{}", packaged.name);
        }
    }

    #[test]
    fn edits_are_told_by_value_and_not_by_text() {
        let saved = configs::read("ppo/cartpole", &[]).unwrap();
        let text = to_yaml(&serde_json::to_value(&saved).unwrap());
        let same = text.replace("gamma: 0.98", "gamma: 9.8e-1  # as before") + "\n# a remark\n";
        assert_ne!(same, text);
        assert_eq!(differences(&saved, &read(&same).unwrap()), Vec::<String>::new());
        let longer = text.replace("total_timesteps: 100000", "total_timesteps: 7");
        assert_eq!(differences(&saved, &read(&longer).unwrap()), Vec::<String>::new());
        let edited = text.replace("gamma: 0.98", "gamma: 0.9").replace("eval_episodes: 20", "eval_episodes: 5");
        let found = differences(&saved, &read(&edited).unwrap());
        assert_eq!(found, ["eval_episodes: 20 -> 5", "algo_kwargs.gamma: 0.98 -> 0.9"]);
        let mistaken = read(&text.replace("gamma: 0.98", "gama: 0.98")).unwrap_err();
        assert!(mistake(&mistaken).contains("unknown key `gama`"), "{}", mistake(&mistaken));
    }
}
