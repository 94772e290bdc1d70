//! What holds for every name of the table.

use super::*;
use serde_json::{Map, json};

fn minimal(entry: &AlgoEntry) -> Value {
    json!({ "algo": entry.name, "env_id": "CartPole-v1", "total_timesteps": 1 })
}

fn minimal_text(entry: &AlgoEntry) -> String {
    format!("algo: {}\nenv_id: CartPole-v1\ntotal_timesteps: 1\n", entry.name)
}

/// The settings of an algorithm in its schema, by the reference that `algo_kwargs` is.
fn own(schema: &Value) -> &Map<String, Value> {
    let name = schema["properties"]["algo_kwargs"]["$ref"].as_str().unwrap().strip_prefix("#/$defs/").unwrap();
    schema["$defs"][name]["properties"].as_object().unwrap()
}

#[test]
fn every_name_has_the_same_defaults_wherever_they_are_asked_for() {
    assert_eq!(registry().len(), 84);
    for entry in registry() {
        let defaults = entry.defaults();
        let schema = entry.schema();
        let listed: Map<String, Value> = own(&schema).iter().map(|(k, p)| (k.clone(), p["default"].clone())).collect();
        assert_eq!(Value::Object(listed), defaults, "{}: schema", entry.name);
        assert_eq!(schema["properties"]["algo_kwargs"]["default"], defaults, "{}: schema as a whole", entry.name);
        let read = |text: &str| entry.read(text, "x.yaml", &[]).unwrap().algo_kwargs.0;
        assert_eq!(read(&minimal_text(entry)), defaults, "{}: file", entry.name);
        assert_eq!(read(&(minimal_text(entry) + "algo_kwargs:\n")), defaults, "{}: empty key", entry.name);
        assert_eq!(entry.revalidate(&minimal(entry)).unwrap().algo_kwargs.0, defaults, "{}: saved", entry.name);
    }
}

/// What stands between backticks on a page, outside of its formulas.
fn quoted(page: &str) -> Vec<String> {
    let outside: Vec<&str> = page.split("```").step_by(2).collect();
    let text = outside.join(" ").replace('\n', " ");
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_page_says_what_it_must_and_names_settings_that_its_preset_has() {
    for entry in registry() {
        let (name, page, defaults) = (entry.name, entry.page(), entry.defaults());
        assert!(page.starts_with("# "), "{name}: a page begins with its title");
        for part in ["**What it does.**", "**When to use it.**", "**Details that matter.**", "**Reference"] {
            assert!(page.contains(part), "{name}: {part}");
        }
        let schema = serde_json::to_string(&entry.schema()).unwrap();
        for word in quoted(&page) {
            if let Some((key, value)) = word.split_once(": ") {
                // A setting with a value must be one that can be written.
                let text = minimal_text(entry) + &format!("algo_kwargs: {{{key}: {value}}}\n");
                if defaults.get(key).is_some() && !value.contains('…') {
                    let read = entry.read(&text, "x.yaml", &[]);
                    let refused = read.err().map(|error| error.to_string()).unwrap_or_default();
                    assert!(
                        !refused.contains("unknown") && !refused.contains("belongs"),
                        "{name}: `{word}`: {refused}"
                    );
                }
            } else if word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                // A word with a low line is a setting, a choice, a key of the run file, another algorithm, or a logged number.
                let known =
                    schema.contains(&format!("\"{word}\"")) || find(&word).is_some() || LOGGED.contains(&&word[..]);
                assert!(known, "{name}: `{word}` is nothing that the page's reader could find");
            }
        }
    }
}

/// Logged numbers that pages speak of, and the parts of an observation with a goal.
const LOGGED: &[&str] = &[
    "q_value_mean",
    "target_mean",
    "edge_mass",
    "outside_mass",
    "support_saturated",
    "td_error_mean",
    "achieved_goal",
    "desired_goal",
    "success_rate",
    "allowed_share",
    "offline_fraction",
    "discriminator_accuracy",
    "discriminator_loss",
    "gail_reward_mean",
    "learned_reward_mean",
    "q_data_mean",
    "q_policy_mean",
    "bc_loss",
    "conservative_gap",
    "conservative_weight",
    "model_loss",
    "model_holdout_loss",
    "model_unseen_error",
    "model_calibration",
    "model_dropped_rows",
    "penalty_mean",
    "open_loop_error",
    "line_search_success",
    "step_fraction",
    "surrogate_improvement",
    "expected_improvement",
    "cg_residual",
    "aux_kl",
    "trust_scale",
    "predicted_kl",
    "measured_kl",
    "factor_condition",
    "share_truncated",
    "trust_region_active",
    "return_mean",
    "return_std",
    "return_max",
    "return_deviation",
    "step_norm",
    "weight_norm",
    "update_ratio",
    "search_std",
    "intrinsic_reward_mean",
    "inverse_accuracy",
];

