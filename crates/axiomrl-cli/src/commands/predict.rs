//! `axiomrl predict`: observations in, actions out, line by line.

mod rows;

use crate::failure::Failure;
use crate::options::PolicySource;
use crate::output::checked;
use crate::{policy, pool};
use axiomrl_algos::PolicyMemory;
use axiomrl_envs::rng::stream;
use axiomrl_envs::{ActionMap, ObsRef, Space};
use axiomrl_run::session::{SessionError, TrainedPolicy, training_env};
use clap::Args;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

/// Reads observations, one per line, and prints an action for each
///
/// A line is a JSON list, [0.1, 0.2], or numbers separated by commas. Actions are printed as JSON, in the environment's
/// own units.
#[derive(Args)]
pub struct Predict {
    #[command(flatten)]
    source: PolicySource,
    /// Where observations are read from [default: standard input]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Draws actions as in training instead of taking the best
    #[arg(long)]
    stochastic: bool,
    /// What drawn actions follow from [default: the seed of the run]
    #[arg(long)]
    seed: Option<u64>,
}

impl Predict {
    pub fn run(self) -> Result<(), Failure> {
        let (name, input): (String, Box<dyn BufRead + Send>) = match &self.input {
            None => ("standard input".to_owned(), Box::new(BufReader::new(io::stdin()))),
            Some(path) => {
                let file = File::open(path)
                    .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
                (path.display().to_string(), Box::new(BufReader::new(file)))
            }
        };
        pool::run(None, || {
            let (policy, _) = policy::open(&self.source)?;
            let seed = self.seed.unwrap_or(policy.config.seed);
            Actor::new(policy, seed, !self.stochastic)?.answer(&name, input)
        })
    }
}

/// A policy with what it needs to act on single rows.
struct Actor {
    policy: TrainedPolicy,
    actions: Space,
    map: Option<ActionMap>,
    obs_width: usize,
    masks: Vec<bool>,
    deterministic: bool,
    rng: axiomrl_envs::Rng,
}

impl Actor {
    fn new(policy: TrainedPolicy, seed: u64, deterministic: bool) -> Result<Self, Failure> {
        let env = training_env(&policy.config).map_err(SessionError::from)?;
        let actions = env.action_space().clone();
        Ok(Self {
            map: ActionMap::of(&actions).map_err(Failure::bad_input)?,
            obs_width: env.observation_space().width(),
            // A line says nothing of masks, so every choice is allowed.
            masks: if env.state().masks.is_empty() { Vec::new() } else { vec![true; actions.mask_width()] },
            rng: stream(seed, "predict"),
            actions,
            policy,
            deterministic,
        })
    }

    fn answer(&mut self, name: &str, input: impl BufRead) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        for (index, line) in input.lines().enumerate() {
            let place = |problem: String| Failure::bad_input(format!("{name}:{}: {problem}", index + 1));
            let line = line.map_err(|error| place(error.to_string()))?;
            if line.trim().is_empty() {
                continue;
            }
            let observation = rows::parse(&line, self.obs_width).map_err(place)?;
            let action = self.act(observation);
            // At once: whoever asks may be waiting for the answer before asking again.
            checked(writeln!(out, "{action}").and_then(|()| out.flush()))?;
        }
        Ok(())
    }

    /// The action for one raw observation, as JSON.
    fn act(&mut self, mut observation: Vec<f32>) -> Value {
        if let Some(normalizer) = &self.policy.normalizer {
            normalizer.scale_observation(&mut observation);
        }
        let mut memory = PolicyMemory { starts: vec![true], ..PolicyMemory::default() };
        let mut action = vec![0.0; self.actions.width()];
        let obs = ObsRef::F32(&observation);
        let (agent, rng) = (&mut self.policy.agent, &mut self.rng);
        agent.predict(obs, &self.masks, 1, self.deterministic, &mut memory, rng, &mut action);
        match &self.actions {
            Space::Discrete { .. } => json!(action[0] as i64),
            Space::Box(_) => json!(self.map.as_mut().map_or(&*action, |map| map.apply(&action))),
            _ => json!(action.iter().map(|&choice| choice as i64).collect::<Vec<_>>()),
        }
    }
}
