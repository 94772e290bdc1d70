//! What is measured, and by how much we must be faster.

use super::NATIVE;
use super::agents::{self, Agent};
use crate::bench::loops;
use anyhow::{Result, bail};

pub struct Work {
    pub id: &'static str,
    pub title: &'static str,
    pub ours: OurSide,
}

pub enum OurSide {
    /// A work of the example `updates`.
    Update,
    /// Updates of a whole agent, as the example `agent_updates` times them.
    Agent(Agent),
    /// A whole run of the program. `from_start` is the length of the run that is timed as a whole process, against peers that
    /// compile before they train.
    Run { from_start: Option<u64> },
}

use OurSide::{Run, Update};

/// What the id of a run timed as a whole process ends with.
pub const FROM_START: &str = "_from_start";

#[rustfmt::skip]
pub const WORKS: &[Work] = &[
    Work { id: "dqn_update", title: "DQN update, 64x64, batch 64", ours: Update },
    Work { id: "ppo_minibatch", title: "PPO minibatch, two 64x64 tanh nets, batch 64", ours: Update },
    Work { id: "sac_update", title: "SAC update, 256x256, batch 256, two critics", ours: Update },
    Work { id: "td3_update", title: "TD3 update, 256x256, batch 256, actor every second time", ours: OurSide::Agent(agents::TD3) },
    Work { id: "nature_cnn", title: "Nature-CNN from bytes, batch 32, forward + backward", ours: Update },
    Work { id: "lstm", title: "LSTM 64, batch 32, 16 steps, forward + backward", ours: Update },
    Work { id: "policy_inference", title: "policy inference, 64x64, batch 1", ours: Update },
    Work { id: "drqv2_update", title: "DrQ-v2 update, 84x84x9, batch 256, 1024x1024", ours: OurSide::Agent(agents::DRQV2) },
    Work { id: "iql_update", title: "IQL update from a file, 256x256, batch 256", ours: OurSide::Agent(agents::IQL) },
    Work { id: "cql_update", title: "CQL update from a file, 256x256, batch 256, 10 samples of each kind", ours: OurSide::Agent(agents::CQL) },
    Work { id: "td3_bc_update", title: "TD3+BC update from a file, 256x256, batch 256, actor every second time", ours: OurSide::Agent(agents::TD3_BC) },
    Work { id: "mbpo_model", title: "MBPO model, a gradient step of 7 networks of 4x200, batch 256", ours: OurSide::Agent(agents::MBPO_MODEL) },
    Work { id: "ppo_cartpole", title: "PPO CartPole, 1 env, 2048 steps, 10 epochs, batch 64, 64x64", ours: Run { from_start: Some(65_536) } },
    Work { id: "ppo_cartpole_64", title: "PPO CartPole, 64 envs, 32 steps, 4 epochs, batch 512, 64x64", ours: Run { from_start: Some(204_800) } },
    Work { id: "dqn_cartpole", title: "DQN CartPole, 1 update per step, batch 64, 64x64", ours: Run { from_start: Some(10_000) } },
    Work { id: "sac_pendulum", title: "SAC Pendulum, 1 update per step, batch 256, 256x256", ours: Run { from_start: None } },
    Work { id: "a2c_cartpole", title: "A2C CartPole, 8 envs, 5 steps, 64x64", ours: Run { from_start: None } },
    Work { id: "trpo_cartpole", title: "TRPO CartPole, 1 env, 2048 steps, 15 cg iterations, 10 epochs, batch 128, 64x64", ours: Run { from_start: None } },
    Work { id: "ars_pendulum", title: "ARS Pendulum, 1 env, linear policy, 8 directions", ours: Run { from_start: None } },
    Work { id: "sac_pendulum_64", title: "SAC Pendulum, 1 update per step, batch 256, 64x64", ours: Run { from_start: Some(2_000) } },
];

