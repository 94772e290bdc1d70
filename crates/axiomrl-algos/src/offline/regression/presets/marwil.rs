//! # MARWIL: monotonic advantage re-weighted imitation learning
//!
//! **What it does.** Imitates recorded actions, more where their episode went better than the value network expected.
//!
//! **When to use it.** Whole episodes of mixed quality, short enough for their returns to say something about single actions.
//! There are no critics, so there is nothing to overestimate; nor can it join the good halves of two episodes.
//!
//! **The update.** With G the discounted return of the episode from there on:
//! ```text
//! A       = G - V(s)
//! c^2    += rho * (mean A^2 - c^2)
//! policy:   -mean w * log pi(a|s),  w = min(exp(beta * A / c), max_weight)
//! value:    mean (G - V(s))^2 / 2
//! ```
//!
//! **Details that matter.**
//! - Where an episode was cut off by the clock, G ends with gamma^h * V of its last observation; where the world ended, it does
//!   not. G is known of whole recorded episodes alone, so there is no going on in the environment.
//! - c is the root of a moving average (`advantage_scale: moving_average`, rho is `advantage_rate`) that begins with the first
//!   batch, so the unit of rewards does not matter; `beta` 0 makes it behavioural cloning of a Gaussian.
//! - Policy and value are networks of their own.
//!
//! **What is left out.** The publication's weights have no limit, and RLlib's average begins at 100 and hardly moves.
//!
//! **Reference.** Wang and others, Exponentially weighted imitation learning for batched historical data, 2018.

use super::super::settings::{AdvantageKind, AdvantageScale, RegressionConfig};

pub const SUMMARY: &str = "Imitation weighted by the returns of recorded episodes";

pub fn preset() -> RegressionConfig {
    RegressionConfig {
        actor_learning_rate: None,
        orthogonal_init: false,
        advantage: AdvantageKind::Returns,
        advantage_scale: AdvantageScale::MovingAverage,
        beta: 1.0,
        max_weight: 20.0,
        ..super::iql::preset()
    }
}
