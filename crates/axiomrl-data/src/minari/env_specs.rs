//! How Gymnasium makes those of its environments that are built in here, so that Minari can make them again.

use serde_json::{Map, Value, json};

struct Known {
    id: &'static str,
    entry_point: &'static str,
    vector_entry_point: Option<&'static str>,
    reward_threshold: Option<f64>,
    max_episode_steps: u64,
}

const fn known(
    id: &'static str,
    entry_point: &'static str,
    reward_threshold: Option<f64>,
    max_episode_steps: u64,
) -> Known {
    Known { id, entry_point, vector_entry_point: None, reward_threshold, max_episode_steps }
}

const KNOWN: [Known; 5] = [
    Known {
        vector_entry_point: Some("gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"),
        ..known("CartPole-v1", "gymnasium.envs.classic_control.cartpole:CartPoleEnv", Some(475.0), 500)
    },
    known("Pendulum-v1", "gymnasium.envs.classic_control.pendulum:PendulumEnv", None, 200),
    known("Acrobot-v1", "gymnasium.envs.classic_control.acrobot:AcrobotEnv", Some(-100.0), 500),
    known("MountainCar-v0", "gymnasium.envs.classic_control.mountain_car:MountainCarEnv", Some(-110.0), 200),
    known(
        "MountainCarContinuous-v0",
        "gymnasium.envs.classic_control.continuous_mountain_car:Continuous_MountainCarEnv",
        Some(90.0),
        999,
    ),
];

/// Gymnasium's `EnvSpec`, for its own ids. It refuses a key that it does not know, so these are all there are.
pub(super) fn of(id: &str, kwargs: &Map<String, Value>, limit: Option<u64>) -> Option<Value> {
    let known = KNOWN.iter().find(|known| known.id == id)?;
    Some(json!({
        "id": id,
        "entry_point": known.entry_point,
        "reward_threshold": known.reward_threshold,
        "nondeterministic": false,
        "max_episode_steps": limit.unwrap_or(known.max_episode_steps),
        "disable_env_checker": false,
        "kwargs": kwargs,
        "additional_wrappers": [],
        "vector_entry_point": known.vector_entry_point,
    }))
}
