//! # AWR: advantage-weighted regression
//!
//! **What it does.** In turns, fits a value network to the returns of all recorded episodes, and then the policy to their
//! actions, weighted by how much better than that value they turned out.
//!
//! **When to use it.** As `marwil`, where it is the closest relative: TD(lambda) returns lean on the value, so longer episodes
//! and poorer ones say more.
//!
//! **The update.** A round of `value_updates` and `actor_updates`:
//! ```text
//! G_t     = r_t + gamma * ((1 - lambda) * V(s_{t+1}) + lambda * G_{t+1})    over all episodes
//! value:    mean ((1 - gamma) * (G - V(s)))^2 / 2                           value_updates times
//! A       = G - V(s), taken anew and standardised over all transitions
//! policy:   -mean w * log pi(a|s),  w = min(exp(beta * A), max_weight)      actor_updates times
//! ```
//!
//! **Details that matter.**
//! - The last G of an episode that was cut off is r + gamma * V(s_T), of one that ended r alone.
//! - Advantages are standardised (deviation + 1e-5), so the unit of rewards does not matter.
//! - The value network's outputs are (1 - gamma) * V: about as large as a reward, whatever the horizon.
//! - Returns and advantages of all transitions are kept between updates. Between two recomputations a few updates of a very
//!   large dataset go into valuing it, about 30,000 transitions each with networks of 256 units.
//! - Five to ten rounds in a run are enough; V stays as it is while the policy learns.
//! - The standard deviation of the policy is fixed at 0.2, and its mean is bounded by a tanh. `policy: linear_gaussian` with
//!   `bounds_penalty: 10` is the publication's form.
//! - It learns from recorded episodes alone.
//!
//! **What is left out.** The online form, which gathers 2,048 steps per round into a store of 50,000; the publication's
//! SGD with momentum: Adam for both networks.
//!
//! **Reference.** Peng and others, Advantage-weighted regression: simple and scalable off-policy reinforcement learning, 2019.

use super::super::settings::{AdvantageKind, AdvantageScale, RegressionConfig};
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "Advantage-weighted regression on recorded episodes";

pub fn preset() -> RegressionConfig {
    RegressionConfig {
        learning_rate: Schedule::Constant(1e-3),
        actor_learning_rate: None,
        orthogonal_init: false,
        hidden_sizes: vec![128, 64],
        // ln 0.2
        log_std_init: -1.609_438,
        learn_std: false,
        advantage: AdvantageKind::LambdaReturns,
        advantage_scale: AdvantageScale::Dataset,
        beta: 1.0,
        max_weight: 20.0,
        ..super::iql::preset()
    }
}
