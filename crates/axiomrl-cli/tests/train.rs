//! What `train` promises to programs and people.

mod common;

use common::{Ended, Workshop, signal, wait_until};
use std::fs;
use std::path::Path;

const SMALL: &str = "\
algo: dqn
env_id: CartPole-v1
total_timesteps: 1000
num_envs: 3
eval_interval: 250
eval_episodes: 4
checkpoint_interval: 300
log_interval: 170
algo_kwargs: { hidden_sizes: [8], batch_size: 8, learning_starts: 50 }
";

/// An array of whole numbers from an uncompressed `.npz`, read by hand so that the writer is not tested by itself.
fn whole_numbers(run: &Path, array: &str) -> Vec<i64> {
    let bytes = fs::read(run.join("evaluations.npz")).unwrap();
    let after = |from: usize, what: &[u8]| from + bytes[from..].windows(what.len()).position(|w| w == what).unwrap();
    let npy = after(after(0, format!("{array}.npy").as_bytes()), b"\x93NUMPY");
    let header_len = usize::from(u16::from_le_bytes([bytes[npy + 8], bytes[npy + 9]]));
    let header = String::from_utf8_lossy(&bytes[npy + 10..npy + 10 + header_len]).into_owned();
    assert!(header.contains("'<i8'"), "{header}");
    let shape = header.split_once("'shape': (").unwrap().1.split_once(')').unwrap().0.to_owned();
    let count: usize = shape.split(',').filter_map(|n| n.trim().parse::<usize>().ok()).product();
    let data = &bytes[npy + 10 + header_len..][..count * 8];
    data.chunks_exact(8).map(|number| i64::from_le_bytes(number.try_into().unwrap())).collect()
}

#[test]
fn steps_evaluations_and_checkpoints_are_exact_with_three_environments() {
    let shop = Workshop::new();
    shop.write("run.yaml", SMALL);
    let summary = shop.succeed(&["train", "run.yaml", "--run-dir", "run", "--json", "--quiet"]).json_line();
    assert_eq!(summary["steps"], 1000);
    let run = shop.path("run");
    assert_eq!(whole_numbers(&run, "timesteps"), [250, 500, 750, 1000]);
    assert_eq!(whole_numbers(&run, "ep_lengths").len(), 16);
    for name in ["step_300", "step_600", "step_900", "last", "best"] {
        assert!(run.join("checkpoints").join(name).join("policy.safetensors").is_file(), "{name}");
    }
    let manifest = fs::read_to_string(run.join("checkpoints/step_600/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["counters"]["steps"], 600);
    let csv = fs::read_to_string(run.join("progress.csv")).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let column = |name: &str| header.iter().position(|key| *key == name).unwrap();
    let (steps, evaluated) = (column("time/total_timesteps"), column("eval/mean_reward"));
    let rows: Vec<(f64, bool)> = lines
        .map(|row| (row[steps].parse().unwrap(), !row.get(evaluated).is_none_or(|cell| cell.is_empty())))
        .collect();
    let expected = [170.0, 250.0, 340.0, 500.0, 510.0, 680.0, 750.0, 850.0, 1000.0];
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), expected);
    let at_evaluations: Vec<f64> = rows.iter().filter(|row| row.1).map(|row| row.0).collect();
    assert_eq!(at_evaluations, [250.0, 500.0, 750.0, 1000.0]);
}

