//! # EDAC: ensemble-diversified actor-critic
//!
//! **What it does.** SAC-N with a term that keeps the critics apart: they must not agree on the direction in which a
//! recorded action should be changed. Then they differ beyond the data, their minimum is low there, and ten do what
//! hundreds did.
//!
//! **When to use it.** Recorded data and actions of two numbers or more. With one number a slope can only point up or down,
//! the term has no gradient, and EDAC is `sac_n`.
//!
//! **The update.** As `sac_n`, with g_i the gradient of critic i by the action, at recorded transitions:
//! ```text
//! diversity = mean [ sum over i != j of cos(g_i, g_j) ] / (N - 1)
//! critics:    sum_i mean (Q_i(s, a) - y)^2 + diversity_coef * diversity
//! ```
//!
//! **Details that matter.**
//! - `diversity_coef` is 1, up to 5 for data of good policies, and up to 1000 where rewards are large: it counts in units
//!   of reward.
//! - The number in the log, `diversity`, is what is pushed down: N where all critics agree, -N / (N - 1) at best. With a
//!   coefficient of 1e-9 it is logged and does nothing: that is `sac_n` to compare with.
//! - The gradient of a gradient is exact here without a second differentiation: critics of ReLUs are linear but for their
//!   switches. So LayerNorm, dropout and other activations are refused.
//! - Everything else is as in `sac_n`.
//!
//! **Reference.** An, Moon, Kim and Song, Uncertainty-based offline reinforcement learning with diversified Q-ensemble,
//! 2021.

use super::super::settings::AcConfig;

pub const SUMMARY: &str = "SAC-N whose critics are kept apart";

pub fn preset() -> AcConfig {
    AcConfig { diversity_coef: 1.0, ..super::sac_n::preset() }
}
