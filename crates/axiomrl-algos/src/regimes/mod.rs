//! How experience reaches a learner: each way exists once, for all algorithms that use it.

mod off_policy;
mod on_policy;

pub use off_policy::{OffPolicy, ReplayLearner, ReplaySettings, Update};
pub use on_policy::{OnPolicy, RolloutLearner, RolloutUpdate};
