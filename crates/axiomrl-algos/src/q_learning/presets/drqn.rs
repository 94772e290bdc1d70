//! # DRQN: deep recurrent Q-learning
//!
//! **What it does.** Q-learning with an LSTM between the observation and the values of the actions, so that the policy
//! can act on what it saw earlier.
//!
//! **When to use it.** Few discrete actions, and observations that do not tell everything: velocities are missing, a sign
//! was passed long ago.
//!
//! **The update.** For sequences of `sequence_length` steps, with memories h and h' of their own for the network Q and
//! its slowly moving copy Q':
//! ```text
//! y_t  = r_t + gamma * max_a Q'(o_(t+1), h'_t, a)     only r_t where the episode terminated
//! loss = mean Huber(Q(o_t, h_(t-1), a_t) - y_t)       over the steps after `burn_in`
//! ```
//!
//! **Details that matter.**
//! - The memory moves on at every step, random ones included, and is emptied where an episode begins, both when acting
//!   and within a sequence.
//! - A sequence begins with an empty memory, or with `stored_state` with the one the policy had there. `burn_in` steps
//!   only fill it: nothing is learned from them. Switch `stored_state` on where episodes are much longer than sequences:
//!   a memory that is always trained from empty drifts off in a long episode.
//! - Sequences run across the ends of episodes, so that short episodes are learned from, and share half of their steps
//!   with the next one (`overlap`). No target reaches into another episode.
//! - At a time limit the last observation is shown to the memory that led there, and bootstrapped from.
//! - `batch_size` counts sequences, `buffer_capacity` transitions, `target_update_interval` environment steps.
//! - `memory: gru` takes a gated recurrent unit instead of the LSTM; `memory: none` is `dqn`.
//! - Everything else in the family goes with a memory: `double_q`, `dueling`, `noisy`, `n_step`, `prioritized_replay`,
//!   other heads and backups. `r2d2` is a combination that has proved itself. A pass over a sequence serves the values
//!   and, with `double_q`, the choice of the next actions. Noise is in the weights after the memory.
//! - With `value_rescale`, `q_value_mean` and `target_mean` are reported on the network's scale, and `v_min` and `v_max`
//!   of a categorical head are meant on it.
//! - Images go through convolutions (`vision`) before the layers of `hidden_sizes` and the memory.
//! - Forbidden actions (masks) are neither taken nor bootstrapped from.
//!
//! **What is left out.** Sequential updates through whole episodes.
//!
//! **Reference.** Hausknecht and Stone, Deep recurrent Q-learning for partially observable MDPs, 2015.

use super::super::config::DqnConfig;
use crate::parts::torso::MemoryKind;

pub const SUMMARY: &str = "Deep Q-learning with an LSTM";

pub fn preset() -> DqnConfig {
    DqnConfig {
        memory: MemoryKind::Lstm,
        hidden_sizes: vec![64],
        buffer_capacity: 50_000,
        batch_size: 32,
        train_frequency: 4,
        target_update_interval: 500,
        exploration_fraction: 0.2,
        ..DqnConfig::default()
    }
}
