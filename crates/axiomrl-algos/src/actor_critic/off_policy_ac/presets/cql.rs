//! # CQL: conservative Q-learning
//!
//! **What it does.** Learns from recorded transitions alone. SAC whose critics are pushed down on actions that were not
//! recorded and up on those that were, so that the policy finds nothing better than the data without grounds.
//!
//! **When to use it.** Recorded data with continuous actions, above all a mixture of good and bad. Dear: every update
//! values `num_cql_samples` times three other actions for each transition. `td3_bc` is the cheap alternative. For discrete
//! actions: `cql_dqn`.
//!
//! **The update.** With ten random actions u and ten of the policy each at s and at s', all of them valued at s:
//! ```text
//! gap_i   = mean [ log sum_a exp(Q_i(s, a) - log density(a)) - Q_i(s, recorded) ]
//! y       = R + D * min_i Q'_i(s', a')                                        no entropy (`entropy_backup`)
//! critics:  sum_i ( mean (Q_i(s, a) - y)^2 + cql_alpha * gap_i )
//! actor:    mean (alpha * log pi(a) - min_i Q_i(s, a))
//! ```
//!
//! **Details that matter.**
//! - `cql_alpha` is the weight of caution: 5 to 10 for data of policies, 1 to 5 for small tasks. It counts in units of
//!   reward, so scale rewards (`reward_scale` in the block `dataset`) until a good episode is worth about as much as it is
//!   long.
//! - Dividing by the density makes the sum an integral: without it random and drawn actions could not be added. A critic
//!   that is flat has a gap of log 30 + d log 2, not 0; it is the slope that counts. The gap in the log is
//!   `conservative_gap`.
//! - `cql_target_gap` adapts the weight instead: a factor on `cql_alpha` grows while the gap is above (`conservative_weight`
//!   is the product).
//! - `bc_warmup` updates at the start let the actor imitate before the critics mean anything. `target_samples: 10` takes the
//!   best of ten actions for each target, for tasks in which pieces of episodes have to be joined. `cql_gap_min` and
//!   `cql_gap_max` bound the gap of a transition, `cql_temperature` softens its maximum.
//! - All three losses are those of the networks before the update (`update_order`).
//! - The actor's step size is a third of the critics'. Last layers begin near 0, and the policy with a deviation of e^-1
//!   (`log_std_offset`).
//! - With `online_timesteps` the run goes on in the environment; `cal_ql` is made for that.
//!
//! **What is left out.** The subtraction of log 30, which changes no gradient. Sparse rewards with bounds known beforehand.
//!
//! **Reference.** Kumar, Zhou, Tucker and Levine, Conservative Q-learning for offline reinforcement learning, 2020.

use super::super::settings::{AcConfig, UpdateOrder};
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "SAC whose critics value recorded actions above others";

pub fn preset() -> AcConfig {
    AcConfig {
        offline: true,
        offline_batch_ratio: 0.5,
        learning_starts: 0,
        actor_learning_rate: Some(Schedule::Constant(1e-4)),
        hidden_sizes: vec![256; 3],
        final_layer_bound: Some(1e-3),
        log_std_offset: -1.0,
        entropy_backup: false,
        update_order: UpdateOrder::Together,
        // The squared error, without the half: the gap is weighed against it.
        critic_loss_coef: 2.0,
        cql_alpha: 5.0,
        ..super::sac::preset()
    }
}
