//! # TQC: truncated quantile critics
//!
//! **What it does.** SAC whose critics predict quantiles of the return. The highest quantiles of all critics together are
//! dropped from the target, which sets the degree of caution finely.
//!
//! **When to use it.** Where SAC overestimates or is too cautious; usually at least as good as SAC, at a higher cost.
//!
//! **The update.** With n critics of N quantiles each, and d = `top_quantiles_to_drop`:
//! ```text
//! z       = all n * N next quantiles, sorted, without the highest d * n
//! y_i     = R + D * (z_i - alpha * log pi(a'))
//! critics:  quantile Huber loss of each critic's quantiles to all y_i
//! actor:    mean (alpha * log pi(a) - mean of all quantiles)
//! ```
//!
//! **Details that matter.**
//! - d = 0 believes all; 2 of 25 suits most tasks; 5 is cautious.
//! - The loss is summed over predicted and averaged over target quantiles.
//! - The critics are one ensemble network.
//! - Everything else is as in `sac`.
//!
//! **What is left out.** Two critics by default, where the publication uses five (`n_critics`).
//!
//! **Reference.** Kuznetsov and others, Controlling overestimation bias with truncated mixture of continuous
//! distributional quantile critics, 2020.

use super::super::settings::{AcConfig, ActorReducer, CriticOutput, TargetReducer};

pub const SUMMARY: &str = "SAC with truncated quantile critics";

pub fn preset() -> AcConfig {
    AcConfig {
        critic_output: CriticOutput::Quantile,
        target_reducer: TargetReducer::Truncated,
        actor_reducer: ActorReducer::Mean,
        ..super::sac::preset()
    }
}
