//! The algorithms, one file each, behind one table.
//!
//! [`registry`] is the table. An algorithm is a small learner wrapped in a data regime ([`regimes`]); together they are
//! an [`Agent`], which is all the training loop ever sees.

pub mod actor_critic;
pub mod agent;
pub mod by_hand;
pub mod config;
mod erased;
pub mod export;
pub mod goal;
pub mod imitation;
pub mod model_based;
pub mod offline;
pub mod parts;
pub mod policy;
pub mod policy_gradient;
pub mod population;
pub mod q_learning;
pub mod regimes;
pub mod registry;
pub mod state;
#[cfg(test)]
mod testing;
pub mod world_model;

pub use agent::{
    Agent, Clock, Diverged, Expert, ExpertSource, LearnError, Learned, Need, Phases, Setup, UpdateContext,
};
pub use by_hand::{Handed, Refused, Replay, Transitions};
pub use config::{ConfigError, RunConfig};
pub use export::NoGraph;
pub use policy::{ActContext, ActInput, Acting, Actor, Imagines, Memory, Mode, Picture, Policy};
pub use regimes::Learner;
pub use registry::{AlgoEntry, find, names, registry};
pub use state::{Section, Snapshot, StateError, StateIo, StoreIo, Streamed, TensorData};
