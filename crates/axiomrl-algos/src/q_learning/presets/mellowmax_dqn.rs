//! # Mellowmax DQN
//!
//! **What it does.** Replaces the maximum by a smooth one that is still a contraction.
//!
//! **When to use it.** When the hard maximum overestimates.
//!
//! **The update.**
//! ```text
//! y = R + D * log(mean_a exp(w Q'(s', a))) / w
//! ```
//!
//! **Details that matter.**
//! - `mellowmax_omega` interpolates between the mean (0) and the maximum (large).
//! - With a distributional head the best action's distribution is shifted to the mellow value.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** The policy that goes with the operator; acting is epsilon-greedy.
//!
//! **Reference.** Asadi and Littman, An alternative softmax operator for reinforcement learning, 2017.

use super::super::config::{Backup, DqnConfig};

pub const SUMMARY: &str = "DQN with a smooth maximum";

pub fn preset() -> DqnConfig {
    DqnConfig { backup: Backup::Mellowmax, ..DqnConfig::default() }
}
