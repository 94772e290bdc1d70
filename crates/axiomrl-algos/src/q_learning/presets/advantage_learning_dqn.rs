//! # Advantage learning
//!
//! **What it does.** Subtracts part of the action gap from the target, so that the best action stands out more.
//!
//! **When to use it.** When values of actions differ too little to be told apart.
//!
//! **The update.**
//! ```text
//! y = R + D * max_b Q'(s', b) - alpha * (max_b Q'(s, b) - Q'(s, a))
//! ```
//!
//! **Details that matter.**
//! - The gap comes from the target network.
//! - `advantage_alpha` near 1 widens gaps most and learns slowest.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Bellemare and others, Increasing the action gap: new operators for reinforcement learning, 2016.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "DQN that widens the gap between best and other actions";

pub fn preset() -> DqnConfig {
    DqnConfig { advantage_alpha: 0.9, ..DqnConfig::default() }
}
