//! Exact in steps and in bits, for every learner of recorded data and of experts; and values of what was recorded.

mod support;

use axiomrl_algos::AlgoEntry;
use axiomrl_run::evaluate::{EVALUATION_SEED, EvalOptions, Evaluator};
use axiomrl_run::train::StopReason;
use support::{CATALOGUE, actions, assert_same, config, forms, from_data, load, resume, run_in, trained, values};

/// A task whose every action shows in its returns, and which has an expert.
fn task(entry: &AlgoEntry) -> &'static str {
    if forms(entry).iter().any(|(_, continuous)| *continuous) { "Pendulum-v1" } else { "CartPole-v1" }
}

/// Small networks of those that are large by default, short rounds, and little data.
fn small<'a>(entry: &AlgoEntry, more: &[&'a str]) -> Vec<&'a str> {
    let known = entry.defaults();
    let settings = [
        "vae_hidden_sizes=[16]",
        "embed_dim=16",
        "context_length=5",
        "discriminator_hidden_sizes=[16]",
        "discriminator_updates=3",
        "discriminator_batch_size=32",
        "round_steps=40",
        "round_episodes=1",
        "value_updates=5",
        "actor_updates=7",
        "n_critics=3",
        "num_ensembles=3",
        "num_elites=2",
        "model_hidden_sizes=[16]",
        "model_updates=40",
        "model_check_interval=10",
        "rollout_batch_size=64",
        "rollout_refresh_interval=30",
    ];
    let fits = |setting: &&&str| known.get(setting.split('=').next().unwrap_or_default()).is_some();
    let own: Vec<&'static str> = settings.iter().filter(fits).copied().collect();
    // Leaked once for each test, and there are few.
    let own = own.into_iter().map(|setting| &*format!("algo_kwargs.{setting}").leak());
    let data = if entry.name == "dagger" { None } else { Some("dataset={dataset_size: 400}") };
    more.iter().copied().chain(own).chain(data).collect()
}

#[test]
fn intervals_are_exact_whatever_they_count() {
    for entry in from_data() {
        let folder = tempfile::tempdir().unwrap();
        let extra = small(entry, &["num_envs=3", "eval_interval=50", "eval_episodes=1"]);
        let outcome = run_in(&folder.path().join("run"), config(entry, task(entry), 111, 1, &extra)).unwrap();
        assert_eq!((outcome.at, outcome.reason), (111, StopReason::Finished), "{}", entry.name);
        let offline = !entry.takes_steps(&entry.defaults());
        assert_eq!((outcome.steps == 0, outcome.updates == 111), (offline, offline), "{}", entry.name);
    }
}

#[test]
fn stopping_halfway_and_resuming_changes_no_byte() {
    for entry in from_data() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, halves) = (folder.path().join("whole"), folder.path().join("halves"));
        let extra = small(entry, &["num_envs=3", "eval_interval=100", "eval_episodes=1"]);
        run_in(&whole, config(entry, task(entry), 200, 2, &extra)).unwrap();
        let stop = [&extra[..], &["early_stopping={target_reward: -1e9}"]].concat();
        let first = run_in(&halves, config(entry, task(entry), 200, 2, &stop)).unwrap();
        assert_eq!((first.at, first.reason), (100, StopReason::TargetReached), "{}", entry.name);
        assert_eq!(resume(&halves).unwrap().run().unwrap().at, 200, "{}", entry.name);
        assert_same(entry.name, &halves, &whole);
    }
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    for entry in from_data() {
        let folder = tempfile::tempdir().unwrap();
        let mut extra = small(entry, &["eval_episodes=1"]);
        extra.extend(
            ["algo_kwargs.hidden_sizes=[128, 128]"].iter().filter(|_| entry.defaults().get("hidden_sizes").is_some()),
        );
        for threads in [1, 2] {
            let run = config(entry, task(entry), 120, 3, &extra);
            axiomrl_nn::with_threads(threads, || run_in(&folder.path().join(threads.to_string()), run)).unwrap();
        }
        assert_same(entry.name, &folder.path().join("2"), &folder.path().join("1"));
    }
}

#[test]
fn a_policy_acts_the_same_after_saving_and_loading_without_its_data() {
    for entry in from_data() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let mut extra = small(entry, &["eval_episodes=2"]);
        // What the data says of the scale of observations belongs to the policy.
        if let Some(data) = extra.iter_mut().find(|setting| setting.starts_with("dataset=")) {
            *data = "dataset={dataset_size: 400, normalize_observation: true}";
        }
        let outcome = run_in(&run, config(entry, task(entry), 100, 4, &extra)).unwrap();
        let mut policy = load(&run);
        let options = EvalOptions { episodes: 2, seed: EVALUATION_SEED, deterministic: true };
        let mut evaluator = Evaluator::new(policy.environments(&CATALOGUE).unwrap());
        let again = evaluator.evaluate(policy.policy.as_mut(), &options).unwrap();
        assert_eq!(Some(again), outcome.evaluation, "{}", entry.name);
    }
}

/// Those that keep near to what was usual are let further off: among uniformly random actions nothing is.
fn far(entry: &AlgoEntry) -> &'static [&'static str] {
    match entry.name {
        "bcq" => &["algo_kwargs.latent_clip=2", "algo_kwargs.vae_hidden_sizes=[32]"],
        "bear" => &["algo_kwargs.mmd_threshold=1", "algo_kwargs.vae_hidden_sizes=[32]"],
        // A model that was hardly fitted knows no better than that more is better.
        "mopo" => &["algo_kwargs.model_updates=1000", "algo_kwargs.model_updates_first=1000"],
        _ => &[],
    }
}

/// Uniformly random actions in a task of one step whose reward depends on the action: whoever weighs what was recorded by what
/// it brought finds the best of it, and who copies all of it does not.
#[test]
fn the_best_of_what_was_recorded_is_found_and_copying_does_not_find_it() {
    let improves = ["rlpd", "rebrac", "cal_ql", "edac", "iql", "bcq", "bear", "mopo"];
    for entry in from_data().filter(|entry| improves.contains(&entry.name)) {
        let (mut policy, _) = trained(config(entry, "Probe4Continuous-v0", 2500, 4, far(entry)));
        let action = actions(&mut policy, &[0.0], 1, 1)[0];
        assert!((action - 0.5).abs() < 0.15, "{}: {action} where 0.5 is best", entry.name);
    }
    let bc = axiomrl_algos::find("bc").unwrap();
    let (mut policy, _) = trained(config(bc, "Probe4Continuous-v0", 2500, 4, &[]));
    let action = actions(&mut policy, &[0.0], 1, 1)[0];
    assert!(action.abs() < 0.2, "copying gives the mean of what was done, not {action}");
}

#[test]
fn what_follows_a_recorded_step_is_discounted() {
    let valued = ["rlpd", "rebrac", "cal_ql", "edac", "iql", "bcq", "bear"];
    for entry in from_data().filter(|entry| valued.contains(&entry.name)) {
        let (mut policy, _) = trained(config(entry, "Probe3Continuous-v0", 2500, 3, far(entry)));
        let found = values(&mut policy, &[0.0, 1.0]);
        assert!((found[0] - 0.9).abs() < 0.1 && (found[1] - 1.0).abs() < 0.1, "{}: {found:?}", entry.name);
    }
}
