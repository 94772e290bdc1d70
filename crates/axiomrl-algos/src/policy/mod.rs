//! Learning a stochastic policy from its own rollouts.

mod ppo;
mod ppo_loss;

pub use ppo::{Ppo, PpoConfig};
