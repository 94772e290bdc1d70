//! # Double DQN
//!
//! **What it does.** Chooses the next action with the online network and values it with the target network, so that one
//! network's errors are not both the reason for a choice and its value.
//!
//! **When to use it.** Almost always in place of plain DQN: it costs one more forward pass.
//!
//! **The update.**
//! ```text
//! y = R + D * Q'(s', argmax_a Q(s', a))
//! ```
//!
//! **Details that matter.**
//! - `double_q: true` is the only difference from `dqn`.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** van Hasselt, Guez and Silver, Deep reinforcement learning with double Q-learning, 2016.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "DQN that chooses and values the next action with different networks";

pub fn preset() -> DqnConfig {
    DqnConfig { double_q: true, ..DqnConfig::default() }
}
