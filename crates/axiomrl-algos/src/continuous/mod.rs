//! Actor-critic methods for continuous actions, learning from replay.

mod sac;

pub use sac::{Sac, SacConfig};
