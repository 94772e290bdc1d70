//! Mistakes of every kind: each with its place, its key and a remedy.

use super::Document;
use crate::registry::{asked_for, find};

/// Reads a DQN file with these lines and overrides, and returns what is wrong with it.
fn told(lines: &str, set: &[&str]) -> String {
    let text = format!("algo: dqn\nenv_id: CartPole-v1\ntotal_timesteps: 50\n{lines}\n");
    let set: Vec<String> = set.iter().map(|&s| s.to_owned()).collect();
    let read = || {
        let document = Document::parse(&text, "x.yaml", &set)?;
        let entry = asked_for(&document)?;
        let config = entry.read_document(&document)?;
        entry.refuse_idle(&document, &config.algo_kwargs.0)
    };
    read().err().map_or(String::new(), |error| error.to_string())
}

fn placed(lines: &str, place: &str, words: &[&str]) {
    let message = told(lines, &[]);
    assert!(message.starts_with(&format!("x.yaml:{place}: ")), "{message}");
    words.iter().for_each(|word| assert!(message.contains(word), "{word}: {message}"));
}

fn blamed_on(set: &[&str], lines: &str, guilty: &str, words: &[&str]) {
    let message = told(lines, set);
    assert!(message.starts_with(&format!("`--set {guilty}`: ")), "{message}");
    words.iter().for_each(|word| assert!(message.contains(word), "{word}: {message}"));
}

#[test]
fn wrong_types_have_a_place_and_a_key() {
    placed("algo_kwargs:\n  gamma: \"0.9\"", "5:10", &["`algo_kwargs.gamma`", "\"0.9\"", "remove the quotes"]);
    placed("algo_kwargs:\n  learning_rate: \"0.1\"", "5:18", &["`algo_kwargs.learning_rate`", "remove the quotes"]);
    placed("num_envs: \"4\"", "4:11", &["`num_envs`", "a whole number", "remove the quotes"]);
    placed("num_envs: [4]", "4:11", &["`num_envs`: a list where a whole number belongs"]);
    placed("num_envs: 1e3", "4:11", &["`num_envs`", "write 1000"]);
    placed("num_envs: 99999999999999999999999", "4:11", &["`num_envs`", "a whole number"]);
    placed("tags: [8]", "4:8", &["`tags.0`: 8 where text belongs", "quotes"]);
    placed("tags: word", "4:7", &["`tags`", "a list"]);
    placed("env_kwargs: 5", "4:13", &["`env_kwargs`", "a map of keys"]);
    placed("algo_kwargs: [1]", "4:14", &["`algo_kwargs`", "a map of keys"]);
    placed("seed: -1", "4:7", &["`seed`", "from 0 on"]);
    placed("algo_kwargs: {hidden_sizes: [64, wide]}", "4:34", &["`algo_kwargs.hidden_sizes.1`", "\"wide\""]);
    placed("algo_kwargs: {hidden_sizes: }", "4:27", &["`algo_kwargs.hidden_sizes`", "nothing"]);
    placed("algo_kwargs: {v_max: 1e300}", "4:22", &["`algo_kwargs.v_max`", "at most"]);
    placed("early_stopping: {patience: soon}", "4:28", &["`early_stopping.patience`"]);
}

#[test]
fn ranges_have_a_place_a_key_and_the_value() {
    placed("algo_kwargs:\n  gamma: 1.5", "5:10", &["`algo_kwargs.gamma`: 1.5 is greater than 1"]);
    placed("algo_kwargs:\n  target_epsilon: -1", "5:19", &["`algo_kwargs.target_epsilon`: -1 is lower than 0"]);
    placed("early_stopping: {min_delta: -1}", "4:29", &["`early_stopping.min_delta`: -1 is lower than 0"]);
    placed("max_updates: 0", "4:14", &["`max_updates`: 0 is lower than 1"]);
    placed("algo_kwargs: {gradient_steps: 0}", "4:31", &["`algo_kwargs.gradient_steps`", "learn nothing"]);
    placed("device: cuda", "4:9", &["`device`: unknown value `cuda`", "auto, cpu"]);
}

#[test]
fn an_empty_key_asks_for_nothing() {
    assert_eq!(told("env_kwargs:\ntags:\nalgo_kwargs:\nearly_stopping:\n", &[]), "");
}

