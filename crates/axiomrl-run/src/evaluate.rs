//! The one way to measure a policy, used while training, by `axiomrl eval` and from Python.

use axiomrl_algos::{ActContext, ActInput, LearnError, Memory, Mode, Policy};
use axiomrl_envs::{EnvError, EnvSource, Purpose, Seeding, Stepping, VecEnv, rng::stream};
use serde::Serialize;
use std::sync::Arc;
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

/// Why a policy could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    #[error(transparent)]
    Env(#[from] EnvError),
    #[error(transparent)]
    Learn(#[from] LearnError),
    #[error("the policy was made for other spaces than the environment has: {0}")]
    OtherSpaces(String),
    #[error("there are no environments to evaluate in; let the source make some for `Purpose::Evaluation`")]
    NoEnvironments,
}

/// Returns and lengths of whole episodes, with raw rewards.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evaluation {
    pub returns: Vec<f64>,
    pub lengths: Vec<u64>,
    /// Where the environment says so: whether each episode did what it was for, such as reaching its goal.
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

    /// The part of the episodes that did what they were for, where that is known.
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

/// Environments to measure policies in: made once, with the first evaluation, and seeded anew for each.
pub struct Evaluator {
    source: Arc<dyn EnvSource>,
    env: Option<Box<dyn VecEnv>>,
}

impl Evaluator {
    pub fn new(source: Arc<dyn EnvSource>) -> Self {
        Self { source, env: None }
    }

    /// Whether there is anything to measure policies in.
    pub fn has_environments(&self) -> bool {
        self.source.lanes(Purpose::Evaluation, 1) > 0
    }

    /// Plays `options.episodes` whole episodes.
    pub fn evaluate(&mut self, policy: &mut dyn Policy, options: &EvalOptions) -> Result<Evaluation, EvalError> {
        let never = AtomicBool::new(false);
        Ok(self.evaluate_unless(&never, policy, options)?.unwrap_or_default())
    }

    /// As [`Evaluator::evaluate`], but gives up, with nothing, soon after `stop` is raised. The policy is as before in any
    /// case.
    pub fn evaluate_unless(
        &mut self,
        stop: &AtomicBool,
        policy: &mut dyn Policy,
        options: &EvalOptions,
    ) -> Result<Option<Evaluation>, EvalError> {
        let lanes = self.source.lanes(Purpose::Evaluation, options.episodes.min(TOGETHER));
        if lanes == 0 {
            return Err(EvalError::NoEnvironments);
        }
        if self.env.as_ref().is_none_or(|env| env.num_envs() != lanes) {
            let seeding = Seeding::new(options.seed, "eval/0");
            self.env = Some(self.source.make(lanes, &seeding, Purpose::Evaluation)?);
        }
        let Some(env) = &mut self.env else { return Err(EvalError::NoEnvironments) };
        check_spaces(policy, env.as_ref())?;
        policy.know_rules(env.task_rules());
        let mut result = Evaluation::default();
        let mut group = 0;
        while result.returns.len() < options.episodes {
            let count = (options.episodes - result.returns.len()).min(lanes);
            let name = format!("eval/{group}");
            if !play_group(stop, policy, env.as_mut(), count, options, &name, &mut result)? {
                return Ok(None);
            }
            group += 1;
        }
        Ok(Some(result))
    }
}

/// Refuses environments that a policy was not made for.
pub fn check_spaces(policy: &dyn Policy, env: &dyn VecEnv) -> Result<(), EvalError> {
    let (made_for, found) = (policy.spaces(), env.spaces());
    let parts = |spaces: &axiomrl_envs::Spaces| -> Vec<String> {
        let obs = spaces.obs();
        obs.parts.iter().map(|part| format!("`{}` {:?} {:?}", part.name, part.shape, part.kind)).collect()
    };
    if parts(made_for) != parts(found) {
        let words = format!(
            "it observes {}, the environment shows {}; use the environment and `frame_stack` that it was trained with",
            parts(made_for).join(", "),
            parts(found).join(", ")
        );
        return Err(EvalError::OtherSpaces(words));
    }
    if made_for.action != found.action {
        let words = format!("it acts in {:?}, the environment takes {:?}", made_for.action, found.action);
        return Err(EvalError::OtherSpaces(words));
    }
    Ok(())
}

/// One episode of each of the first `count` environments; those that are done wait for the others. `false` when asked to stop.
fn play_group(
    stop: &AtomicBool,
    policy: &mut dyn Policy,
    env: &mut dyn VecEnv,
    count: usize,
    options: &EvalOptions,
    name: &str,
    result: &mut Evaluation,
) -> Result<bool, EvalError> {
    let (n, width, masks) = (env.num_envs(), env.spaces().action.width(), env.spaces().masks);
    let mode = if options.deterministic { Mode::Best } else { Mode::Sample };
    let mut rng = stream(options.seed, &format!("{name}/act"));
    let mut memory = Memory::new(count, policy.memory_width());
    let (mut actions, mut executed) = (vec![0.0; n * width], vec![0.0; n * width]);
    let mut ended = vec![None; count];
    env.reset(Some(&Seeding::new(options.seed, name)))?;
    while ended.iter().any(Option::is_none) {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let state = env.state();
        let input = ActInput { obs: state.obs.range(0..count), masks: &state.masks[..count * masks] };
        policy.act(input, ActContext::new(&mut memory, mode, &mut rng), &mut actions[..count * width])?;
        policy.action_map().to_env(&actions, &mut executed);
        match env.stepping() {
            Stepping::Whole => {
                env.step(0..n, &executed)?;
                note_ends(env, &mut ended);
            }
            Stepping::Each => {
                // Runs of environments that are still playing.
                let mut first = 0;
                while let Some(start) = (first..count).find(|&i| ended[i].is_none()) {
                    let end = (start..count).find(|&i| ended[i].is_some()).unwrap_or(count);
                    env.step(start..end, &executed)?;
                    note_ends(env, &mut ended);
                    first = end;
                }
            }
        }
        policy.feedback(&mut memory, 0..count, &actions, &env.state().reward);
        // An environment that was reset in a step of its own begins with what it shows now.
        for (start, stepped) in memory.starts.iter_mut().zip(&env.state().stepped) {
            *start |= !stepped;
        }
    }
    for (episode_return, length, success) in ended.into_iter().flatten() {
        result.returns.push(episode_return);
        result.lengths.push(length);
        result.reached.extend(success);
    }
    Ok(true)
}

/// Return, length and success of an episode.
type Ended = (f64, u64, Option<bool>);

/// The first episode of each environment counts.
fn note_ends(env: &dyn VecEnv, ended: &mut [Option<Ended>]) {
    for end in &env.state().episodes {
        if let Some(place) = ended.get_mut(end.env) {
            place.get_or_insert((end.episode_return, end.length, end.success));
        }
    }
}
