//! Exact in steps and in bits, for every learner.

mod support;

use axiomrl_algos::AlgoEntry;
use axiomrl_run::checkpoint;
use axiomrl_run::evaluate::{EVALUATION_SEED, EvalOptions, Evaluator};
use axiomrl_run::run_dir::RunDir;
use axiomrl_run::train::StopReason;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use support::{CATALOGUE, assert_same, config, forms, is_planner, learners, load, planners, resume, run_in};

/// A task whose every action shows in its returns, in the form the algorithm takes.
fn task(entry: &AlgoEntry) -> &'static str {
    if forms(entry).iter().any(|(_, continuous)| *continuous) { "Pendulum-v1" } else { "CartPole-v1" }
}

#[test]
fn steps_evaluations_and_checkpoints_are_exact_with_any_number_of_environments() {
    for entry in learners() {
        for num_envs in [1, 3, 7] {
            let folder = tempfile::tempdir().unwrap();
            let run = folder.path().join("run");
            let envs = format!("num_envs={num_envs}");
            let extra = [&envs, "eval_interval=50", "eval_episodes=1", "checkpoint_interval=60", "keep_checkpoints=9"];
            let outcome = run_in(&run, config(entry, task(entry), 211, 1, &extra)).unwrap();
            let name = format!("{} with {num_envs} environments", entry.name);
            assert_eq!((outcome.steps, outcome.reason), (211, StopReason::Finished), "{name}");
            assert_eq!(evaluated_at(&run), [50, 100, 150, 200, 211], "{name}");
            assert_eq!(saved_at(&run), [60, 120, 180], "{name}");
        }
    }
}

fn evaluated_at(run: &Path) -> Vec<u64> {
    let rows = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row["metrics"]["eval/mean_reward"].is_number()).map(|row| row["step"].as_u64().unwrap()).collect()
}

fn saved_at(run: &Path) -> Vec<u64> {
    let checkpoints = checkpoint::list(&RunDir::open(run).unwrap().checkpoints());
    let numbered = |path: PathBuf| path.file_name()?.to_str()?.strip_prefix("step_")?.parse().ok();
    checkpoints.into_iter().filter_map(numbered).collect()
}

/// Asserts that a run which is stopped after 350 of its 700 steps and resumed ends with the bytes of one that was not.
fn halves_make_a_whole(what: &str, entry: &AlgoEntry, more: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (whole, halves) = (folder.path().join("whole"), folder.path().join("halves"));
    // 350 steps are no whole number of rounds of three environments: the first half ends in the middle of one.
    let extra = [&["num_envs=3", "eval_interval=350", "eval_episodes=2"], more].concat();
    run_in(&whole, config(entry, task(entry), 700, 2, &extra)).unwrap();
    // Whatever the first evaluation says is enough to stop there.
    let stop = [&extra[..], &["early_stopping={target_reward: -1e9}"]].concat();
    let first = run_in(&halves, config(entry, task(entry), 700, 2, &stop)).unwrap();
    assert_eq!((first.steps, first.reason), (350, StopReason::TargetReached), "{what}");
    let second = resume(&halves).unwrap().run().unwrap();
    assert_eq!(second.steps, 700, "{what}");
    assert_same(what, &halves, &whole);
}

#[test]
fn stopping_halfway_and_resuming_changes_no_byte() {
    for entry in learners().chain(planners()) {
        halves_make_a_whole(entry.name, entry, &["algo_kwargs.learning_rate={linear: [1e-3, 0]}"]);
    }
}

#[test]
fn every_kind_of_exploration_goes_on_where_it_was() {
    for entry in learners().filter(|entry| ["td3", "sac", "crossq"].contains(&entry.name)) {
        for kind in ["gaussian", "ornstein_uhlenbeck", "colored", "state_dependent"] {
            let set = format!("algo_kwargs.exploration={kind}");
            halves_make_a_whole(&format!("{} with {kind} noise", entry.name), entry, &[&set]);
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    for entry in learners().chain(planners()) {
        let folder = tempfile::tempdir().unwrap();
        // Wide enough that the work is shared between threads, where it ever is.
        let wide = ["hidden_sizes=[128, 128]", "batch_size=128", "minibatch_size=128"];
        let known = config(entry, task(entry), 300, 3, &[]).config.algo_kwargs.0;
        let has = |setting: &&str| known.get(setting.split('=').next().unwrap_or_default()).is_some();
        let wide: Vec<String> = wide.iter().filter(|s| has(s)).map(|s| format!("algo_kwargs.{s}")).collect();
        let wide: Vec<&str> = wide.iter().map(String::as_str).collect();
        for threads in [1, 2] {
            let run = config(entry, task(entry), 300, 3, &wide);
            axiomrl_nn::with_threads(threads, || run_in(&folder.path().join(threads.to_string()), run)).unwrap();
        }
        assert_same(entry.name, &folder.path().join("2"), &folder.path().join("1"));
    }
}

#[test]
fn a_policy_acts_the_same_after_saving_and_loading() {
    for entry in learners().chain(planners()) {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        // A planner's model has a scale of its own.
        let scaled = format!("normalize_observation={}", !is_planner(entry));
        let extra = [&scaled[..], "eval_episodes=3"];
        let outcome = run_in(&run, config(entry, task(entry), 400, 4, &extra)).unwrap();
        let mut policy = load(&run);
        let options = EvalOptions { episodes: 3, seed: EVALUATION_SEED, deterministic: true };
        let mut evaluator = Evaluator::new(policy.environments(&CATALOGUE).unwrap());
        let again = evaluator.evaluate(policy.policy.as_mut(), &options).unwrap();
        // Bit for bit: a single other action would show in the returns.
        assert_eq!(Some(again), outcome.evaluation, "{}", entry.name);
    }
}
