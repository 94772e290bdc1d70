//! # MBPO: model-based policy optimisation
//!
//! **What it does.** Learns a model of the environment from few steps and lets SAC learn from what the model imagines: many
//! updates for every real step, on transitions that did not have to be taken.
//!
//! **When to use it.** Continuous actions, observations that are vectors of numbers, and steps that are expensive. Where steps cost
//! nothing `sac` is simpler, and with as many updates per step often as good on small tasks.
//!
//! **The update.** Every `model_train_frequency` steps the model, an ensemble of Gaussian networks, is fitted to all real
//! transitions, and `rollout_batch_size` rollouts of a few steps begin at real observations:
//! ```text
//! model:    sum over networks of mean [(mu(s, a) - y)^2 e^-lv(s, a) + lv(s, a)] + decay,   y = [r, s' - s]
//! rollouts: a ~ pi(s);  [r, s' - s] ~ N(mu_i(s, a), e^lv_i(s, a)),  i drawn anew among the elites for each row and step
//! policy:   SAC, on batches of a few real and many imagined transitions
//! ```
//!
//! **Details that matter.**
//! - Every network learns from rows of its own, drawn with replacement, and is fitted until its error on held-out rows
//!   (`holdout_ratio`) has not fallen by 1 % for `model_patience` gradient steps; then its best weights come back. The `num_elites`
//!   networks with the lowest error predict. The next fit goes on from there.
//! - Inputs, and with `standardize_targets` targets, are brought to unit scale at each fit. With raw targets the output with the
//!   largest scale, mostly the reward, is all that errors and patience see.
//! - `model_max_grad_norm` clips each network's gradient: where a bound of the world is met for the first time, predictions are so
//!   sure and so wrong that one step would wreck the network.
//! - Log-variances lie softly between two bounds that are learned, too (`logvar_bounds: fixed` leaves them).
//! - A rollout ends where the environment's own rules say so. Where it has none, a network learns its ends from those that were
//!   seen (`termination: learned`); `termination: never` is for worlds that do not end.
//! - Rollouts are one step long unless `rollout_schedule` says otherwise: `[20, 150, 1, 15]` is 1 step up to epoch 20 and grows to 15
//!   at epoch 150; an epoch is `epoch_length` steps. For longer ones `project` puts imagined observations back to possible ones where
//!   the environment knows how (`Pendulum-v1`: sine and cosine to the circle), and `clip_to_data` keeps them within what was seen.
//! - Imagined transitions of the last `model_retain_epochs` epochs are kept. A batch has a `synthetic_batch_ratio` of them.
//! - `gradient_steps` counts updates of the policy after each real step: 20 to 40 on the tasks of the publication.
//!   `target_entropy` is worth setting for each task: the publication uses -1 to -4 where SAC would use minus the number of actions.
//! - The published code fits for whole epochs and to raw targets: `model_patience: null`, `standardize_targets: false`,
//!   `model_keep_best: false` and `model_max_grad_norm: null`. On a few thousand rows its patience of five epochs is less than a
//!   hundred gradient steps, and a fit can end on its first plateau.
//! - `permute_targets` gives the model changes that do not belong to their actions. A run with it learns nothing where the model
//!   matters.
//! - Logged: `model_loss`, `model_holdout_loss` in the units of the fit, `model_unseen_error` (error by variance on rows
//!   that no fit had seen yet) and `model_calibration` (squared error by predicted variance on the same rows, 1 where the model
//!   knows how much it knows).
//!
//! **What is left out.** Images and choices in the observation. Rows that a rollout drops because a number became none are counted
//! (`model_dropped_rows`), not repaired.
//!
//! **Reference.** Janner, Fu, Zhang and Levine, When to trust your model: model-based policy optimization, 2019. The ensemble: Chua
//! and others, Deep reinforcement learning in a handful of trials using probabilistic dynamics models, 2018.

use super::Termination;
use super::dyna::{DynaLearner, DynaSettings, When, check_numbers};
use super::schedule::{Retention, RolloutLength};
use super::settings::{check_fit, dynamics_settings, fit_idle, soft_policy};
use crate::agent::Setup;
use crate::config::{Idle, Problem, defaults, fixed_temperature, settings};
use crate::parts::checks::BuildError;
use crate::parts::temperature::TemperatureSetting;
use crate::regimes::{Learner, ReplaySettings, replay_settings};
use crate::registry::Algorithm;
use axiomrl_core::Schedule;

settings! {
    /// Settings of MBPO.
    pub struct MbpoConfig {
        ..learning_rate,
        ..replay,
        ..soft_policy,
        ..dynamics,
        ..model_fit,
        /// Environment steps between fits of the model, from `learning_starts` on.
        #[garde(range(min = 1, max = 1_000_000_000_u64))]
        pub model_train_frequency: u64,
        /// Environment steps between refreshes of what is imagined; there is one after each fit in any case.
        #[garde(range(min = 1, max = 1_000_000_000_u64))]
        pub rollout_refresh_interval: u64,
        /// `[start, end, from, to]`: rollouts have `from` steps up to epoch `start` and `to` from epoch `end` on; absent: always
        /// `rollout_horizon`.
        pub rollout_schedule: Option<Vec<u64>>,
        /// Environment steps of an epoch, for `rollout_schedule` and `model_retain_epochs`.
        #[garde(range(min = 1, max = 1_000_000_000_u64))]
        pub epoch_length: u64,
        /// Epochs for which imagined transitions are kept.
        #[garde(range(min = 1, max = 1000))]
        pub model_retain_epochs: u64,
    }
}

