//! # n-step DQN
//!
//! **What it does.** Sums several rewards before it trusts the network for the rest.
//!
//! **When to use it.** Rewards that come late: news of them travels n steps per update.
//!
//! **The update.**
//! ```text
//! y = r_0 + g r_1 + ... + g^(k-1) r_(k-1) + D * max_a Q'(s_k, a)
//! ```
//!
//! **Details that matter.**
//! - At the end of an episode the window is shorter, with its own power of gamma.
//! - A window cut by a time limit bootstraps; one that ends in a terminal state does not.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Correction for actions that the present policy would not take.
//!
//! **Reference.** Sutton and Barto, Reinforcement learning: an introduction, chapter 7.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "DQN that sums several rewards before bootstrapping";

pub fn preset() -> DqnConfig {
    DqnConfig { n_step: 3, ..DqnConfig::default() }
}
