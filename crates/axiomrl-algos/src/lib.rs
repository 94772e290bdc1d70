//! The algorithms, one file each, behind one table.
//!
//! [`registry`] is the table. An algorithm is a small learner wrapped in a data regime ([`regimes`]); together they are
//! an [`Agent`], which is all the training loop ever sees.

pub mod agent;
pub mod config;
pub mod continuous;
mod erased;
pub mod goal;
pub mod memory;
pub mod parts;
pub mod policy;
pub mod regimes;
pub mod registry;
pub mod state;
pub mod value;

pub use agent::{Agent, Diverged, PolicyMemory, Progress, Setup};
pub use config::{ConfigError, RunConfig};
pub use registry::{AlgoEntry, find, names, registry};
pub use state::{StateError, StateIo};
