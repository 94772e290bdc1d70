//! Learning a stochastic policy from its own rollouts.

mod a2c;
mod acer;
mod acktr;
pub(crate) mod curiosity;
pub(crate) mod learner;
pub(crate) mod minibatch;
pub(crate) mod net;
pub(crate) mod passes;
pub(crate) mod pg_loss;
mod ppg;
mod ppo;
pub(crate) mod ppo_loss;
pub mod presets;
mod reinforce;
pub(crate) mod shared;
#[cfg(test)]
pub(crate) mod testing;
mod trpo;

pub use a2c::{A2c, A2cConfig, A2cOptimizer};
pub use acer::{Acer, AcerConfig};
pub use acktr::{Acktr, AcktrConfig};
pub use curiosity::{CuriosityKind, FeatureGradient};
pub use ppg::{Ppg, PpgConfig};
pub use ppo::{Ppo, PpoConfig};
pub(crate) use ppo::{PpoLearner, ppo_config};
pub use reinforce::{Reinforce, ReinforceConfig};
pub use trpo::{Trpo, TrpoConfig};
pub(crate) use trpo::{TrpoLearner, trpo_config};
