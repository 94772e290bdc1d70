//! # DroQ: dropout Q-functions
//!
//! **What it does.** Does with two critics what REDQ does with ten: dropout and LayerNorm in the critics allow twenty
//! updates per environment step.
//!
//! **When to use it.** As `redq`, at a fraction of its cost.
//!
//! **The update.** As SAC with the lower of two critics, `gradient_steps` (20) times per step, the actor once per block
//! following their mean. Critic layers are Linear, dropout, LayerNorm, ReLU.
//!
//! **Details that matter.**
//! - Dropout is active in every training pass: predictions, targets and the actor's view of the critics, each with masks
//!   of its own. Evaluation has none.
//! - `critic_dropout` is small (0.01); for harder tasks up to 0.1.
//! - Everything else is as in `redq`.
//!
//! **Reference.** Hiraoka and others, Dropout Q-functions for doubly efficient reinforcement learning, 2022.

use super::super::settings::{AcConfig, TargetReducer};

pub const SUMMARY: &str = "SAC with dropout and LayerNorm critics";

pub fn preset() -> AcConfig {
    AcConfig {
        n_critics: 2,
        critic_layer_norm: true,
        critic_dropout: 0.01,
        target_reducer: TargetReducer::Min,
        ..super::redq::preset()
    }
}
