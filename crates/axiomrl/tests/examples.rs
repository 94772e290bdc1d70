//! The two examples, as binaries of a user: everything that the program can do it can do with their rows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The binary of an example, which the tests of this crate are built with.
fn example(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().and_then(Path::parent).unwrap().join("examples");
    let path = folder.join(name);
    assert!(path.is_file(), "{} is built with the tests", path.display());
    path
}

fn file(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn run(name: &str, args: &[&str]) -> Output {
    Command::new(example(name)).args(args).output().unwrap()
}

fn succeeds(name: &str, args: &[&str]) -> String {
    let output = run(name, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(name: &str, args: &[&str], words: &[&str]) {
    let output = run(name, args);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
    assert!(words.iter().all(|word| told.contains(word)), "{args:?}: {told}");
}

/// All files of a run's last checkpoint that hold what was learned.
fn learned(run: &Path) -> Vec<(String, Vec<u8>)> {
    let last = run.join("checkpoints/last");
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(last)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind != "json" && kind != "sha256"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Trains once in one go and once with kills, and compares.
fn survives_kills(name: &str, config: &str) -> PathBuf {
    let root = tempfile::tempdir().unwrap().keep();
    let (whole, killed) = (root.join("whole"), root.join("killed"));
    succeeds(name, &["train", config, "--quiet", "--run-dir", whole.to_str().unwrap()]);
    let mut child = Command::new(example(name))
        .args(["train", config, "--quiet", "--run-dir", killed.to_str().unwrap()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !killed.join("checkpoints/last").is_dir() && begun.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    succeeds(name, &["resume", killed.to_str().unwrap(), "--quiet"]);
    assert!(learned(&whole) == learned(&killed), "{name}: a kill changed what was learned");
    assert!(learned(&whole).iter().any(|(name, _)| name == "policy.safetensors"));
    whole
}

fn mean_reward(name: &str, run: &Path) -> f64 {
    let told = succeeds(name, &["eval", run.to_str().unwrap(), "--json"]);
    let place = told.find("\"mean_reward\":").unwrap() + "\"mean_reward\":".len();
    told[place..].split([',', '}']).next().unwrap().trim().parse().unwrap()
}

#[test]
fn an_environment_of_ones_own_is_one_like_any_other() {
    let config = file("corridor.yaml");
    let run = survives_kills("custom_env", &config);
    assert!(mean_reward("custom_env", &run) > 0.9);
    assert!(succeeds("custom_env", &["envs"]).contains("Corridor-v0"));
    assert!(succeeds("custom_env", &["config", &config]).contains("length: 9"));
    refused("custom_env", &["config", &config, "--set", "env_kwargs.length=2"], &["from 3 to 1000"]);
    refused("custom_env", &["train", &config, "--set", "env_kwargs.lenght=5"], &["lenght", "length"]);
    // Where nobody knows the corridor its policy still acts.
    let args = ["predict", run.to_str().unwrap(), "--layout"];
    assert!(succeeds("custom_algorithm", &args).contains("dqn on Corridor-v0"));
    refused("custom_algorithm", &["eval", run.to_str().unwrap()], &["unknown environment `Corridor-v0`"]);
    fs::remove_dir_all(run.parent().unwrap()).unwrap();
}

#[test]
fn an_algorithm_of_ones_own_is_one_like_any_other() {
    let config = file("linear_q.yaml");
    let run = survives_kills("custom_algorithm", &config);
    assert!(mean_reward("custom_algorithm", &run) > 95.0);
    let page = succeeds("custom_algorithm", &["explain", "linear_q"]);
    assert!(page.contains("**The update.**") && page.contains("epsilon"), "{page}");
    assert!(succeeds("custom_algorithm", &["algos"]).contains("linear_q"));
    assert!(succeeds("custom_algorithm", &["schema", "linear_q"]).contains("Share of random actions."));
    refused("custom_algorithm", &["train", &config, "--set", "algo_kwargs.gamma=2"], &["gamma", "between 0 and 1"]);
    refused("custom_algorithm", &["train", &config, "--set", "algo_kwargs.gama=0.5"], &["gama", "gamma"]);
    refused("custom_algorithm", &["train", &config, "--set", "env_id=Pendulum-v1"], &["Box"]);
    fs::remove_dir_all(run.parent().unwrap()).unwrap();
}
