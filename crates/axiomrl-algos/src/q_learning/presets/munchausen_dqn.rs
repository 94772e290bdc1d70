//! # Munchausen DQN
//!
//! **What it does.** A soft policy that is paid for the log-probability of the action it took: a hidden constraint on how
//! far it moves.
//!
//! **When to use it.** A strong and simple default among the scalar heads.
//!
//! **The update.**
//! ```text
//! pi = softmax(Q' / T)
//! y  = r + alpha * clip(T log pi(a|s), l0, 0) + D * sum_b pi(b|s') (Q'(s', b) - T log pi(b|s'))
//! ```
//!
//! **Details that matter.**
//! - Both policies come from the target network.
//! - The bonus is clipped at `munchausen_clip_min`, since log pi has no lower bound.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Vieillard, Pietquin and Geist, Munchausen reinforcement learning, 2020.

use super::super::config::{Backup, DqnConfig};

pub const SUMMARY: &str = "Soft DQN rewarded for its own certainty";

pub fn preset() -> DqnConfig {
    DqnConfig { backup: Backup::Soft, munchausen_alpha: 0.9, ..DqnConfig::default() }
}
