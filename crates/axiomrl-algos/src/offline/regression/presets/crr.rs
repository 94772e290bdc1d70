//! # CRR: critic-regularised regression
//!
//! **What it does.** As `awac` with one critic: the policy imitates the recorded actions that the critic prefers to several draws
//! of the policy's own.
//!
//! **When to use it.** Mixed data of many policies. `weight: indicator` needs no thought about the unit of rewards. Box actions.
//!
//! **The update.** With copies Q' and pi' that are replaced every `target_update_interval` updates:
//! ```text
//! critic:  mean (Q(s, a) - y)^2 / 2,  y = R + D * Q'(s', a'),  a' ~ pi'(s')
//! A      = Q(s, a) - mean_j Q(s, a_j),  a_j ~ pi(s), four of them
//! policy:  -mean w * log pi(a|s),  w = min(exp(beta * A), max_weight)  or  1{A > 0}
//! ```
//!
//! **Details that matter.**
//! - The actions of targets are those of the slow copy of the policy (`target_policy`).
//! - Policy and critic learn from the networks as both were before the update (`advantage_before_update`).
//! - `weight: indicator` takes or leaves an action; `weight: exp` weighs it, and then `beta`, 1 / beta of the publication, has the
//!   unit of the reward.
//! - `advantage: policy_max` compares with the best of the draws: pickier, and better where the data are poor.
//!
//! **What is left out.** The distributional critic, and choosing among draws by their worth when acting.
//!
//! **Reference.** Wang and others, Critic regularized regression, 2020.

use super::super::settings::RegressionConfig;

pub const SUMMARY: &str = "Critic-regularised regression";

pub fn preset() -> RegressionConfig {
    RegressionConfig {
        hidden_sizes: vec![256, 256],
        n_action_samples: 4,
        target_policy: true,
        advantage_before_update: true,
        beta: 1.0,
        max_weight: 20.0,
        n_critics: 1,
        critic_loss_coef: 1.0,
        tau: 1.0,
        target_update_interval: 100,
        ..super::awac::preset()
    }
}
