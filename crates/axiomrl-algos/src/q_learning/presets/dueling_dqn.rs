//! # Dueling DQN
//!
//! **What it does.** Learns how good a state is and how much better each action is than the average one, in two networks
//! of their own.
//!
//! **When to use it.** Many states in which the choice of action hardly matters.
//!
//! **The update.**
//! ```text
//! Q(s, a) = V(s) + A(s, a) - mean_b A(s, b)
//! ```
//!
//! **Details that matter.**
//! - The mean is subtracted because only the sum of both parts is ever learned from.
//! - With a distributional head the same sum is formed number by number, before any softmax.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** The two streams share no layers on vector observations, so the paper's rescaling of the gradient
//! into shared ones does not apply.
//!
//! **Reference.** Wang and others, Dueling network architectures for deep reinforcement learning, 2016.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "DQN with the state's value and the action's advantage apart";

pub fn preset() -> DqnConfig {
    DqnConfig { dueling: true, ..DqnConfig::default() }
}
