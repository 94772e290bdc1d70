//! Shared by the tests.
#![allow(dead_code, reason = "each test file uses its own part")]

use axiomrl_envs::snapshot::Writer;
use axiomrl_envs::{
    ActionMap, EnvError, Frame, ObsBuf, Purpose, Rng, Seeding, Space, VecEnv, VecState, Wrapping, source,
};
use rand::RngExt;
use serde_json::{Map, Value};
use std::ops::Range;

pub fn no_kwargs() -> Map<String, Value> {
    Map::new()
}

pub fn kwargs(value: Value) -> Map<String, Value> {
    value.as_object().expect("options are an object").clone()
}

/// How to build a batch of environments.
#[derive(Clone)]
pub struct VecOptions<'a> {
    pub num_envs: usize,
    pub seed: u64,
    pub stream: &'a str,
    pub action_repeat: usize,
    pub frame_stack: usize,
}

impl Default for VecOptions<'_> {
    fn default() -> Self {
        Self { num_envs: 1, seed: 0, stream: "env", action_repeat: 1, frame_stack: 1 }
    }
}

/// A batch that takes actions in [−1, 1], as a training loop drives it, and expects nothing to fail.
pub struct Batch {
    env: Box<dyn VecEnv>,
    map: ActionMap,
}

pub fn make_vec(id: &str, kwargs: &Map<String, Value>, options: &VecOptions<'_>) -> Result<Batch, EnvError> {
    let wrapping = Wrapping { action_repeat: options.action_repeat, frame_stack: options.frame_stack };
    let seeding = Seeding::new(options.seed, options.stream);
    let env = source(id, kwargs, wrapping)?.make(options.num_envs, &seeding, Purpose::Training)?;
    Ok(Batch::new(env))
}

pub fn vec_env(id: &str, options: &VecOptions<'_>) -> Batch {
    let mut env = make_vec(id, &no_kwargs(), options).unwrap();
    env.reset();
    env
}

impl Batch {
    pub fn new(env: Box<dyn VecEnv>) -> Self {
        Self { map: ActionMap::of(&env.spaces().action).unwrap(), env }
    }

    pub fn reset(&mut self) {
        self.env.reset(None).unwrap();
    }

    pub fn reseed(&mut self, seeding: &Seeding) {
        self.env.reset(Some(seeding)).unwrap();
    }

    pub fn step(&mut self, range: Range<usize>, unit: &[f32]) {
        let mut actions = vec![0.0; unit.len()];
        self.map.to_env(unit, &mut actions);
        self.env.step(range, &actions).unwrap();
    }

    pub fn state(&self) -> &VecState {
        self.env.state()
    }

    pub fn snapshot(&self) -> Vec<u8> {
        self.env.snapshot().expect("native environments can be saved")
    }

    pub fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.env.restore(snapshot)
    }

    pub fn render(&self, env: usize) -> Option<Frame> {
        self.env.render(env)
    }

    pub fn num_envs(&self) -> usize {
        self.env.num_envs()
    }

    pub fn observation_space(&self) -> &Space {
        &self.env.spaces().observation
    }

    pub fn action_space(&self) -> &Space {
        &self.env.spaces().action
    }
}

/// Appends one random action, in [−1, 1] or a choice.
pub fn push_random_action(space: &Space, rng: &mut Rng, actions: &mut Vec<f32>) {
    match space {
        Space::Box(b) => actions.extend((0..b.dim()).map(|_| rng.random_range(-1.0f32..=1.0))),
        Space::Discrete { n } => actions.push(rng.random_range(0..*n) as f32),
        Space::MultiDiscrete { nvec } => actions.extend(nvec.iter().map(|&n| rng.random_range(0..n) as f32)),
        Space::MultiBinary { n } => actions.extend((0..*n).map(|_| rng.random_range(0..2) as f32)),
        Space::Dict { .. } => panic!("no environment has Dict actions"),
    }
}

/// One random action for every environment.
pub fn random_actions(env: &Batch, rng: &mut Rng) -> Vec<f32> {
    let mut actions = Vec::new();
    for _ in 0..env.num_envs() {
        push_random_action(env.action_space(), rng, &mut actions);
    }
    actions
}

pub fn floats(obs: &ObsBuf) -> &[f32] {
    assert!(obs.bytes.is_empty(), "these observations are floats");
    &obs.floats
}

/// The snapshot of an environment under its time limit, from the JSON form of its state.
pub fn clocked(state: Value) -> Vec<u8> {
    let mut to = Writer::default();
    to.whole(0).bytes(state.to_string().as_bytes());
    to.finish()
}
