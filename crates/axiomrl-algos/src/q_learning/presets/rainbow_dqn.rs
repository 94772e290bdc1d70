//! # Rainbow
//!
//! **What it does.** Double, dueling, noisy, prioritised, three-step and categorical, all at once.
//!
//! **When to use it.** When samples are dear and updates are cheap.
//!
//! **The update.**
//! ```text
//! the categorical loss of C51 on three-step returns, the action chosen by the online network,
//! logits = V_i + A_(a,i) - mean_a A_(a,i), weights noisy, draws prioritised by the cross-entropy
//! ```
//!
//! **Details that matter.**
//! - `v_min` and `v_max` must hold the returns that occur; `outside_mass` is how much of the targets lies outside.
//! - There is no epsilon: the noise explores.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Hessel and others, Rainbow: combining improvements in deep reinforcement learning, 2018.

use super::super::config::{DqnConfig, HeadKind};
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "Double, dueling, noisy, prioritised, n-step and categorical together";

pub fn preset() -> DqnConfig {
    DqnConfig {
        double_q: true,
        dueling: true,
        noisy: true,
        prioritized_replay: true,
        prioritized_alpha: 0.5,
        n_step: 3,
        head: HeadKind::Categorical,
        adam_eps: 1.5e-4,
        learning_rate: Schedule::Constant(5e-4),
        ..DqnConfig::default()
    }
}
