//! Bad input: an error that says where and what instead, exit code 2, and nothing written.

mod common;

use common::Workshop;

const SOUND: &str = "algo: dqn\nenv_id: CartPole-v1\ntotal_timesteps: 50\n";

/// Trains with a run file and expects to be told all of `words`, with nothing but the file left. `config` says the same.
fn refused(text: &str, words: &[&str]) {
    let shop = Workshop::new();
    shop.write("run.yaml", text);
    shop.refused(&["train", "run.yaml"], 2, words);
    shop.refused(&["config", "run.yaml"], 2, words);
    assert_eq!(shop.names(), ["run.yaml"], "nothing is written");
}

#[test]
fn mistyped_keys_are_placed_and_the_nearest_named() {
    refused(&format!("{SOUND}num_env: 3\n"), &["run.yaml:4:1", "num_env", "num_envs"]);
    let inner = format!("{SOUND}algo_kwargs:\n  gamma: 0.9\n  learning_rat: 0.1\n");
    refused(&inner, &["run.yaml:6:3", "learning_rat", "learning_rate"]);
    let stopping = format!("{SOUND}early_stopping:\n  patienc: 3\n");
    refused(&stopping, &["run.yaml:5:3", "patienc", "patience"]);
}

#[test]
fn wrong_types_are_placed() {
    refused(&SOUND.replace("50", "many"), &["run.yaml:3:18"]);
    refused(&format!("{SOUND}algo_kwargs:\n  hidden_sizes: wide\n"), &["run.yaml:5:17"]);
    refused("algo: [dqn]\nenv_id: CartPole-v1\ntotal_timesteps: 5\n", &["run.yaml:1:7"]);
}

#[test]
fn values_out_of_range_are_placed() {
    refused(&SOUND.replace("50", "0"), &["run.yaml:3:18"]);
    refused(&format!("{SOUND}algo_kwargs:\n  gamma: 1.5\n"), &["run.yaml:5:10", "1"]);
    refused(&format!("{SOUND}early_stopping: {{ min_delta: -1 }}\n"), &["run.yaml:4:"]);
    refused(&format!("{SOUND}algo_kwargs:\n  learning_rate: {{ linear: [3, 0] }}\n"), &["run.yaml:5:"]);
}

#[test]
fn mistakes_of_the_environment_are_placed() {
    refused(&format!("{SOUND}env_kwargs:\n  gravity: 3\n"), &["run.yaml:5:3", "`gravity`", "sutton_barto_reward"]);
    refused(&format!("{SOUND}env_kwargs: {{sutton_barto_rewrad: true}}\n"), &["run.yaml:4:14", "did you mean"]);
    refused(&format!("{SOUND}env_kwargs: {{max_episode_steps: 0}}\n"), &["run.yaml:4:14", "from 1"]);
    refused(&format!("{SOUND}env_kwargs: {{max_episode_steps: \"5\"}}\n"), &["run.yaml:4:14", "remove the quotes"]);
    let stacked = "algo: dqn\nenv_id: IdentityDiscrete-v0\ntotal_timesteps: 5\nframe_stack: 3\n";
    refused(stacked, &["run.yaml:4:1", "stacked", "IdentityDiscrete-v0"]);
    let scaled = stacked.replace("frame_stack: 3", "normalize_observation: true");
    refused(&scaled, &["run.yaml:4:1", "no scale"]);
}

#[test]
fn settings_that_do_not_go_together_are_placed() {
    refused(&format!("{SOUND}algo_kwargs:\n  n_step: 5\n  buffer_capacity: 3\n"), &["run.yaml:6:3", "`n_step` 5"]);
    refused(&format!("{SOUND}algo_kwargs:\n  n_sampled_goal: 4\n"), &["run.yaml:5:3", "BitFlip-v0"]);
    refused(&format!("{SOUND}algo_kwargs:\n  num_atoms: 21\n"), &["run.yaml:5:3", "no effect", "head: categorical"]);
    refused(&format!("{SOUND}algo_kwargs: {{gradient_steps: 0}}\n"), &["run.yaml:4:31", "learn nothing"]);
    let image = "algo: dqn\nenv_id: Catch-v0\ntotal_timesteps: 5\nalgo_kwargs: {vision: nature}\n";
    refused(image, &["run.yaml:4:15", "`vision`", "vision: small"]);
}

#[test]
fn missing_keys_and_broken_yaml_are_told() {
    refused("algo: dqn\nenv_id: CartPole-v1\n", &["run.yaml", "total_timesteps", "missing"]);
    refused("env_id: CartPole-v1\ntotal_timesteps: 1\n", &["run.yaml", "algo", "missing"]);
    refused("algo: dqn\nenv_id: [\n", &["run.yaml:"]);
    refused("", &["run.yaml"]);
}

#[test]
fn unknown_names_come_with_the_nearest() {
    refused(&SOUND.replace("dqn", "dqnn"), &["run.yaml:1:7", "unknown algorithm `dqnn`", "`dqn`"]);
    refused(&SOUND.replace("CartPole", "Cartpole"), &["run.yaml:2:9", "Cartpole-v1", "`CartPole-v1`"]);
    let shop = Workshop::new();
    shop.refused(&["train", "ppo/cartpol"], 2, &["ppo/cartpol", "did you mean `ppo/cartpole`?"]);
    shop.refused(&["train", "nowhere/at/all.yaml"], 2, &["nowhere/at/all.yaml"]);
    shop.refused(&["train", "."], 2, &["folder"]);
    shop.refused(&["explain", "dqnn"], 2, &["did you mean `dqn`?"]);
    shop.refused(&["schema", "x"], 2, &["unknown algorithm `x`"]);
    assert!(shop.names().is_empty());
}

