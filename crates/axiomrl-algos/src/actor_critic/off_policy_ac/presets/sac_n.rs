//! # SAC-N: SAC with an ensemble of critics
//!
//! **What it does.** Learns from recorded transitions alone. SAC with `n_critics` critics (10), of which the lowest counts:
//! where the data say little the critics differ, and their minimum is low.
//!
//! **When to use it.** Much data of mixed quality. On narrow data it takes very many critics (200 to 500): `edac` needs
//! fewer.
//!
//! **The update.** As `sac`, with the minimum over all critics in targets and actor:
//! ```text
//! y       = R + D * (min_i Q'_i(s', a') - alpha * log pi(a'))
//! critics:  sum_i mean (Q_i(s, a) - y)^2
//! actor:    mean (alpha * log pi(a) - min_i Q_i(s, a))
//! ```
//!
//! **Details that matter.**
//! - The number of critics is the caution: 10 to 20 for mixed data, hundreds for narrow ones.
//! - The critics differ only by how they began and are one ensemble network.
//! - All three losses are those of the networks before the update (`update_order`).
//! - The logarithm of the policy's deviation stays above -5 (`log_std_min`). Weights begin as in `rebrac`; there is no
//!   LayerNorm.
//! - Observations are taken as they are.
//! - With `online_timesteps` the run goes on in the environment.
//!
//! **Reference.** An, Moon, Kim and Song, Uncertainty-based offline reinforcement learning with diversified Q-ensemble,
//! 2021.

use super::super::settings::{AcConfig, UpdateOrder, WeightInit};

pub const SUMMARY: &str = "SAC with the lowest of many critics";

pub fn preset() -> AcConfig {
    AcConfig {
        offline: true,
        offline_batch_ratio: 0.5,
        learning_starts: 0,
        hidden_sizes: vec![256; 3],
        weight_init: WeightInit::Biased,
        final_layer_bound: Some(3e-3),
        actor_final_layer_bound: Some(1e-3),
        log_std_min: -5.0,
        update_order: UpdateOrder::Together,
        // The squared error, without the half.
        critic_loss_coef: 2.0,
        n_critics: 10,
        ..super::sac::preset()
    }
}
