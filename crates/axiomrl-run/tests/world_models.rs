//! What holds for every learner, for those that learn a model of the world: exact in steps and in bits, bad numbers named, and the
//! probes learned.

mod support;

use axiomrl_algos::{AlgoEntry, LearnError};
use axiomrl_run::evaluate::{EVALUATION_SEED, EvalOptions, Evaluator};
use axiomrl_run::train::{StopReason, TrainError};
use support::{CATALOGUE, actions, assert_same, config, load, resume, run_in, trained, values, world_models};

/// A task of choices and one of numbers: the two are learned in different ways.
const TASKS: [&str; 2] = ["CartPole-v1", "Pendulum-v1"];

/// Every name on every task.
fn each(check: impl Fn(&'static AlgoEntry, &str)) {
    for entry in world_models() {
        TASKS.iter().for_each(|task| check(entry, task));
    }
}

#[test]
fn stopping_halfway_and_resuming_changes_no_byte() {
    each(|entry, task| {
        let folder = tempfile::tempdir().unwrap();
        let (whole, halves) = (folder.path().join("whole"), folder.path().join("halves"));
        // 175 steps are no whole number of rounds of three environments: the first half ends in the middle of one.
        let extra = ["num_envs=3", "eval_interval=175", "eval_episodes=1", "algo_kwargs.buffer_capacity=240"];
        let whole_run = run_in(&whole, config(entry, task, 350, 2, &extra)).unwrap();
        assert_eq!((whole_run.steps, whole_run.reason), (350, StopReason::Finished), "{}", entry.name);
        let stop = [&extra[..], &["early_stopping={target_reward: -1e9}"]].concat();
        let first = run_in(&halves, config(entry, task, 350, 2, &stop)).unwrap();
        assert_eq!((first.steps, first.reason), (175, StopReason::TargetReached), "{}", entry.name);
        resume(&halves).unwrap().run().unwrap();
        assert_same(entry.name, &halves, &whole);
    });
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    each(|entry, task| {
        let folder = tempfile::tempdir().unwrap();
        // Wide enough that the work is shared between threads.
        let wide = ["algo_kwargs.batch_size=16", "algo_kwargs.batch_length=16", "algo_kwargs.units=128"];
        let wide = [&wide[..], &["algo_kwargs.hidden_size=64", "algo_kwargs.deter_size=128"]].concat();
        for threads in [1, 2] {
            let run = config(entry, task, 300, 3, &wide);
            axiomrl_nn::with_threads(threads, || run_in(&folder.path().join(threads.to_string()), run)).unwrap();
        }
        assert_same(entry.name, &folder.path().join("2"), &folder.path().join("1"));
    });
}

#[test]
fn a_policy_acts_the_same_after_saving_and_loading() {
    each(|entry, task| {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let extra = ["normalize_observation=true", "eval_episodes=2"];
        let outcome = run_in(&run, config(entry, task, 250, 4, &extra)).unwrap();
        let mut policy = load(&run);
        let options = EvalOptions { episodes: 2, seed: EVALUATION_SEED, deterministic: true };
        let mut evaluator = Evaluator::new(policy.environments(&CATALOGUE).unwrap());
        let again = evaluator.evaluate(policy.policy.as_mut(), &options).unwrap();
        assert_eq!(Some(again), outcome.evaluation, "{}", entry.name);
    });
}

#[test]
fn a_nan_observation_is_named_where_it_reaches_the_update() {
    for entry in world_models() {
        for env in ["Faulty-v0", "FaultyContinuous-v0"] {
            let folder = tempfile::tempdir().unwrap();
            let extra = ["env_kwargs.nan_observation_at=150", "checkpoint_interval=100"];
            let error = run_in(&folder.path().join("run"), config(entry, env, 600, 1, &extra)).expect_err(entry.name);
            let TrainError::Learn(LearnError::Diverged(diverged), _) = &error else {
                panic!("{}: {error}", entry.name)
            };
            assert!(diverged.what.contains("loss") || diverged.what.contains("gradient"), "{}", diverged.what);
        }
    }
}

fn close(found: f32, wanted: f32, what: &str) {
    assert!((found - wanted).abs() < 0.15, "{what}: learned {found}, the truth is {wanted}");
}

#[test]
fn the_future_is_discounted() {
    for entry in world_models() {
        for suffix in ["", "Continuous"] {
            let (mut policy, _) = trained(config(entry, &format!("Probe3{suffix}-v0"), 1500, 3, &[]));
            close(values(&mut policy, &[0.0])[0], 0.9, entry.name);
        }
    }
}

#[test]
fn the_policy_depends_on_the_observation() {
    for entry in world_models() {
        let (mut policy, _) = trained(config(entry, "Probe5-v0", 2500, 5, &[]));
        let chosen = actions(&mut policy, &[1.0, -1.0], 2, 1);
        assert_eq!(chosen, [1.0, 0.0], "{}", entry.name);
    }
}
