//! One learner that imitates recorded actions, the better ones more; BC, MARWIL, AWR, AWAC, CRR, IQL and XQL are its [`presets`].
//!
//! `settings` lists the choices. `imitator` is what all names share: a policy (`policy`, whose loss is `imitation`) and what an
//! advantage makes an action count (`weight`). Who says how good an action is, is a judge with an update of its own: `in_sample`
//! (IQL, XQL), `by_policy` (AWAC, CRR), `by_returns` (MARWIL) and `by_lambda` (AWR), over `critics` and `value`. `recorded` has
//! what is looked up of whole episodes, and `rules` says which settings go together.

mod by_lambda;
mod by_policy;
mod by_returns;
mod critics;
mod fitted;
mod imitation;
mod imitator;
mod in_sample;
mod lambda_returns;
mod learner;
mod policy;
pub mod presets;
mod recorded;
mod rules;
mod settings;
mod value;
mod value_loss;
mod weight;

pub use settings::{AdvantageKind, AdvantageScale, PolicyKind, RegressionConfig, WeightKind};

use crate::agent::Setup;
use crate::config::{Idle, Problem};
use crate::parts::checks::BuildError;
use crate::regimes::{Learner, ReplaySettings, replay_settings, with_prior};
use crate::registry::Algorithm;
use learner::RegressionLearner;

pub struct WeightedRegression;

impl Algorithm for WeightedRegression {
    type Config = RegressionConfig;

    fn check(config: &RegressionConfig) -> Result<(), Problem> {
        config.check()?;
        sampling(config).map(drop)
    }

    fn check_setup(config: &RegressionConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &RegressionConfig) -> Vec<Idle> {
        config.idle()
    }

    fn wants_data(config: &RegressionConfig) -> bool {
        sampling(config).is_ok_and(|settings| settings.wants_prior())
    }

    fn takes_steps(config: &RegressionConfig) -> bool {
        !config.offline || config.online_timesteps > 0
    }

    fn build(config: RegressionConfig, setup: &Setup) -> Result<Learner, BuildError> {
        config.check()?;
        let settings = sampling(&config)?;
        Ok(Learner::OffPolicy(Box::new(RegressionLearner::new(config, setup)?), settings))
    }
}

/// What is drawn, and when.
fn sampling(config: &RegressionConfig) -> Result<ReplaySettings, Problem> {
    with_prior!(config, replay_settings!(config)?).checked()
}
