//! Learning with a model of the world that is learned, too: `dynamics` is that model, `termination` says where its imagined episodes
//! end, `rollouts` are short pieces of them, `dyna` is a policy that learns from both (`mbpo`, `mopo`), and `pets` plans with it.

mod dyna;
mod dynamics;
mod mbpo;
mod mopo;
mod pets;
mod rollouts;
mod schedule;
mod settings;
mod termination;
#[cfg(test)]
mod testing;

pub use mbpo::{Mbpo, MbpoConfig};
pub use mopo::{Mopo, MopoConfig};
pub use pets::{Pets, PetsConfig, Propagation, RewardSource};
pub use schedule::RolloutLength;
pub use termination::Termination;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of the bounds of the model's log-variances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogVarBounds {
    /// They are learned with the weights.
    Learned,
    /// They stay as they begin.
    Fixed,
}
