//! Learning the value of actions: one learner for the whole DQN family, one with memory, and NAF for continuous actions.

mod backup;
mod config;
pub(crate) mod direct;
mod dqn;
mod entries;
mod fractions;
mod implicit;
mod learner;
mod loss;
mod model;
mod naf;
pub(crate) mod outcomes;
pub mod presets;
mod recurrent;
mod scale;
#[cfg(test)]
mod tests;

pub use config::{Backup, DqnConfig, Exploration, HeadKind};
pub use dqn::Dqn;
pub use naf::{Diagonal, Naf, NafConfig, NafExploration};
pub use recurrent::{Drqn, DrqnConfig};
