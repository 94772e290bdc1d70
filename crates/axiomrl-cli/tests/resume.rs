//! The promise: however a run was stopped and taken up again, it ends with the bytes of one that never stopped.

mod common;

use common::{Ended, Workshop, assert_same, signal, wait_until};
use std::path::Path;
use std::time::{Duration, Instant};

/// One run file per algorithm: small, with several environments so that rounds are split, and with a checkpoint every
/// few steps so that a kill can hit one.
const DQN: &str = "\
algo: dqn
env_id: CartPole-v1
seed: 3
total_timesteps: 4000
num_envs: 3
eval_interval: 1000
eval_episodes: 3
checkpoint_interval: 200
log_interval: 250
keep_checkpoints: 1
algo_kwargs: { hidden_sizes: [32, 32], batch_size: 32, learning_starts: 100, buffer_capacity: 1000 }
";
const PPO: &str = "\
algo: ppo
env_id: CartPole-v1
seed: 3
total_timesteps: 4000
num_envs: 2
eval_interval: 1000
eval_episodes: 3
checkpoint_interval: 190
log_interval: 250
normalize_observation: true
normalize_reward: true
algo_kwargs: { hidden_sizes: [32, 32], num_steps: 64, minibatch_size: 32, learning_rate: { linear: [1e-3, 0] } }
";
const SAC: &str = "\
algo: sac
env_id: Pendulum-v1
seed: 3
total_timesteps: 1600
eval_interval: 500
eval_episodes: 2
checkpoint_interval: 100
log_interval: 250
algo_kwargs: { hidden_sizes: [32, 32], batch_size: 32, buffer_capacity: 1500 }
";

/// A run that nothing disturbs, and how long it took.
fn undisturbed(shop: &Workshop, text: &str) -> Duration {
    shop.write("run.yaml", text);
    let begun = Instant::now();
    shop.succeed(&["train", "run.yaml", "--run-dir", "whole", "--quiet", "--threads", "1"]);
    begun.elapsed()
}

/// Kills the run again and again, after different parts of the time it takes, and resumes it each time.
fn killed_and_resumed(shop: &Workshop, whole: Duration) {
    let mut child = shop.start(&["train", "run.yaml", "--run-dir", "killed", "--quiet", "--threads", "2"]);
    let mut kills = 0;
    assert!(wait_until(&mut child, || shop.path("killed/checkpoints/last").exists()), "it ended too soon to be killed");
    for part in [0.02, 0.17, 0.08, 0.25, 0.05, 0.21, 0.12] {
        std::thread::sleep(whole.mul_f64(part));
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        child = shop.start(&["resume", "killed", "--quiet", "--threads", "2"]);
    }
    let ended = Ended::of(child);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(kills >= 3, "only {kills} kills hit a living run");
}

fn survives_kills(text: &str) {
    let shop = Workshop::new();
    let whole = undisturbed(&shop, text);
    killed_and_resumed(&shop, whole);
    assert_same("killed and resumed", &shop.path("killed"), &shop.path("whole"));
}

#[test]
fn dqn_killed_and_resumed_learns_the_same_bytes() {
    survives_kills(DQN);
}

#[test]
fn ppo_killed_and_resumed_learns_the_same_bytes() {
    survives_kills(PPO);
}

#[test]
fn sac_killed_and_resumed_learns_the_same_bytes() {
    survives_kills(SAC);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for (text, wide) in [(DQN, "dqn"), (PPO, "ppo"), (SAC, "sac")] {
        let shop = Workshop::new();
        // Wide enough that the work is shared between threads.
        let text = text.replace("[32, 32]", "[128, 128]").replace("size: 32", "size: 128");
        shop.write("run.yaml", &text);
        let steps = if wide == "ppo" { "1500" } else { "400" };
        for threads in ["1", "2", "3"] {
            let args = ["train", "run.yaml", "--quiet", "--total-timesteps", steps];
            shop.succeed(&[args.as_slice(), &["--threads", threads, "--run-dir", threads]].concat());
        }
        assert_same(&format!("{wide} at 2 threads"), &shop.path("2"), &shop.path("1"));
        assert_same(&format!("{wide} at 3 threads"), &shop.path("3"), &shop.path("1"));
    }
}

#[test]
fn ctrl_c_saves_and_a_resume_completes_the_run() {
    for (text, name) in [(DQN, "INT"), (PPO, "TERM"), (SAC, "HUP")] {
        let shop = Workshop::new();
        undisturbed(&shop, text);
        let mut child = shop.start(&["train", "run.yaml", "--run-dir", "stopped", "--quiet", "--json"]);
        assert!(wait_until(&mut child, || has_rows(&shop.path("stopped/metrics.jsonl"))));
        signal(&child, name);
        let ended = Ended::of(child);
        assert_eq!(ended.code, 130, "{ended:?}");
        assert!(ended.stderr.contains("axiomrl resume stopped"), "{ended:?}");
        let summary = ended.json_line();
        assert_eq!(summary["stop_reason"], "interrupted");
        assert!(summary["steps"].as_u64().unwrap() > 0);
        let resumed = shop.succeed(&["resume", "stopped", "--json", "--quiet"]).json_line();
        assert_eq!(resumed["stop_reason"], "finished");
        assert_same("interrupted and resumed", &shop.path("stopped"), &shop.path("whole"));
    }
}

