//! Learning the value of discrete actions: one learner, many registry lines.

mod backup;
mod config;
pub(crate) mod direct;
mod dqn;
mod fractions;
pub(crate) mod heads;
mod implicit;
mod learner;
mod loss;
mod model;
pub(crate) mod outcomes;
pub mod presets;

pub use config::{Backup, DqnConfig, Exploration, HeadKind};
pub use dqn::Dqn;