#[test]
fn overrides_are_blamed_for_what_they_bring() {
    let guilty = "algo_kwargs.gamma=\"0.9\"";
    blamed_on(&["seed=3", guilty], "", guilty, &["`algo_kwargs.gamma`", "remove the quotes"]);
    blamed_on(&["algo_kwargs.gama=1"], "algo_kwargs: {gamma: 0.5}", "algo_kwargs.gama=1", &["did you mean `gamma`?"]);
    blamed_on(&["num_envs=0"], "num_envs: 4", "num_envs=0", &["`num_envs`: 0 is lower than 1"]);
    blamed_on(&["num_envs"], "", "num_envs", &["key=value"]);
    blamed_on(&["tags=[1"], "", "tags=[1", &["not valid YAML"]);
    blamed_on(&["seed.x=1"], "seed: 4", "seed.x=1", &["no keys"]);
    blamed_on(&["algo=dqnn"], "", "algo=dqnn", &["unknown algorithm `dqnn`", "`dqn`"]);
    // An override mends what the file has wrong, and does not answer for the rest of it.
    assert_eq!(told("num_envs: 0", &["num_envs=2"]), "");
    assert!(told("num_envs: 0", &["seed=2"]).starts_with("x.yaml:4:11: "));
}

#[test]
fn contradictions_stand_at_a_key_that_is_part_of_them() {
    placed("algo_kwargs:\n  n_step: 9\n  buffer_capacity: 5", "6:3", &["`n_step` 9", "`buffer_capacity` 5"]);
    placed("algo_kwargs:\n  head: categorical\n  v_min: 200", "6:3", &["`v_min` 200", "`v_max` 10"]);
    placed("algo_kwargs: {head: fqf, noisy: true}", "4:15", &["`noisy`"]);
    let set = ["algo_kwargs.n_step=9"];
    blamed_on(&set, "algo_kwargs: {buffer_capacity: 5}", set[0], &["`buffer_capacity` 5"]);
}

#[test]
fn settings_without_an_effect_are_refused_where_somebody_would_believe_in_one() {
    placed("algo_kwargs:\n  prioritized_alpha: 0.7", "5:3", &["no effect", "`prioritized_replay: true`"]);
    placed("algo_kwargs:\n  num_atoms: 21", "5:3", &["no effect", "`head: categorical`"]);
    placed("algo_kwargs:\n  goal_selection_strategy: final", "5:3", &["no effect", "n_sampled_goal"]);
    // Switched off on purpose, or not changed at all: nobody is misled.
    assert_eq!(told("algo_kwargs: {prioritized_alpha: 0.7, prioritized_replay: false}", &[]), "");
    assert_eq!(told("algo_kwargs: {prioritized_alpha: 0.6}", &[]), "");
    assert_eq!(told("algo_kwargs: {prioritized_alpha: 0.7, prioritized_replay: true}", &[]), "");
}

#[test]
fn without_target_networks_there_is_nothing_to_follow() {
    let crossq = |lines: &str| {
        let text = format!("algo: crossq\nenv_id: Pendulum-v1\ntotal_timesteps: 9\nalgo_kwargs:\n{lines}\n");
        let document = Document::parse(&text, "x.yaml", &[]).unwrap();
        let entry = find("crossq").unwrap();
        let config = entry.read_document(&document).unwrap();
        entry.refuse_idle(&document, &config.algo_kwargs.0).err().map_or(String::new(), |error| error.to_string())
    };
    let refused = crossq("  tau: 0.01");
    assert!(refused.starts_with("x.yaml:5:3: `algo_kwargs.tau` has no effect here"), "{refused}");
    assert!(!crossq("  tau: 0.01\n  batch_renorm: true").is_empty(), "that is what makes it useless");
    assert_eq!(crossq("  tau: 0.01\n  batch_renorm: false"), "");
    assert_eq!(crossq("  gamma: 0.98"), "");
}

