//! Passes of minibatches over a rollout.

use super::PpoConfig;
use crate::agent::{Diverged, Setup, finite};
use crate::parts::checks::BuildError;
use crate::parts::encode::Encoder;
use crate::policy_gradient::ppo_loss::{Minibatch, PpoReport, PpoTerms, ppo_loss};
use crate::policy_gradient::shared::{METRICS, distribution_for, explained_variance, log_step, standardise};
use crate::regimes::{RolloutLearner, RolloutUpdate};
use crate::state::{StateError, StateIo};
use axiomrl_core::Rollout;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{
    AdamConfig, Distribution, Init, Mlp, MlpSpec, Optimizer, OptimizerConfig, Params, clip_scale, fused_loss,
    global_norm, gradients, leaf,
};
use rand::seq::SliceRandom;

/// The learner of PPO.
pub struct PpoLearner {
    config: PpoConfig,
    encoder: Encoder,
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
    order: Vec<u32>,
    minibatch: Minibatch,
}

impl PpoLearner {
    pub fn new(config: PpoConfig, setup: &Setup) -> Result<Self, BuildError> {
        let distribution = distribution_for(&setup.action_space)?;
        let encoder = Encoder::new(&setup.observation_space);
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
            order: Vec::new(),
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
fn gather(rollout: &Rollout, encoder: &Encoder, chosen: &[u32], normalize: bool, into: &mut Minibatch) {
    let spec = rollout.spec();
    let (obs_width, action_width, mask_width) = (spec.obs_width, spec.action_width, spec.mask_width);
    into.rows = chosen.len();
    for list in [&mut into.obs, &mut into.action, &mut into.log_prob, &mut into.advantage] {
        list.clear();
    }
    into.returns.clear();
    into.value.clear();
    into.masks.clear();
    for &at in chosen {
        let at = at as usize;
        into.obs.extend_from_slice(&encoder.encode(rollout.obs.rows(at, at + 1, obs_width)));
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

impl RolloutLearner for PpoLearner {
    fn act(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        rng: &mut Rng,
        actions: &mut [f32],
        log_probs: &mut [f32],
        values: &mut [f32],
    ) {
        self.predict(obs, masks, rows, false, rng, actions);
        let (head_width, action_width) = (self.distribution.head_width(), self.distribution.action_width());
        let mask_width = masks.len() / rows;
        for row in 0..rows {
            log_probs[row] = self.distribution.log_prob(
                &self.head[row * head_width..(row + 1) * head_width],
                self.log_std.as_slice(),
                &masks[row * mask_width..(row + 1) * mask_width],
                &actions[row * action_width..(row + 1) * action_width],
            );
        }
        RolloutLearner::values(self, obs, rows, values);
    }

    fn values(&mut self, obs: ObsRef<'_>, rows: usize, values: &mut [f32]) {
        self.value.infer(&self.encoder.encode(obs), rows, &mut self.values);
        values[..rows].copy_from_slice(&self.values);
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
        self.policy.infer(&self.encoder.encode(obs), rows, &mut self.head);
        let (head_width, action_width) = (self.distribution.head_width(), self.distribution.action_width());
        let mask_width = masks.len() / rows;
        for row in 0..rows {
            let head = &self.head[row * head_width..(row + 1) * head_width];
            let mask = &masks[row * mask_width..(row + 1) * mask_width];
            let action = &mut actions[row * action_width..(row + 1) * action_width];
            if deterministic {
                self.distribution.mode(head, self.log_std.as_slice(), mask, action);
            } else {
                self.distribution.sample(head, self.log_std.as_slice(), mask, rng, action);
            }
        }
    }

    fn update(&mut self, update: RolloutUpdate<'_>) -> Result<(), Diverged> {
        let RolloutUpdate { rollout, progress, rng, metrics, updates } = update;
        let at = progress.fraction();
        let rate = self.config.learning_rate.at(at) as f32;
        let terms = PpoTerms {
            clip: self.config.clip_coef.at(at) as f32,
            value_clip: self.config.value_clip_coef,
            value_weight: self.config.vf_coef,
            entropy_weight: self.config.ent_coef.at(at) as f32,
        };
        let steps = rollout.filled * rollout.lanes;
        self.order.clear();
        self.order.extend(0..steps as u32);
        let mut order = std::mem::take(&mut self.order);
        let outcome = 'epochs: {
            for _ in 0..self.config.update_epochs {
                order.shuffle(rng);
                let mut divergence = 0.0f32;
                for chosen in order.chunks(self.config.minibatch_size) {
                    gather(rollout, &self.encoder, chosen, self.config.normalize_advantage, &mut self.minibatch);
                    *updates += 1;
                    match self.step(rate, terms, *updates) {
                        Ok((report, norm)) => {
                            log_step(metrics, &report, norm);
                            divergence = divergence.max(report.approx_kl);
                        }
                        Err(diverged) => break 'epochs Err(diverged),
                    }
                }
                if self.config.target_kl.is_some_and(|limit| divergence > 1.5 * limit) {
                    break;
                }
            }
            Ok(())
        };
        self.order = order;
        outcome?;
        metrics.set("learning_rate", f64::from(rate));
        metrics.set("clip_range", f64::from(terms.clip));
        metrics.add("explained_variance", explained_variance(rollout, steps));
        if let Some(log_std) = self.log_std.as_slice().first() {
            metrics.set("std", f64::from(log_std.exp()));
        }
        Ok(())
    }

    fn metric_names(&self) -> &'static [&'static str] {
        METRICS
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("policy", &mut self.policy)?;
        io.network("value", &mut self.value)?;
        io.optimizer("policy", &mut self.policy_optimizer)?;
        io.optimizer("value", &mut self.value_optimizer)?;
        if !self.log_std.as_slice().is_empty() {
            io.params("log_std", &mut self.log_std)?;
            io.optimizer("log_std", &mut self.log_std_optimizer)?;
        }
        Ok(())
    }
}
