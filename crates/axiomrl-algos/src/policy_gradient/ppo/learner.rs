//! Passes of minibatches over a rollout.

use super::PpoConfig;
use crate::agent::{Diverged, LearnError, Setup, UpdateContext, finite};
use crate::parts::checks::BuildError;
use crate::parts::input::Flatten;
use crate::policy::{ActInput, Actor, Memory, Mode};
use crate::policy_gradient::passes::Passes;
use crate::policy_gradient::ppo_loss::{Minibatch, PpoReport, PpoTerms, ppo_loss};
use crate::policy_gradient::shared::{distribution_for, explained_variance, log_step, standardise, valid_rows};
use crate::regimes::{ActedRow, Played, RolloutLearner};
use crate::state::{StateError, StateIo};
use axiomrl_core::Rollout;
use axiomrl_envs::Rng;
use axiomrl_nn::{
    AdamConfig, Distribution, Init, Mlp, MlpSpec, Optimizer, OptimizerConfig, Params, clip_scale, fused_loss,
    global_norm, gradients, leaf,
};

/// The learner of PPO.
pub struct PpoLearner {
    config: PpoConfig,
    encoder: Flatten,
    distribution: Distribution,
    policy: Mlp,
    value: Mlp,
    /// One log standard deviation per action of a Box; empty for other spaces.
    log_std: Params,
    policy_optimizer: Optimizer,
    value_optimizer: Optimizer,
    log_std_optimizer: Optimizer,
    head: Vec<f32>,
    values: Vec<f32>,
    passes: Passes,
    /// Rows of a whole rollout.
    rows: usize,
    minibatch: Minibatch,
}

impl PpoLearner {
    pub fn new(config: PpoConfig, setup: &Setup) -> Result<Self, BuildError> {
        let distribution = distribution_for(setup.action_space())?;
        let encoder = Flatten::new(setup.observation_space());
        let rows = config.num_steps * setup.num_envs;
        let mut rng = setup.rng("init");
        let spec = |outputs| MlpSpec::new(encoder.width(), &config.hidden_sizes, outputs, config.activation);
        let orthogonal = |output_gain| Init::Orthogonal { hidden_gain: std::f32::consts::SQRT_2, output_gain };
        let policy = Mlp::new(spec(distribution.head_width()), 1, &orthogonal(0.01), &mut rng);
        let value = Mlp::new(spec(1), 1, &orthogonal(1.0), &mut rng);
        let free = if let Distribution::DiagGaussian { d } = distribution { d } else { 0 };
        let log_std = Params::from_vec(1, free, vec![config.log_std_init; free]);
        let adam = OptimizerConfig::Adam(AdamConfig { eps: 1e-5, ..AdamConfig::default() });
        let optimizer = |params: &Params| Optimizer::new(&adam, params.as_slice().len());
        Ok(Self {
            policy_optimizer: optimizer(&policy.params),
            value_optimizer: optimizer(&value.params),
            log_std_optimizer: optimizer(&log_std),
            config,
            encoder,
            distribution,
            policy,
            value,
            log_std,
            head: Vec::new(),
            values: Vec::new(),
            passes: Passes::default(),
            rows,
            minibatch: Minibatch::default(),
        })
    }

    /// One step of gradient descent on the gathered minibatch.
    fn step(&mut self, rate: f32, terms: PpoTerms, update: u64) -> Result<(PpoReport, f32), Diverged> {
        let batch = &self.minibatch;
        let rows = batch.rows;
        let policy_params = self.policy.params.tracked();
        let value_params = self.value.params.tracked();
        let obs = leaf(&batch.obs, [rows, self.encoder.width()]);
        let head = self.policy.forward(obs.clone(), policy_params.clone(), None);
        let value = self.value.forward(obs, value_params.clone(), None);
        let mut report = PpoReport::default();
        let mut log_std_gradient = Vec::new();
        // The standard deviations enter the loss directly, so their gradient needs no graph.
        let loss = fused_loss([head, value], |[head, value]| {
            let (r, g) = ppo_loss(&self.distribution, head, value, self.log_std.as_slice(), batch, terms);
            (report, log_std_gradient) = (r, g.log_std);
            (r.loss, [g.head, g.value])
        });
        finite("the loss", report.loss, update)?;
        let [policy_gradient, value_gradient] = gradients(loss, [&policy_params, &value_params]);
        drop((policy_params, value_params));
        let norm = global_norm(&[&policy_gradient, &value_gradient, &log_std_gradient]);
        finite("the gradient of policy and value", norm, update)?;
        let scale = clip_scale(norm, self.config.max_grad_norm);
        self.policy_optimizer.step(&mut self.policy.params, &policy_gradient, rate, scale);
        self.value_optimizer.step(&mut self.value.params, &value_gradient, rate, scale);
        if !log_std_gradient.is_empty() {
            self.log_std_optimizer.step(&mut self.log_std, &log_std_gradient, rate, scale);
        }
        Ok((report, norm))
    }
}

