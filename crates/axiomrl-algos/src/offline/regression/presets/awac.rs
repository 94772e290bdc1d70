//! # AWAC: advantage-weighted actor-critic
//!
//! **What it does.** Critics learn what the policy's actions are worth, and the policy imitates recorded actions, more where they
//! are better than its own. It keeps to the data without asking who recorded them, and goes on in the environment unchanged.
//!
//! **When to use it.** A dataset first and an environment afterwards: it is made for that. Box actions.
//!
//! **The update.** With slowly moving critics Q':
//! ```text
//! critics:  sum_i mean (Q_i(s, a) - y)^2,  y = R + D * min_i Q'_i(s', a'),  a' ~ pi(s')
//! A       = min_i Q_i(s, a) - min_i Q_i(s, a_pi),  a_pi ~ pi(s)
//! policy:   -mean w * log pi(a|s),  w = min(exp(beta * A), max_weight)
//! ```
//!
//! **Details that matter.**
//! - `beta` is 1 / lambda of the publication; its unit is the reward's, so scale rewards as for `iql`. `weight: softmax` divides
//!   by the sum over the batch in the place of `max_weight`, and can never overflow.
//! - Critics step first, and advantages are taken by them as they are then; `n_action_samples` averages over more draws.
//! - Targets have no entropy in them. Draws are clipped to the bounds.
//! - `online_timesteps` goes on in the environment after the recorded phase, with `offline_batch_ratio` of each batch recorded.
//!
//! **What is left out.** The linear mean of some implementations: the policy is that of `iql`.
//!
//! **Reference.** Nair and others, AWAC: accelerating online reinforcement learning with offline datasets, 2020.

use super::super::settings::{AdvantageKind, RegressionConfig};

pub const SUMMARY: &str = "Advantage-weighted actor-critic, offline and on";

pub fn preset() -> RegressionConfig {
    RegressionConfig {
        actor_learning_rate: None,
        orthogonal_init: false,
        hidden_sizes: vec![256, 256, 256],
        advantage: AdvantageKind::PolicyMean,
        ..super::iql::preset()
    }
}
