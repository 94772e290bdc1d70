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

pub use settings::{PixelActor, PixelConfig};

use crate::agent::Setup;
use crate::config::{Idle, Problem};
use crate::parts::checks::BuildError;
use crate::regimes::{Learner, replay_settings};
use crate::registry::Algorithm;
use learner::PixelLearner;

pub struct PixelAc;

impl Algorithm for PixelAc {
    type Config = PixelConfig;

    fn check(config: &PixelConfig) -> Result<(), Problem> {
        config.check()?;
        replay_settings!(config).map(drop)
    }

    fn check_setup(config: &PixelConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &PixelConfig) -> Vec<Idle> {
        config.idle()
    }

    fn build(config: PixelConfig, setup: &Setup) -> Result<Learner, BuildError> {
        config.check()?;
        let settings = replay_settings!(config)?;
        Ok(Learner::OffPolicy(Box::new(PixelLearner::new(config, setup)?), settings))
    }
}
