//! Learning the value of discrete actions.

mod dqn;

pub use dqn::{Dqn, DqnConfig};
