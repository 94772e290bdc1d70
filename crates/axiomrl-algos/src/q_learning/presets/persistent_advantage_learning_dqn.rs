//! # Persistent advantage learning
//!
//! **What it does.** Advantage learning that spares an action which would also be good in the next state.
//!
//! **When to use it.** Actions that are held for several steps.
//!
//! **The update.**
//! ```text
//! y = R + D * max_b Q'(s', b) - alpha * min(gap(s, a), gap(s', a)),   gap(x, a) = max_b Q'(x, b) - Q'(x, a)
//! ```
//!
//! **Details that matter.**
//! - The larger of two targets is taken, which is the smaller of two gaps.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Bellemare and others, Increasing the action gap: new operators for reinforcement learning, 2016.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "Advantage learning that favours repeating an action";

pub fn preset() -> DqnConfig {
    DqnConfig { advantage_alpha: 0.9, persistent_advantage: true, ..DqnConfig::default() }
}
