//! One learner for the whole family: choose, back up, fit, follow.

use super::backup::{BackupInput, Targets, back_up, needs_here, softmax};
use super::config::{DqnConfig, Exploration};
use super::heads::Head;
use super::loss::{LossInput, Report, batch_loss};
use super::model::Model;
use super::outcomes::Outcomes;
use crate::agent::{Diverged, Progress, finite};
use crate::parts::actions::argmax;
use crate::regimes::{ReplayLearner, Update};
use crate::state::{StateError, StateIo};
use axiomrl_core::Schedule;
use axiomrl_core::explore::epsilon_greedy;
use axiomrl_envs::{ObsRef, Rng};
use rand::RngExt;

/// What the family has in common.
pub struct QLearner<M> {
    config: DqnConfig,
    head: Head,
    actions: usize,
    model: M,
    epsilon: Schedule,
    here: Outcomes,
    next: Outcomes,
    online_next: Outcomes,
    targets: Targets,
    masks: usize,
}

impl<M: Model> QLearner<M> {
    pub fn new(config: DqnConfig, head: Head, actions: usize, model: M, mask_width: usize) -> Self {
        let epsilon = Schedule::Linear {
            start: config.epsilon_start,
            end: config.epsilon_end,
            fraction: config.exploration_fraction.max(1e-9),
        };
        Self {
            config,
            head,
            actions,
            model,
            epsilon,
            here: Outcomes::default(),
            next: Outcomes::default(),
            online_next: Outcomes::default(),
            targets: Targets::default(),
            masks: mask_width,
        }
    }

    fn epsilon_at(&self, progress: Progress) -> f64 {
        // Noise in the weights takes the place of chance.
        if self.config.noisy { 0.0 } else { self.epsilon.at(progress.fraction()) }
    }

    fn mask<'a>(&self, masks: &'a [bool], row: usize) -> &'a [bool] {
        if masks.is_empty() { &[] } else { &masks[row * self.masks..(row + 1) * self.masks] }
    }

    fn greedy(&self, masks: &[bool], actions: &mut [f32]) {
        for (row, action) in actions.iter_mut().enumerate() {
            *action = argmax(self.here.q(0, row), self.mask(masks, row)) as f32;
        }
    }

    /// Samples from exp(Q / T).
    fn boltzmann(&self, masks: &[bool], rng: &mut Rng, actions: &mut [f32]) {
        let mut probabilities = vec![0.0; self.actions];
        for (row, action) in actions.iter_mut().enumerate() {
            let mask = self.mask(masks, row);
            softmax(self.here.q(0, row), mask, self.config.boltzmann_temperature, &mut probabilities);
            let mut left = rng.random::<f32>();
            let found = probabilities.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            // Rounding may leave a crumb: it goes to the best action.
            *action = found.unwrap_or_else(|| argmax(self.here.q(0, row), mask)) as f32;
        }
    }

    /// The returns that the batch's actions should have been expected to bring.
    fn compute_targets(&mut self, update: &mut Update<'_>) {
        let batch = update.batch;
        let (rows, next_obs) = (batch.rows, batch.next_obs.as_ref());
        self.model.infer_target(next_obs, rows, update.rng, &self.head, &mut self.next);
        if self.config.double_q {
            self.model.infer_online(next_obs, rows, true, update.rng, &self.head, &mut self.online_next);
        }
        let here = needs_here(&self.config);
        if here {
            self.model.infer_target(batch.obs.as_ref(), rows, update.rng, &self.head, &mut self.here);
        }
        let epsilon = self.config.target_epsilon.unwrap_or(self.epsilon_at(update.progress) as f32);
        let input = BackupInput {
            head: &self.head,
            next: &self.next,
            online_next: self.config.double_q.then_some(&self.online_next),
            here: here.then_some(&self.here),
            epsilon,
        };
        back_up(&self.config, batch, &input, &mut self.targets);
    }
}

impl<M: Model> ReplayLearner for QLearner<M> {
    fn explore(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        progress: Progress,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        self.model.infer_online(obs, rows, true, rng, &self.head, &mut self.here);
        match self.config.exploration {
            Exploration::Epsilon => {
                self.greedy(masks, actions);
                epsilon_greedy(actions, self.actions, masks, self.epsilon_at(progress), rng);
            }
            Exploration::Boltzmann => self.boltzmann(masks, rng, actions),
        }
    }

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        deterministic: bool,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        self.model.infer_online(obs, rows, false, rng, &self.head, &mut self.here);
        if deterministic || self.config.exploration == Exploration::Epsilon {
            self.greedy(masks, actions);
        } else {
            self.boltzmann(masks, rng, actions);
        }
    }

    fn values(&mut self, obs: ObsRef<'_>, masks: &[bool], rows: usize, values: &mut [f32]) {
        let mut rng = axiomrl_core::stream(0, "values");
        self.model.infer_online(obs, rows, false, &mut rng, &self.head, &mut self.here);
        for (row, value) in values.iter_mut().enumerate() {
            let q = self.here.q(0, row);
            *value = q[argmax(q, self.mask(masks, row))];
        }
    }

    fn update(&mut self, mut update: Update<'_>) -> Result<(), Diverged> {
        self.compute_targets(&mut update);
        let at = update.progress.fraction();
        let rate = self.config.learning_rate.at(at) as f32;
        let (config, head, targets) = (&self.config, &self.head, &self.targets);
        let (batch, actions) = (update.batch, self.actions);
        let mut report = Report::default();
        let norm = self.model.fit(
            batch,
            update.number,
            rate,
            update.progress,
            update.rng,
            update.metrics,
            &mut |shape, outputs| {
                let input = LossInput {
                    config,
                    head,
                    batch,
                    targets,
                    members: shape.members,
                    actions,
                    width: shape.width,
                    fractions: shape.fractions,
                    share: shape.share,
                };
                let (found, gradient) = batch_loss(&input, outputs);
                report = found;
                (report.loss, gradient)
            },
        )?;
        finite("the loss", report.loss, update.number)?;
        update.errors.extend_from_slice(&report.errors);
        update.metrics.add("loss", report.loss);
        update.metrics.add("q_value_mean", report.q_mean);
        update.metrics.add("q_max", report.q_max);
        update.metrics.add("target_mean", targets.mean.iter().sum::<f32>() / batch.rows as f32);
        update.metrics.add("td_error_mean", report.td_error_mean);
        update.metrics.add("grad_norm", norm);
        update.metrics.set("learning_rate", f64::from(rate));
        update.metrics.set("exploration_rate", self.epsilon_at(update.progress));
        Ok(())
    }

    fn stepped(&mut self, before: u64, after: u64) {
        let every = self.config.target_update_interval;
        if before / every < after / every {
            self.model.follow(self.config.tau);
        }
    }

    fn metric_names(&self) -> &'static [&'static str] {
        &[
            "loss",
            "q_value_mean",
            "q_max",
            "target_mean",
            "td_error_mean",
            "grad_norm",
            "learning_rate",
            "exploration_rate",
            "fraction_loss",
            "entropy",
        ]
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.model.exchange(io)
    }
}
