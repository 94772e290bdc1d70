//! Learning a stochastic policy from its own rollouts.

pub(crate) mod ppo;
pub(crate) mod ppo_loss;

pub use ppo::{Ppo, PpoConfig};
