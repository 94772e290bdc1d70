//! The commands that look at things.

mod common;

use common::{Ended, Workshop};
use std::fs;

const DQN: &str = "\
algo: dqn
env_id: CartPole-v1
total_timesteps: 200
eval_episodes: 2
algo_kwargs: { hidden_sizes: [8], batch_size: 8, learning_starts: 50 }
";
const SAC: &str = "\
algo: sac
env_id: Pendulum-v1
total_timesteps: 120
eval_episodes: 1
normalize_observation: true
algo_kwargs: { hidden_sizes: [8], batch_size: 8 }
";

fn trained(text: &str) -> Workshop {
    Workshop::trained(text)
}

/// Feeds lines to `predict`.
fn predict(shop: &Workshop, args: &[&str], input: &str) -> Ended {
    shop.feed(&[&["predict", "run"], args].concat(), input)
}

#[test]
fn predict_answers_json_and_csv_alike() {
    let shop = trained(DQN);
    let rows = "[0.1, 0.2, -0.05, 0.3]\n0.1,0.2,-0.05,0.3\n\n[-0.1, -2, 0.05, 2]\n";
    let ended = predict(&shop, &[], rows);
    assert_eq!(ended.code, 0, "{ended:?}");
    let answers: Vec<u64> = ended.stdout.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0], answers[1]);
    assert!(answers.iter().all(|action| *action < 2));
    shop.write("rows.csv", rows);
    let from_file = shop.succeed(&["predict", "run/checkpoints/last", "--input", "rows.csv"]);
    assert_eq!(from_file.stdout, predict(&shop, &["--checkpoint", "last"], rows).stdout);
}

#[test]
fn predict_names_the_line_that_is_wrong() {
    let shop = trained(DQN);
    let ended = predict(&shop, &[], "1,2,3,4\n1,2,3\n");
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("standard input:2: 3 numbers, and an observation has 4"), "{ended:?}");
    assert_eq!(ended.stdout.lines().count(), 1, "the sound line before it is answered");
    assert!(predict(&shop, &[], "a,b,c,d\n").stderr.contains("`a` is not a number"));
}

#[test]
fn box_actions_are_in_the_units_of_the_environment() {
    let shop = trained(SAC);
    let rows: String = (0..50).map(|i| format!("{},{},{}\n", (i as f32).cos(), (i as f32).sin(), i % 9 - 4)).collect();
    let torques = |ended: Ended| -> Vec<f64> {
        assert_eq!(ended.code, 0, "{ended:?}");
        let lines = ended.stdout.lines().map(|line| serde_json::from_str::<[f64; 1]>(line).unwrap()[0]);
        lines.collect()
    };
    let drawn = torques(predict(&shop, &["--stochastic", "--seed", "1"], &rows));
    assert_eq!(drawn.len(), 50);
    assert!(drawn.iter().all(|torque| torque.abs() <= 2.0));
    assert!(drawn.iter().any(|torque| torque.abs() > 1.0), "a torque reaches to 2: {drawn:?}");
    assert_eq!(
        drawn,
        torques(predict(&shop, &["--stochastic", "--seed", "1"], &rows)),
        "the same seed, the same draws"
    );
    assert_ne!(drawn, torques(predict(&shop, &[], &rows)));
}

#[test]
fn eval_repeats_itself_and_other_seeds_differ() {
    let shop = trained(SAC);
    let mean =
        |args: &[&str]| shop.succeed(&[&["eval", "run", "--json"], args].concat()).json_line()["mean_reward"].clone();
    assert_eq!(mean(&["--episodes", "3", "--seed", "4"]), mean(&["--episodes", "3", "--seed", "4"]));
    assert_ne!(mean(&["--episodes", "3", "--seed", "4"]), mean(&["--episodes", "3", "--seed", "5"]));
    assert_ne!(mean(&["--stochastic"]), mean(&[]));
    let text = shop.succeed(&["eval", "run", "--episodes", "3"]).stdout;
    assert!(text.contains("over 3 episodes") && text.contains("sac on Pendulum-v1"), "{text}");
}

#[test]
fn record_writes_a_gif() {
    let shop = trained(DQN);
    let ended = shop.succeed(&["record", "run", "-o", "out.gif", "--downscale", "4", "--fps", "20", "--episodes", "2"]);
    assert!(ended.stdout.starts_with("out.gif: "), "{ended:?}");
    let bytes = fs::read(shop.path("out.gif")).unwrap();
    assert!(bytes.starts_with(b"GIF89a"));
    assert_eq!(bytes.last(), Some(&0x3b), "the file is complete");
    shop.refused(&["record", "run", "-o", "nowhere/out.gif"], 2, &["nowhere/out.gif"]);
}

/// A board of few pixels, a model of few numbers, and hardly any updates.
const DREAMER: &str = "{algo: dreamerv3, env_id: Catch-v0, total_timesteps: 60, eval_interval: 0, algo_kwargs: {size: cpu_tiny, \
    vision: flat, batch_size: 2, batch_length: 4, learning_starts: 20, deter_size: 16, hidden_size: 8, units: 8}}";

