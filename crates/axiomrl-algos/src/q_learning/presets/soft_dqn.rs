//! # Soft DQN
//!
//! **What it does.** Values the next state by a softmax policy and that policy's entropy.
//!
//! **When to use it.** When several actions are nearly as good and should stay open.
//!
//! **The update.**
//! ```text
//! y = R + D * T * log sum_a exp(Q'(s', a) / T)
//! ```
//!
//! **Details that matter.**
//! - `entropy_temperature` is T.
//! - Acting is epsilon-greedy; `exploration: boltzmann` samples instead.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Haarnoja, Tang, Abbeel and Levine, Reinforcement learning with deep energy-based policies, 2017
//! (discrete case).

use super::super::config::{Backup, DqnConfig};

pub const SUMMARY: &str = "DQN that values the entropy of its next policy";

pub fn preset() -> DqnConfig {
    DqnConfig { backup: Backup::Soft, ..DqnConfig::default() }
}
