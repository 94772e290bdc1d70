//! # Cal-QL: calibrated conservative Q-learning
//!
//! **What it does.** CQL that stays at a scale which the environment will confirm: actions of the policy are not pushed
//! below what the recorded behaviour has earned. A run can then go on in the environment without unlearning first.
//!
//! **When to use it.** Recorded data first, steps in the environment afterwards (`online_timesteps`). For recorded data
//! alone it is `cql` with a floor.
//!
//! **The update.** As `cql`, where in the gap alone, and for the policy's actions alone,
//! ```text
//! Q_i(s, a)   becomes   max(Q_i(s, a), G(s)),    G the discounted rewards from there to the end of the episode
//! ```
//! before the density is taken off. Where G is higher, the critic has no gradient.
//!
//! **Details that matter.**
//! - Random and recorded actions are as in `cql`.
//! - An episode that was cut off needs a value for its end, or G would be no lower bound where rewards are negative: the
//!   mean of its last rewards, for ever. An episode that is not over has no G, and its rows no floor.
//! - In the environment, `offline_batch_ratio` (0.5) of each batch stays recorded, and the floor stays on, for the run's
//!   own rows, too.
//! - G is in scaled rewards, as everything else that is learned.
//! - Everything else is as in `cql`.
//!
//! **Reference.** Nakamoto and others, Cal-QL: calibrated offline RL pre-training for efficient online fine-tuning, 2023.

use super::super::settings::AcConfig;

pub const SUMMARY: &str = "CQL that keeps the scale of returns, to go on in the environment";

pub fn preset() -> AcConfig {
    AcConfig { cql_calibrated: true, ..super::cql::preset() }
}
