//! Short runs of any registered algorithm, for the tests that go through the whole registry.
#![allow(dead_code, reason = "each test file uses its own part")]

use axiomrl_algos::registry::ActionKind;
use axiomrl_algos::{AlgoEntry, RunConfig};
use axiomrl_run::checkpoint;
use axiomrl_run::session::TrainedPolicy;
use axiomrl_run::train::{Outcome, TrainError, TrainOptions, Trainer};
use serde_json::Value;
use std::path::Path;

/// Settings that make any algorithm learn a tiny task quickly: each applies where the algorithm has the key.
const QUICK: &[(&str, &str)] = &[
    ("learning_rate", "1e-3"),
    ("hidden_sizes", "[32, 32]"),
    ("buffer_capacity", "5000"),
    ("batch_size", "64"),
    ("learning_starts", "100"),
    ("train_frequency", "1"),
    ("gradient_steps", "1"),
    ("target_update_interval", "50"),
    ("tau", "1.0"),
    ("exploration_fraction", "0.5"),
    ("num_steps", "64"),
    ("minibatch_size", "64"),
    ("update_epochs", "8"),
    ("ent_coef", "0.01"),
    ("log_std_init", "-1.5"),
    ("gamma", "0.9"),
    ("v_min", "-10"),
    ("v_max", "10"),
];

/// A run file for `entry` on `env`, with quick settings and then `extra` (`key=value`).
pub fn config(entry: &AlgoEntry, env: &str, steps: u64, seed: u64, extra: &[&str]) -> RunConfig {
    let text = format!(
        "algo: {}\nenv_id: {env}\ntotal_timesteps: {steps}\nseed: {seed}\neval_interval: 0\ncheckpoint_interval: 0\n",
        entry.name
    );
    let defaults = entry.read(&text, "test", &[]).unwrap().algo_kwargs.0;
    let mut assignments: Vec<String> = QUICK
        .iter()
        .filter(|(key, _)| defaults.get(key).is_some_and(|default| !default.is_null()))
        .map(|(key, value)| format!("algo_kwargs.{key}={value}"))
        .collect();
    // Polyak averaging is per update where there is no interval to copy at.
    if defaults.get("tau").is_some() && defaults.get("target_update_interval").is_none() {
        assignments.push("algo_kwargs.tau=0.02".into());
    }
    if remembers(&defaults) {
        // A batch of sequences holds many steps already.
        let small = ["algo_kwargs.batch_size=16", "algo_kwargs.recurrent_hidden_size=16"];
        let rollouts = ["algo_kwargs.recurrent_hidden_size=32"];
        let chosen = if defaults.get("batch_size").is_some() { &small[..] } else { &rollouts[..] };
        assignments.extend(chosen.iter().map(|&s| s.to_owned()));
    }
    // Only tasks with goals have others to offer.
    if defaults.get("n_sampled_goal").and_then(Value::as_u64).is_some_and(|goals| goals > 0) {
        assignments.push("algo_kwargs.n_sampled_goal=0".into());
    }
    // The conservative penalty moves values on purpose; a small one moves them by little.
    if defaults.get("cql_alpha").and_then(Value::as_f64).is_some_and(|alpha| alpha > 0.0) {
        assignments.push("algo_kwargs.cql_alpha=0.01".into());
    }
    assignments.extend(extra.iter().map(|&e| e.to_owned()));
    entry.read(&text, "test", &assignments).unwrap()
}

/// Whether the policy has a memory: what it then makes of an observation depends on what came before.
pub fn remembers(settings: &Value) -> bool {
    settings.get("recurrent_hidden_size").is_some()
}

pub fn run_in(folder: &Path, config: RunConfig) -> Result<Outcome, TrainError> {
    let options = TrainOptions { run_dir: Some(folder.to_path_buf()), quiet: true, ..TrainOptions::default() };
    Trainer::start(config, options)?.run()
}

/// Trains and loads the result back from its folder.
pub fn trained(config: RunConfig) -> (TrainedPolicy, Outcome) {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run_in(&folder.path().join("run"), config).unwrap();
    (load(&folder.path().join("run")), outcome)
}

pub fn load(run: &Path) -> TrainedPolicy {
    let saved = checkpoint::load(&checkpoint::find(run).unwrap()).unwrap();
    let config: RunConfig = serde_json::from_value(saved.config.clone()).unwrap();
    TrainedPolicy::from_snapshot(config, &saved.snapshot).unwrap()
}

/// Deterministic actions for rows of observations.
pub fn actions(policy: &mut TrainedPolicy, obs: &[f32], rows: usize, width: usize) -> Vec<f32> {
    let mut out = vec![0.0; rows * width];
    let mut rng = axiomrl_core::stream(0, "test");
    let obs = axiomrl_envs::ObsRef::F32(obs);
    policy.agent.predict(obs, &[], rows, true, &mut Default::default(), &mut rng, &mut out);
    out
}

pub fn values(policy: &mut TrainedPolicy, obs: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; obs.len()];
    policy.agent.values(axiomrl_envs::ObsRef::F32(obs), &[], obs.len(), &mut out);
    out
}

/// The forms of an environment an algorithm can take part in: its suffix, and whether it is continuous.
pub fn forms(entry: &AlgoEntry) -> Vec<(&'static str, bool)> {
    let mut forms = Vec::new();
    if entry.actions.contains(&ActionKind::Discrete) {
        forms.push(("", false));
    }
    if entry.actions.contains(&ActionKind::Box) {
        forms.push(("Continuous", true));
    }
    forms
}

pub fn setting(config: &RunConfig, key: &str) -> Value {
    config.algo_kwargs.0.get(key).cloned().unwrap_or_default()
}
