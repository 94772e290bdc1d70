//! Passes of minibatches over a rollout.

use super::PpoConfig;
use crate::agent::{LearnError, Setup, UpdateContext};
use crate::parts::checks::BuildError;
use crate::parts::descend::ParamGroup;
use crate::parts::torso::Sequences;
use crate::policy::{ActInput, Actor, Memory, Mode};
use crate::policy_gradient::minibatch::{Minibatch, PlayedSequences};
use crate::policy_gradient::net::{PolicyValueNet, PolicyValueSpec, with_log_std};
use crate::policy_gradient::passes::Passes;
use crate::policy_gradient::ppo_loss::PpoReport;
use crate::policy_gradient::shared::{distribution_for, explained_variance, log_step};
use crate::regimes::{ActedRow, Played, RolloutLearner};
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::{AdamConfig, Distribution, OptimizerConfig, Params};

#[cfg(test)]
mod tests;

/// The learner of PPO.
pub struct PpoLearner {
    config: PpoConfig,
    distribution: Distribution,
    net: PolicyValueNet,
    /// One log standard deviation per action of a Box; empty for other spaces.
    log_std: Params,
    group: ParamGroup,
    head: Vec<f32>,
    values: Vec<f32>,
    minibatch: Minibatch,
    passes: Passes,
    /// Sequences of a whole rollout.
    sequences: usize,
}

impl PpoLearner {
    pub fn new(config: PpoConfig, setup: &Setup) -> Result<Self, BuildError> {
        let distribution = distribution_for(setup.action_space())?;
        let spec = PolicyValueSpec {
            observations: setup.observation_space(),
            vision: config.vision,
            hidden_sizes: &config.hidden_sizes,
            memory: config.memory.cell().map(|cell| (cell, config.recurrent_hidden_size)),
            head_sizes: &config.head_sizes,
            activation: config.activation,
            shared: config.shared,
            outputs: distribution.head_width(),
        };
        let mut net = PolicyValueNet::new(&spec, &mut setup.rng("init"))?;
        let free = distribution.log_std_width();
        let mut log_std = Params::from_vec(1, free, vec![config.log_std_init; free]);
        let adam = OptimizerConfig::Adam(AdamConfig { eps: 1e-5, ..AdamConfig::default() });
        let group = ParamGroup::new(&adam, &with_log_std(&mut net, &mut log_std), config.max_grad_norm);
        let rollout = config.rollout();
        Ok(Self {
            sequences: rollout.num_steps.div_ceil(rollout.sequence_length) * setup.num_envs,
            config,
            distribution,
            net,
            log_std,
            group,
            head: Vec::new(),
            values: Vec::new(),
            minibatch: Minibatch::default(),
            passes: Passes::default(),
        })
    }
}

impl PpoLearner {
    /// How likely the policy is to choose these actions, whoever chose them, as logarithms. Rows are standardised as the policy
    /// takes them; nothing is remembered.
    pub fn log_probs(&mut self, input: ActInput<'_>, actions: &[f32], log_probs: &mut [f32]) {
        let mut empty = vec![0.0; input.rows() * self.net.state_width()];
        let starts = vec![true; input.rows()];
        self.net.infer(Sequences::single(input.obs, &starts), &mut empty, &mut self.head, None);
        let heads = self.head.chunks_exact(self.distribution.head_width());
        let rows = heads.zip(actions.chunks_exact(self.distribution.action_width())).zip(log_probs);
        for (row, ((head, action), log_prob)) in rows.enumerate() {
            *log_prob = self.distribution.log_prob(head, self.log_std.as_slice(), input.mask(row), action);
        }
    }
}

impl Actor for PpoLearner {
    fn memory_width(&self) -> usize {
        self.net.state_width()
    }

