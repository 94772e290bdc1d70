//! # Noisy DQN
//!
//! **What it does.** Explores by noise in the weights of the network; how much noise there is, weight by weight, is
//! learned.
//!
//! **When to use it.** Exploration that should depend on the state and fade by itself.
//!
//! **The update.**
//! ```text
//! w = mu + sigma * e,   e of a weight = f(e_in) f(e_out),   f(x) = sign(x) sqrt|x|
//! loss as in DQN; sigma learns along with mu
//! ```
//!
//! **Details that matter.**
//! - There is no chance of a random action: epsilon is not used.
//! - Noise is drawn anew for every step of acting, and for every update apart for the online, the target and the choosing
//!   network.
//! - Evaluation uses the means.
//! - All environments of a step share one draw.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Fortunato and others, Noisy networks for exploration, 2018.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "DQN that explores by noise in its weights";

pub fn preset() -> DqnConfig {
    DqnConfig { noisy: true, ..DqnConfig::default() }
}
