//! # D4PG: distributional DDPG with n-step returns
//!
//! **What it does.** DDPG whose critic learns the distribution of the return over fixed atoms, from n-step returns.
//!
//! **When to use it.** Continuous actions where the range of returns is known. Often better than DDPG at the same cost.
//!
//! **The update.** With atoms z_i from `v_min` to `v_max`, and slowly moving copies of both networks:
//! ```text
//! m       = projection of R + D * z with the probabilities of critic'(s', pi'(s'))
//! critic:   - mean sum_i m_i log p_i(s, a)
//! actor:    g = d/da sum_i z_i p_i(s, a) at a = pi(s), cut to norm `max_action_grad_norm`;  - mean g * pi(s)
//! ```
//!
//! **Details that matter.**
//! - The support is *the* setting. It must hold every return of the task in scaled rewards (`reward_scale`): between
//!   r_min / (1 - gamma) and r_max / (1 - gamma), shrunk to what occurs. The metric `edge_mass` is the probability on the
//!   two ends, and `support_saturated` the share of updates with more than 0.2 of it: then widen the support, or scale
//!   rewards down.
//! - D is gamma^k * (1 - terminated) of the window really used, so windows cut short by an episode's end are right.
//! - The critic has LayerNorm; last layers start small.
//! - `prioritized_replay: true` draws by cross-entropy; `gradient_steps` and `num_envs` set the ratio of updates to data.
//!
//! **What is left out.** Actors in processes of their own (`num_envs` collects in one); hard copies of the target
//! networks (they move by `tau`); image observations.
//!
//! **Reference.** Barth-Maron and others, Distributed distributional deterministic policy gradients, 2018.

use super::super::settings::{AcConfig, CriticOutput};
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "Distributional DDPG with n-step returns";

pub fn preset() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(3e-4),
        n_step: 5,
        exploration_noise: Schedule::Constant(0.2),
        critic_output: CriticOutput::Categorical,
        critic_layer_norm: true,
        max_action_grad_norm: Some(1.0),
        max_grad_norm: Some(40.0),
        ..super::ddpg::preset()
    }
}
