//! Checkpoints that cannot be used are refused with the reason and exit code 3.

mod common;

use common::{Ended, Workshop, signal, wait_until};
use std::fs;
use std::path::Path;

const SMALL: &str = "\
algo: dqn
env_id: CartPole-v1
total_timesteps: 300
eval_interval: 0
eval_episodes: 2
checkpoint_interval: 100
algo_kwargs: { hidden_sizes: [8], batch_size: 8, learning_starts: 50 }
";

fn trained() -> Workshop {
    let shop = Workshop::new();
    shop.write("run.yaml", SMALL);
    shop.succeed(&["train", "run.yaml", "--run-dir", "run", "--quiet"]);
    shop
}

/// Damage to what only training needs: a resume refuses, and the policy can still be used.
fn resume_refused(shop: &Workshop, words: &[&str]) {
    shop.refused(&["resume", "run"], 3, words);
    shop.succeed(&["eval", "run", "--checkpoint", "last"]);
}

/// Both commands that load must refuse.
fn refused(shop: &Workshop, words: &[&str]) {
    shop.refused(&["resume", "run"], 3, words);
    shop.refused(&["eval", "run", "--checkpoint", "last"], 3, words);
}

fn edit(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_file_is_named_with_other_checkpoints_to_use() {
    let shop = trained();
    let model = shop.path("run/checkpoints/last/policy.safetensors");
    edit(&model, |bytes| *bytes.last_mut().unwrap() ^= 1);
    refused(&shop, &["damaged", "policy.safetensors", "sha256 differs", "step_200"]);
    shop.succeed(&["eval", "run", "--checkpoint", "step_200"]);
}

#[test]
fn a_truncated_file_is_named_with_its_size() {
    let shop = trained();
    let store = shop.path("run/checkpoints/last/replay.0.zst");
    edit(&store, |bytes| bytes.truncate(bytes.len() / 2));
    resume_refused(&shop, &["damaged", "replay.0.zst", "truncated"]);
}

#[test]
fn a_missing_file_is_named() {
    let shop = trained();
    fs::remove_file(shop.path("run/checkpoints/last/training.safetensors")).unwrap();
    resume_refused(&shop, &["incomplete", "training.safetensors"]);
    fs::remove_file(shop.path("run/checkpoints/last/policy.safetensors")).unwrap();
    refused(&shop, &["incomplete", "policy.safetensors"]);
}

#[test]
fn a_tampered_manifest_is_refused() {
    let shop = trained();
    let manifest = shop.path("run/checkpoints/last/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"steps\": 300", "\"steps\": 299")).unwrap();
    refused(&shop, &["damaged", "manifest.json"]);
    fs::write(&manifest, "{").unwrap();
    refused(&shop, &["damaged", "manifest.json", "JSON"]);
}

#[test]
fn a_newer_schema_asks_for_a_newer_program() {
    let shop = trained();
    let manifest = shop.path("run/checkpoints/last/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"schema_version\": 2", "\"schema_version\": 99")).unwrap();
    refused(&shop, &["schema version 99", "newer AxiomRL"]);
}

#[test]
fn foreign_folders_and_files_are_refused() {
    let shop = trained();
    fs::create_dir(shop.path("foreign")).unwrap();
    shop.refused(&["eval", "foreign"], 3, &["foreign", "not an AxiomRL checkpoint"]);
    shop.write("foreign/manifest.json", "{\"name\": \"a browser extension\"}");
    shop.refused(&["eval", "foreign"], 3, &["foreign", "not an AxiomRL checkpoint"]);
    shop.refused(&["resume", "foreign"], 3, &["foreign"]);
    shop.refused(&["resume", "run/config.yaml"], 3, &["config.yaml", "it is a file"]);
    shop.refused(&["eval", "run", "--checkpoint", "step_7"], 2, &["step_7", "step_200"]);
    shop.refused(&["eval", "run/checkpoints/last", "--checkpoint", "best"], 2, &["--checkpoint"]);
}

