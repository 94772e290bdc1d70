//! # PPO: proximal policy optimisation
//!
//! **What it does.** Alternates between playing a few steps with the current policy and improving policy and value
//! function on what was played, without letting the policy move far from the one that played.
//!
//! **When to use it.** Fast simulators, many environments at once, any kind of action space. The safe first choice.
//!
//! **The update.** With the ratio r of new to old probability and the advantage A from GAE:
//! ```text
//! loss = -mean min(r A, clip(r, 1 - c, 1 + c) A) + c_v * mean 1/2 (V - G)^2 - c_e * mean entropy
//! ```
//! minimised by Adam over `update_epochs` passes of shuffled minibatches.
//!
//! **Details that matter.**
//! - A time limit is bootstrapped with the value of the last observation; a termination is not.
//! - Advantages are standardised within each minibatch (`normalize_advantage`).
//! - Box actions are Gaussian with a state-independent standard deviation; they are clipped for the environment
//!   only, and their probability is that of the unclipped action.
//! - Policy and value are separate networks with orthogonal initialisation; the gradient of both is clipped together.
//! - `target_kl` ends the passes early once the policy has moved that far (by 1.5 times).
//! - `learning_rate` and `clip_coef` may be schedules: `{linear: [1e-3, 0]}`.
//! - Masked actions have probability zero and receive no gradient.
//!
//! **What is left out.** Image observations; a shared torso; state-dependent exploration.
//!
//! **Reference.** Schulman and others, Proximal policy optimization algorithms, 2017.

use super::ppo_loss::{Minibatch, PpoReport, PpoTerms, ppo_loss};
use crate::agent::{Agent, Diverged, Setup, finite};
use crate::config::layer_widths;
use crate::parts::checks::BuildError;
use crate::parts::encode::Encoder;
use crate::regimes::{OnPolicy, RolloutLearner, RolloutUpdate};
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Metrics, Rollout, Schedule};
use axiomrl_envs::{ObsRef, Rng, Space};
use axiomrl_nn::{
    Activation, AdamConfig, Distribution, Init, Mlp, MlpSpec, Optimizer, OptimizerConfig, Params, clip_scale,
    fused_loss, global_norm, gradients, leaf,
};
use garde::Validate;
use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of PPO.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct PpoConfig {
    /// Step size of Adam.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Steps of each environment per rollout.
    #[garde(range(min = 1, max = 1_000_000))]
    pub num_steps: usize,
    /// Passes over each rollout.
    #[garde(range(min = 1, max = 1000))]
    pub update_epochs: usize,
    /// Steps per update.
    #[garde(range(min = 1, max = 10_000_000))]
    pub minibatch_size: usize,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Trade-off of bias and variance in the advantage.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gae_lambda: f32,
    /// How far the probability ratio may move.
    #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
    pub clip_coef: Schedule,
    /// How far a value may move per update; absent leaves it free.
    #[garde(inner(range(min = 0.0)))]
    pub value_clip_coef: Option<f32>,
    /// Weight of the entropy bonus.
    #[garde(custom(Schedule::range_ok(0.0, 10.0)))]
    pub ent_coef: Schedule,
    /// Weight of the value loss.
    #[garde(range(min = 0.0, max = 100.0))]
    pub vf_coef: f32,
    /// Largest global norm of the gradient of policy and value together.
    #[garde(range(min = 0.0))]
    pub max_grad_norm: f32,
    /// Standardise advantages within each minibatch.
    pub normalize_advantage: bool,
    /// Divergence at which the passes over a rollout end; absent makes them all.
    #[garde(inner(range(min = 0.0)))]
    pub target_kl: Option<f32>,
    /// Widths of the hidden layers of both networks.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Non-linearity of the hidden layers.
    #[schemars(with = "String")]
    pub activation: Activation,
    /// Logarithm of the initial standard deviation of Box actions.
    #[garde(range(min = -20.0, max = 2.0))]
    pub log_std_init: f32,
}

