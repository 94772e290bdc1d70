//! Recorded data in run files: where it comes from, what is refused, and runs that have no environment.

use axiomrl_data::{Recording, npz};
use axiomrl_run::catalogue::Catalogue;
use axiomrl_run::collect::{Amount, Behaviour, Noise, record};
use axiomrl_run::train::{Outcome, StopReason, TrainError, TrainOptions, Trainer};
use std::path::Path;

fn text(rest: &str) -> String {
    format!(
        "algo: cql_dqn\nenv_id: CartPole-v1\ntotal_timesteps: 40\nseed: 3\neval_episodes: 2\nalgo_kwargs:\n  hidden_sizes: \
         [8]\n  batch_size: 8\n{rest}"
    )
}

fn options(run: &Path) -> TrainOptions {
    TrainOptions { run_dir: Some(run.to_owned()), quiet: true, ..TrainOptions::default() }
}

fn train(text: &str, run: &Path) -> Result<Outcome, TrainError> {
    let experiment = Catalogue::builtin().read(text, "run.yaml", &[]).unwrap();
    Trainer::new(experiment, options(run), Vec::new())?.run()
}

fn refused(text: &str) -> String {
    Catalogue::builtin().read(text, "run.yaml", &[]).err().unwrap().to_string()
}

/// A few random episodes of CartPole.
fn cartpole(seed: u64) -> Recording {
    let catalogue = Catalogue::builtin();
    let run = catalogue.read("algo: dqn\nenv_id: CartPole-v1\ntotal_timesteps: 1\n", "x", &[]).unwrap();
    let mut random = [(Behaviour::Random, 1.0)];
    record("random", run.environments.as_ref(), &mut random, Amount::Episodes(5), seed, Noise::default()).unwrap()
}

fn write_npz(path: &Path, seed: u64) {
    npz::write(path, &mut cartpole(seed).into_reader()).unwrap();
}

#[test]
fn updates_are_counted_where_no_step_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = train(&text(""), &folder.path().join("run")).unwrap();
    assert_eq!((outcome.steps, outcome.updates, outcome.at), (0, 40, 40));
    assert_eq!(outcome.evaluation.unwrap().returns.len(), 2, "the environment is there to be evaluated in");
}

#[test]
fn a_file_is_learned_from_without_an_environment_and_a_changed_one_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (file, run) = (folder.path().join("data.npz"), folder.path().join("run"));
    write_npz(&file, 1);
    let block = format!("dataset:\n  dataset_kind: npz\n  dataset_path: {}\n", file.display());
    let alone = text(&block).replace("env_id: CartPole-v1", "env_id: none");
    let outcome = train(&alone, &run).unwrap();
    assert_eq!((outcome.updates, outcome.evaluation.is_none(), outcome.reason), (40, true, StopReason::Finished));
    let resume = || {
        let resumed = Trainer::resume(&Catalogue::builtin(), &run, Some(60), options(&run), Vec::new());
        resumed.and_then(Trainer::run)
    };
    assert_eq!(resume().unwrap().updates, 60);
    write_npz(&file, 2);
    let error = Trainer::resume(&Catalogue::builtin(), &run, Some(80), options(&run), Vec::new()).err().unwrap();
    assert!(error.to_string().contains("not those that the run began with"), "{error}");
}

#[test]
fn the_replay_of_a_run_is_data_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let dqn = text("  learning_starts: 5\n").replace("cql_dqn", "dqn");
    train(&dqn, &first).unwrap();
    let block = format!("dataset:\n  dataset_kind: run\n  dataset_path: {}\n", first.display());
    assert_eq!(train(&text(&block), &second).unwrap().updates, 40);
}

#[test]
fn shares_of_several_sources_are_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let block = "dataset:\n  dataset_size: 200\n  dataset_mix:\n    - {weight: 1, dataset_kind: random}\n    - {weight: 3, \
                 dataset_kind: scripted}\n";
    assert_eq!(train(&text(block), &folder.path().join("run")).unwrap().updates, 40);
}

#[test]
fn what_has_no_effect_or_contradicts_itself_is_refused_where_it_stands() {
    let ppo = "algo: ppo\nenv_id: CartPole-v1\ntotal_timesteps: 40\ndataset:\n  dataset_kind: random\n";
    let message = refused(ppo);
    assert!(message.contains("run.yaml:4:") && message.contains("`dataset` has no effect"), "{message}");
    let dqn = text("dataset:\n  dataset_kind: random\n").replace("cql_dqn", "dqn");
    assert!(refused(&dqn).contains("offline: true"));
    for (block, words) in [
        ("dataset:\n  dataset_kind: npz\n", "needs a `dataset_path`"),
        ("dataset:\n  dataset_kind: npz\n  dataset_path: /nowhere/x.npz\n", "there is no /nowhere/x.npz"),
        ("dataset:\n  dataset_kind: minari\n", "needs a `dataset_id`"),
        ("dataset:\n  dataset_kind: random\n  dataset_path: x.npz\n", "has no file"),
        ("dataset:\n  reward_clip_min: 1\n  reward_clip_max: 0\n", "below `reward_clip_min`"),
        ("dataset:\n  normalize_observation: true\nnormalize_observation: true\n", "keep one of the two"),
        ("dataset:\n  reward_scale: 2\nnormalize_reward: true\n", "keep one of the two"),
        ("dataset:\n  dataset_kin: npz\n", "did you mean `dataset_kind`"),
    ] {
        let message = refused(&text(block));
        assert!(message.contains(words) && message.contains("run.yaml:"), "{block}: {message}");
    }
    let steps = "algo: sac\nenv_id: none\ntotal_timesteps: 40\n";
    assert!(refused(steps).contains("nothing to step"), "{}", refused(steps));
}

#[test]
fn nothing_is_written_where_the_data_is_damaged_or_of_another_environment() {
    let folder = tempfile::tempdir().unwrap();
    let (file, run) = (folder.path().join("data.npz"), folder.path().join("run"));
    let block = format!("dataset:\n  dataset_kind: npz\n  dataset_path: {}\n", file.display());
    std::fs::write(&file, b"this is no archive").unwrap();
    let error = train(&text(&block), &run).unwrap_err().to_string();
    assert!(error.contains("data.npz"), "{error}");
    write_npz(&file, 1);
    let other = text(&block).replace("CartPole-v1", "Acrobot-v1");
    let error = train(&other, &run).unwrap_err().to_string();
    assert!(error.contains("data.npz"), "{error}");
    assert!(!run.exists());
}
