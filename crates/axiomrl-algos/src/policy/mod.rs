//! Learning a stochastic policy from its own rollouts.

mod ppo;
pub(crate) mod ppo_loss;
pub(crate) mod shared;

pub use ppo::{Ppo, PpoConfig};
