//! # QR-DQN: quantile regression DQN
//!
//! **What it does.** Learns the return at evenly spaced quantiles, without having to know its range.
//!
//! **When to use it.** As C51, where the range of returns is unknown.
//!
//! **The update.**
//! ```text
//! loss = sum over predicted quantiles j, mean over target returns i of
//!        |tau_j - 1{y_i < q_j}| * Huber_kappa(y_i - q_j) / kappa
//! ```
//!
//! **Details that matter.**
//! - The sum runs over predictions and the mean over targets: another reduction would change the step size.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Dabney, Rowland, Bellemare and Munos, Distributional reinforcement learning with quantile regression,
//! 2018.

use super::super::config::{DqnConfig, HeadKind};

pub const SUMMARY: &str = "Distributional DQN over fixed quantiles";

pub fn preset() -> DqnConfig {
    DqnConfig { head: HeadKind::Quantile, num_quantiles: 25, ..DqnConfig::default() }
}
