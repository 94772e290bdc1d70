//! One learner for the whole family: choose, back up, fit, follow.

use super::backup::{BackupInput, Targets, back_up, needs_here, softmax};
use super::config::{DqnConfig, Exploration};
use super::heads::Head;
use super::loss::{LossInput, Report, batch_loss};
use super::model::Model;
use super::outcomes::Outcomes;
use crate::agent::{Clock, LearnError, UpdateContext, finite};
use crate::parts::actions::argmax;
use crate::policy::{ActInput, Actor, Memory, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::explore::epsilon_greedy;
use axiomrl_core::{Batch, Schedule};
use axiomrl_envs::Rng;
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
}

impl<M: Model> QLearner<M> {
    pub fn new(config: DqnConfig, head: Head, actions: usize, model: M) -> Self {
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
        }
    }

    fn epsilon_at(&self, clock: Clock) -> f64 {
        // Noise in the weights takes the place of chance.
        if self.config.noisy { 0.0 } else { self.epsilon.at(clock.fraction()) }
    }

    fn greedy(&self, input: ActInput<'_>, actions: &mut [f32]) {
        for (row, action) in actions.iter_mut().enumerate() {
            *action = argmax(self.here.q(0, row), input.mask(row)) as f32;
        }
    }

    /// Samples from exp(Q / T).
    fn boltzmann(&self, input: ActInput<'_>, rng: &mut Rng, actions: &mut [f32]) {
        let mut probabilities = vec![0.0; self.actions];
        for (row, action) in actions.iter_mut().enumerate() {
            let mask = input.mask(row);
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
    fn compute_targets(&mut self, batch: &Batch, clock: Clock, rng: &mut Rng) {
        self.model.infer_target(batch.next_obs(), rng, &self.head, &mut self.next);
        if self.config.double_q {
            self.model.infer_online(batch.next_obs(), Some(rng), &self.head, &mut self.online_next);
        }
        let here = needs_here(&self.config);
        if here {
            self.model.infer_target(batch.obs(), rng, &self.head, &mut self.here);
        }
        let epsilon = self.config.target_epsilon.unwrap_or(self.epsilon_at(clock) as f32);
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

impl<M: Model> Actor for QLearner<M> {
    fn act(
        &mut self,
        input: ActInput<'_>,
        _memory: &mut Memory,
        mode: Mode,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        self.model.infer_online(input.obs, None, &self.head, &mut self.here);
        match (mode, self.config.exploration) {
            (Mode::Sample, Exploration::Boltzmann) => self.boltzmann(input, rng, actions),
            _ => self.greedy(input, actions),
        }
        Ok(())
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.model.visit_policy(io)
    }
}

impl<M: Model> ReplayLearner for QLearner<M> {
    fn explore(
        &mut self,
        input: ActInput<'_>,
        _memory: &mut Memory,
        clock: Clock,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        self.model.infer_online(input.obs, Some(rng), &self.head, &mut self.here);
        match self.config.exploration {
            Exploration::Epsilon => {
                self.greedy(input, actions);
                epsilon_greedy(actions, self.actions, input.masks, self.epsilon_at(clock), rng);
            }
            Exploration::Boltzmann => self.boltzmann(input, rng, actions),
        }
        Ok(())
    }

    fn update(
        &mut self,
        batch: &Batch,
        context: &mut UpdateContext<'_>,
        errors: &mut Vec<f32>,
    ) -> Result<(), LearnError> {
        self.compute_targets(batch, context.clock, context.rng);
        let rate = self.config.learning_rate.at(context.fraction()) as f32;
        let (config, head, targets, actions) = (&self.config, &self.head, &self.targets, self.actions);
        let mut report = Report::default();
        let norm = self.model.fit(batch, rate, context, &mut |shape, outputs| {
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
        })?;
        finite("the loss", report.loss, context.number())?;
        errors.extend_from_slice(&report.errors);
        let metrics = &mut *context.metrics;
        metrics.add("loss", report.loss);
        metrics.add("q_value_mean", report.q_mean);
        metrics.add("q_max", report.q_max);
        metrics.add("target_mean", targets.mean.iter().sum::<f32>() / batch.rows as f32);
        metrics.add("td_error_mean", report.td_error_mean);
        metrics.add("grad_norm", norm);
        metrics.set("learning_rate", f64::from(rate));
        metrics.set("exploration_rate", self.epsilon_at(context.clock));
        Ok(())
    }

    fn stepped(&mut self, before: u64, after: u64) {
        let every = self.config.target_update_interval;
        if before / every < after / every {
            self.model.follow(self.config.tau);
        }
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        self.model.infer_online(input.obs, None, &self.head, &mut self.here);
        for (row, value) in values.iter_mut().enumerate() {
            let q = self.here.q(0, row);
            *value = q[argmax(q, input.mask(row))];
        }
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.model.visit_state(io)
    }
}
