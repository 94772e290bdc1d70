//! Methods that learn from recorded transitions alone.

mod action_vae;
mod bcq;
mod bear;
mod candidates;
mod discrete_bcq;
mod twin_critic;

pub use bcq::{Bcq, BcqConfig};
pub use bear::{Bear, BearConfig, Kernel};
pub use discrete_bcq::{DiscreteBcq, DiscreteBcqConfig};

use crate::config::Problem;
use crate::regimes::ReplaySettings;

/// Refuses environment steps where a method has nothing to say about them.
fn offline_only(name: &str, online_timesteps: u64) -> Result<(), Problem> {
    Problem::when(online_timesteps > 0, &["online_timesteps"], || {
        format!(
            "{name} keeps to what was recorded and does not explore, so it has nothing to learn from steps of its own; remove \
             `online_timesteps`, or take a method that goes on online, such as `iql` or `awac`"
        )
    })
}

/// Updates on recorded transitions alone, single steps drawn evenly.
fn recorded_settings(batch_size: usize, gamma: f32) -> Result<ReplaySettings, Problem> {
    ReplaySettings { batch_size, gamma, ..ReplaySettings::default() }.checked()
}
