//! Spaces, environments and vectorised stepping.
//!
//! This crate knows nothing of learning. An [`Env`] is one world; a [`VecEnv`] steps `n` of them into contiguous
//! buffers and restarts each one in the step that ends its episode. `terminated` and `truncated` are told apart
//! everywhere: the first is a property of the world, the second of the clock.

mod action_map;
mod env;
mod goal;
mod kwargs;
pub mod names;
pub mod native;
pub mod registry;
mod render;
pub mod rng;
mod snapshot;
mod spaces;
mod vec_env;
pub mod wrappers;

pub use action_map::ActionMap;
pub use env::{Env, EnvError, Frame, ObsBuf, ObsMut, ObsRef, Step};
pub use goal::{GoalTask, Verdict, goal_space};
pub use registry::{EnvInfo, VecOptions, make, make_vec};
pub use rng::Rng;
pub use spaces::{BoxSpace, DType, NamedRange, Space};
pub use vec_env::{EpisodeEnd, SyncVecEnv, VecEnv, VecState};
pub use wrappers::{Normalized, Normalizer, RunningStats};
