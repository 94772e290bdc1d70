//! One actor-critic learner for images; DrQ-v2, DrQ and CURL are its [`presets`].
//!
//! `augment` shifts images, `nets` are actor and critics over a shared encoder that only the critics train, `contrast` is
//! CURL's task, and `learner` puts them together.

mod augment;
mod contrast;
mod learner;
mod nets;
pub mod presets;
mod settings;

pub use settings::PixelConfig;

use crate::agent::{Agent, Setup};
use crate::parts::checks::BuildError;
use crate::regimes::{OffPolicy, ReplaySettings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;
use learner::PixelLearner;

pub struct PixelAc;

impl Algorithm for PixelAc {
    type Config = PixelConfig;

    fn build(config: PixelConfig, setup: &Setup) -> Result<Box<dyn Agent>, BuildError> {
        config.check().map_err(BuildError::Setting)?;
        let settings = ReplaySettings {
            capacity: config.buffer_capacity,
            batch_size: config.batch_size,
            learning_starts: config.learning_starts,
            train_frequency: config.train_frequency,
            gradient_steps: u64::try_from(config.gradient_steps).ok(),
            n_step: config.n_step,
            gamma: config.gamma,
            priority: None,
            priority_beta: Schedule::Constant(1.0),
            hindsight: None,
        };
        Ok(Box::new(OffPolicy::new(PixelLearner::new(config, setup)?, settings, setup)))
    }
}
