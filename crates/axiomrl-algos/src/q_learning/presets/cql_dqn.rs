//! # CQL on DQN
//!
//! **What it does.** Adds a penalty on the values of actions that were not taken in the data.
//!
//! **When to use it.** Recorded data that cannot be added to, or data that is to be added to later. It also runs while
//! exploring (`offline: false`), where it only makes learning careful.
//!
//! **The update.**
//! ```text
//! loss + alpha * mean (log sum_a exp Q(s, a) - Q(s, a_taken))
//! ```
//!
//! **Details that matter.**
//! - It is offline: `total_timesteps`, `target_update_interval` and all intervals count updates on `dataset`. With
//!   `online_timesteps` it goes on in the environment, `offline_batch_ratio` of each batch being recorded.
//! - Without the penalty, `cql_alpha: 0`, actions that the data lacks are valued by hope alone, and the greedy policy takes
//!   them.
//! - With a distributional head the penalty acts on the expectations.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** The Lagrange form of alpha.
//!
//! **Reference.** Kumar, Zhou, Tucker and Levine, Conservative Q-learning for offline reinforcement learning, 2020.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "DQN with a conservative penalty on actions not taken";

pub fn preset() -> DqnConfig {
    DqnConfig { cql_alpha: 1.0, offline: true, offline_batch_ratio: 0.5, ..DqnConfig::default() }
}
