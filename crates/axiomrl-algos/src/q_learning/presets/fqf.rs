//! # FQF: fully parameterised quantile function
//!
//! **What it does.** IQN that also learns which fractions to ask for, so that few of them describe the return well.
//!
//! **When to use it.** The strongest single value head here, at a higher price per update.
//!
//! **The update.**
//! ```text
//! q = softmax(proposal(features)),  tau_i = q_0 + ... + q_(i-1),  hat_i = middle of tau_i and tau_(i+1)
//! Q(s, a) = sum_i q_i F(hat_i | s, a)
//! quantile loss at the hat_i; proposal loss with the exact gradient 2 F(tau_i) - F(hat_i) - F(hat_(i-1))
//! ```
//!
//! **Details that matter.**
//! - The proposal learns with RMSProp and a step size of its own, `fraction_learning_rate`; too large a one collapses all
//!   parts into one.
//! - Neither loss reaches the other's parameters: the proposal sees the features cut off, the quantiles see the fractions
//!   cut off.
//! - In a target, the quantiles of the next state count by the width of their parts, as they do in Q; for even parts that
//!   is the plain mean of the paper. Counted alike, uneven parts shift the target's mean to where they are dense, and
//!   every backup adds to that.
//! - `fraction_ent_coef` rewards even parts.
//! - Where predicted quantiles cross, a difference counts with the sign it should have had.
//! - The features of an observation are computed once per network and update.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Yang and others, Fully parameterized quantile function for distributional reinforcement learning, 2019.

use super::super::config::{DqnConfig, HeadKind};

pub const SUMMARY: &str = "Distributional DQN that learns which quantiles to ask for";

pub fn preset() -> DqnConfig {
    DqnConfig { head: HeadKind::Fqf, num_quantiles: 32, ..DqnConfig::default() }
}