#[test]
fn a_setting_that_is_missing_is_the_presets_whichever_it_is() {
    for entry in registry() {
        let defaults = entry.defaults();
        for key in defaults.as_object().unwrap().keys() {
            let mut older = defaults.clone();
            older.as_object_mut().unwrap().remove(key);
            let mut config = minimal(entry);
            config["algo_kwargs"] = older;
            let filled = entry.revalidate(&config).unwrap().algo_kwargs.0;
            assert_eq!(filled, defaults, "{}.{key}", entry.name);
        }
    }
}

#[test]
fn an_agent_is_built_over_the_preset_of_its_name() {
    let td3 = find("td3").unwrap();
    let mut older = td3.defaults();
    assert_eq!(older["policy_delay"], 2);
    assert_ne!(find("sac").unwrap().defaults()["policy_delay"], 2);
    // Without the preset this would be SAC's stochastic actor, which TD3's exploration noise and targets do not go with.
    for key in ["policy_delay", "actor", "ent_coef", "exploration", "target_action"] {
        older.as_object_mut().unwrap().remove(key);
    }
    let preset = Preset::<actor_critic::OffPolicyAc>(actor_critic::presets::td3);
    let typed = preset.typed(&older).unwrap();
    assert_eq!(crate::config::plain(&typed), td3.defaults());
    assert_eq!(crate::config::plain(&preset.typed(&json!({})).unwrap()), td3.defaults());
    assert_eq!(preset.typed(&json!({ "tau": 0.5 })).unwrap().tau, 0.5);
}

#[test]
fn what_was_read_reads_the_same_again() {
    for entry in registry() {
        let read = entry.read(&minimal_text(entry), "x.yaml", &[]).unwrap();
        let saved = serde_json::to_value(&read).unwrap();
        assert_eq!(entry.revalidate(&saved).unwrap(), read, "{}", entry.name);
        assert_eq!(revalidate(&saved).unwrap(), read, "{}", entry.name);
        // JSON is YAML: the same file, with every default written out.
        let document = Document::parse(&saved.to_string(), "x.yaml", &[]).unwrap();
        assert_eq!(entry.read_document(&document).unwrap(), read, "{}", entry.name);
        entry.refuse_idle(&document, &read.algo_kwargs.0).unwrap();
    }
}

