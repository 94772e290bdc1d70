//! Checkpoints that somebody wrote nonsense into and sealed again: they are refused, whatever it is.

use super::*;
use crate::checkpoint::sealed::tamper;
use crate::experiment::SessionError;
use crate::policy::TrainedPolicy;
use serde_json::{Value, json};

/// Refused as a checkpoint, and not as anything else: exit code 3.
fn is_about_the_checkpoint(error: &TrainError) -> bool {
    use axiomrl_envs::EnvError;
    matches!(
        error,
        TrainError::Session(SessionError::State(_) | SessionError::Env(EnvError::BadSnapshot { .. }))
            | TrainError::Checkpoint(_)
    )
}

/// A run that stopped inside a round, resumed after `place` of its manifest was replaced by `value`.
fn resumed_with(run: &Path, place: &str, value: Value) -> Result<Trainer, TrainError> {
    let last = run.join("checkpoints/last");
    let (manifest, digest) = (last.join("manifest.json"), last.join("manifest.sha256"));
    let before = [&manifest, &digest].map(|path| fs::read(path).unwrap());
    tamper(&last, |manifest| {
        let target = manifest.pointer_mut(place).unwrap_or_else(|| panic!("no {place}"));
        *target = value;
    });
    // Otherwise it would be asked first why it says something else.
    let configuration = fs::read(run.join("config.yaml")).unwrap();
    fs::remove_file(run.join("config.yaml")).unwrap();
    let result = take_up(run, Some(400));
    fs::write(run.join("config.yaml"), configuration).unwrap();
    fs::write(manifest, &before[0]).unwrap();
    fs::write(digest, &before[1]).unwrap();
    result
}

fn refuses(algo: &str, extra: &[&str], cases: Vec<(&str, Value)>) {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    let all: Vec<&str> = ["total_timesteps=300"].iter().chain(extra).copied().collect();
    train(&run, config(algo, &all));
    for (place, value) in cases {
        let words = format!("{algo} {place} {value}");
        match resumed_with(&run, place, value) {
            Ok(_) => panic!("{words}: taken"),
            Err(error) => assert!(is_about_the_checkpoint(&error), "{words}: {error}"),
        }
    }
    // Whatever was tried, the run itself is as it was.
    assert_eq!(resume(&run, Some(400)).unwrap().steps, 400);
}

#[test]
fn settings_out_of_range_are_refused() {
    let place = |key: &str| format!("/config/algo_kwargs/{key}");
    let (frequency, batch, tau) = (place("train_frequency"), place("batch_size"), place("tau"));
    let (rate, capacity) = (place("learning_rate"), place("buffer_capacity"));
    refuses(
        "dqn",
        &[],
        vec![
            (&frequency, json!(0)),
            (&batch, json!(0)),
            (&tau, json!(-1.0)),
            (&rate, json!(-1e308)),
            (&capacity, json!(0)),
            ("/config/num_envs", json!(1_000_000)),
            ("/config/num_envs", json!(9)),
            ("/config/eval_episodes", json!(1u64 << 63)),
            ("/config/frame_stack", json!(0)),
            ("/config/algo", json!("nothing")),
            ("/config/env_id", json!("Nowhere-v0")),
            ("/config/env_kwargs", json!({"nonsense": 1})),
            ("/config", json!([])),
        ],
    );
}

#[test]
fn a_record_that_contradicts_itself_is_refused() {
    refuses(
        "ppo",
        &[],
        vec![
            ("/state/record/round", json!(1_000_000_000)),
            ("/state/record/round", json!(0)),
            ("/state/record/env_steps", json!(u64::MAX)),
            ("/state/record/env_steps", json!(296)),
            ("/state/record/episodes", json!(u64::MAX)),
            ("/state/record", Value::Null),
            ("/state/actions", json!([0.0])),
            ("/state/actions", json!([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 2.0])),
            ("/state/actions", json!([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1e300])),
            ("/state/record/updates", json!(u64::MAX)),
            ("/state/record/served", json!(u64::MAX)),
            ("/counters/seconds", json!(-1.0)),
            ("/state/rng.act", json!({"seed": [1]})),
        ],
    );
}

#[test]
fn a_store_of_another_moment_is_refused() {
    // Both say step 296, the end of a round, and are wrong together.
    for algo in ["ppo", "recurrent_ppo", "r2d2"] {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        train(&run, config(algo, &["total_timesteps=300"]));
        tamper(&run.join("checkpoints/last"), |manifest| {
            manifest["state"]["record"]["env_steps"] = json!(296);
            manifest["state"]["record"]["round"] = json!(0);
        });
        let Err(error) = take_up(&run, Some(400)) else { panic!("{algo}: taken") };
        assert!(is_about_the_checkpoint(&error), "{algo}: {error}");
    }
    refuses("dqn", &[], vec![("/state/burst_made", json!(9)), ("/state/trained_until", json!(0))]);
}

#[test]
fn a_normaliser_that_cannot_be_is_refused() {
    let normalised = ["normalize_observation=true", "normalize_reward=true"];
    let of = |what: &str, key: &str| format!("{what}/{key}");
    let (observed, rewarded) = ("/policy/observation_statistics", "/state/reward_statistics");
    let [mean, spread, count] = ["mean", "spread", "count"].map(|key| of(observed, key));
    let [scale, rewards] = ["spread", "count"].map(|key| of(rewarded, key));
    refuses(
        "ppo",
        &normalised,
        vec![
            (&mean, json!([0.0])),
            (&spread, json!([0.0])),
            (&spread, json!([-1.0, 0.0, 0.0, 0.0])),
            (&count, json!(-1)),
            (observed, Value::Null),
            (&scale, json!([-1.0])),
            (&scale, json!([0.0, 0.0])),
            (&rewards, json!(-1)),
            (rewarded, Value::Null),
            ("/state/reward_statistics.returns", json!([0.0])),
        ],
    );
}

#[test]
fn a_policy_is_not_made_of_nonsense_either() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    train(&run, config("ppo", &["total_timesteps=300", "normalize_observation=true"]));
    let last = run.join("checkpoints/last");
    let load = || TrainedPolicy::load(&Catalogue::builtin(), &run);
    load().unwrap();
    let untouched = fs::read(last.join("manifest.json")).unwrap();
    let cases = [
        ("/policy/observation_statistics/mean", json!([0.0])),
        ("/policy/observation_statistics/spread", json!([0.0])),
        ("/policy/observation_statistics/spread", json!([-1.0, 0.0, 0.0, 0.0])),
        ("/policy/observation_statistics/count", json!(-1)),
        ("/policy/observation_statistics", Value::Null),
        ("/spaces/observation", json!({"Discrete": {"n": 4}})),
        ("/spaces/action", Value::Null),
        ("/config/normalize_observation", json!(false)),
        ("/config/num_envs", json!(1_000_000)),
        ("/config/algo_kwargs/hidden_sizes", json!([0])),
        ("/config/algo_kwargs/hidden_sizes", json!([9])),
    ];
    for (place, value) in cases {
        fs::write(last.join("manifest.json"), &untouched).unwrap();
        tamper(&last, |manifest| *manifest.pointer_mut(place).unwrap() = value.clone());
        match load() {
            Ok(_) => panic!("{place} {value}: taken"),
            Err(error) => assert!(is_about_the_checkpoint(&error), "{place} {value}: {error}"),
        }
    }
}
