//! Q-learning with a network that remembers.

use super::config::DrqnConfig;
use super::loss::{LossInput, Report, from_scale, sequence_loss};
use super::net::QNet;
use crate::agent::{Clock, LearnError, UpdateContext, finite};
use crate::parts::actions::argmax;
use crate::parts::descend::{ParamGroup, slices};
use crate::parts::torso::Sequences;
use crate::policy::{ActInput, Actor, Memory, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::explore::epsilon_greedy;
use axiomrl_core::{Batch, Schedule};
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
    fn look(&mut self, obs: ObsRef<'_>, memory: &mut Memory) {
        let sequences = Sequences { steps: 1, rows: obs.rows, obs, resets: &memory.starts };
        self.online.infer(sequences, &mut memory.state, &mut self.q);
    }

    fn best_actions(&mut self, input: ActInput<'_>, memory: &mut Memory, actions: &mut [f32]) {
        self.look(input.obs, memory);
        for (row, (action, q)) in actions.iter_mut().zip(self.q.chunks_exact(self.actions)).enumerate() {
            *action = argmax(q, input.mask(row)) as f32;
        }
    }

    /// The memory a batch of sequences begins with.
    fn initial_state(&self, batch: &Batch) -> Vec<f32> {
        if batch.state.is_empty() { vec![0.0; batch.rows * self.online.state_width()] } else { batch.state.clone() }
    }
}

impl Actor for QLearner {
    fn memory_width(&self) -> usize {
        self.online.state_width()
    }

    fn act(
        &mut self,
        input: ActInput<'_>,
        memory: &mut Memory,
        _mode: Mode,
        _rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        self.best_actions(input, memory, actions);
        Ok(())
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.online.visit_state("q", io)
    }
}

impl ReplayLearner for QLearner {
    fn explore(
        &mut self,
        input: ActInput<'_>,
        memory: &mut Memory,
        clock: Clock,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        self.best_actions(input, memory, actions);
        epsilon_greedy(actions, self.actions, input.masks, self.epsilon.at(clock.fraction()), rng);
        Ok(())
    }

    fn update(
        &mut self,
        batch: &Batch,
        context: &mut UpdateContext<'_>,
        errors: &mut Vec<f32>,
    ) -> Result<(), LearnError> {
        let config = &self.config;
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
        finite("the loss", report.loss, context.number())?;
        let rate = config.learning_rate.at(context.fraction()) as f32;
        let norm = self.group.step(&mut self.online.params(), &slices(&gradients), rate);
        finite("the gradient of the Q-network", norm, context.number())?;
        errors.extend_from_slice(&report.errors);
        let exploration_rate = self.epsilon.at(context.fraction());
        let metrics = &mut *context.metrics;
        metrics.add("loss", report.loss);
        metrics.add("q_value_mean", report.q_mean);
        metrics.add("target_mean", report.target_mean);
        metrics.add("td_error_mean", report.td_error_mean);
        metrics.add("grad_norm", norm);
        metrics.set("learning_rate", f64::from(rate));
        metrics.set("exploration_rate", exploration_rate);
        Ok(())
    }

    fn stepped(&mut self, before: u64, after: u64) {
        let every = self.config.target_update_interval;
        if before / every < after / every {
            self.target.follow(&mut self.online, self.config.tau);
        }
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let mut memory = Memory::new(input.rows(), self.memory_width());
        self.look(input.obs, &mut memory);
        for (row, (value, q)) in values.iter_mut().zip(self.q.chunks_exact(self.actions)).enumerate() {
            *value = from_scale(self.config.value_rescale, q[argmax(q, input.mask(row))]);
        }
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.target.visit_state("q_target", io)?;
        self.group.visit_state("q", io)
    }
}
