//! The vocabulary of reinforcement learning on plain slices.
//!
//! Nothing here knows a network. What an environment did becomes a [`Batch`], and this crate is the only place that
//! looks at `terminated` and `truncated`: a batch speaks of `reward` and `discount` alone.

mod batch;
mod bytes;
pub mod explore;
pub mod gae;
mod metrics;
pub mod random;
mod replay;
pub mod returns;
mod rollout;
mod schedule;
pub mod score;
mod sequence;
mod snapshot;
mod sum_tree;
pub mod targets;
pub mod value_functions;

pub use batch::Batch;
pub use gae::Segment;
pub use metrics::Metrics;
pub use random::{Rng, load_rng, save_rng, stream};
pub use replay::{FrameSpec, GoalStrategy, Hindsight, PrioritySpec, Replay, ReplaySpec};
pub use rollout::{Rollout, RolloutSpec};
pub use schedule::Schedule;
pub use sequence::{SequenceBatch, SequenceOutcome, SequenceSpec, SequenceStore, mixed_error};
pub use snapshot::{Snapshot, TensorData};
