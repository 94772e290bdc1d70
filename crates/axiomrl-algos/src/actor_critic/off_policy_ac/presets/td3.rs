//! # TD3: twin delayed DDPG
//!
//! **What it does.** DDPG with three remedies against critics that believe too much.
//!
//! **When to use it.** Continuous actions and a deterministic policy. A sound first choice beside SAC.
//!
//! **The update.** With slowly moving copies Q'_1, Q'_2 and pi':
//! ```text
//! a'      = clip(pi'(s') + clip(noise, -c, c), -1, 1)
//! y       = R + D * min(Q'_1(s', a'), Q'_2(s', a'))
//! critics:  sum_i mean (Q_i(s, a) - y)^2 / 2
//! actor:    - mean Q_1(s, pi(s)),  every `policy_delay` updates
//! ```
//!
//! **Details that matter.**
//! - The copies move only when the actor does (`policy_delay`).
//! - `target_noise` and `target_noise_clip` smooth the critics over neighbouring actions.
//! - Both critics are one ensemble network; the actor follows the first.
//! - Termination and time limits are told apart.
//! - Before `learning_starts`, actions are uniformly random.
//! - Images are seen as in `sac`.
//!
//! **Reference.** Fujimoto, van Hoof and Meger, Addressing function approximation error in actor-critic methods, 2018.

use super::super::settings::{AcConfig, TargetAction};

pub const SUMMARY: &str = "Twin delayed DDPG";

pub fn preset() -> AcConfig {
    AcConfig {
        target_action: TargetAction::TargetActorSmoothed,
        final_layer_bound: None,
        n_critics: 2,
        policy_delay: 2,
        ..super::ddpg::preset()
    }
}
