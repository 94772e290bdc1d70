//! Q-learning with a network that remembers.

use super::config::DrqnConfig;
use super::loss::{LossInput, Report, from_scale, sequence_loss};
use super::net::QNet;
use crate::parts::torso::Sequences;
use crate::agent::{Diverged, Progress, finite};
use crate::parts::actions::argmax;
use crate::parts::group::{ParamGroup, slices};
use crate::regimes::{SequenceLearner, SequenceUpdate};
use crate::state::{StateError, StateIo};
use axiomrl_core::explore::epsilon_greedy;
use axiomrl_core::{Schedule, SequenceBatch};
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::OptimizerConfig;

/// A network, its slowly moving copy, and how they learn.
pub struct QLearner {
    config: DrqnConfig,
    actions: usize,
    online: QNet,
    target: QNet,
    group: ParamGroup,
    epsilon: Schedule,
    q: Vec<f32>,
    target_q: Vec<f32>,
}

impl QLearner {
    pub fn new(config: DrqnConfig, actions: usize, mut online: QNet, adam: &OptimizerConfig) -> Self {
        let epsilon = Schedule::Linear {
            start: config.epsilon_start,
            end: config.epsilon_end,
            fraction: config.exploration_fraction.max(1e-9),
        };
        let group = ParamGroup::new(adam, &online.params(), config.max_grad_norm);
        let target = online.clone();
        Self { config, actions, online, target, group, epsilon, q: Vec::new(), target_q: Vec::new() }
    }

    /// Values of every action one observation further, in `self.q`.
    fn look(&mut self, obs: ObsRef<'_>, rows: usize, starts: &[bool], state: &mut [f32]) {
        self.online.infer(Sequences { steps: 1, rows, obs, resets: starts }, state, &mut self.q);
    }

    fn greedy(&self, masks: &[bool], actions: &mut [f32]) {
        let n = self.actions;
        for (row, action) in actions.iter_mut().enumerate() {
            *action = argmax(&self.q[row * n..(row + 1) * n], mask(masks, row, n)) as f32;
        }
    }

    /// The memory a batch of sequences begins with.
    fn initial_state(&self, batch: &SequenceBatch) -> Vec<f32> {
        if batch.state.is_empty() { vec![0.0; batch.rows * self.online.state_width()] } else { batch.state.clone() }
    }
}

fn mask(masks: &[bool], row: usize, actions: usize) -> &[bool] {
    masks.get(row * actions..(row + 1) * actions).unwrap_or(&[])
}

impl SequenceLearner for QLearner {
    fn state_width(&self) -> usize {
        self.online.state_width()
    }

    fn explore(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        starts: &[bool],
        state: &mut [f32],
        progress: Progress,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        self.predict(obs, masks, rows, starts, state, actions);
        epsilon_greedy(actions, self.actions, masks, self.epsilon.at(progress.fraction()), rng);
    }

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        starts: &[bool],
        state: &mut [f32],
        actions: &mut [f32],
    ) {
        self.look(obs, rows, starts, state);
        self.greedy(masks, actions);
    }

    fn values(&mut self, obs: ObsRef<'_>, masks: &[bool], rows: usize, values: &mut [f32]) {
        let mut state = vec![0.0; rows * self.state_width()];
        self.look(obs, rows, &vec![true; rows], &mut state);
        for (row, (value, q)) in values.iter_mut().zip(self.q.chunks_exact(self.actions)).enumerate() {
            *value = from_scale(self.config.value_rescale, q[argmax(q, mask(masks, row, self.actions))]);
        }
    }

    fn update(&mut self, update: SequenceUpdate<'_>) -> Result<(), Diverged> {
        let (batch, config) = (update.batch, &self.config);
        let all =
            Sequences { steps: batch.steps + 1, rows: batch.rows, obs: batch.obs.as_ref(), resets: &batch.starts };
        // Each network looks at the whole sequence with a memory of its own.
        let mut state = self.initial_state(batch);
        self.target.infer(all, &mut state, &mut self.target_q);
        let mut state = self.initial_state(batch);
        if config.burn_in > 0 {
            self.online.remember(all.part(0, config.burn_in), &mut state);
        }
        let loss = LossInput {
            batch,
            actions: self.actions,
            burn_in: config.burn_in,
            target: &self.target_q,
            double_q: config.double_q,
            rescaled: config.value_rescale,
            eta: config.priority_eta,
        };
        let mut report = Report::default();
        let gradients = self.online.gradients(all.part(config.burn_in, batch.steps + 1), &state, |q| {
            let (found, gradient) = sequence_loss(&loss, q);
            report = found;
            (report.loss, gradient)
        });
        finite("the loss", report.loss, update.number)?;
        let rate = config.learning_rate.at(update.progress.fraction()) as f32;
        let norm = self.group.step(&mut self.online.params(), &slices(&gradients), rate);
        finite("the gradient of the Q-network", norm, update.number)?;
        update.errors.extend_from_slice(&report.errors);
        update.metrics.add("loss", report.loss);
        update.metrics.add("q_value_mean", report.q_mean);
        update.metrics.add("target_mean", report.target_mean);
        update.metrics.add("td_error_mean", report.td_error_mean);
        update.metrics.add("grad_norm", norm);
        update.metrics.set("learning_rate", f64::from(rate));
        update.metrics.set("exploration_rate", self.epsilon.at(update.progress.fraction()));
        Ok(())
    }

    fn stepped(&mut self, before: u64, after: u64) {
        let every = self.config.target_update_interval;
        if before / every < after / every {
            self.target.follow(&mut self.online, self.config.tau);
        }
    }

    fn metric_names(&self) -> &'static [&'static str] {
        &["loss", "q_value_mean", "target_mean", "td_error_mean", "grad_norm", "learning_rate", "exploration_rate"]
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.online.exchange("q", io)?;
        self.target.exchange("q_target", io)?;
        self.group.exchange("q", io)
    }
}
