//! # CrossQ: no target networks
//!
//! **What it does.** SAC without target critics. Batch renormalisation inside the critics, over both ends of the
//! transitions together, gives the stability that the slow copies gave, and learning is faster.
//!
//! **When to use it.** Sample efficiency near that of REDQ at one update per step.
//!
//! **The update.**
//! ```text
//! [Q_i(s, a), Q_i(s', a')] = critic([(s, a); (s', a')])     one pass, shared batch statistics
//! y       = R + D * (min_i Q_i(s', a') - alpha * log pi(a'))   taken as a constant
//! critics:  sum_i mean (Q_i(s, a) - y)^2 / 2
//! actor:    every `policy_delay` (3) updates, with the critics' running statistics
//! ```
//!
//! **Details that matter.**
//! - One pass for both halves is the method: their actions are distributed differently, and separate statistics fail.
//! - Normalisation stands before every linear layer of the critics, and of the actor (`actor_batch_renorm`). For
//!   `batch_renorm_warmup` updates it is plain batch normalisation; afterwards it is corrected towards the running
//!   statistics (bounds 3 and 5).
//! - Switch `actor_batch_renorm` off where there are only a few different observations: the running statistics then lag
//!   behind the weights, and the policy that is evaluated is not the one that was trained.
//! - When acting, in the actor's loss (for the critics) and in targets (for the actor) the running statistics are
//!   constants, and the networks fold into ordinary ones.
//! - Adam's `adam_beta1` is 0.5.
//! - Everything else is as in `sac`.
//!
//! **Reference.** Bhatt and others, CrossQ: batch normalization in deep reinforcement learning for greater sample
//! efficiency and simplicity, 2024.

use super::super::settings::AcConfig;
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "SAC without target networks";

pub fn preset() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(1e-3),
        adam_beta1: 0.5,
        batch_renorm: true,
        actor_batch_renorm: true,
        policy_delay: 3,
        ..super::sac::preset()
    }
}