#[test]
fn overrides_are_checked_like_the_file() {
    let shop = Workshop::new();
    let train = |set: &str, words: &[&str]| shop.refused(&["train", "dqn/cartpole", "--set", set], 2, words);
    train("algo_kwargs.gama=0.9", &["--set algo_kwargs.gama=0.9", "did you mean `gamma`?"]);
    train("algo_kwargs.gamma=2", &["--set algo_kwargs.gamma=2"]);
    train("num_envs=none", &["--set num_envs=none"]);
    train("num_envs", &["key=value"]);
    train("env_id=Nowhere-v0", &["--set env_id=Nowhere-v0", "unknown environment"]);
    train("env_kwargs.gravity=3", &["--set env_kwargs.gravity=3", "gravity"]);
    train(
        "algo_kwargs.gamma=\"0.9\"",
        &["--set algo_kwargs.gamma=\"0.9\"", "`algo_kwargs.gamma`", "remove the quotes"],
    );
    train("algo_kwargs.n_sampled_goal=3", &["--set algo_kwargs.n_sampled_goal=3", "BitFlip-v0"]);
    train("algo_kwargs.num_atoms=21", &["--set algo_kwargs.num_atoms=21", "no effect"]);
    train("frame_stack=100", &["--set frame_stack=100"]);
    train("env_id=Pendulum-v1", &["--set env_id=Pendulum-v1", "Box"]);
    shop.refused(&["train", "dqn/cartpole", "--env", "Nowhere-v0"], 2, &["`--env Nowhere-v0`: unknown environment"]);
    shop.refused(&["train", "dqn/cartpole", "--env", "Pendulum-v1"], 2, &["`--env Pendulum-v1`", "Box"]);
    shop.refused(&["train", "dqn/cartpole", "--num-envs", "0"], 2, &["num_envs"]);
    shop.refused(&["train", "dqn/cartpole", "--device", "cuda"], 2, &["cuda", "cpu"]);
    shop.refused(&["train", "dqn/cartpole", "--seeds", "1,2,1"], 2, &["1 twice"]);
    shop.refused(&["train", "dqn/cartpole", "--seeds", "1,2", "--set", "num_envs=0"], 2, &["num_envs"]);
    assert!(shop.names().is_empty());
}

#[test]
fn an_algorithm_that_does_not_fit_names_those_that_do() {
    refused(&SOUND.replace("dqn", "sac"), &["run.yaml:2:9", "`sac`", "Discrete", "CartPole-v1", "dqn, ppo"]);
    refused(&SOUND.replace("CartPole-v1", "Pendulum-v1"), &["`dqn`", "Box", "Pendulum-v1", "ppo, ", " sac, "]);
    let shop = Workshop::new();
    shop.refused(&["train", "sac/pendulum", "--set", "env_id=CartPole-v1", "--seeds", "1,2"], 2, &["dqn, ppo"]);
    assert!(shop.names().is_empty());
}

#[test]
fn an_output_folder_that_cannot_be_made_is_refused() {
    let shop = Workshop::new();
    // A file in its place: root may write anywhere else.
    shop.write("taken", "x");
    shop.refused(&["train", "dqn/cartpole", "--output-dir", "taken"], 2, &["taken", "output_dir"]);
    shop.refused(&["train", "dqn/cartpole", "--run-dir", "taken/run"], 2, &["taken/run"]);
    assert_eq!(shop.names(), ["taken"]);
    std::fs::create_dir(shop.path("full")).unwrap();
    std::fs::write(shop.path("full/notes.txt"), "x").unwrap();
    shop.refused(&["train", "dqn/cartpole", "--run-dir", "full"], 2, &["full", "not empty"]);
}

#[test]
fn usage_mistakes_end_with_code_2() {
    let shop = Workshop::new();
    shop.refused(&["train"], 2, &["CONFIG"]);
    shop.refused(&["trian", "ppo/cartpole"], 2, &["train"]);
    shop.refused(&["train", "ppo/cartpole", "--seed", "x"], 2, &["--seed"]);
    for threads in ["0", "257", "100000", "-1", "two"] {
        let option = format!("--threads={threads}");
        shop.refused(&["train", "ppo/cartpole", &option], 2, &["--threads", "from 1 to 256"]);
        shop.refused(&["resume", "nowhere", &option], 2, &["--threads", "from 1 to 256"]);
    }
    shop.refused(&["eval", "nowhere"], 2, &["nowhere"]);
    shop.refused(&["resume", "nowhere"], 2, &["nowhere"]);
    shop.refused(&["predict", "nowhere", "--input", "none.csv"], 2, &["none.csv"]);
}

#[test]
fn a_monstrous_line_is_not_repeated() {
    let shop = Workshop::new();
    shop.write("run.yaml", &format!("{SOUND}env_kwargs: {{a: [{}\n", "x".repeat(10_000_000)));
    let ended = shop.run(&["config", "run.yaml"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.len() < 2000, "{} bytes", ended.stderr.len());
    assert!(ended.stderr.contains("run.yaml:"), "{}", ended.stderr);
}
