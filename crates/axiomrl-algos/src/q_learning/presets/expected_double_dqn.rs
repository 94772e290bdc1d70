//! # Expected double DQN
//!
//! **What it does.** Expected SARSA whose greedy action comes from the online network.
//!
//! **When to use it.** A variant for comparison.
//!
//! **The update.**
//! ```text
//! y = R + D * sum_a pi_eps(a|s') Q'(s', a), the greedy action of pi chosen by Q
//! ```
//!
//! **Details that matter.**
//! - `double_q: true` is the only difference from `expected_sarsa`.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** This is a house variant; no paper describes it.
//!
//! **Reference.** None of its own; see `expected_sarsa` and `double_dqn`.

use super::super::config::{Backup, DqnConfig};

pub const SUMMARY: &str = "Expected SARSA with the next policy from the online network";

pub fn preset() -> DqnConfig {
    DqnConfig { backup: Backup::Expected, double_q: true, ..DqnConfig::default() }
}
