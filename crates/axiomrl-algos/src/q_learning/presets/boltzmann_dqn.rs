//! # Boltzmann DQN
//!
//! **What it does.** Explores by drawing better actions more often, and values the next state by the same policy.
//!
//! **When to use it.** When a random action is expensive and values are to scale.
//!
//! **The update.**
//! ```text
//! pi = softmax(Q / T) acts;  y = R + D * sum_a softmax(Q'(s') / T)_a Q'(s', a)
//! ```
//!
//! **Details that matter.**
//! - `boltzmann_temperature` is in units of return: set it to the difference between actions that matters.
//! - Epsilon is not used.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Sutton and Barto, Reinforcement learning: an introduction, section 2.8 and 6.6.

use super::super::config::{Backup, DqnConfig, Exploration};

pub const SUMMARY: &str = "DQN that explores and backs up with a softmax policy";

pub fn preset() -> DqnConfig {
    DqnConfig { backup: Backup::Boltzmann, exploration: Exploration::Boltzmann, ..DqnConfig::default() }
}