#[test]
fn the_json_summary_has_every_field() {
    let shop = Workshop::new();
    shop.write("run.yaml", SMALL);
    let ended = shop.succeed(&["train", "--config", "run.yaml", "--seed", "5", "--output-dir", "out", "--json"]);
    assert!(ended.stderr.contains("steps"), "progress goes to standard error: {ended:?}");
    let summary = ended.json_line();
    let run_dir = summary["run_dir"].as_str().unwrap();
    assert!(run_dir.starts_with("out/dqn__CartPole-v1__seed5__"), "{run_dir}");
    assert_eq!((&summary["algo"], &summary["env_id"]), (&"dqn".into(), &"CartPole-v1".into()));
    assert_eq!((&summary["seed"], &summary["steps"]), (&5.into(), &1000.into()));
    assert_eq!(summary["stop_reason"], "finished");
    for key in ["updates", "wall_seconds", "steps_per_second"] {
        assert!(summary[key].as_f64().unwrap() > 0.0, "{key}: {summary}");
    }
    for key in ["eval_mean_reward", "eval_std_reward", "best_eval_mean_reward"] {
        assert!(summary[key].is_number(), "{key}: {summary}");
    }
    // The same measure from the outside.
    let measured = shop.succeed(&["eval", run_dir, "--checkpoint", "last", "--json"]).json_line();
    assert_eq!(measured["mean_reward"], summary["eval_mean_reward"]);
    assert_eq!(measured["std_reward"], summary["eval_std_reward"]);
    assert_eq!(measured["episodes"], 4);
    assert!(measured["mean_length"].as_f64().unwrap() > 0.0);
    let best = shop.succeed(&["eval", run_dir, "--json"]).json_line();
    assert_eq!(best["mean_reward"], summary["best_eval_mean_reward"]);
}

