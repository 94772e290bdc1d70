//! # Recurrent TD3: twin delayed DDPG with a memory
//!
//! **What it does.** TD3 whose actor and critics remember what they saw within the episode, by an LSTM or GRU each, and
//! learn from sequences instead of single steps.
//!
//! **When to use it.** As `recurrent_sac`, where a deterministic policy is wanted.
//!
//! **The update.** With h'_t what a slow copy of the actor remembers at time t, g_t what the critics do, and g'_t what
//! their slow copies do:
//! ```text
//! a'      = clip(pi'(h'_t') + clip(noise, -c, c), -1, 1),  t' the time after the window
//! y_t     = R_t + D_t * min(Q'_1(g'_t', a'), Q'_2(g'_t', a'))
//! critics:  sum_i mean (Q_i(g_t, a_t) - y_t)^2 / 2      trains the critics and their memory
//! actor:    - mean Q_1(g_t, pi(h_t)),  every `policy_delay` updates, trains the actor and its memory
//! ```
//!
//! **Details that matter.**
//! - All that is said of sequences and memories on the page of `recurrent_sac`.
//! - The policy explores by noise alone (`exploration`, `exploration_noise`); `colored` noise moves slowly enough for a
//!   memory to see what it does.
//!
//! **What is left out.** As in `recurrent_sac`.
//!
//! **Reference.** Ni, Eysenbach and Salakhutdinov, Recurrent model-free RL can be a strong baseline for many POMDPs,
//! 2022. Fujimoto, van Hoof and Meger, Addressing function approximation error in actor-critic methods, 2018.

use super::super::settings::AcConfig;
use crate::parts::torso::MemoryKind;
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "Twin delayed DDPG with an LSTM";

pub fn preset() -> AcConfig {
    AcConfig {
        learning_rate: Schedule::Constant(3e-4),
        memory: MemoryKind::Lstm,
        hidden_sizes: vec![128],
        recurrent_hidden_size: 128,
        head_sizes: vec![128],
        batch_size: 32,
        sequence_length: 32,
        ..super::td3::preset()
    }
}
