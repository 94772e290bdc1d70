//! # Clipped double DQN
//!
//! **What it does.** Learns two networks at once and believes the more cautious one.
//!
//! **When to use it.** When values grow too large.
//!
//! **The update.**
//! ```text
//! y = R + D * min_i Q'_i(s', argmax_a Q_1(s', a)), for both networks
//! ```
//!
//! **Details that matter.**
//! - `twin: true` makes the network an ensemble of two; `double_q` chooses by the first.
//! - With a distributional head the member with the smaller mean is taken, row by row.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Fujimoto, van Hoof and Meger, Addressing function approximation error in actor-critic methods, 2018
//! (discrete case).

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "DQN with two networks, of which the more cautious counts";

pub fn preset() -> DqnConfig {
    DqnConfig { twin: true, double_q: true, ..DqnConfig::default() }
}
