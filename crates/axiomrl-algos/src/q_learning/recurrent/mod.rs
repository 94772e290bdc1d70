//! Q-learning with memory.

mod config;
mod drqn;
mod learner;
mod loss;
mod net;

pub use config::DrqnConfig;
pub use drqn::Drqn;
