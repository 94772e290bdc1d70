//! What every algorithm owes its user when numbers go bad, and what it may never ignore.

mod support;

use axiomrl_algos::{AlgoEntry, LearnError, find, registry};
use axiomrl_run::checkpoint;
use axiomrl_run::memory::Purpose;
use axiomrl_run::train::TrainError;
use std::path::Path;
use support::{
    FROM_DATA, PLANNERS, POPULATIONS, SHARED, WORLD_MODELS, best_actions, config, forms, learners, load, planners,
    resume, run_in,
};

/// Trains on `Faulty` with a checkpoint every 100 steps; it must fail.
fn failed_run(entry: &AlgoEntry, suffix: &str, fault: &str, folder: &Path) -> TrainError {
    let env = format!("Faulty{suffix}-v0");
    let extra = [&format!("env_kwargs.{fault}=350"), "checkpoint_interval=100", "log_interval=50"];
    run_in(folder, config(entry, &env, 1000, 1, &extra)).expect_err(entry.name)
}

/// The last checkpoint is the one before the fault, can be acted on, and leads to the same fault when resumed.
fn assert_last_good_checkpoint(entry: &AlgoEntry, folder: &Path, error: &TrainError) {
    let saved = checkpoint::load(&checkpoint::find(folder).unwrap()).unwrap();
    assert_eq!(saved.counters["steps"], 300, "{}", entry.name);
    let action = best_actions(&mut load(folder), &[0.5], 1, 1)[0];
    assert!(action.is_finite(), "{}: {action}", entry.name);
    let again = resume(folder).unwrap().run().expect_err(entry.name);
    assert_eq!(again.to_string(), error.to_string(), "{}", entry.name);
}

#[test]
fn a_nan_reward_stops_the_run_and_keeps_the_last_good_checkpoint() {
    for entry in learners() {
        for (suffix, _) in forms(entry) {
            let folder = tempfile::tempdir().unwrap();
            let run = folder.path().join("run");
            let error = failed_run(entry, suffix, "nan_reward_at", &run);
            let named = matches!(&error, TrainError::BadReward { env: 0, reward, step: 350, .. } if reward.is_nan());
            assert!(named, "{}: {error}", entry.name);
            assert_last_good_checkpoint(entry, &run, &error);
        }
    }
}

#[test]
fn a_nan_observation_is_named_where_it_reaches_the_update() {
    for entry in learners().chain(planners()) {
        for (suffix, _) in forms(entry) {
            let folder = tempfile::tempdir().unwrap();
            let run = folder.path().join("run");
            let error = failed_run(entry, suffix, "nan_observation_at", &run);
            let TrainError::Learn(LearnError::Diverged(diverged), _) = &error else {
                panic!("{}: {error}", entry.name)
            };
            let what = &diverged.what;
            // Curiosity asks what a step is worth before anything is learned from it.
            let named = ["loss", "gradient", "bonus"].iter().any(|word| what.contains(word));
            assert!(named, "{}: {what}", entry.name);
            assert!(!diverged.value.is_finite() && diverged.update > 0, "{}: {diverged:?}", entry.name);
            assert_last_good_checkpoint(entry, &run, &error);
        }
    }
}

#[test]
fn a_mistyped_key_is_refused_with_its_place_and_the_nearest_one() {
    for entry in registry() {
        // The cross-entropy method has no rate.
        let key = if entry.name == "cem" { "elite_fraction" } else { "learning_rate" };
        let typed = &key[..key.len() - 1];
        let text =
            format!("algo: {}\nenv_id: Probe1-v0\ntotal_timesteps: 10\nalgo_kwargs:\n  {typed}: 0.1\n", entry.name);
        let error = entry.read(&text, "run.yaml", &[]).expect_err(entry.name).to_string();
        assert!(error.starts_with(&format!("run.yaml:5:3: unknown key `{typed}`")), "{}: {error}", entry.name);
        assert!(error.contains(&format!("did you mean `{key}`?")), "{}: {error}", entry.name);
    }
}

/// The tests that take long are run per learner; nobody may fall between them.
#[test]
fn every_name_is_a_learner_or_settings_over_one() {
    let tables = || SHARED.iter().chain(PLANNERS).chain(FROM_DATA).chain(WORLD_MODELS).chain(POPULATIONS);
    let known: Vec<&str> = tables().flat_map(|(name, over)| [&[*name], *over].concat()).collect();
    for name in &known {
        assert!(find(name).is_some(), "{name}: tests/support/learners.rs names something that is not registered");
        let times = known.iter().filter(|other| *other == name).count();
        assert_eq!(times, 1, "{name}: name it once in tests/support/learners.rs");
    }
    for (name, over) in tables() {
        let keys = setting_names(name);
        for variant in *over {
            // Names with the same settings are built by the same code.
            assert_eq!(setting_names(variant), keys, "{variant} is no settings over {name}");
        }
    }
}

fn setting_names(name: &str) -> Vec<String> {
    find(name).unwrap().defaults().as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_name_can_be_built_for_its_spaces() {
    for entry in registry() {
        for (suffix, _) in forms(entry) {
            // Only tasks of some kinds have an expert to ask.
            let env = match (entry.name, suffix) {
                ("dagger", "") => "CartPole-v1".to_owned(),
                ("dagger", _) => "Pendulum-v1".to_owned(),
                _ => format!("Probe1{suffix}-v0"),
            };
            let mut run = config(entry, &env, 10, 1, &[]);
            run.load_prior().unwrap();
            let env = run.training_env().unwrap();
            assert!(run.agent(env.as_ref(), Purpose::Train).is_ok(), "{}", entry.name);
        }
    }
}
