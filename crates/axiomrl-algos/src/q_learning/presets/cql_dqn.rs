//! # CQL on DQN
//!
//! **What it does.** Adds a penalty on the values of actions that were not taken in the data.
//!
//! **When to use it.** Data that cannot be added to. It also runs while exploring, where it only makes learning careful.
//!
//! **The update.**
//! ```text
//! loss + alpha * mean (log sum_a exp Q(s, a) - Q(s, a_taken))
//! ```
//!
//! **Details that matter.**
//! - With a distributional head the penalty acts on the expectations.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Learning from a dataset: it is trained on its own replay so far. The Lagrange form of alpha.
//!
//! **Reference.** Kumar, Zhou, Tucker and Levine, Conservative Q-learning for offline reinforcement learning, 2020.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "DQN with a conservative penalty on actions not taken";

pub fn preset() -> DqnConfig {
    DqnConfig { cql_alpha: 1.0, ..DqnConfig::default() }
}
