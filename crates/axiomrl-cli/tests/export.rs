//! `export` writes a policy for other programs, and says what it cannot write.

mod common;

use common::Workshop;
use serde_json::{Value, json};
use std::fs;

const RECURRENT: &str = "\
algo: recurrent_ppo
env_id: PendulumNoVel-v1
env_kwargs: { max_episode_steps: 12 }
total_timesteps: 32
eval_interval: 0
algo_kwargs: { num_steps: 16, minibatch_size: 16, sequence_length: 8, hidden_sizes: [8], recurrent_hidden_size: 8 }
";
const PLANS: &str = "\
algo: pets
env_id: Pendulum-v1
env_kwargs: { max_episode_steps: 12 }
total_timesteps: 20
eval_interval: 0
algo_kwargs: { learning_starts: 100, reward: learned }
";

#[test]
fn what_goes_in_and_comes_out_is_told() {
    let shop = Workshop::trained(RECURRENT);
    let told: Value = shop.succeed(&["export", "run", "-o", "out.onnx", "--json"]).json();
    let width = told["inputs"][1]["shape"][1].as_u64().unwrap();
    assert!(width > 0);
    let state = |name: &str| json!({ "name": name, "dtype": "float32", "shape": ["batch", width] });
    let number = |name: &str, size: u64| json!({ "name": name, "dtype": "float32", "shape": ["batch", size] });
    assert_eq!(told["inputs"], json!([number("observation", 2), state("state")]));
    assert_eq!(told["outputs"], json!([number("action", 1), state("next_state")]));
    let file = fs::read(shop.path("out.onnx")).unwrap();
    assert_eq!(told["bytes"], json!(file.len()));
    // Version 8 of the format, and who wrote it.
    assert!(file.starts_with(b"\x08\x08\x12\x07axiomrl"));
    let ended = shop.succeed(&["export", "run/checkpoints/last"]);
    assert!(ended.stdout.contains("policy.onnx") && ended.stdout.contains("float32[batch, 2]"), "{}", ended.stdout);
    assert_eq!(fs::read(shop.path("policy.onnx")).unwrap(), file, "the same policy is the same file");
}

#[test]
fn what_cannot_be_written_is_refused_and_nothing_is() {
    let shop = Workshop::trained(PLANS);
    shop.refused(&["export", "run"], 2, &["`pets`", "plans"]);
    assert!(!shop.path("policy.onnx").exists());
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let shop = Workshop::trained(RECURRENT);
    shop.refused(&["export", "run", "-o", "no/such/out.onnx"], 2, &["no/such/out.onnx"]);
}
