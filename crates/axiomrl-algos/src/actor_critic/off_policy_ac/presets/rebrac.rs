//! # ReBRAC: behaviour-regularised actor-critic, revisited
//!
//! **What it does.** Learns from recorded transitions alone. TD3+BC with two weights in place of one, for the actor and for
//! the targets, and with what later work has found good for critics: LayerNorm, a third layer, large batches.
//!
//! **When to use it.** As `td3_bc`, when its result is not good enough and there is time to choose two numbers.
//!
//! **The update.** As `td3`, with a~ the smoothed action of the targets and a' the action that was recorded next:
//! ```text
//! y       = R + D * (min_i Q'_i(s', a~) - critic_bc_weight * |a~ - a'|^2)
//! critics:  sum_i mean (Q_i(s, a) - y)^2
//! actor:    mean (actor_bc_weight * |pi(s) - a|^2 - min_i Q_i(s, pi(s)) / mean |min_i Q_i|)
//! ```
//!
//! **Details that matter.**
//! - `actor_bc_weight` from 0.001 to 0.1 and `critic_bc_weight` from 0 to 0.5, higher the narrower the data.
//! - Distances are summed over the numbers of an action. `critic_bc_weight` is in the units of reward, so its scale
//!   matters; `actor_bc_weight` is not.
//! - The last step of an episode that was cut off has no next action: such rows are left out. Where an episode terminated
//!   none is needed.
//! - Critics are Linear, ReLU, LayerNorm (`layer_norm_after`). Weights begin evenly within one over the root of the inputs,
//!   biases at 0.1 (`weight_init: biased`), last layers within 0.003, the actor's within 0.001.
//! - Batches of 1024 and a step size of 0.001 for many data; 256 is enough for small tasks.
//! - Observations are taken as they are.
//!
//! **What is left out.** LayerNorm adds 0.00001 to a variance, a tenth of which the publication adds.
//!
//! **Reference.** Tarasov, Kurenkov, Nikulin and Kolesnikov, Revisiting the minimalist approach to offline reinforcement
//! learning, 2023.

use super::super::settings::{AcConfig, ActorReducer, BcDistance, WeightInit};
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "TD3 held to recorded actions, in the actor and in the targets";

pub fn preset() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(1e-3),
        batch_size: 1024,
        hidden_sizes: vec![256; 3],
        critic_layer_norm: true,
        layer_norm_after: true,
        weight_init: WeightInit::Biased,
        final_layer_bound: Some(3e-3),
        actor_final_layer_bound: Some(1e-3),
        actor_reducer: ActorReducer::Min,
        actor_bc_weight: 0.01,
        bc_distance: BcDistance::Sum,
        bc_alpha: Some(1.0),
        critic_bc_weight: 0.01,
        ..super::td3_bc::preset()
    }
}