    fn act(
        &mut self,
        input: ActInput<'_>,
        memory: &mut Memory,
        mode: Mode,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        let now = Sequences::single(input.obs, &memory.starts);
        self.net.infer(now, &mut memory.state, &mut self.head, None);
        let heads = self.head.chunks_exact(self.distribution.head_width());
        let chosen = actions.chunks_exact_mut(self.distribution.action_width());
        for (row, (head, action)) in heads.zip(chosen).enumerate() {
            match mode {
                Mode::Best => self.distribution.mode(head, self.log_std.as_slice(), input.mask(row), action),
                Mode::Sample => self.distribution.sample(head, self.log_std.as_slice(), input.mask(row), rng, action),
            }
        }
        Ok(())
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.net.visit_policy(io)?;
        if !self.log_std.as_slice().is_empty() {
            io.params("log_std", &mut self.log_std)?;
        }
        Ok(())
    }
}

impl RolloutLearner for PpoLearner {
    fn play(
        &mut self,
        input: ActInput<'_>,
        memory: &mut Memory,
        rng: &mut Rng,
        row: ActedRow<'_>,
    ) -> Result<(), LearnError> {
        let ActedRow { actions, log_probs, values } = row;
        let now = Sequences::single(input.obs, &memory.starts);
        self.net.infer(now, &mut memory.state, &mut self.head, Some(&mut self.values));
        let heads = self.head.chunks_exact(self.distribution.head_width());
        let chosen = actions.chunks_exact_mut(self.distribution.action_width());
        for (row, (head, action)) in heads.zip(chosen).enumerate() {
            let mask = input.mask(row);
            log_probs[row] = self.distribution.sample_log_prob(head, self.log_std.as_slice(), mask, rng, action);
        }
        values[..input.rows()].copy_from_slice(&self.values);
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, memory: &[f32], values: &mut [f32]) -> Result<(), LearnError> {
        let going_on = vec![false; if memory.is_empty() { 0 } else { input.rows() }];
        let now = Sequences::single(input.obs, &going_on);
        self.net.infer_values(now, &mut memory.to_vec(), &mut self.values);
        values[..input.rows()].copy_from_slice(&self.values);
        Ok(())
    }

    fn update(&mut self, played: Played<'_>, context: &mut UpdateContext<'_>) -> Result<bool, LearnError> {
        let (config, fraction) = (&self.config, context.fraction());
        let (rate, terms) = (config.learning_rate.at(fraction) as f32, config.terms(fraction));

        // A shuffled minibatch of whole sequences; without a memory these are single steps.
        let sequences = PlayedSequences::new(played, self.net.state_width());
        let size = sequences.in_steps(config.minibatch_size);
        let chosen = self.passes.next(size, context.rng, || sequences.numbers());
        self.minibatch.gather(&sequences, &self.passes.order()[chosen], config.normalize_advantage);

        // loss = -mean min(r A, clip(r, 1 - c, 1 + c) A) + c_v * mean 1/2 (V - G)^2 - c_e * mean entropy
        let (batch, distribution, mut report) = (&self.minibatch, &self.distribution, PpoReport::default());
        let deviations = self.log_std.as_slice().to_vec();
        let (group, log_std, seen) = (&mut self.group, &mut self.log_std, (batch.sequences(), &batch.state[..]));
        // One step of Adam down the gradient of all, clipped as one.
        let norm = self.net.descend(group, log_std, seen, (rate, context.number()), |head, values| {
            let (found, gradient) = batch.loss(distribution, head, values, &deviations, terms);
            report = found;
            (found.loss, [gradient.head, gradient.value], gradient.log_std)
        })?;

        log_step(context.metrics, &report, norm);
        let done = self.passes.stepped(report.approx_kl, config.update_epochs, config.target_kl);
        if done {
            let steps = played.rollout.filled * played.rollout.lanes;
            context.metrics.set("learning_rate", f64::from(rate));
            context.metrics.set("clip_range", f64::from(terms.clip));
            context.metrics.add("explained_variance", explained_variance(played.rollout, steps));
            if let Some(log_std) = self.log_std.as_slice().first() {
                context.metrics.set("std", f64::from(log_std.exp()));
            }
        }
        Ok(done)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.net.visit_value(io)?;
        self.group.visit_state("policy_and_value", io)?;
        self.passes.visit_state(self.sequences, io)
    }
}
