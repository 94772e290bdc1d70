//! The vocabulary of reinforcement learning on plain slices.
//!
//! Nothing here knows a network. What an environment did becomes a [`Batch`], and this crate is the only place that
//! looks at `terminated` and `truncated`: a batch speaks of `reward` and `discount` alone.

mod batch;
mod bytes;
mod dataset;
mod error;
pub mod explore;
pub mod gae;
mod generated;
pub mod imagined;
mod metrics;
mod mixture;
mod pages;
mod priorities;
pub mod random;
pub mod returns;
mod ring;
mod rollout;
mod schedule;
pub mod score;
mod sequence_store;
mod source;
mod sum_tree;
pub mod targets;
pub mod value_functions;
mod view;

pub use batch::{Batch, BatchShape, Extra, NO_INDEX};
pub use dataset::{Dataset, DatasetBuilder, Episode, check_action, check_observation};
pub use error::StoreError;
pub use gae::Segment;
pub use generated::{Generated, Generation};
pub use metrics::Metrics;
pub use mixture::Mixture;
pub use pages::PagedStore;
pub use priorities::{Priorities, PrioritySpec, mixed_error};
pub use random::{Rng, load_rng, save_rng, stream};
pub use ring::{Owned, Ring, RingSpec, StoredEpisode};
pub use rollout::{Intrinsic, RawRows, Rollout, RolloutSpec};
pub use schedule::Schedule;
pub use sequence_store::{LatentSpec, SequenceBatch, SequenceSpec, SequenceStore};
pub use source::{BatchSource, RewardScale, SampleOptions};
pub use view::{Extras, GoalStrategy, NEXT_ACTION, NEXT_ACTION_KNOWN, RETURN_TO_GO, Relabel, View, Window};
