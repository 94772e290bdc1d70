//! How experience reaches a learner: each way exists once, for all algorithms that use it.

mod hidden;
mod off_policy;
mod on_policy;
mod recurrent_rollout;
mod replay_settings;
mod sequence;

pub use off_policy::{OffPolicy, ReplayLearner, Update};
pub use on_policy::{OnPolicy, RolloutLearner, RolloutUpdate};
pub use recurrent_rollout::{RecurrentLearner, RecurrentRollout, RecurrentSettings, RecurrentUpdate};
pub use replay_settings::ReplaySettings;
pub(crate) use replay_settings::{prioritized_replay_settings, replay_settings};
pub use sequence::{Sequence, SequenceLearner, SequenceSettings, SequenceUpdate};