#[test]
fn a_saved_configuration_is_checked_like_a_file() {
    let refused = |algo: &str, pointer: &str, value: Value, words: &[&str]| {
        let mut config = minimal(find(algo).unwrap());
        config["algo_kwargs"] = find(algo).unwrap().defaults();
        let (outer, key) = pointer.rsplit_once('.').unwrap_or(("", pointer));
        if outer.is_empty() {
            config[key] = value;
        } else {
            config[outer][key] = value;
        }
        let message = revalidate(&config).unwrap_err().to_string();
        assert!(message.starts_with("the saved configuration: "), "{message}");
        for word in words.iter().chain([&key]) {
            assert!(message.contains(word), "{word}: {message}");
        }
    };
    refused("sac", "algo_kwargs.tau", json!(-1), &["algo_kwargs.tau", "-1 is lower than 0"]);
    refused("sac", "algo_kwargs.tau", json!("0.1"), &["remove the quotes"]);
    refused("sac", "algo_kwargs.learning_rate", json!(-1e308), &["outside of 0 to 1"]);
    refused("sac", "algo_kwargs.target_entropy", json!(-1e308), &["at most"]);
    refused("dqn", "algo_kwargs.batch_size", json!(0), &["0 is lower than 1"]);
    refused("dqn", "algo_kwargs.batch_size", json!(1u64 << 63), &["greater than"]);
    refused("dqn", "algo_kwargs.train_frequency", json!(0), &["lower than 1"]);
    refused("dqn", "algo_kwargs.gradient_steps", json!(0), &["learn nothing"]);
    refused("dqn", "algo_kwargs.learning_starts", json!(u64::MAX), &["greater than"]);
    refused("dqn", "algo_kwargs.target_update_interval", json!(u64::MAX), &["greater than"]);
    refused("dqn", "algo_kwargs.hidden_sizes", json!([1_000_000_000]), &["1 to 16384"]);
    refused("dqn", "algo_kwargs.hidden_sizes", json!([16_384, 16_384]), &["weights between these layers"]);
    refused("r2d2", "algo_kwargs.burn_in", json!(u64::MAX), &["greater than"]);
    refused("r2d2", "algo_kwargs.overlap", json!(u64::MAX), &["greater than"]);
    refused("r2d2", "algo_kwargs.n_step", json!(20), &["sequence_length"]);
    refused("tqc", "algo_kwargs.top_quantiles_to_drop", json!(u64::MAX), &["greater than"]);
    refused("ppo", "algo_kwargs.clip_range", json!(0.2), &["unknown key"]);
    refused("ppo", "algo_kwargs", json!([1]), &["a list where a map of keys belongs"]);
    for (key, value) in [
        ("num_envs", json!(0)),
        ("num_envs", json!(1_000_000_000)),
        ("num_envs", json!(-1)),
        ("eval_episodes", json!(1u64 << 63)),
        ("total_timesteps", json!(0)),
        ("total_timesteps", json!(u64::MAX)),
        ("log_interval", json!(0)),
        ("keep_checkpoints", json!(u64::MAX)),
        ("frame_stack", json!(1_000_000)),
        ("action_repeat", json!(0)),
        ("max_seconds", json!(-1.0)),
        ("device", json!("cuda")),
        ("tags", json!([8])),
        ("normalize_reward", json!("yes")),
        ("env_kwargs", json!(3)),
        ("totl_timesteps", json!(3)),
    ] {
        refused("ppo", key, value, &[]);
    }
}

#[test]
fn a_key_of_an_earlier_version_is_read_by_its_name_of_today() {
    let mut config = minimal(find("r2d2").unwrap());
    config["algo_kwargs"] = json!({ "cell": "gru" });
    let read = revalidate(&config).unwrap().algo_kwargs.0;
    assert_eq!((&read["memory"], read.get("cell")), (&json!("gru"), None));
    // A mistake in it is told with the name that it has now.
    config["algo_kwargs"] = json!({ "cell": "gro" });
    let told = revalidate(&config).unwrap_err().to_string();
    assert!(told.contains("`gro`") && told.contains("algo_kwargs.memory"), "{told}");
}

#[test]
fn a_saved_configuration_of_no_algorithm_is_refused() {
    let told = |config: &Value| revalidate(config).unwrap_err().to_string();
    assert!(told(&json!({ "algo": "ppoo" })).contains("did you mean `ppo`?"));
    assert!(told(&json!({})).contains("`algo` is missing"));
    assert!(told(&json!({ "algo": 3 })).contains("a name belongs"));
    assert!(told(&json!([1])).contains("a list"));
    let sac = find("sac").unwrap().revalidate(&minimal(find("ppo").unwrap())).unwrap_err().to_string();
    assert!(sac.contains("`ppo` where `sac` belongs"), "{sac}");
}

#[test]
fn a_choice_has_its_choices_in_the_schema() {
    let choices = |algo: &str, key: &str| {
        let schema = find(algo).unwrap().schema();
        own(&schema)[key]["enum"].as_array().unwrap().len()
    };
    assert_eq!(choices("ppo", "activation"), 5);
    assert_eq!(choices("her", "goal_selection_strategy"), 3);
    // Text without choices is nowhere a setting, but for the path of an expert.
    for entry in registry() {
        for (key, property) in own(&entry.schema()) {
            let free = property["type"] == "string" && property["enum"].is_null() && property["const"].is_null();
            let free = free && key != "expert";
            assert!(!free, "{}.{key}", entry.name);
        }
    }
}
