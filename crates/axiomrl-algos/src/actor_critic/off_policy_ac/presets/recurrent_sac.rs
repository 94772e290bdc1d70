//! # Recurrent SAC: soft actor-critic with a memory
//!
//! **What it does.** SAC whose actor and critics remember what they saw within the episode, by an LSTM or GRU each, and
//! learn from sequences instead of single steps.
//!
//! **When to use it.** Continuous actions where one observation does not tell the state: velocities are hidden, sensors
//! fail, or something seen before must be known now. Where the last few observations are enough, `sac` with `frame_stack`
//! is cheaper.
//!
//! **The update.** With h_t what the actor remembers at time t, g_t what the critics do, and g'_t what their slow copies
//! do:
//! ```text
//! y_t      = R_t + D_t * (min_i Q'_i(g'_t', a') - alpha * log pi(a'|h_t')),  a' ~ pi(h_t'),  t' the time after the window
//! critics:   sum_i mean (Q_i(g_t, a_t) - y_t)^2 / 2                          trains the critics and their memory
//! actor:     mean (alpha * log pi(a|h_t) - min_i Q_i(g_t, a)),  a ~ pi(h_t)   trains the actor and its memory
//! alpha:     -log alpha * mean (log pi(a|h_t) + target_entropy)
//! ```
//! Means are over the steps of all sequences after their first `burn_in` ones.
//!
//! **Details that matter.**
//! - Actor and critics have hidden layers (`hidden_sizes`), a memory (`memory`, `recurrent_hidden_size`) and layers after
//!   it (`head_sizes`) of their own. A shared memory would be pulled about by both losses.
//! - Actions join the critics after their memory.
//! - A sequence is `sequence_length` steps, and shares `overlap` of them with the next one. It may hold the end of an
//!   episode and the beginning of another: the memory is emptied between them.
//! - Sequences begin with an empty memory. `stored_state: true` begins them with what both networks remembered when the
//!   steps were taken; `burn_in` spends the first steps on filling the memory. Long episodes want one of the two.
//! - `batch_size` counts sequences: 32 of 32 steps are as many steps as four batches of `sac`.
//! - Images are seen by one encoder that the critics train, below both memories.
//! - Termination and time limits are told apart.
//!
//! **What is left out.** Past actions and rewards are no part of the input; shifted images and batch renormalisation do
//! not go with a memory.
//!
//! **Reference.** Ni, Eysenbach and Salakhutdinov, Recurrent model-free RL can be a strong baseline for many POMDPs,
//! 2022. Heess and others, Memory-based control with recurrent neural networks, 2015.

use super::super::settings::AcConfig;
use crate::parts::torso::MemoryKind;

pub const SUMMARY: &str = "Soft actor-critic with an LSTM";

pub fn preset() -> AcConfig {
    AcConfig {
        memory: MemoryKind::Lstm,
        hidden_sizes: vec![128],
        recurrent_hidden_size: 128,
        head_sizes: vec![128],
        batch_size: 32,
        sequence_length: 32,
        learning_starts: 1000,
        ..super::sac::preset()
    }
}