/// Least ratios at the best number of threads of each side: work, peer, variant.
#[rustfmt::skip]
const MARKS: &[(&str, &str, &str, f64)] = &[
    ("dqn_update", "torch", "tuned", 9.0),
    ("dqn_update", "jax", "jit", 1.3),
    ("ppo_minibatch", "torch", "tuned", 11.0),
    ("ppo_minibatch", "jax", "jit", 1.3),
    ("sac_update", "torch", "tuned", 1.6),
    ("sac_update", "jax", "jit", 1.15),
    ("td3_update", "torch", "tuned", 1.6),
    ("nature_cnn", "torch", "default", 1.7),
    ("nature_cnn", "torch", "tuned", 1.2),
    ("lstm", "torch", "tuned", 2.2),
    ("policy_inference", "torch", "tuned", 20.0),
    ("drqv2_update", "torch", "default", 1.2),
    ("drqv2_update", "torch", "tuned", 1.2),
    ("iql_update", "d3rlpy", "default", 3.0),
    ("iql_update", "d3rlpy", "tuned", 3.0),
    ("cql_update", "d3rlpy", "default", 3.0),
    ("cql_update", "d3rlpy", "tuned", 3.0),
    ("td3_bc_update", "d3rlpy", "default", 3.0),
    ("td3_bc_update", "d3rlpy", "tuned", 3.0),
    ("mbpo_model", "torch", "default", 2.0),
    ("mbpo_model", "torch", "tuned", 2.0),
    ("ppo_cartpole", "sb3", "default", 25.0),
    ("ppo_cartpole", "sb3", "tuned", 25.0),
    ("ppo_cartpole", "sbx", "default", 8.0),
    ("ppo_cartpole", "rlox", "default", 3.0),
    ("dqn_cartpole", "sb3", "default", 12.0),
    ("dqn_cartpole", "sb3", "tuned", 12.0),
    ("dqn_cartpole", "sbx", "default", 15.0),
    ("dqn_cartpole", "rlox", "default", 15.0),
    ("sac_pendulum", "sb3", "default", 2.0),
    ("sac_pendulum", "sb3", "tuned", 2.0),
    ("sac_pendulum", "sbx", "default", 1.8),
    ("sac_pendulum", "rlox", "default", 1.2),
    ("a2c_cartpole", "sb3", "default", 20.0),
    ("a2c_cartpole", "sb3", "tuned", 20.0),
    ("trpo_cartpole", "sb3-contrib", "default", 10.0),
    ("trpo_cartpole", "sb3-contrib", "tuned", 10.0),
    ("ars_pendulum", "sb3-contrib", "default", 20.0),
    ("ppo_cartpole", "rejax", "steady state", 1.3),
    ("ppo_cartpole_64", "rejax", "steady state", 1.3),
    ("dqn_cartpole", "rejax", "steady state", 2.0),
    ("sac_pendulum_64", "rejax", "steady state", 1.2),
    ("ppo_cartpole_from_start", "rejax", "compilation counted", 5.0),
    ("ppo_cartpole_64_from_start", "rejax", "compilation counted", 5.0),
    ("dqn_cartpole_from_start", "rejax", "compilation counted", 5.0),
    ("sac_pendulum_64_from_start", "rejax", "compilation counted", 5.0),
];

/// A portable build may lose a tenth of the speed, not more.
const NATIVE_MARK: f64 = 0.9;

pub fn mark(work: &str, peer: &str, variant: &str) -> Option<f64> {
    if peer == NATIVE {
        return Some(NATIVE_MARK);
    }
    MARKS.iter().find(|mark| (mark.0, mark.1, mark.2) == (work, peer, variant)).map(|mark| mark.3)
}

pub fn title(id: &str) -> String {
    let (base, suffix) = match id.strip_suffix(FROM_START) {
        Some(base) => (base, ", from the start"),
        None => (id, ""),
    };
    let title = WORKS.iter().find(|work| work.id == base).map_or(base, |work| work.title);
    let length = match WORKS.iter().find(|work| work.id == base).map(|work| &work.ours) {
        Some(Run { from_start: Some(steps) }) if !suffix.is_empty() => format!(" ({steps} steps)"),
        _ => String::new(),
    };
    format!("{title}{suffix}{length}")
}

/// The run file behind a work.
pub fn run_of(id: &str) -> Result<&'static loops::Work> {
    match loops::WORKS.iter().find(|work| work.id == id) {
        Some(work) => Ok(work),
        None => bail!("no run is called `{id}` in xtask/src/bench/loops.rs"),
    }
}

pub fn check_names(names: &[String]) -> Result<()> {
    match names.iter().find(|name| WORKS.iter().all(|work| work.id != name.as_str())) {
        Some(name) => {
            let all: Vec<&str> = WORKS.iter().map(|work| work.id).collect();
            bail!("no work is called `{name}`; there are {}", all.join(", "))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::peer::PEERS;
    use super::*;

    #[test]
    fn every_mark_is_for_something_that_is_measured() {
        for (work, peer, _, least) in MARKS {
            let base = work.strip_suffix(FROM_START).unwrap_or(work);
            let peer = PEERS.iter().find(|known| known.name == *peer).expect("a known peer");
            assert!(peer.works.contains(&base), "{} does not measure {base}", peer.name);
            assert!(*least > 1.0);
        }
    }

    #[test]
    fn every_run_has_a_run_file_and_every_peer_known_works() {
        for work in WORKS.iter().filter(|work| matches!(work.ours, Run { .. })) {
            assert_eq!(run_of(work.id).expect("a run file").id, work.id);
        }
        for work in PEERS.iter().flat_map(|peer| peer.works) {
            assert!(WORKS.iter().any(|known| known.id == *work), "{work}");
        }
    }
}
