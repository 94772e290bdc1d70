//! Learning a stochastic policy from its own rollouts.

pub(crate) mod passes;
mod ppo;
pub(crate) mod ppo_loss;
mod recurrent_ppo;
pub(crate) mod shared;

pub use ppo::{Ppo, PpoConfig};
pub use recurrent_ppo::{RecurrentPpo, RecurrentPpoConfig};
