//! Runs that are made longer.

use super::*;

/// Ends inside a round, inside a rollout, on both, on neither; with eight and with seven environments.
const ENDS: [u64; 7] = [1001, 1003, 1004, 1020, 1028, 1256, 1260];
const LONGER: u64 = 1400;

/// Where the end cuts a round short nothing is learned at it that a longer run would not have learned, so the longer run
/// ends with the same bytes. A rollout that ends with whole rows is learned from early, which is another run from there.
fn lengthened(algo: &str, num_envs: u64, extra: &[&str]) {
    let root = tempfile::tempdir().unwrap();
    let settings = |total: u64| {
        let own = [format!("num_envs={num_envs}"), format!("total_timesteps={total}")];
        let all: Vec<&str> = own.iter().map(String::as_str).chain(extra.iter().copied()).collect();
        config(algo, &all)
    };
    let whole = root.path().join("whole");
    train(&whole, settings(LONGER));
    for end in ENDS {
        let run = root.path().join(end.to_string());
        assert_eq!(train(&run, settings(end)).steps, end);
        let outcome = resume(&run, Some(LONGER)).unwrap();
        assert_eq!((outcome.steps, outcome.reason), (LONGER, StopReason::Finished), "{algo} {end}");
        if end % num_envs != 0 {
            assert!(learned(&run) == learned(&whole), "{algo} with {num_envs} environments, from {end}");
        }
    }
}

#[test]
fn ppo_goes_on_wherever_a_run_ended() {
    lengthened("ppo", 8, &[]);
    lengthened("ppo", 7, &["checkpoint_interval=101", "eval_interval=333", "log_interval=50"]);
}

#[test]
fn recurrent_ppo_goes_on_wherever_a_run_ended() {
    lengthened("recurrent_ppo", 8, &["algo_kwargs.sequence_length=8"]);
    lengthened("recurrent_ppo", 7, &["algo_kwargs.sequence_length=8", "checkpoint_interval=101", "log_interval=50"]);
}

#[test]
fn a_run_that_ends_on_a_whole_round_learns_from_its_shorter_rollout() {
    let root = tempfile::tempdir().unwrap();
    let updates = |total: u64| {
        let total_timesteps = format!("total_timesteps={total}");
        train(&root.path().join(total.to_string()), config("ppo", &[&total_timesteps])).updates
    };
    // A rollout of 256 steps takes two minibatches twice; 232 steps more take as many.
    assert_eq!([updates(256), updates(256 + 232), updates(512)], [4, 8, 8]);
    // One step more, and the last row is not whole.
    assert_eq!(updates(256 + 233), 4);
}

#[test]
fn learners_from_a_store_go_on_inside_a_round() {
    for algo in ["dqn", "r2d2", "sac"] {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        train(&run, config(algo, &["total_timesteps=301"]));
        assert_eq!(resume(&run, Some(340)).unwrap().steps, 340, "{algo}");
    }
}

#[test]
fn a_run_cannot_end_before_what_it_has_done_and_refusing_changes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    train(&run, config("ppo", &["total_timesteps=300"]));
    let before = [fs::read(run.join("config.yaml")).unwrap(), fs::read(run.join("metadata.json")).unwrap()];
    for total in [0, 299] {
        let error = resume(&run, Some(total)).unwrap_err();
        assert!(matches!(error, TrainError::TooShort { done: 300, .. }), "{error}");
    }
    assert_eq!(before, [fs::read(run.join("config.yaml")).unwrap(), fs::read(run.join("metadata.json")).unwrap()]);
    let outcome = resume(&run, Some(300)).unwrap();
    assert_eq!((outcome.steps, outcome.reason), (300, StopReason::Finished));
}

#[test]
fn a_longer_run_that_was_killed_at_once_keeps_its_new_length() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    train(&run, config("ppo", &["total_timesteps=300"]));
    drop(take_up(&run, Some(500)).unwrap());
    assert_eq!(resume(&run, None).unwrap().steps, 500);
}

#[test]
fn the_best_evaluation_is_remembered() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    let best = train(&run, config("ppo", &["total_timesteps=300"])).best.unwrap().mean_reward;
    let trainer = take_up(&run, Some(600)).unwrap();
    assert_eq!(trainer.display.best(), Some(best));
}
