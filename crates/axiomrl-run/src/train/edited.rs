//! Whether somebody changed `config.yaml` since it was written.

use crate::catalogue::Catalogue;
use axiomrl_algos::RunConfig;
use axiomrl_algos::config::ConfigError;
use serde_json::Value;

/// Reads the file as a run file is read, but takes settings without an effect: the run wrote all it has.
pub(super) fn read(catalogue: &Catalogue, text: &str) -> Result<RunConfig, ConfigError> {
    Ok(catalogue.read_written(text, "config.yaml")?.0)
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
    use crate::yaml::to_yaml;

    #[test]
    fn what_the_program_writes_is_never_taken_for_an_edit() {
        let catalogue = configs::testing::with_games();
        for packaged in configs::list() {
            let config = configs::read(&catalogue, packaged.name, &[]).unwrap().config;
            let value = serde_json::to_value(&config).unwrap();
            let (file, saved) = (read(&catalogue, &to_yaml(&value)).unwrap(), catalogue.revalidate(&value).unwrap().0);
            assert_eq!((&file, &saved), (&config, &config), "{}", packaged.name);
            assert_eq!(differences(&saved, &file), Vec::<String>::new(), "{}", packaged.name);
        }
    }

    /// A program can set what a run file may not.
    #[test]
    fn settings_without_an_effect_are_no_edit() {
        let catalogue = Catalogue::builtin();
        let mut config = configs::read(&catalogue, "crossq/pendulum", &[]).unwrap().config;
        config.algo_kwargs.0["tau"] = 0.5.into();
        let text = to_yaml(&serde_json::to_value(&config).unwrap());
        assert!(catalogue.read(&text, "x.yaml", &[]).is_err(), "it has none");
        assert_eq!(read(&catalogue, &text).unwrap(), config);
    }

    #[test]
    fn edits_are_told_by_value_and_not_by_text() {
        let catalogue = Catalogue::builtin();
        let saved = configs::read(&catalogue, "ppo/cartpole", &[]).unwrap().config;
        let text = to_yaml(&serde_json::to_value(&saved).unwrap());
        let same = text.replace("gamma: 0.98", "gamma: 9.8e-1  # as before") + "\n# a remark\n";
        assert_ne!(same, text);
        assert_eq!(differences(&saved, &read(&catalogue, &same).unwrap()), Vec::<String>::new());
        let longer = text.replace("total_timesteps: 100000", "total_timesteps: 7");
        assert_eq!(differences(&saved, &read(&catalogue, &longer).unwrap()), Vec::<String>::new());
        let edited = text.replace("gamma: 0.98", "gamma: 0.9").replace("eval_episodes: 20", "eval_episodes: 5");
        let mut found = differences(&saved, &read(&catalogue, &edited).unwrap());
        found.sort();
        assert_eq!(found, ["algo_kwargs.gamma: 0.98 -> 0.9", "eval_episodes: 20 -> 5"]);
        let mistaken = read(&catalogue, &text.replace("gamma: 0.98", "gama: 0.98")).unwrap_err();
        let words = mistaken.in_one_line();
        assert!(words.contains("unknown key `gama`"), "{words}");
    }
}
