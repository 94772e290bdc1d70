//! # IQN: implicit quantile networks
//!
//! **What it does.** Learns the return at any fraction it is asked for; each update asks at random.
//!
//! **When to use it.** As QR-DQN, with a finer picture of the distribution at equal cost.
//!
//! **The update.**
//! ```text
//! F(tau | s) = head(features(s) * relu(linear(cos(pi i tau), i = 1..n)))
//! loss as in QR-DQN, at fractions drawn anew for prediction, target and choice
//! ```
//!
//! **Details that matter.**
//! - `num_quantiles` fractions are drawn for predictions, `num_target_quantiles` for targets (as many, unless it is set), and
//!   `num_choice_quantiles` to choose actions by. Were one draw to choose and to value, values would be too high.
//! - Evaluation asks at evenly spaced fractions, so that it is repeatable.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Distorted, risk-sensitive choices.
//!
//! **Reference.** Dabney, Ostrovski, Silver and Munos, Implicit quantile networks for distributional reinforcement
//! learning, 2018.

use super::super::config::{DqnConfig, HeadKind};

pub const SUMMARY: &str = "Distributional DQN over any quantile";

pub fn preset() -> DqnConfig {
    DqnConfig { head: HeadKind::Implicit, num_quantiles: 32, ..DqnConfig::default() }
}
