//! # XQL: extreme Q-learning
//!
//! **What it does.** As `iql`, with another idea of the best recorded action: V is the soft maximum of Q over the recorded
//! actions, which Gumbel regression finds without ever drawing one.
//!
//! **When to use it.** Where `iql` stays too close to the average of mixed data. It has one number more to get right.
//!
//! **The update.** That of `iql`, but for the value, and critics with Huber's loss:
//! ```text
//! value:    mean (e^z - z - 1) * e^-M,  z = min((q - V(s)) / beta_V, gumbel_clip),  M = max(largest z of the batch, -1)
//! critics:  sum_i mean huber_20(Q_i(s, a) - y),  y = R + D * V(s')
//! ```
//!
//! **Details that matter.**
//! - beta_V is `gumbel_temperature`: V is beta_V * log mean exp(q / beta_V). High is the mean, low the largest, and too low lets
//!   single rows rule. It has the unit of the reward; 1 to 2 where rewards are scaled as for `iql`.
//! - Rows with z beyond `gumbel_clip` do not move V. The log says how many there are (gumbel_clipped); if most of them, raise
//!   `gumbel_temperature`.
//! - M keeps the exponential of the largest row from drowning the others; it is a constant of the batch.
//! - LayerNorm in the value network keeps the exponential from running off with it.
//! - Weights of the policy keep a `beta` of their own.
//!
//! **What is left out.** The online form of the publication, which changes SAC and TD3.
//!
//! **Reference.** Garg and others, Extreme Q-learning: MaxEnt RL without entropy, 2023.

use super::super::settings::{AdvantageKind, RegressionConfig};

pub const SUMMARY: &str = "Extreme Q-learning: implicit Q-learning by Gumbel regression";

pub fn preset() -> RegressionConfig {
    RegressionConfig {
        advantage: AdvantageKind::Gumbel,
        value_layer_norm: true,
        critic_huber: Some(20.0),
        critic_loss_coef: 1.0,
        ..super::iql::preset()
    }
}
