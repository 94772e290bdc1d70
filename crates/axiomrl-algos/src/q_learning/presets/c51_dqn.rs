//! # C51: categorical DQN
//!
//! **What it does.** Learns the whole distribution of the return, as probabilities of evenly spaced returns.
//!
//! **When to use it.** Returns whose range is known. Often steadier than learning the mean alone.
//!
//! **The update.**
//! ```text
//! target: the atoms R + D z_j with the probabilities of Q'(s', a*), each shared between its two neighbours
//! loss = cross-entropy of the projected target and the prediction
//! ```
//!
//! **Details that matter.**
//! - `v_min` and `v_max` must hold the returns that occur: what lies outside is cut to the edge. `outside_mass`
//!   is how much of the targets did; a run says so when it is much.
//! - With prioritised replay the cross-entropy of a transition is its priority.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Bellemare, Dabney and Munos, A distributional perspective on reinforcement learning, 2017.

use super::super::config::{DqnConfig, HeadKind};

pub const SUMMARY: &str = "Distributional DQN over fixed returns";

pub fn preset() -> DqnConfig {
    DqnConfig { head: HeadKind::Categorical, adam_eps: 0.01 / 32.0, ..DqnConfig::default() }
}