#[test]
fn only_the_last_checkpoint_has_what_a_resume_needs() {
    let shop = trained();
    shop.refused(&["resume", "run/checkpoints/step_200"], 3, &["step_200"]);
    shop.succeed(&["resume", "run/checkpoints/last", "--total-timesteps", "320", "--quiet"]);
}

#[test]
fn a_second_process_is_kept_out() {
    let shop = Workshop::new();
    shop.write("run.yaml", &SMALL.replace("300", "100000000"));
    let mut first = shop.start(&["train", "run.yaml", "--run-dir", "run", "--quiet"]);
    assert!(wait_until(&mut first, || shop.path("run/checkpoints/last").exists()));
    let words = format!("in use by process {}", first.id());
    shop.refused(&["resume", "run"], 2, &[&words]);
    shop.refused(&["train", "run.yaml", "--run-dir", "run"], 2, &["not empty"]);
    signal(&first, "TERM");
    assert_eq!(Ended::of(first).code, 130);
}

#[test]
fn a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_checkpoint() {
    let shop = Workshop::new();
    // Twelve linear layers and steps of size 1: the second update is beyond single precision.
    let layers = ["64"; 12].join(", ");
    let settings = format!("learning_rate: 1.0, activation: identity, learning_starts: 150, hidden_sizes: [{layers}]");
    let text = SMALL.replace("algo: dqn", "algo: sac").replace("CartPole-v1", "Pendulum-v1");
    let text = text.split_once("algo_kwargs").unwrap().0.to_owned() + &format!("algo_kwargs: {{ {settings} }}\n");
    shop.write("run.yaml", &text);
    let train = ["train", "run.yaml", "--run-dir", "run", "--quiet"];
    shop.refused(&train, 4, &["became NaN", "at update", "last good checkpoint is kept"]);
    let metadata = fs::read_to_string(shop.path("run/metadata.json")).unwrap();
    assert!(metadata.contains("\"status\": \"failed\""), "{metadata}");
    shop.succeed(&["eval", "run", "--checkpoint", "last", "--episodes", "1"]);
}

/// Somebody who can calculate hashes wrote nonsense into the manifest.
#[cfg(target_os = "linux")]
fn tamper(folder: &Path, from: &str, to: &str) {
    let manifest = folder.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(&manifest, text.replacen(from, to, 1)).unwrap();
    let sum = std::process::Command::new("sha256sum").arg("manifest.json").current_dir(folder).output().unwrap();
    fs::write(folder.join("manifest.sha256"), sum.stdout).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn nonsense_under_a_right_seal_is_refused_too() {
    let shop = trained();
    let last = shop.path("run/checkpoints/last");
    let untouched = fs::read(last.join("manifest.json")).unwrap();
    for (from, to, words) in [
        ("\"batch_size\": 8", "\"batch_size\": 0", "batch_size"),
        ("\"train_frequency\": 1", "\"train_frequency\": 0", "train_frequency"),
        ("\"num_envs\": 1,", "\"num_envs\": 1000000,", "num_envs"),
        ("\"eval_episodes\": 2", "\"eval_episodes\": 9223372036854775808", "eval_episodes"),
    ] {
        tamper(&last, from, to);
        refused(&shop, &[words]);
        fs::write(last.join("manifest.json"), &untouched).unwrap();
    }
    tamper(&last, "\"round\": 0", "\"round\": 1000000000");
    shop.refused(&["resume", "run", "--total-timesteps", "400"], 3, &["record"]);
}

#[cfg(unix)]
#[test]
fn files_that_are_not_plain_files_are_refused_unread() {
    let shop = trained();
    let last = shop.path("run/checkpoints/last");
    for (name, refused) in [("replay.0.zst", resume_refused as fn(&Workshop, &[&str])), ("policy.safetensors", refused)]
    {
        let (file, aside) = (last.join(name), shop.path("aside"));
        fs::rename(&file, &aside).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        refused(&shop, &["damaged", name, "a link"]);
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        refused(&shop, &["damaged", name, "a folder"]);
        fs::remove_dir(&file).unwrap();
        fs::rename(&aside, &file).unwrap();
    }
}
