//! # Recurrent PPO
//!
//! **What it does.** Proximal policy optimisation with an LSTM in the policy and in the value function, so that both can
//! act on what was seen earlier.
//!
//! **When to use it.** As `ppo`, where observations do not tell everything: velocities are missing, a sign was passed
//! long ago.
//!
//! **The update.** That of `ppo`, on whole sequences instead of single steps: rollouts are cut into `sequence_length`
//! steps, each begins with the memory the policy had there, and the gradient flows back through time within it.
//! ```text
//! loss = -mean min(r A, clip(r, 1 - c, 1 + c) A) + c_v * mean 1/2 (V - G)^2 - c_e * mean entropy
//! ```
//!
//! **Details that matter.**
//! - The memory is emptied where an episode begins, both when acting and within a sequence.
//! - A minibatch is as many sequences as fit into `minibatch_size` steps, one at least. Sequences are shuffled, steps are
//!   not. The last sequence of a rollout may be shorter than the others.
//! - The values at a time limit and at the end of a rollout are those of the memory that led there.
//! - Policy and value have a memory each; `shared: true` gives them one together, at half the price.
//! - `memory: gru` takes a gated recurrent unit instead of the LSTM. `hidden_sizes` are layers before the memory,
//!   `head_sizes` layers after it.
//! - Everything else is as in `ppo`: advantages standardised per minibatch, Gaussian Box actions, masks, images,
//!   schedules, `target_kl`.
//!
//! **What is left out.** More than one layer of memory.
//!
//! **References.** Schulman and others, Proximal policy optimization algorithms, 2017; Hochreiter and Schmidhuber, Long
//! short-term memory, 1997.

use super::super::PpoConfig;
use crate::parts::torso::MemoryKind;

pub const SUMMARY: &str = "Proximal policy optimisation with an LSTM";

pub fn preset() -> PpoConfig {
    PpoConfig {
        memory: MemoryKind::Lstm,
        hidden_sizes: vec![64],
        num_steps: 128,
        minibatch_size: 128,
        ..PpoConfig::default()
    }
}
