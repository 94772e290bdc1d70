//! How experience reaches a learner: each way exists once, for all algorithms that use it.

mod interactive;
mod off_policy;
mod on_policy;
mod pace;
mod population;
mod replay_settings;
mod sequence_replay;
mod streams;
mod train_ratio;

pub use interactive::{Interactive, InteractiveSettings, LabelLearner, Labels};
pub use off_policy::{OffPolicy, Preparation, ReplayLearner};
pub(crate) use off_policy::{check_prior, hex};
pub use on_policy::{ActedRow, IntrinsicStream, OnPolicy, Played, RolloutLearner, RolloutSettings, Unrewarded};
pub(crate) use on_policy::{read_floats, write_floats};
pub use pace::Pace;
pub use population::{Iteration, Population, PopulationSettings, Search, Searcher};
pub(crate) use population::{norm, population_settings};
pub use replay_settings::{ReplaySettings, SequenceSettings};
pub(crate) use replay_settings::{prioritized_replay_settings, replay_settings, with_prior};
pub use sequence_replay::{ModelStates, SequenceLearner, SequenceReplay, SequenceReplaySettings};
pub use train_ratio::TrainRatio;

use crate::agent::{Agent, Setup};
use crate::parts::checks::BuildError;
use crate::policy::{Acting, Actor, Policy};

/// A learner and the regime that it learns in.
pub enum Learner {
    OnPolicy(Box<dyn RolloutLearner>, RolloutSettings),
    OffPolicy(Box<dyn ReplayLearner>, ReplaySettings),
    Interactive(Box<dyn LabelLearner>, InteractiveSettings),
    Sequences(Box<dyn SequenceLearner>, SequenceReplaySettings),
    Population(Searcher, PopulationSettings),
}

impl Learner {
    /// The learner at work.
    pub fn into_agent(self, setup: &Setup) -> Result<Box<dyn Agent>, BuildError> {
        Ok(match self {
            Self::OnPolicy(learner, settings) => Box::new(OnPolicy::new(learner, settings, setup)?),
            Self::OffPolicy(learner, settings) => Box::new(OffPolicy::new(learner, settings, setup)?),
            Self::Interactive(learner, settings) => Box::new(Interactive::new(learner, settings, setup)?),
            Self::Sequences(learner, settings) => Box::new(SequenceReplay::new(learner, settings, setup)?),
            Self::Population(learner, settings) => Box::new(Population::new(learner, settings, setup)?),
        })
    }

    /// What acts, to be loaded: no store, no environment.
    pub fn into_policy(self, setup: &Setup) -> Result<Box<dyn Policy>, BuildError> {
        let actor: Box<dyn Actor> = match self {
            Self::OnPolicy(learner, _) => learner,
            Self::OffPolicy(learner, _) => learner,
            Self::Interactive(learner, _) => learner,
            Self::Sequences(learner, _) => learner,
            Self::Population(searcher, _) => Box::new(searcher),
        };
        Ok(Box::new(Acting::new(actor, setup.spaces.clone(), setup.scaling)?))
    }
}
