//! # Prioritised DQN
//!
//! **What it does.** Draws transitions in proportion to how wrong the network was about them, and weighs them down in
//! return.
//!
//! **When to use it.** Rewards that are rare, so that few transitions teach much.
//!
//! **The update.**
//! ```text
//! P(i) ~ (|error_i| + eps)^alpha
//! w_i  = (N P(i))^-beta / max w
//! ```
//!
//! **Details that matter.**
//! - New transitions start with the greatest priority seen, so each is learned from soon.
//! - `prioritized_beta` rises to 1 over the run: the correction matters most near the end.
//! - Draws are stratified: one from each equal part of the whole mass.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Schaul, Quan, Antonoglou and Silver, Prioritized experience replay, 2016.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "DQN that learns more often from surprising transitions";

pub fn preset() -> DqnConfig {
    DqnConfig { prioritized_replay: true, ..DqnConfig::default() }
}
