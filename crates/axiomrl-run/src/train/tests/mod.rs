//! Runs in folders of their own, through the same doors that users take.

mod folders;
mod lengthening;
mod sealed;
mod stopping;

use super::*;
use axiomrl_algos::find;
use std::fs;

/// Small and quick, with several environments so that rounds are split.
fn config(algo: &str, extra: &[&str]) -> RunConfig {
    let env = if find(algo).unwrap().name == "sac" { "Pendulum-v1" } else { "CartPole-v1" };
    let text = format!(
        "{{algo: {algo}, env_id: {env}, seed: 3, total_timesteps: 1000, num_envs: 8, eval_interval: 0, \
         eval_episodes: 1, checkpoint_interval: 0}}"
    );
    let entry = find(algo).unwrap();
    let known = entry.read(&text, "test", &[]).unwrap().algo_kwargs.0;
    let quick = [
        ("hidden_sizes", "[8]"),
        ("recurrent_hidden_size", "4"),
        ("head_sizes", "[]"),
        ("num_steps", "32"),
        ("minibatch_size", "128"),
        ("update_epochs", "2"),
        ("batch_size", "8"),
        ("buffer_capacity", "500"),
        ("learning_starts", "100"),
        ("train_frequency", "8"),
        ("gradient_steps", "1"),
        ("learning_rate", "1e-3"),
    ];
    let settings = quick.iter().filter(|(key, _)| known.get(key).is_some());
    let settings = settings.map(|(key, value)| format!("algo_kwargs.{key}={value}"));
    let assignments: Vec<String> = settings.chain(extra.iter().map(|&text| text.to_owned())).collect();
    entry.read(&text, "test", &assignments).unwrap()
}

fn options(run: &Path) -> TrainOptions {
    TrainOptions { run_dir: Some(run.to_path_buf()), quiet: true, ..TrainOptions::default() }
}

fn train(run: &Path, config: RunConfig) -> Outcome {
    Trainer::start(config, options(run)).unwrap().run().unwrap()
}

fn resume(run: &Path, total: Option<u64>) -> Result<Outcome, TrainError> {
    let mut trainer = Trainer::resume(run, total, options(run))?;
    match trainer.already_finished()? {
        Some(outcome) => Ok(outcome),
        None => trainer.run(),
    }
}

/// What has been learned, byte for byte.
fn learned(run: &Path) -> [Vec<u8>; 3] {
    ["model.safetensors", "optimizer.safetensors", "store.bin.zst"]
        .map(|name| fs::read(run.join("checkpoints/last").join(name)).unwrap())
}

/// Names of a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn metadata(run: &Path) -> Metadata {
    Metadata::read(&run.join("metadata.json")).unwrap()
}
