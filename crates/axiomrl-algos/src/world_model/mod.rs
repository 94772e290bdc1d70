//! Learning a model of the world, and a policy in what it imagines: Dreamer and DreamerV3.

mod actor;
mod behaviour;
mod choices;
mod heads;
mod images;
mod imagination;
mod learner;
mod model;
mod open_loop;
pub mod presets;
mod recipe;
mod reconstruction;
mod rules;
mod senses;
mod sequence;
mod settings;
mod steps;

pub use choices::{ActorGradient, Core, FreeNatsOf, Heads, Latents, OptimizerKind, Returns, Sight, Size};
pub use settings::WorldModelConfig;

use crate::agent::Setup;
use crate::config::{Idle, Problem};
use crate::parts::checks::BuildError;
use crate::regimes::Learner;
use crate::registry::Algorithm;
use axiomrl_nn::TensorLayout;
use learner::WorldModelLearner;

pub struct WorldModels;

impl Algorithm for WorldModels {
    type Config = WorldModelConfig;

    fn check(config: &WorldModelConfig) -> Result<(), Problem> {
        config.check()
    }

    fn check_setup(config: &WorldModelConfig, setup: &Setup) -> Result<(), Problem> {
        config.check_setup(setup)
    }

    fn idle(config: &WorldModelConfig) -> Vec<Idle> {
        config.idle()
    }

    fn build(config: WorldModelConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = config.replay();
        Ok(Learner::Sequences(Box::new(WorldModelLearner::new(config, setup)?), settings))
    }
}

/// Lengths of the tensors inside of a flat vector of parameters.
fn lens(layout: Vec<TensorLayout>) -> Vec<usize> {
    layout.iter().map(TensorLayout::len).collect()
}

/// What a name of a part adds to that of a network.
fn suffix(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(".{name}") }
}
