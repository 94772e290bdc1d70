//! # Munchausen double DQN
//!
//! **What it does.** Munchausen DQN whose next policy comes from the online network.
//!
//! **When to use it.** A variant for comparison.
//!
//! **The update.**
//! ```text
//! as munchausen_dqn, with pi(.|s') = softmax(Q(s') / T) of the online network
//! ```
//!
//! **Details that matter.**
//! - `double_q: true` is the only difference from `munchausen_dqn`.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** This is a house variant; no paper describes it.
//!
//! **Reference.** None of its own; see `munchausen_dqn` and `double_dqn`.

use super::super::config::{Backup, DqnConfig};

pub const SUMMARY: &str = "Munchausen DQN with the next policy from the online network";

pub fn preset() -> DqnConfig {
    DqnConfig { backup: Backup::Soft, munchausen_alpha: 0.9, double_q: true, ..DqnConfig::default() }
}
