//! Learning the value of actions: one learner for the whole DQN family, with or without a memory, and NAF for continuous actions.

mod backup;
mod config;
mod direct;
mod dqn;
mod entries;
mod fractions;
mod implicit;
mod learner;
mod loss;
mod model;
mod naf;
mod outcomes;
pub mod presets;
mod scale;
#[cfg(test)]
mod tests;

pub use config::{Backup, DqnConfig, Exploration, HeadKind};
pub use dqn::Dqn;
pub use naf::{Diagonal, Naf, NafConfig, NafExploration};
