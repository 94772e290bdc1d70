//! Short runs of any registered algorithm, for the tests that go through the whole registry.
#![allow(dead_code, reason = "each test file uses its own part")]

mod learners;

#[allow(unused_imports, reason = "each test file uses its own part")]
pub use learners::{
    FROM_DATA, PLANNERS, POPULATIONS, SHARED, WORLD_MODELS, from_data, is_from_data, is_planner, is_population,
    is_world_model, learners, planners, populations, world_models,
};

use axiomrl_algos::registry::ActionKind;
use axiomrl_algos::{ActContext, ActInput, AlgoEntry, Memory, Mode};
use axiomrl_envs::ObsRef;
use axiomrl_run::catalogue::Catalogue;
use axiomrl_run::experiment::Experiment;
use axiomrl_run::policy::TrainedPolicy;
use axiomrl_run::train::{Outcome, TrainError, TrainOptions, Trainer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

pub static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::builtin);

/// Settings that make any algorithm learn a tiny task quickly: each applies where the algorithm has the key.
const QUICK: &[(&str, &str)] = &[
    ("learning_rate", "1e-3"),
    ("actor_learning_rate", "1e-3"),
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
    ("num_ensembles", "3"),
    ("num_elites", "2"),
    ("model_hidden_sizes", "[32]"),
    ("model_batch_size", "64"),
    ("rollout_batch_size", "400"),
    ("planning_horizon", "4"),
    ("planning_candidates", "12"),
    ("plan_elites", "3"),
    ("planning_iterations", "2"),
    ("planning_particles", "3"),
];

/// The same for world models, whose networks are many.
const SMALL_WORLD: &[&str] = &[
    "batch_size=8",
    "batch_length=8",
    "train_ratio=64",
    "deter_size=32",
    "hidden_size=16",
    "latent_groups=4",
    "latent_classes=4",
    "latent_size=8",
    "conv_depth=4",
    "units=32",
    "encoder_layers=1",
    "reward_layers=1",
    "continue_layers=1",
    "actor_layers=1",
    "critic_layers=1",
    "imagination_horizon=5",
    "warmup_updates=0",
    "learning_rate=3e-3",
    "actor_learning_rate=3e-3",
    "critic_learning_rate=3e-3",
    "observation_loss_scale=10",
];

/// What some need besides, to learn as quickly: one step on each rollout wants short ones, or long strides.
const QUICK_OF: &[(&str, &[&str])] = &[
    ("a2c", &["algo_kwargs.num_steps=5", "algo_kwargs.learning_rate=3e-3"]),
    ("reinforce", &["algo_kwargs.learning_rate=1e-2", "algo_kwargs.num_steps=32"]),
    ("acktr", &["algo_kwargs.num_steps=10", "algo_kwargs.learning_rate=0.25", "algo_kwargs.trust_region=0.01"]),
    ("acer", &["algo_kwargs.num_steps=10", "algo_kwargs.learning_rate=3e-3", "algo_kwargs.replay_start=100"]),
    ("ppg", &["algo_kwargs.value_epochs=8", "algo_kwargs.aux_frequency=3", "algo_kwargs.aux_minibatch_size=64"]),
    ("trpo", &["algo_kwargs.max_kl=0.05", "algo_kwargs.cg_damping=0.01", "algo_kwargs.ent_coef=0"]),
    // A bonus for going elsewhere than the reward is disturbs on purpose; a small one disturbs little.
    ("rnd", CURIOUS),
    ("icm", CURIOUS),
];

const CURIOUS: &[&str] =
    &["algo_kwargs.warm_up_steps=100", "algo_kwargs.intrinsic_coef=0.05", "algo_kwargs.clip_coef=0.2"];

/// A run of `entry` on `env`, with quick settings and then `extra` (`key=value`).
pub fn config(entry: &AlgoEntry, env: &str, steps: u64, seed: u64, extra: &[&str]) -> Experiment {
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
    if defaults.get("model_patience").is_some() {
        assignments.extend(["model_updates", "model_updates_first"].map(|key| format!("algo_kwargs.{key}=600")));
    }
    if remembers(&defaults) && !is_world_model(entry) {
        // A batch of sequences holds many steps already.
        let small = ["algo_kwargs.batch_size=16", "algo_kwargs.recurrent_hidden_size=16"];
        let rollouts = ["algo_kwargs.recurrent_hidden_size=32"];
        let chosen = if defaults.get("batch_size").is_some() { &small[..] } else { &rollouts[..] };
        assignments.extend(chosen.iter().map(|&s| s.to_owned()));
    }
    if is_world_model(entry) {
        assignments.extend(SMALL_WORLD.iter().map(|setting| format!("algo_kwargs.{setting}")));
    }
    // Only tasks with goals have others to offer.
    if defaults.get("n_sampled_goal").and_then(Value::as_u64).is_some_and(|goals| goals > 0) {
        assignments.push("algo_kwargs.n_sampled_goal=0".into());
    }
    // The conservative penalty moves values on purpose; a small one moves them by little.
    if defaults.get("cql_alpha").and_then(Value::as_f64).is_some_and(|alpha| alpha > 0.0) {
        assignments.push("algo_kwargs.cql_alpha=0.01".into());
    }
    // So does what holds a policy to random actions.
    if defaults.get("actor_bc_weight").and_then(Value::as_f64).is_some_and(|weight| weight > 0.0) {
        assignments.push("algo_kwargs.actor_bc_weight=0.001".into());
    }
    let own = QUICK_OF.iter().filter(|(name, _)| *name == entry.name).flat_map(|(_, own)| own.iter());
    assignments.extend(own.map(|&s| s.to_owned()));
    assignments.extend(extra.iter().map(|&e| e.to_owned()));
    // Not every quick setting has an effect in every variant, which the catalogue would refuse in a run file.
    let config = entry.read(&text, "test", &assignments).unwrap();
    CATALOGUE.experiment(&serde_json::to_value(config).unwrap()).unwrap()
}