#[test]
fn what_a_model_of_the_world_believes_can_be_watched() {
    let shop = trained(DREAMER);
    let ended = shop.succeed(&["record", "run", "-o", "belief.gif", "--imagine", "3"]);
    assert!(ended.stdout.starts_with("belief.gif: 9 frames"), "{ended:?}");
    assert!(fs::read(shop.path("belief.gif")).unwrap().starts_with(b"GIF89a"));
    let shop = trained(DQN);
    shop.refused(&["record", "run", "--imagine"], 2, &["`dqn` has no model", "leave out --imagine"]);
}

#[test]
fn what_has_no_picture_cannot_be_recorded() {
    let shop = trained(&DQN.replace("CartPole-v1", "Probe1-v0"));
    shop.refused(&["record", "run"], 2, &["Probe1-v0", "no picture"]);
    assert!(!shop.path("episode.gif").exists());
}

#[test]
fn config_shows_defaults_and_overrides_and_reads_back() {
    let shop = Workshop::new();
    let yaml = shop.succeed(&["config", "ppo/cartpole", "--set", "algo_kwargs.gamma=0.5", "--seed", "9"]).stdout;
    for words in ["algo: ppo", "seed: 9", "gamma: 0.5\n", "gae_lambda: 0.8\n", "max_grad_norm: 0.5"] {
        assert!(yaml.contains(words), "{words}: {yaml}");
    }
    shop.write("resolved.yaml", &yaml);
    assert_eq!(shop.succeed(&["config", "resolved.yaml"]).stdout, yaml, "what is shown can be run");
    let json = shop.succeed(&["config", "resolved.yaml", "--format", "json"]).json();
    assert_eq!((&json["algo_kwargs"]["gamma"], &json["num_envs"]), (&0.5.into(), &8.into()));
}

#[test]
fn lists_are_for_people_and_programs() {
    let shop = Workshop::new();
    for (command, names) in [
        ("algos", ["dqn", "ppo", "sac"]),
        ("configs", ["dqn/cartpole", "ppo/pendulum", "sac/pendulum"]),
        ("envs", ["CartPole-v1", "Pendulum-v1", "Acrobot-v1"]),
    ] {
        let list = shop.succeed(&[command, "--json"]).json();
        let found: Vec<&str> = list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
        let text = shop.succeed(&[command]).stdout;
        for name in names {
            assert!(found.contains(&name), "{name}: {found:?}");
            assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
        }
        assert_eq!(text.lines().count(), found.len() + 1);
    }
}

#[test]
fn algorithms_explain_themselves() {
    let shop = Workshop::new();
    let page = shop.succeed(&["explain", "sac"]).stdout;
    for words in ["# SAC: soft actor-critic", "ent_coef", "auto or number", "number or schedule", "0 to 1"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    // A variant is explained with its own defaults, and not with those of what it is a variant of.
    let td3 = shop.succeed(&["explain", "td3", "--json"]).json();
    let delay = td3["settings"].as_array().unwrap().iter().find(|setting| setting["name"] == "policy_delay").unwrap();
    assert_eq!((&delay["default"], &delay["type"]), (&2.into(), &"integer".into()));
    let row = |line: &&str| line.starts_with("policy_delay ");
    let text = shop.succeed(&["explain", "td3"]).stdout;
    assert_eq!(text.lines().find(row).unwrap().split_whitespace().nth(2), Some("2"));
    let schema = shop.succeed(&["schema", "sac"]).json();
    assert!(schema["properties"]["total_timesteps"].is_object());
}

#[test]
fn doctor_tells_where_it_is() {
    let shop = Workshop::new();
    let report = shop.succeed(&["doctor", "--json"]).json();
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["output_dir_writable"], true);
    assert!(report["cores"].as_u64().unwrap() >= 1);
    assert!(shop.names().is_empty(), "looking leaves nothing behind");
    shop.write("taken", "x");
    assert_eq!(shop.succeed(&["doctor", "--json", "--output-dir", "taken"]).json()["output_dir_writable"], false);
    let text = shop.succeed(&["doctor"]).stdout;
    assert!(text.contains("runs can be written to"), "{text}");
    assert!(text.contains("more than two threads do not help") && text.contains("results never depend"), "{text}");
}

#[test]
fn completions_and_version() {
    let shop = Workshop::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(shop.succeed(&["completions", shell]).stdout.contains("total-timesteps"), "{shell}");
    }
    let version = shop.succeed(&["--version"]).stdout;
    assert_eq!(version.trim(), format!("axiomrl {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let shop = Workshop::new();
    for args in [["schema", "dqn"], ["envs", "--json"], ["explain", "ppo"]] {
        let mut child = shop.start(&args);
        drop(child.stdout.take());
        let ended = Ended::of(child);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{args:?}");
    }
}