/// Copies the chosen steps of a rollout side by side.
fn gather(rollout: &Rollout, encoder: &Flatten, chosen: &[u32], normalize: bool, into: &mut Minibatch) {
    let spec = rollout.spec();
    let (action_width, mask_width) = (spec.action_width, spec.mask_width);
    into.rows = chosen.len();
    for list in [&mut into.obs, &mut into.action, &mut into.log_prob, &mut into.advantage] {
        list.clear();
    }
    into.returns.clear();
    into.value.clear();
    into.masks.clear();
    for &at in chosen {
        let at = at as usize;
        into.obs.extend_from_slice(&encoder.encode(rollout.obs.row(at)));
        into.action.extend_from_slice(&rollout.action[at * action_width..(at + 1) * action_width]);
        into.log_prob.push(rollout.log_prob[at]);
        into.advantage.push(rollout.advantage[at]);
        into.returns.push(rollout.returns[at]);
        into.value.push(rollout.value[at]);
        into.masks.extend_from_slice(&rollout.masks[at * mask_width..(at + 1) * mask_width]);
    }
    if normalize && into.rows > 1 {
        standardise(&mut into.advantage);
    }
}

impl Actor for PpoLearner {
    fn act(
        &mut self,
        input: ActInput<'_>,
        _memory: &mut Memory,
        mode: Mode,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        self.policy.infer(&self.encoder.encode(input.obs), input.rows(), &mut self.head);
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
        io.network("policy", &mut self.policy)?;
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
        self.act(input, memory, Mode::Sample, rng, actions)?;
        let heads = self.head.chunks_exact(self.distribution.head_width());
        let chosen = actions.chunks_exact(self.distribution.action_width());
        for (row, (head, action)) in heads.zip(chosen).enumerate() {
            log_probs[row] = self.distribution.log_prob(head, self.log_std.as_slice(), input.mask(row), action);
        }
        RolloutLearner::values(self, input, &memory.state, values)
    }

    fn values(&mut self, input: ActInput<'_>, _memory: &[f32], values: &mut [f32]) -> Result<(), LearnError> {
        self.value.infer(&self.encoder.encode(input.obs), input.rows(), &mut self.values);
        values[..input.rows()].copy_from_slice(&self.values);
        Ok(())
    }

    fn update(&mut self, played: Played<'_>, context: &mut UpdateContext<'_>) -> Result<bool, LearnError> {
        let (rollout, at, config) = (played.rollout, context.fraction(), &self.config);
        let rate = config.learning_rate.at(at) as f32;
        let terms = PpoTerms {
            clip: config.clip_coef.at(at) as f32,
            value_clip: config.value_clip_coef,
            value_weight: config.vf_coef,
            entropy_weight: config.ent_coef.at(at) as f32,
        };
        let chosen = self.passes.next(config.minibatch_size, context.rng, || valid_rows(rollout));
        let chosen = &self.passes.order()[chosen];
        gather(rollout, &self.encoder, chosen, config.normalize_advantage, &mut self.minibatch);
        let (report, norm) = self.step(rate, terms, context.number())?;
        log_step(context.metrics, &report, norm);
        let done = self.passes.stepped(report.approx_kl, self.config.update_epochs, self.config.target_kl);
        if done {
            context.metrics.set("learning_rate", f64::from(rate));
            context.metrics.set("clip_range", f64::from(terms.clip));
            let steps = rollout.filled * rollout.lanes;
            context.metrics.add("explained_variance", explained_variance(rollout, steps));
            if let Some(log_std) = self.log_std.as_slice().first() {
                context.metrics.set("std", f64::from(log_std.exp()));
            }
        }
        Ok(done)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("value", &mut self.value)?;
        io.optimizer("policy", &mut self.policy_optimizer)?;
        io.optimizer("value", &mut self.value_optimizer)?;
        if !self.log_std.as_slice().is_empty() {
            io.optimizer("log_std", &mut self.log_std_optimizer)?;
        }
        self.passes.visit_state(self.rows, io)
    }
}