/// Whether the policy has a memory: what it then makes of an observation depends on what came before.
pub fn remembers(settings: &Value) -> bool {
    match settings.get("memory").and_then(Value::as_str) {
        Some(kind) => kind != "none",
        None => settings.get("recurrent_hidden_size").is_some() || settings.get("deter_size").is_some(),
    }
}

pub fn options(folder: &Path) -> TrainOptions {
    TrainOptions { run_dir: Some(folder.to_path_buf()), quiet: true, ..TrainOptions::default() }
}

pub fn run_in(folder: &Path, experiment: Experiment) -> Result<Outcome, TrainError> {
    Trainer::new(experiment, options(folder), Vec::new())?.run()
}

/// Takes up the run in `folder`.
pub fn resume(folder: &Path) -> Result<Trainer, TrainError> {
    Trainer::resume(&CATALOGUE, folder, None, options(folder), Vec::new())
}

/// What training made: the agent as it is, and its policy as it comes back from the run's folder.
pub struct Trained {
    trainer: Trainer,
    policy: TrainedPolicy,
}

pub fn trained(experiment: Experiment) -> (Trained, Outcome) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut trainer = Trainer::new(experiment, options(&run), Vec::new()).unwrap();
    let outcome = trainer.run_to_end().unwrap();
    (Trained { trainer, policy: load(&run) }, outcome)
}

pub fn load(run: &Path) -> TrainedPolicy {
    TrainedPolicy::load(&CATALOGUE, run).unwrap()
}

/// What the policy thinks best for rows of observations, each the first of an episode.
pub fn best_actions(trained: &mut TrainedPolicy, obs: &[f32], rows: usize, width: usize) -> Vec<f32> {
    let mut out = vec![0.0; rows * width];
    let mut rng = axiomrl_core::stream(0, "test");
    let input = ActInput::of(ObsRef::of_floats(rows, obs));
    let mut memory = Memory::new(rows, trained.policy.memory_width());
    trained.policy.act(input, ActContext::new(&mut memory, Mode::Best, &mut rng), &mut out).unwrap();
    out
}

pub fn actions(trained: &mut Trained, obs: &[f32], rows: usize, width: usize) -> Vec<f32> {
    best_actions(&mut trained.policy, obs, rows, width)
}

/// What the agent thinks observations of one number are worth.
pub fn values(trained: &mut Trained, obs: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; obs.len()];
    let input = ActInput::of(ObsRef::of_floats(obs.len(), obs));
    assert!(trained.trainer.agent().values(input, &mut out), "it has no values");
    out
}

/// All that a run left behind, file by file, without what tells the time.
fn kept(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut kept = BTreeMap::new();
    for checkpoint in entries(&run.join("checkpoints")) {
        for name in entries(&run.join("checkpoints").join(&checkpoint)) {
            let bytes = fs::read(run.join("checkpoints").join(&checkpoint).join(&name)).unwrap();
            let bytes = match name.as_str() {
                "manifest.sha256" => continue,
                "manifest.json" => timeless_manifest(&bytes),
                _ => bytes,
            };
            kept.insert(format!("{checkpoint}/{name}"), bytes);
        }
    }
    kept.insert("metrics.jsonl".to_owned(), timeless_rows(&run.join("metrics.jsonl")));
    if let Ok(evaluations) = fs::read(run.join("evaluations.npz")) {
        kept.insert("evaluations.npz".to_owned(), evaluations);
    }
    kept
}

fn entries(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A manifest without the seconds, and without the settings: runs that are compared may differ in when they stop.
fn timeless_manifest(bytes: &[u8]) -> Vec<u8> {
    let mut manifest: Value = serde_json::from_slice(bytes).unwrap();
    manifest["counters"]["seconds"].take();
    manifest["config"].take();
    serde_json::to_vec_pretty(&manifest).unwrap()
}

fn timeless_rows(path: &Path) -> Vec<u8> {
    let mut rows = String::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let mut row: Value = serde_json::from_str(line).unwrap();
        row["metrics"].as_object_mut().unwrap().retain(|key, _| !["time/time_elapsed", "time/fps"].contains(&&**key));
        rows += &format!("{row}\n");
    }
    rows.into_bytes()
}

/// Asserts that two runs left the same behind, without printing megabytes when they did not.
pub fn assert_same(what: &str, run: &Path, reference: &Path) {
    let (found, expected) = (kept(run), kept(reference));
    let names = |kept: &BTreeMap<String, Vec<u8>>| kept.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected), "{what}");
    for (name, bytes) in found {
        if bytes != expected[&name] {
            let is_text = !name.ends_with(".zst") && !name.ends_with(".npz") && !name.ends_with("safetensors");
            let shown =
                |bytes: &[u8]| if is_text { String::from_utf8_lossy(bytes).into_owned() } else { String::new() };
            assert_eq!(shown(&bytes), shown(&expected[&name]), "{what}: {name} differs");
            panic!("{what}: {name} differs");
        }
    }
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
