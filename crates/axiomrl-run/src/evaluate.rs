//! The one way to measure a policy, used while training, by `axiomrl eval` and from Python.

use axiomrl_algos::{Agent, PolicyMemory, RunConfig};
use axiomrl_envs::{EnvError, Normalizer, VecEnv, VecOptions, make_vec, rng::stream};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the start states of evaluations come from unless told otherwise. One seed for all runs: with 20 episodes the
/// luck of the start states can outweigh what separates two policies, and runs are there to be compared.
pub const EVALUATION_SEED: u64 = 0;

/// Environments that are evaluated together, in one batched forward pass.
const TOGETHER: usize = 32;

/// How to measure.
#[derive(Clone, Debug)]
pub struct EvalOptions {
    pub episodes: usize,
    /// Start states follow from it; the same seed gives the same episodes.
    pub seed: u64,
    pub deterministic: bool,
}

/// Returns and lengths of whole episodes, with raw rewards.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evaluation {
    pub returns: Vec<f64>,
    pub lengths: Vec<u64>,
    /// Where there are goals: whether each episode ended by reaching its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<bool>,
}

impl Evaluation {
    pub fn mean_reward(&self) -> f64 {
        mean(&self.returns)
    }

    /// Of the episodes measured, not of a population they stand for.
    pub fn std_reward(&self) -> f64 {
        let m = self.mean_reward();
        (self.returns.iter().map(|r| (r - m).powi(2)).sum::<f64>() / self.returns.len().max(1) as f64).sqrt()
    }

    /// The part of the episodes that reached their goal, where there are goals.
    pub fn success_rate(&self) -> Option<f64> {
        let reached = self.reached.iter().filter(|&&reached| reached).count();
        (!self.reached.is_empty()).then(|| reached as f64 / self.reached.len() as f64)
    }

    pub fn mean_length(&self) -> f64 {
        mean(&self.lengths.iter().map(|&l| l as f64).collect::<Vec<_>>())
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The environments an agent is measured in: built as for training, with the statistics it was trained with, frozen.
pub fn evaluation_env(
    config: &RunConfig,
    num_envs: usize,
    seed: u64,
    stream: &str,
    normalizer: Option<&Normalizer>,
) -> Result<Box<dyn VecEnv>, EnvError> {
    let options = VecOptions {
        num_envs,
        seed,
        stream,
        action_repeat: config.action_repeat,
        frame_stack: config.frame_stack,
        normalize_observation: config.normalize_observation,
        // Only raw rewards are reported, so there is nothing to normalise.
        normalize_reward: false,
        gamma: 1.0,
    };
    let mut env = make_vec(&config.env_id, &config.env_kwargs, &options)?;
    if let Some(statistics) = normalizer {
        env.set_normalizer(Normalizer { frozen: true, ret: None, ..statistics.clone() });
    }
    Ok(env)
}

/// Plays `options.episodes` whole episodes.
pub fn evaluate(
    agent: &mut dyn Agent,
    config: &RunConfig,
    normalizer: Option<&Normalizer>,
    options: &EvalOptions,
) -> Result<Evaluation, EnvError> {
    let never = AtomicBool::new(false);
    Ok(evaluate_unless(&never, agent, config, normalizer, options)?.unwrap_or_default())
}

/// As [`evaluate`], but gives up, with nothing, soon after `stop` is raised. The agent is as before in any case.
pub fn evaluate_unless(
    stop: &AtomicBool,
    agent: &mut dyn Agent,
    config: &RunConfig,
    normalizer: Option<&Normalizer>,
    options: &EvalOptions,
) -> Result<Option<Evaluation>, EnvError> {
    let mut result = Evaluation::default();
    let mut group = 0;
    while result.returns.len() < options.episodes {
        let count = (options.episodes - result.returns.len()).min(TOGETHER);
        let name = format!("eval/{group}");
        let mut env = evaluation_env(config, count, options.seed, &name, normalizer)?;
        if !play_once(stop, agent, env.as_mut(), options, &name, &mut result) {
            return Ok(None);
        }
        group += 1;
    }
    Ok(Some(result))
}

/// One episode of each environment; those that are done wait for the others. False when it was stopped.
fn play_once(
    stop: &AtomicBool,
    agent: &mut dyn Agent,
    env: &mut dyn VecEnv,
    options: &EvalOptions,
    name: &str,
    result: &mut Evaluation,
) -> bool {
    let n = env.num_envs();
    let mut rng = stream(options.seed, &format!("{name}/act"));
    let mut memory = PolicyMemory { starts: vec![true; n], ..PolicyMemory::default() };
    let mut actions = vec![0.0; n * env.action_space().width()];
    let mut ended: Vec<Option<(f64, u64, bool)>> = vec![None; n];
    env.reset();
    while ended.iter().any(Option::is_none) {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let state = env.state();
        agent.predict(state.obs.as_ref(), &state.masks, n, options.deterministic, &mut memory, &mut rng, &mut actions);
        memory.starts.fill(false);
        for (i, outcome) in ended.iter_mut().enumerate().filter(|(_, outcome)| outcome.is_none()) {
            env.step(i..i + 1, &actions);
            let state = env.state();
            *outcome = state.episodes.first().map(|end| (end.episode_return, end.length, state.terminated[i]));
        }
    }
    let has_goals = env.goal_task().is_some();
    for (episode_return, length, terminated) in ended.into_iter().flatten() {
        result.returns.push(episode_return);
        result.lengths.push(length);
        result.reached.extend(has_goals.then_some(terminated));
    }
    true
}
