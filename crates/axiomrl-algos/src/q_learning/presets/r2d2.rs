//! # R2D2: recurrent replay, distributed DQN
//!
//! **What it does.** DRQN with everything that makes replayed memory work: sequences begin with the memory the policy had
//! there, a burn-in brings it up to date, and the surprising ones are replayed more often.
//!
//! **When to use it.** As `drqn`, where it is not enough: longer memory, rarer rewards.
//!
//! **The update.** For sequences of `sequence_length` steps, `burn_in` of them only to fill the memory of both networks:
//! ```text
//! a*   = argmax_a Q(o_(t+n), a)
//! y_t  = h(R_t + gamma^n * h^-1(Q'(o_(t+n), a*)))     h(x) = sign(x) (sqrt(|x| + 1) - 1) + 0.001 x
//! loss = mean w * Huber(Q(o_t, a_t) - y_t)
//! p    = eta * max_t |error_t| + (1 - eta) * mean_t |error_t|
//! ```
//!
//! **Details that matter.**
//! - The stored memory is that of older weights; the burn-in makes up for most of it. It has no gradient.
//! - Windows of `n_step` rewards end with the episode, and with the sequence: the steps near its end look less far ahead.
//! - Values are learned on the scale of h, on which large returns are close together. `q_value_mean` and `target_mean`
//!   are reported on it.
//! - `priority_eta` mixes the largest and the mean error of a sequence.
//! - The heads are dueling and the next action is chosen by the online network (`double_q`).
//! - All other settings are those of `drqn`, and so of the whole family.
//!
//! **What is left out.** The previous action and reward as inputs; many actors, each with its own chance of a random
//! action (one falling chance is used instead); the paper's squared error (Huber's is the same for errors up to 1).
//!
//! **Reference.** Kapturowski, Ostrovski, Quan, Munos and Dabney, Recurrent experience replay in distributed
//! reinforcement learning, 2019.

use super::super::config::DqnConfig;
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "Recurrent Q-learning with burn-in, stored memory and priorities";

pub fn preset() -> DqnConfig {
    DqnConfig {
        adam_eps: 1e-3,
        head_sizes: vec![64],
        dueling: true,
        sequence_length: 20,
        burn_in: 5,
        stored_state: true,
        double_q: true,
        n_step: 5,
        value_rescale: true,
        prioritized_replay: true,
        prioritized_alpha: 0.9,
        prioritized_beta: Schedule::Constant(0.6),
        ..super::drqn::preset()
    }
}