impl Default for PpoConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(3e-4),
            num_steps: 2048,
            update_epochs: 10,
            minibatch_size: 64,
            gamma: 0.99,
            gae_lambda: 0.95,
            clip_coef: Schedule::Constant(0.2),
            value_clip_coef: None,
            ent_coef: Schedule::Constant(0.0),
            vf_coef: 0.5,
            max_grad_norm: 0.5,
            normalize_advantage: true,
            target_kl: None,
            hidden_sizes: vec![64, 64],
            activation: Activation::Tanh,
            log_std_init: 0.0,
        }
    }
}

/// The learner of PPO.
struct PpoLearner {
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

pub struct Ppo;

impl Algorithm for Ppo {
    type Config = PpoConfig;

    fn build(config: PpoConfig, setup: &Setup) -> Result<Box<dyn Agent>, BuildError> {
        let (num_steps, gamma, lambda) = (config.num_steps, config.gamma, config.gae_lambda);
        Ok(Box::new(OnPolicy::new(PpoLearner::new(config, setup)?, num_steps, gamma, lambda, setup)))
    }
}

impl PpoLearner {
    fn new(config: PpoConfig, setup: &Setup) -> Result<Self, BuildError> {
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

/// What a policy that is sampled from draws its actions from.
pub(crate) fn distribution_for(actions: &Space) -> Result<Distribution, BuildError> {
    match actions {
        Space::Discrete { n } => Ok(Distribution::Categorical { n: *n }),
        Space::MultiDiscrete { nvec } => Ok(Distribution::MultiCategorical { nvec: nvec.clone() }),
        Space::MultiBinary { n } => Ok(Distribution::Bernoulli { n: *n }),
        Space::Box(space) => Ok(Distribution::DiagGaussian { d: space.dim() }),
        Space::Dict { .. } => Err(BuildError::Setting("actions cannot be a Dict".to_owned())),
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

/// To mean 0 and (sample) standard deviation 1.
pub(crate) fn standardise(values: &mut [f32]) {
    let n = values.len() as f64;
    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let (mean, scale) = (mean as f32, 1.0 / (variance.sqrt() as f32 + 1e-8));
    values.iter_mut().for_each(|v| *v = (*v - mean) * scale);
}

/// How much of the variance of the returns the values foresaw: 1 is all, below 0 is worse than none.
pub(crate) fn explained_variance(rollout: &Rollout, n: usize) -> f32 {
    let variance = |values: &mut dyn Iterator<Item = f32>| {
        let (mut sum, mut squares) = (0.0f64, 0.0f64);
        for v in values {
            sum += f64::from(v);
            squares += f64::from(v) * f64::from(v);
        }
        squares / n as f64 - (sum / n as f64).powi(2)
    };
    let total = variance(&mut rollout.returns[..n].iter().copied());
    let left = variance(&mut rollout.returns[..n].iter().zip(&rollout.value[..n]).map(|(g, v)| g - v));
    if total > 0.0 { (1.0 - left / total) as f32 } else { 0.0 }
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

/// What is reported.
pub(crate) const METRICS: &[&str] = &[
    "loss",
    "policy_gradient_loss",
    "value_loss",
    "entropy",
    "approx_kl",
    "clip_fraction",
    "grad_norm",
    "learning_rate",
    "clip_range",
    "explained_variance",
    "std",
];

pub(crate) fn log_step(metrics: &mut Metrics, report: &PpoReport, norm: f32) {
    metrics.add("loss", report.loss);
    metrics.add("policy_gradient_loss", report.policy_loss);
    metrics.add("value_loss", report.value_loss);
    metrics.add("entropy", report.entropy);
    metrics.add("approx_kl", report.approx_kl);
    metrics.add("clip_fraction", report.clip_fraction);
    metrics.add("grad_norm", norm);
}