#[test]
fn people_get_a_summary_with_what_to_do_next() {
    let shop = Workshop::new();
    shop.write("run.yaml", SMALL);
    let ended = shop.succeed(&["train", "run.yaml", "--run-dir", "run", "--quiet"]);
    for words in ["run folder  run\n", "1,000 (", "over 4 episodes", "axiomrl eval run", "axiomrl resume run"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    assert!(ended.stderr.is_empty(), "quiet is quiet: {}", ended.stderr);
    assert!(!ended.stdout.contains('\x1b'), "no colours where there is no terminal");
}

#[test]
fn early_stopping_is_told() {
    let shop = Workshop::new();
    shop.write("run.yaml", &format!("{SMALL}early_stopping: {{ target_reward: 1 }}\n"));
    let summary = shop.succeed(&["train", "run.yaml", "--run-dir", "run", "--json", "--quiet"]).json_line();
    assert_eq!((&summary["stop_reason"], &summary["steps"]), (&"target_reached".into(), &250.into()));
}

#[test]
fn several_seeds_are_summed_up() {
    let shop = Workshop::new();
    shop.write("run.yaml", SMALL);
    let args = ["train", "run.yaml", "--run-dir", "runs", "--seeds", "7,2,9", "--jobs", "2"];
    let summary = shop.succeed(&[args.as_slice(), &["--json", "--quiet"]].concat()).json_line();
    let runs = summary["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["seed"].as_u64().unwrap()).collect::<Vec<_>>(), [7, 2, 9]);
    let rewards: Vec<f64> = runs.iter().map(|run| run["eval_mean_reward"].as_f64().unwrap()).collect();
    let mean = rewards.iter().sum::<f64>() / 3.0;
    assert!((summary["mean_reward"].as_f64().unwrap() - mean).abs() < 1e-9, "{summary}");
    // Three scores are too few to leave a quarter out.
    assert!((summary["iqm_reward"].as_f64().unwrap() - mean).abs() < 1e-9, "{summary}");
    assert_eq!(summary["max_reward"].as_f64(), rewards.iter().copied().reduce(f64::max));
    assert_eq!(summary["min_reward"].as_f64(), rewards.iter().copied().reduce(f64::min));
    // A seed among others is the run it is alone.
    shop.succeed(&["train", "run.yaml", "--run-dir", "alone", "--seed", "2", "--quiet"]);
    common::assert_same("seed 2", &shop.path("runs/seed2"), &shop.path("alone"));

    let table = shop.succeed(&["train", "run.yaml", "--seeds", "1,2", "--set", "total_timesteps=60"]);
    for words in ["seed", "IQM", "mean", "dqn__CartPole-v1__seed2__"] {
        assert!(table.stdout.contains(words), "{words}: {}", table.stdout);
    }
    assert!(table.stderr.contains("seed 1: "), "{table:?}");
}

#[test]
fn stopping_several_seeds_stops_them_cleanly() {
    let shop = Workshop::new();
    shop.write("run.yaml", &SMALL.replace("1000\n", "100000000\n"));
    // Only the parent gets the signal, as from a service manager.
    let mut parent = shop.start(&["train", "run.yaml", "--run-dir", "runs", "--seeds", "1,2,3", "--jobs", "2"]);
    let at_work = |seed: u32| shop.path(&format!("runs/seed{seed}/checkpoints/last")).exists();
    assert!(wait_until(&mut parent, || at_work(1) && at_work(2)));
    signal(&parent, "TERM");
    let ended = Ended::of(parent);
    assert_eq!(ended.code, 130, "{ended:?}");
    assert!(ended.stderr.contains("1 more seeds were not begun"), "{ended:?}");
    for seed in [1, 2] {
        let metadata = fs::read_to_string(shop.path(&format!("runs/seed{seed}/metadata.json"))).unwrap();
        assert!(metadata.contains("\"status\": \"interrupted\""), "{metadata}");
    }
}

#[test]
fn a_seed_that_fails_is_told_and_sets_the_exit_code() {
    let shop = Workshop::new();
    fs::create_dir_all(shop.path("runs/seed2/x")).unwrap();
    shop.write("run.yaml", SMALL);
    let ended = shop.run(&["train", "run.yaml", "--run-dir", "runs", "--seeds", "1,2", "--quiet", "--json"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("seed 2: runs/seed2 is not empty"), "{ended:?}");
    assert_eq!(ended.json_line()["runs"].as_array().unwrap().len(), 1, "the other one counts");
}

#[test]
fn an_algorithm_and_an_environment_need_no_run_file() {
    let workshop = Workshop::new();
    let options =
        ["--total-timesteps", "64", "--eval-episodes", "1", "--set", "algo_kwargs.num_steps=8", "--run-dir", "run"];
    let ended = workshop.run(&[&["train", "ppo", "--env", "CartPole-v1"], &options[..]].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("env_id: \"CartPole-v1\"\ntotal_timesteps: 100000\nnum_envs: 8\n"),
        "{}",
        ended.stderr
    );
    assert!(workshop.path("run/config.yaml").is_file());
    let unknown = workshop.run(&["train", "ppoo", "--env", "CartPole-v1"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("did you mean `ppo`?"), "{unknown:?}");
}

#[test]
fn a_config_trains_in_another_environment() {
    let workshop = Workshop::new();
    let options = [
        "--total-timesteps",
        "64",
        "--run-dir",
        "run",
        "--set",
        "algo_kwargs.learning_starts=32",
        "--eval-episodes",
        "1",
    ];
    let ended = workshop.run(&[&["train", "dqn/cartpole", "--env", "Acrobot-v1"], &options[..]].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let config = std::fs::read_to_string(workshop.path("run/config.yaml")).unwrap();
    assert!(config.contains("env_id: Acrobot-v1") && config.contains("buffer_capacity: 10000"), "{config}");
    let unknown = workshop.run(&["train", "dqn/cartpole", "--env", "Acrobat-v1", "--python", "/no/such/python"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("Acrobat-v1"), "{}", unknown.stderr);
}

#[test]
fn environments_that_need_python_say_so() {
    let workshop = Workshop::new();
    let ended = workshop.run(&["train", "ppo", "--env", "LunarLander-v3", "--python", "/no/such/python"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("/no/such/python") && ended.stderr.contains("gymnasium"), "{}", ended.stderr);
    let listed = workshop.run(&["envs", "--gymnasium", "--python", "/no/such/python"]);
    assert!(listed.code == 2 && listed.stderr.contains("AXIOMRL_PYTHON"), "{listed:?}");
    assert!(workshop.names().is_empty());
}
