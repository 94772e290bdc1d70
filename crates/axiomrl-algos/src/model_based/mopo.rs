//! # MOPO: model-based offline policy optimisation
//!
//! **What it does.** Learns a model of the environment from recorded transitions alone, and a policy from what the model imagines,
//! which pays for going where the model is unsure.
//!
//! **When to use it.** Recorded transitions with continuous actions, of many kinds: the policy may go beyond what was recorded, as
//! far as the model can be trusted. Where the record is narrow, methods that keep to it (`td3_bc`, `iql`) are safer.
//!
//! **The update.** The model, an ensemble of Gaussian networks, is fitted once, as in `mbpo`. Then, before every
//! `rollout_refresh_interval` updates, rollouts of `rollout_horizon` steps begin at recorded observations, and the policy learns as
//! SAC does, from a few recorded and many imagined transitions. An imagined step pays
//! ```text
//! r - penalty_coef * max_i |sigma_i(s, a)|
//! ```
//! where r is drawn from the model, and the deviations are those of all outputs, the reward's too, of the most unsure network of all.
//!
//! **Details that matter.**
//! - `penalty_coef` has the units of reward over those of the observations: rescaling either changes what it means. The
//!   publication uses 0.5 to 5. With 0 nothing holds the policy back.
//! - The maximum is over all networks, and the step itself comes from one of the `num_elites` best.
//! - Recorded rows are not charged. `reward_scale` of the block `dataset` scales both kinds when they are drawn.
//! - Longer rollouts (5 steps by default) reach further from the record: `project` and `clip_to_data` keep imagined observations
//!   possible, and near what was recorded.
//! - Imagined transitions of the last `rollout_retain` refreshes are kept.
//! - `total_timesteps` counts updates of the policy; those of the model come before the first.
//! - Everything said of the model of `mbpo` holds here. Logged besides: `penalty_mean`.
//!
//! **What is left out.** Steps of its own: `online_timesteps` must stay 0. Other measures of doubt than the predicted deviation.
//!
//! **Reference.** Yu and others, MOPO: model-based offline policy optimization, 2020.

use super::Termination;
use super::dyna::{DynaLearner, DynaSettings, When, check_numbers};
use super::schedule::{Retention, RolloutLength};
use super::settings::{check_fit, dynamics_settings, fit_idle, soft_policy};
use crate::actor_critic::AcConfig;
use crate::agent::Setup;
use crate::config::{Idle, Problem, defaults, fixed_temperature, settings};
use crate::offline::{offline_only, recorded_settings};
use crate::parts::checks::BuildError;
use crate::parts::temperature::TemperatureSetting;
use crate::regimes::Learner;
use crate::registry::Algorithm;
use axiomrl_core::Schedule;

settings! {
    /// Settings of MOPO.
    pub struct MopoConfig {
        ..learning_rate,
        ..recorded,
        ..soft_policy,
        ..dynamics,
        ..model_fit,
        /// Price of the model's doubt: the weight of its largest predicted deviation; 0 is free.
        #[garde(range(min = 0.0, max = 1e6))]
        pub penalty_coef: f32,
        /// Updates between refreshes of what is imagined.
        #[garde(range(min = 1, max = 1_000_000_000_u64))]
        pub rollout_refresh_interval: u64,
        /// Refreshes that are kept.
        #[garde(range(min = 1, max = 1000))]
        pub rollout_retain: u64,
    }
}

impl Default for MopoConfig {
    fn default() -> Self {
        defaults! { Self {
            ..soft_policy,
            ..dynamics,
            learning_rate: Schedule::Constant(3e-4),
            batch_size: 256,
            gamma: 0.99,
            online_timesteps: 0,
            model_learning_rate: 1e-3,
            num_elites: 5,
            holdout_ratio: 0.2,
            holdout_max: 1000,
            model_patience: Some(2000),
            model_check_interval: 500,
            model_updates: None,
            model_updates_first: None,
            model_keep_best: true,
            permute_targets: false,
            termination: Termination::Auto,
            rollout_batch_size: 50_000,
            rollout_horizon: 5,
            project: false,
            clip_to_data: false,
            synthetic_batch_ratio: 0.95,
            penalty_coef: 1.0,
            rollout_refresh_interval: 1000,
            rollout_retain: 5,
        } }
    }
}

impl MopoConfig {
    fn dyna(&self) -> DynaSettings {
        let interval = self.rollout_refresh_interval;
        DynaSettings {
            policy: AcConfig { offline: true, ..soft_policy!(self) },
            dynamics: dynamics_settings!(self),
            model_rate: self.model_learning_rate,
            termination: self.termination,
            when: When::Updates { refresh: interval },
            length: RolloutLength::constant(self.rollout_horizon),
            retention: Retention {
                starts: self.rollout_batch_size,
                epoch_length: interval,
                interval,
                epochs: self.rollout_retain,
            },
            project: self.project,
            clip_to_data: self.clip_to_data,
            imagined_share: self.synthetic_batch_ratio,
            penalty: self.penalty_coef,
        }
    }
}

pub struct Mopo;

impl Algorithm for Mopo {
    type Config = MopoConfig;

    fn check(config: &MopoConfig) -> Result<(), Problem> {
        offline_only("MOPO", config.online_timesteps)?;
        check_fit!(config)
    }

    fn check_setup(_config: &MopoConfig, setup: &Setup) -> Result<(), Problem> {
        check_numbers(setup)
    }

    fn idle(config: &MopoConfig) -> Vec<Idle> {
        vec![fixed_temperature(config.ent_coef != TemperatureSetting::Auto), fit_idle(config.model_patience.is_none())]
    }

    fn wants_data(_config: &MopoConfig) -> bool {
        true
    }

    fn takes_steps(_config: &MopoConfig) -> bool {
        false
    }

    fn build(config: MopoConfig, setup: &Setup) -> Result<Learner, BuildError> {
        Self::check(&config)?;
        let settings = recorded_settings(config.batch_size, config.gamma)?;
        Ok(Learner::OffPolicy(Box::new(DynaLearner::new(config.dyna(), setup)?), settings))
    }
}
