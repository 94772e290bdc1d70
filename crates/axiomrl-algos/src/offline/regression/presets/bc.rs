//! # BC: behavioural cloning
//!
//! **What it does.** Imitates recorded actions, all alike. Rewards are not looked at.
//!
//! **When to use it.** Where the data are of an expert. On mixed data it becomes as good as their average at best, which makes it
//! the yardstick of everything that claims more.
//!
//! **The update.**
//! ```text
//! Box:       mean over rows and numbers of (pi(s) - a)^2
//! Discrete:  -mean log pi(a|s)
//! ```
//!
//! **Details that matter.**
//! - Over a Box the policy is one action, bounded by a tanh, in units where actions reach from -1 to 1. Two experts who go round
//!   an obstacle on different sides are averaged into it; `policy: gaussian` learns a spread as well, but no second side.
//! - Standardise observations (`normalize_observation` of the `dataset` block), as the packaged runs do.
//! - `policy: linear_gaussian` and `policy: squashed_gaussian` are the two usual stochastic forms: a mean without bounds, and a
//!   tanh over the draw, which takes recorded actions a little inside of the bounds.
//! - It acts by its action, or by the likeliest choice.
//!
//! **What is left out.** Going on in the environment: it would imitate itself. To ask an expert about states of its own, see
//! DAgger.
//!
//! **Reference.** Pomerleau, Efficient training of artificial neural networks for autonomous navigation, 1991.

use super::super::settings::{AdvantageKind, PolicyKind, RegressionConfig, WeightKind};

pub const SUMMARY: &str = "Behavioural cloning of recorded actions";

pub fn preset() -> RegressionConfig {
    RegressionConfig {
        actor_learning_rate: None,
        orthogonal_init: false,
        policy: PolicyKind::Deterministic,
        advantage: AdvantageKind::None,
        weight: WeightKind::One,
        ..super::iql::preset()
    }
}
