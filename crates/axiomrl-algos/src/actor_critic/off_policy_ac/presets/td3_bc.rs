//! # TD3+BC: TD3 that imitates
//!
//! **What it does.** Learns from recorded transitions alone. TD3 with one more term in the actor's loss, the distance from
//! the recorded action: as good as the critics know how to be, as near to the data as they have to.
//!
//! **When to use it.** As the first thing to try on recorded data with continuous actions: one number to choose
//! (`bc_alpha`), and the cost of TD3.
//!
//! **The update.** As `td3`, with a scale that follows the size of the values over the batch:
//! ```text
//! lambda  = bc_alpha / mean |Q_1(s, pi(s))|
//! critics:  sum_i mean (Q_i(s, a) - y)^2
//! actor:    - lambda * mean Q_1(s, pi(s)) + mean (pi(s) - a)^2,  every `policy_delay` updates
//! ```
//!
//! **Details that matter.**
//! - `bc_alpha` is what decides. 2.5 suits data of one good policy; the more of the data is random, the higher: 10 to 40
//!   where half of it is.
//! - lambda makes it the same for any scale of rewards.
//! - The distance is averaged over the numbers of an action (`bc_distance`).
//! - Standardise observations by the mean and the deviation of the data, as the publication does:
//!   `normalize_observation` in the block `dataset`.
//! - `q_policy_mean` far above `q_data_mean` in the log says that the critics dream: lower `bc_alpha`. `bc_loss` is the
//!   distance.
//! - With `online_timesteps` the run goes on in the environment, on recorded and own rows, the term unchanged.
//!
//! **Reference.** Fujimoto and Gu, A minimalist approach to offline reinforcement learning, 2021.

use super::super::settings::AcConfig;
use axiomrl_core::Schedule;

pub const SUMMARY: &str = "TD3 held to recorded actions";

pub fn preset() -> AcConfig {
    AcConfig {
        offline: true,
        offline_batch_ratio: 0.5,
        learning_starts: 0,
        learning_rate: Schedule::Constant(3e-4),
        actor_bc_weight: 1.0,
        bc_alpha: Some(2.5),
        // The squared error, without the half.
        critic_loss_coef: 2.0,
        ..super::td3::preset()
    }
}