fn has_rows(log: &Path) -> bool {
    std::fs::metadata(log).is_ok_and(|found| found.len() > 0)
}

#[test]
fn a_run_killed_before_its_first_checkpoint_can_be_resumed_too() {
    let shop = Workshop::new();
    let text = DQN.replace("checkpoint_interval: 200", "checkpoint_interval: 0");
    undisturbed(&shop, &text);
    let mut child = shop.start(&["train", "run.yaml", "--run-dir", "killed", "--quiet"]);
    assert!(wait_until(&mut child, || has_rows(&shop.path("killed/metrics.jsonl"))));
    child.kill().unwrap();
    child.wait().unwrap();
    shop.succeed(&["resume", "killed", "--quiet"]);
    assert_same("begun again", &shop.path("killed"), &shop.path("whole"));
}

#[test]
fn a_finished_run_can_be_made_longer_and_resuming_it_as_it_is_changes_nothing() {
    let shop = Workshop::new();
    undisturbed(&shop, DQN);
    shop.succeed(&["train", "run.yaml", "--run-dir", "again", "--quiet"]);
    let done = shop.succeed(&["resume", "again", "--json", "--quiet"]).json_line();
    assert_eq!(done["steps"], 4000);
    assert!(done["eval_mean_reward"].is_number(), "{done}");
    assert_same("resumed when finished", &shop.path("again"), &shop.path("whole"));
    let longer = shop.succeed(&["resume", "again", "--total-timesteps", "4100", "--json", "--quiet"]).json_line();
    assert_eq!(longer["steps"], 4100);
}

#[test]
fn a_run_is_not_made_shorter_than_it_is_and_says_when_nothing_is_left() {
    let shop = Workshop::new();
    undisturbed(&shop, &DQN.replace("4000", "300"));
    shop.refused(&["resume", "whole", "--total-timesteps", "0"], 2, &["300 steps", "--total-timesteps"]);
    shop.refused(&["resume", "whole", "--total-timesteps", "299"], 2, &["300 steps"]);
    let ended = shop.succeed(&["resume", "whole", "--total-timesteps", "300"]);
    assert!(ended.stderr.contains("nothing is left to do"), "{ended:?}");
    shop.succeed(&["config", "whole/config.yaml"]);
}

#[test]
fn edits_of_the_configuration_are_noticed() {
    let shop = Workshop::new();
    undisturbed(&shop, &DQN.replace("4000", "300"));
    let text = std::fs::read_to_string(shop.path("whole/config.yaml")).unwrap();
    shop.write("whole/config.yaml", &text.replace("gamma: 0.99", "gamma: 0.9"));
    let words = ["config.yaml was edited", "gamma: 0.99 -> 0.9", "put it back"];
    shop.refused(&["resume", "whole", "--total-timesteps", "400"], 2, &words);
    shop.write("whole/config.yaml", &text);
    shop.succeed(&["resume", "whole", "--total-timesteps", "400", "--quiet"]);
}

#[test]
fn a_checkpoint_can_be_named_from_inside_of_it() {
    let shop = Workshop::new();
    undisturbed(&shop, &DQN.replace("4000", "300"));
    for (folder, name, total) in
        [("checkpoints/last", ".", "310"), ("checkpoints", "last", "320"), (".", "checkpoints/last", "330")]
    {
        for args in [vec!["resume", name, "--total-timesteps", total, "--quiet"], vec!["eval", name, "--episodes", "1"]]
        {
            let mut command = shop.command(&args);
            let child = command.current_dir(shop.path("whole").join(folder)).spawn().unwrap();
            let ended = Ended::of(child);
            assert_eq!(ended.code, 0, "{folder}: {args:?}: {ended:?}");
        }
    }
}

#[test]
fn what_to_do_next_can_be_pasted_into_a_shell() {
    let shop = Workshop::new();
    shop.write("run.yaml", &DQN.replace("4000", "300"));
    let ended = shop.succeed(&["train", "run.yaml", "--run-dir", "my run", "--quiet"]);
    assert!(ended.stdout.contains("axiomrl eval 'my run'"), "{ended:?}");
}

/// A limit on the size of files is told as a full disk is; the process is not killed for it.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_the_size_of_files_is_an_error_with_a_message() {
    let shop = Workshop::new();
    shop.write("run.yaml", &DQN.replace("4000", "300"));
    let ended = shop.run_limited("ulimit -f 8", &["train", "run.yaml", "--run-dir", "run", "--quiet"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("cannot write") && ended.stderr.contains("too large"), "{ended:?}");
    shop.succeed(&["resume", "run", "--quiet"]);
}

/// Before it is taken, and before anything is written.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_does_not_fit_into_memory_is_refused() {
    let shop = Workshop::new();
    let args = ["train", "curl/pendulum_pixels", "--set", "algo_kwargs.buffer_capacity=100000000", "--run-dir", "run"];
    let ended = shop.run_limited("ulimit -v 6291456", &args);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("the replay needs 103 GB"), "{ended:?}");
    assert!(ended.stderr.contains("lower `algo_kwargs.buffer_capacity`"), "{ended:?}");
    assert!(shop.names().is_empty(), "{:?}", shop.names());
}
