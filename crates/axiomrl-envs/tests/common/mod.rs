//! Shared by the tests.
#![allow(dead_code, reason = "each test file uses its own part")]

use axiomrl_envs::{ObsBuf, Rng, Space, VecEnv, VecOptions, make_vec};
use rand::RngExt;
use serde_json::{Map, Value};

pub fn no_kwargs() -> Map<String, Value> {
    Map::new()
}

pub fn kwargs(value: Value) -> Map<String, Value> {
    value.as_object().expect("options are an object").clone()
}

pub fn vec_env(id: &str, options: &VecOptions<'_>) -> Box<dyn VecEnv> {
    let mut env = make_vec(id, &no_kwargs(), options).unwrap();
    env.reset();
    env
}

/// Appends one random action, in the units of [`VecEnv::step`].
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
pub fn random_actions(env: &dyn VecEnv, rng: &mut Rng) -> Vec<f32> {
    let mut actions = Vec::new();
    for _ in 0..env.num_envs() {
        push_random_action(env.action_space(), rng, &mut actions);
    }
    actions
}

pub fn floats(obs: &ObsBuf) -> &[f32] {
    match obs {
        ObsBuf::F32(v) => v,
        ObsBuf::U8(_) => panic!("these observations are floats"),
    }
}
