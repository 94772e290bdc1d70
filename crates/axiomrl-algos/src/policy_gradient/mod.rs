//! Learning a stochastic policy from its own rollouts.

pub(crate) mod minibatch;
pub(crate) mod net;
pub(crate) mod passes;
mod ppo;
pub(crate) mod ppo_loss;
pub mod presets;
pub(crate) mod shared;

pub use ppo::{Ppo, PpoConfig};
pub(crate) use ppo::{PpoLearner, ppo_config};
