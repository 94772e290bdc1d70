//! Spaces, environments and vectorised stepping.
//!
//! This crate knows nothing of learning. An [`Env`] is one world; a [`VecEnv`] steps `n` of them into contiguous
//! buffers and restarts each one in the step that ends its episode. `terminated` and `truncated` are told apart
//! everywhere: the first is a property of the world, the second of the clock.

mod action_map;
mod env;
mod kwargs;
pub mod names;
pub mod native;
mod no_env;
mod obs;
pub mod registry;
mod render;
pub mod rng;
mod running_stats;
pub mod scripted;
pub mod snapshot;
mod source;
mod spaces;
mod task_rules;
mod vec_env;
pub mod wrappers;

pub use action_map::ActionMap;
pub use env::{Env, EnvError, Frame, Step};
pub use no_env::NoEnv;
pub use obs::{FrameSpec, Kind, ObsBuf, ObsMut, ObsRef, ObsSpace, ObsWidths, Part};
pub use registry::{EnvInfo, make, source};
pub use rng::Rng;
pub use running_stats::RunningStats;
pub use source::{EachEnv, EnvSource, Purpose, Seeding, Wrapping};
pub use spaces::{BoxSpace, DType, Space};
pub use task_rules::{GoalParts, GoalRules, RowRules, Rows, TaskRules, goal_space};
pub use vec_env::{EpisodeEnd, Spaces, Stepping, SyncVecEnv, VecEnv, VecState};
