//! # Soft double DQN
//!
//! **What it does.** Soft DQN whose next policy comes from the online network.
//!
//! **When to use it.** A variant for comparison.
//!
//! **The update.**
//! ```text
//! pi = softmax(Q(s') / T);  y = R + D * sum_a pi(a) (Q'(s', a) - T log pi(a))
//! ```
//!
//! **Details that matter.**
//! - `double_q: true` is the only difference from `soft_dqn`.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** This is a house variant; no paper describes it.
//!
//! **Reference.** None of its own; see `soft_dqn` and `double_dqn`.

use super::super::config::{Backup, DqnConfig};

pub const SUMMARY: &str = "Soft DQN with the next policy from the online network";

pub fn preset() -> DqnConfig {
    DqnConfig { backup: Backup::Soft, double_q: true, ..DqnConfig::default() }
}