#[test]
fn broken_files_are_told_in_our_words() {
    let told = |text: &str| Document::parse(text, "x.yaml", &[]).err().unwrap().to_string();
    assert!(told("- 1\n- 2\n").starts_with("x.yaml:1:1: a list where `key: value` lines belong"));
    assert!(told("algo: dqn\nalgo: sac\n").starts_with("x.yaml:2:1: the key `algo` is given twice"));
    let empty = Document::parse("", "x.yaml", &[]).unwrap();
    assert_eq!(asked_for(&empty).err().unwrap().to_string(), "x.yaml: the key `algo` is missing");
}

#[test]
fn a_monstrous_line_makes_no_monstrous_message() {
    let long = "x".repeat(1_000_000);
    for message in [
        told(&format!("env_kwargs: {{a: [{long}}}"), &[]),
        told(&format!("algo_kwargs: {{gamma: {long}}}"), &[]),
        told(&format!("algo_kwargs: {{? {long} : 1}}"), &[]),
        told(&format!("device: {long}"), &[]),
        told("", &[&format!("algo_kwargs.gamma={long}")]),
        told("", &[&format!("algo={long}")]),
        told("", &[&format!("{long}=1")]),
    ] {
        assert!(!message.is_empty() && message.len() < 1500, "{} bytes", message.len());
    }
}

#[test]
fn anchors_and_merges_are_read_like_what_they_stand_for() {
    let lines = "env_kwargs: &a {max_episode_steps: 5}\nalgo_kwargs: {gamma: 0.5}";
    assert_eq!(told(lines, &[]), "");
    placed("algo_kwargs:\n  tau: &x 0.5\n  gamma: *x\n  kappa: \"1\"", "7:10", &["`algo_kwargs.kappa`"]);
}

#[test]
fn keys_that_were_renamed_still_work_and_only_those() {
    let read = |settings: &str| {
        let text = format!("algo: sac\nenv_id: Pendulum-v1\ntotal_timesteps: 10\nalgo_kwargs: {settings}\n");
        crate::registry::find("sac").unwrap().read(&text, "run.yaml", &[])
    };
    let config = read("{gradient_updates_per_step: 7}").unwrap();
    assert_eq!(config.algo_kwargs.0["gradient_steps"], 7);
    assert!(config.algo_kwargs.0.get("gradient_updates_per_step").is_none());
    // Both names at once contradict each other, and an error names what was written where it was written.
    let message = read("{gradient_updates_per_step: 7, gradient_steps: 1}").unwrap_err().to_string();
    assert!(message.contains("gradient_updates_per_step") && message.contains(":4:"), "{message}");
    assert!(read("{gradient_updates_per_stop: 7}").is_err());
    assert!(read("{gradient_updates_per_step: 0}").is_err(), "values are checked as under the new name");
}

#[test]
fn keys_of_recorded_data_among_the_settings_are_those_of_the_block() {
    let read = |lines: &str| {
        let text = format!("algo: gail\nenv_id: CartPole-v1\ntotal_timesteps: 50\n{lines}\n");
        let document = Document::parse(&text, "x.yaml", &[])?;
        asked_for(&document)?.read_document(&document)
    };
    let in_settings = read("algo_kwargs: {expert_dataset_kind: npz, expert_dataset_path: a.npz, gamma: 0.9}").unwrap();
    let in_block = read("dataset: {dataset_kind: npz, dataset_path: a.npz}\nalgo_kwargs: {gamma: 0.9}").unwrap();
    assert_eq!(in_settings, in_block);
    assert!(in_settings.dataset.is_some());
    let mixed = read("algo_kwargs: {dataset_mix: [{kind: random, weight: 2}], dataset_mix_size: 70}").unwrap();
    let data = mixed.dataset.unwrap();
    assert_eq!((data.dataset_size, data.dataset_mix[0].weight), (Some(70), 2.0));
    // Said twice: the second one is nobody's.
    let twice =
        read("dataset: {dataset_kind: random}\nalgo_kwargs: {expert_dataset_kind: npz}").unwrap_err().to_string();
    assert!(twice.contains("x.yaml:5:") && twice.contains("unknown key `expert_dataset_kind`"), "{twice}");
    // A mistake keeps the place at which it was written.
    let wrong = read("algo_kwargs:\n  expert_dataset_kind: nzp").unwrap_err().to_string();
    assert!(wrong.contains("x.yaml:5:24") && wrong.contains("npz"), "{wrong}");
}
