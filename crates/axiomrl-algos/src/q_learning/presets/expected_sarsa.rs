//! # Expected SARSA
//!
//! **What it does.** Values the next state by the policy that really acts, random actions included.
//!
//! **When to use it.** When exploration is dangerous and its cost should show in the values.
//!
//! **The update.**
//! ```text
//! y = R + D * sum_a pi_eps(a|s') Q'(s', a)
//! ```
//!
//! **Details that matter.**
//! - The chance of a random action is that of exploration at the time; `target_epsilon` fixes it.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** van Seijen, van Hasselt, Whiteson and Wiering, A theoretical and empirical analysis of expected Sarsa,
//! 2009.

use super::super::config::{Backup, DqnConfig};

pub const SUMMARY: &str = "Values the policy that explores, not the greedy one";

pub fn preset() -> DqnConfig {
    DqnConfig { backup: Backup::Expected, ..DqnConfig::default() }
}