impl Default for MbpoConfig {
    fn default() -> Self {
        defaults! { Self {
            ..soft_policy,
            ..dynamics,
            learning_rate: Schedule::Constant(3e-4),
            buffer_capacity: 1_000_000,
            batch_size: 256,
            learning_starts: 5000,
            train_frequency: 1,
            gradient_steps: 20,
            gamma: 0.99,
            n_step: 1,
            model_learning_rate: 1e-3,
            num_elites: 5,
            holdout_ratio: 0.2,
            holdout_max: 5000,
            model_patience: Some(400),
            model_check_interval: 100,
            model_updates: None,
            model_updates_first: None,
            model_keep_best: true,
            permute_targets: false,
            termination: Termination::Auto,
            rollout_batch_size: 100_000,
            rollout_horizon: 1,
            project: false,
            clip_to_data: false,
            synthetic_batch_ratio: 0.95,
            model_train_frequency: 250,
            rollout_refresh_interval: 250,
            rollout_schedule: None,
            epoch_length: 1000,
            model_retain_epochs: 1,
        } }
    }
}

impl MbpoConfig {
    fn rollout_length(&self) -> Result<RolloutLength, Problem> {
        let Some(schedule) = &self.rollout_schedule else { return Ok(RolloutLength::constant(self.rollout_horizon)) };
        let sound =
            |[start, end, from, to]: [u64; 4]| end >= start && (1..=1000).contains(&from) && (1..=1000).contains(&to);
        match <[u64; 4]>::try_from(&schedule[..]) {
            Ok(all @ [start, end, from, to]) if sound(all) => Ok(RolloutLength { start, end, from, to }),
            _ => {
                let problem = "`rollout_schedule` is [start, end, from, to]: two epochs, the second not before the first, and two \
                               lengths from 1 to 1000; [20, 150, 1, 15] say";
                Err(Problem::new(&["rollout_schedule"], problem))
            }
        }
    }

    fn check(&self) -> Result<RolloutLength, Problem> {
        check_fit!(self)?;
        let (ratio, rows) = (self.holdout_ratio, self.learning_starts);
        Problem::when(f64::from(ratio) * (rows as f64) + 1e-9 < 1.0, &["learning_starts", "holdout_ratio"], || {
            format!(
                "`learning_starts` {rows} leaves no row to hold out of the model's first fit with a `holdout_ratio` of {ratio}; \
                 raise either"
            )
        })?;
        Problem::when(self.n_step != 1, &["n_step"], || {
            "`n_step` above 1 sums rewards of steps that follow each other, and imagined ones do not; set it to 1"
                .to_owned()
        })?;
        Problem::when(
            self.buffer_capacity < self.learning_starts as usize,
            &["buffer_capacity", "learning_starts"],
            || "`buffer_capacity` is smaller than `learning_starts`; make the buffer larger".to_owned(),
        )?;
        self.rollout_length()
    }

    fn dyna(&self, length: RolloutLength) -> DynaSettings {
        DynaSettings {
            policy: soft_policy!(self),
            dynamics: dynamics_settings!(self),
            model_rate: self.model_learning_rate,
            termination: self.termination,
            when: When::Steps {
                after: self.learning_starts,
                fit: self.model_train_frequency,
                refresh: self.rollout_refresh_interval,
            },
            length,
            retention: Retention {
                starts: self.rollout_batch_size,
                epoch_length: self.epoch_length,
                interval: self.rollout_refresh_interval,
                epochs: self.model_retain_epochs,
            },
            project: self.project,
            clip_to_data: self.clip_to_data,
            imagined_share: self.synthetic_batch_ratio,
            penalty: 0.0,
        }
    }
}

pub struct Mbpo;

impl Algorithm for Mbpo {
    type Config = MbpoConfig;

    fn check(config: &MbpoConfig) -> Result<(), Problem> {
        config.check()?;
        replay_settings!(config).map(drop)
    }

    fn check_setup(_config: &MbpoConfig, setup: &Setup) -> Result<(), Problem> {
        check_numbers(setup)
    }

    fn idle(config: &MbpoConfig) -> Vec<Idle> {
        vec![
            fixed_temperature(config.ent_coef != TemperatureSetting::Auto),
            fit_idle(config.model_patience.is_none()),
            Idle {
                now: config.rollout_schedule.is_some(),
                keys: &["rollout_horizon"],
                switch: Some("rollout_schedule"),
                why: "`rollout_schedule` says how long rollouts are; set it to null",
            },
        ]
    }

    fn build(config: MbpoConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let length = config.check()?;
        let settings: ReplaySettings = replay_settings!(config)?;
        Ok(Learner::OffPolicy(Box::new(DynaLearner::new(config.dyna(length), setup)?), settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_with_the_remedy() {
        let refused = |config: MbpoConfig, words: &str| {
            let message = Mbpo::check(&config).unwrap_err().message;
            assert!(message.contains(words), "{message}");
        };
        let default = MbpoConfig::default;
        refused(MbpoConfig { learning_starts: 4, ..default() }, "raise either");
        refused(MbpoConfig { num_elites: 8, ..default() }, "`num_ensembles` 7");
        refused(MbpoConfig { n_step: 3, ..default() }, "set it to 1");
        refused(MbpoConfig { buffer_capacity: 10, ..default() }, "make the buffer larger");
        for schedule in [vec![1, 2, 3], vec![5, 2, 1, 1], vec![1, 2, 0, 4]] {
            refused(MbpoConfig { rollout_schedule: Some(schedule), ..default() }, "[start, end, from, to]");
        }
        let grows = MbpoConfig { rollout_schedule: Some(vec![20, 150, 1, 15]), ..default() };
        assert_eq!(grows.check().unwrap().at(30), 2);
        assert!(Mbpo::check(&default()).is_ok());
    }
}
