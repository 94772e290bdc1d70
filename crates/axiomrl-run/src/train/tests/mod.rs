//! Runs in folders of their own, through the same doors that users take.

mod by_hand;
mod folders;
mod lengthening;
mod sealed;
mod stopping;

use super::*;
use crate::catalogue::Catalogue;
use crate::metadata::Metadata;
use std::fs;

/// Small and quick, with several environments so that rounds are split.
fn config(algo: &str, extra: &[&str]) -> Experiment {
    let env = if algo == "sac" { "Pendulum-v1" } else { "CartPole-v1" };
    let text = format!(
        "{{algo: {algo}, env_id: {env}, seed: 3, total_timesteps: 1000, num_envs: 8, eval_interval: 0, \
         eval_episodes: 1, checkpoint_interval: 0}}"
    );
    let catalogue = Catalogue::builtin();
    let known = catalogue.read(&text, "test", &[]).unwrap().config.algo_kwargs.0;
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
    // Where nothing is remembered, settings of a memory would be refused.
    let idle = |key: &str| known["memory"] == "none" && ["recurrent_hidden_size", "head_sizes"].contains(&key);
    let settings = quick.iter().filter(|(key, _)| known.get(key).is_some() && !idle(key));
    let settings = settings.map(|(key, value)| format!("algo_kwargs.{key}={value}"));
    let assignments: Vec<String> = settings.chain(extra.iter().map(|&text| text.to_owned())).collect();
    catalogue.read(&text, "test", &assignments).unwrap()
}

fn options(run: &Path) -> TrainOptions {
    TrainOptions { run_dir: Some(run.to_path_buf()), quiet: true, ..TrainOptions::default() }
}

fn start(run: &Path, experiment: Experiment) -> Trainer {
    Trainer::new(experiment, options(run), Vec::new()).unwrap()
}

fn train(run: &Path, experiment: Experiment) -> Outcome {
    start(run, experiment).run().unwrap()
}

fn take_up(run: &Path, total: Option<u64>) -> Result<Trainer, TrainError> {
    Trainer::resume(&Catalogue::builtin(), run, total, options(run), Vec::new())
}

fn resume(run: &Path, total: Option<u64>) -> Result<Outcome, TrainError> {
    let mut trainer = take_up(run, total)?;
    match trainer.already_finished()? {
        Some(outcome) => Ok(outcome),
        None => trainer.run(),
    }
}

/// What has been learned, byte for byte: tensors, stores and environments.
fn learned(run: &Path) -> Vec<(String, Vec<u8>)> {
    let last = run.join("checkpoints/last");
    // The manifest tells the time.
    let files = names(&last).into_iter().filter(|name| !name.starts_with("manifest."));
    files.map(|name| (name.clone(), fs::read(last.join(name)).unwrap())).collect()
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
