//! # Hysteretic DQN
//!
//! **What it does.** Learns less from transitions that turned out worse than thought.
//!
//! **When to use it.** Several learners in one world, whose exploration looks like bad luck to each other.
//!
//! **The update.**
//! ```text
//! loss * (1 if y >= Q(s, a) else beta)
//! ```
//!
//! **Details that matter.**
//! - The loss is weighed, so that beta counts in Huber's linear part too.
//! - In a random world this is optimistic on purpose.
//! - All other settings are those of `dqn`, and may be combined with this one.
//!
//! **What is left out.** Nothing of the method.
//!
//! **Reference.** Matignon, Laurent and Le Fort-Piat, Hysteretic Q-learning, 2007; Omidshafiei and others, Deep
//! decentralized multi-task multi-agent reinforcement learning, 2017.

use super::super::config::DqnConfig;

pub const SUMMARY: &str = "DQN that is slow to believe bad news";

pub fn preset() -> DqnConfig {
    DqnConfig { hysteretic_beta: 0.5, ..DqnConfig::default() }
}
