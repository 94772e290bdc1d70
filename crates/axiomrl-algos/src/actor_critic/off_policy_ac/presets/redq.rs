//! # REDQ: randomised ensembled double Q-learning
//!
//! **What it does.** SAC with ten critics and twenty updates per environment step. The target is the lower of two critics
//! drawn anew for each update, which keeps so many updates from running away.
//!
//! **When to use it.** When environment steps are much dearer than computation.
//!
//! **The update.** `gradient_steps` (20) times per step, with a random pair Z of the slowly moving critics:
//! ```text
//! y       = R + D * (min_{i in Z} Q'_i(s', a') - alpha * log pi(a'))
//! critics:  sum over all ten, mean (Q_i(s, a) - y)^2 / 2
//! ```
//! and once, after the last of them:
//! ```text
//! actor:    mean (alpha * log pi(a) - mean_i Q_i(s, a))
//! ```
//!
//! **Details that matter.**
//! - The pair is drawn per update, not once; the actor follows the mean of all ten.
//! - The actor and the temperature move once per block of updates (`actor_once_per_block`), the target critics every
//!   time.
//! - All ten critics are one ensemble network: its cost is far below ten times that of one.
//! - Everything else is as in `sac`.
//!
//! **What is left out.** The target entropies tuned per task in the publication: minus the number of actions by default.
//!
//! **Reference.** Chen and others, Randomized ensembled double Q-learning, 2021.

use super::super::settings::{AcConfig, ActorReducer, TargetReducer};

pub const SUMMARY: &str = "SAC with a randomised ensemble of ten critics";

pub fn preset() -> AcConfig {
    AcConfig {
        n_critics: 10,
        target_reducer: TargetReducer::SubsetMin,
        subset_size: 2,
        actor_reducer: ActorReducer::Mean,
        gradient_steps: 20,
        actor_once_per_block: true,
        learning_starts: 1000,
        ..super::sac::preset()
    }
}
