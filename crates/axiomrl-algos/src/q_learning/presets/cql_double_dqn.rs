//! # CQL on double DQN
//!
//! **What it does.** Conservative penalty with double Q-learning.
//!
//! **When to use it.** As `cql_dqn`.
//!
//! **The update.**
//! ```text
//! as cql_dqn, with y = R + D * Q'(s', argmax_a Q(s', a))
//! ```
//!
//! **Details that matter.**
//! - `double_q: true` is the only difference from `cql_dqn`.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** As `cql_dqn`.
//!
//! **Reference.** See `cql_dqn` and `double_dqn`.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "Conservative double DQN";

pub fn preset() -> DqnConfig {
    DqnConfig { double_q: true, ..super::cql_dqn::preset() }
}
