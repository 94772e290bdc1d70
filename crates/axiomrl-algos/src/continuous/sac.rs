//! # SAC: soft actor-critic
//!
//! **What it does.** Learns a stochastic policy for continuous actions that earns much and stays as random as it can
//! afford, from a store of past transitions.
//!
//! **When to use it.** Continuous actions, a simulator that is slow enough to make every step count. Robust with its
//! defaults.
//!
//! **The update.** With a' and log pi(a') drawn from the current policy at s', and slowly moving critics Q':
//! ```text
//! y        = R + D * (min_i Q'_i(s', a') - alpha * log pi(a'))
//! critics:   sum_i mean (Q_i(s, a) - y)^2
//! actor:     mean (alpha * log pi(a) - min_i Q_i(s, a)),  a drawn from the policy at s
//! alpha:     -log alpha * mean (log pi(a) + target_entropy)
//! ```
//!
//! **Details that matter.**
//! - Actions are tanh-squashed Gaussians in [-1, 1]; the log-probability uses the form that stays exact at the edges.
//! - The two critics are one ensemble network; the actor's gradient passes through them and leaves them unchanged.
//! - `ent_coef: auto` adapts alpha to `target_entropy` (minus the number of actions by default); a number fixes it.
//! - Termination and time limits are told apart: a time limit does not make the future worthless.
//! - Before `learning_starts`, actions are uniformly random.
//!
//! **What is left out.** Image observations; state-dependent exploration.
//!
//! **Reference.** Haarnoja and others, Soft actor-critic algorithms and applications, 2018.

use crate::agent::{Agent, Diverged, Progress, Setup, finite};
use crate::config::layer_widths;
use crate::parts::checks::BuildError;
use crate::parts::encode::Encoder;
use crate::parts::temperature::{Temperature, TemperatureSetting};
use crate::regimes::{OffPolicy, ReplayLearner, ReplaySettings, Update};
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use axiomrl_core::Schedule;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{
    Activation, AdamConfig, Init, LogStdBounds, Mlp, MlpSpec, Optimizer, OptimizerConfig, Tensor, fused_loss,
    global_norm, gradients, leaf, tanh_gaussian, tanh_gaussian_sample,
};
use garde::Validate;
use rand_distr::{Distribution as _, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of SAC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct SacConfig {
    /// Step size of Adam, for actor, critics and temperature.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Transitions kept.
    #[garde(range(min = 1, max = 100_000_000))]
    pub buffer_capacity: usize,
    /// Transitions per update.
    #[garde(range(min = 1, max = 65_536))]
    pub batch_size: usize,
    /// Random steps before the first update.
    pub learning_starts: u64,
    /// Environment steps between bursts of updates.
    #[garde(range(min = 1))]
    pub train_frequency: u64,
    /// Updates in a burst; -1 makes as many as steps were taken.
    #[garde(range(min = -1, max = 100_000))]
    pub gradient_steps: i64,
    /// How much of the critics the target critics take over per update.
    #[garde(range(min = 0.0, max = 1.0))]
    pub tau: f32,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Weight of the entropy: `auto`, or a number that stays fixed.
    pub ent_coef: TemperatureSetting,
    /// Temperature at the start when it is adapted.
    #[garde(range(min = 1e-8, max = 1000.0))]
    pub ent_coef_init: f32,
    /// Entropy to aim for; absent means minus the number of actions.
    pub target_entropy: Option<f32>,
    /// Widths of the hidden layers of actor and critics.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Non-linearity of the hidden layers.
    #[schemars(with = "String")]
    pub activation: Activation,
    /// Rewards summed before bootstrapping.
    #[garde(range(min = 1, max = 1000))]
    pub n_step: usize,
}

impl Default for SacConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(3e-4),
            buffer_capacity: 1_000_000,
            batch_size: 256,
            learning_starts: 100,
            train_frequency: 1,
            gradient_steps: 1,
            tau: 0.005,
            gamma: 0.99,
            ent_coef: TemperatureSetting::Auto,
            ent_coef_init: 1.0,
            target_entropy: None,
            hidden_sizes: vec![256, 256],
            activation: Activation::Relu,
            n_step: 1,
        }
    }
}

const LOG_STD: LogStdBounds = LogStdBounds::Clamp(-20.0, 2.0);

/// The learner of SAC.
struct SacLearner {
    config: SacConfig,
    encoder: Encoder,
    actions: usize,
    actor: Mlp,
    /// Both critics: a network with two members.
    critic: Mlp,
    critic_target: Mlp,
    actor_optimizer: Optimizer,
    critic_optimizer: Optimizer,
    temperature: Temperature,
    scratch: Scratch,
}

/// Buffers that are reused from update to update.
#[derive(Default)]
struct Scratch {
    head: Vec<f32>,
    noise: Vec<f32>,
    action: Vec<f32>,
    log_prob: Vec<f32>,
    joint: Vec<f32>,
    q: Vec<f32>,
    target: Vec<f32>,
}

pub struct Sac;

impl Algorithm for Sac {
    type Config = SacConfig;

    fn build(config: SacConfig, setup: &Setup) -> Result<Box<dyn Agent>, BuildError> {
        if config.n_step > config.buffer_capacity {
            return Err(BuildError::Setting(format!(
                "`n_step` {} is longer than `buffer_capacity` {}; make the buffer larger",
                config.n_step, config.buffer_capacity
            )));
        }
        let settings = ReplaySettings {
            capacity: config.buffer_capacity,
            batch_size: config.batch_size,
            learning_starts: config.learning_starts,
            train_frequency: config.train_frequency,
            gradient_steps: u64::try_from(config.gradient_steps).ok(),
            n_step: config.n_step,
            gamma: config.gamma,
            priority: None,
            priority_beta: Schedule::Constant(1.0),
        };
        Ok(Box::new(OffPolicy::new(SacLearner::new(config, setup), settings, setup)))
    }
}

impl SacLearner {
    fn new(config: SacConfig, setup: &Setup) -> Self {
        let encoder = Encoder::new(&setup.observation_space);
        let actions = setup.action_width();
        let mut rng = setup.rng("init");
        let spec = |inputs, outputs| MlpSpec::new(inputs, &config.hidden_sizes, outputs, config.activation);
        let actor = Mlp::new(spec(encoder.width(), 2 * actions), 1, &Init::pytorch(), &mut rng);
        let critic = Mlp::new(spec(encoder.width() + actions, 1), 2, &Init::pytorch(), &mut rng);
        let critic_target = critic.clone();
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let target_entropy = config.target_entropy.unwrap_or(-(actions as f32));
        Self {
            actor_optimizer: Optimizer::new(&adam, actor.params.as_slice().len()),
            critic_optimizer: Optimizer::new(&adam, critic.params.as_slice().len()),
            temperature: Temperature::new(config.ent_coef, config.ent_coef_init, target_entropy),
            config,
            encoder,
            actions,
            actor,
            critic,
            critic_target,
            scratch: Scratch::default(),
        }
    }

    fn rate(&self, progress: Progress) -> f32 {
        self.config.learning_rate.at(progress.fraction()) as f32
    }

    /// Draws an action and its log-probability for each row into the scratch buffers.
    fn sample(&mut self, obs: &[f32], rows: usize, rng: &mut Rng) {
        let s = &mut self.scratch;
        self.actor.infer(obs, rows, &mut s.head);
        fill_normal(&mut s.noise, rows * self.actions, rng);
        s.action.resize(rows * self.actions, 0.0);
        s.log_prob.resize(rows, 0.0);
        tanh_gaussian_sample(&s.head, &s.noise, LOG_STD, &mut s.action, &mut s.log_prob);
    }

    /// y = R + D * (min_i Q'_i(s', a') - alpha * log pi(a')).
    fn compute_targets(&mut self, update: &mut Update<'_>) {
        let batch = update.batch;
        let next_obs = self.encoder.encode(batch.next_obs.as_ref());
        self.sample(&next_obs, batch.rows, update.rng);
        let alpha = self.temperature.value();
        let s = &mut self.scratch;
        join_columns(&next_obs, &s.action, batch.rows, &mut s.joint);
        self.critic_target.infer(&s.joint, batch.rows, &mut s.q);
        let (first, second) = s.q.split_at(batch.rows);
        s.target.clear();
        s.target.extend((0..batch.rows).map(|row| {
            let value = first[row].min(second[row]) - alpha * s.log_prob[row];
            batch.reward[row] + batch.discount[row] * value
        }));
    }

    fn update_critics(&mut self, obs: &[f32], update: &mut Update<'_>) -> Result<(), Diverged> {
        let batch = update.batch;
        let rows = batch.rows;
        let s = &mut self.scratch;
        join_columns(obs, &batch.action, rows, &mut s.joint);
        let params = self.critic.params.tracked();
        let joint = leaf(&s.joint, [rows, self.encoder.width() + self.actions]);
        let q = self.critic.forward(joint, params.clone(), None);
        let (mut loss_value, mut q_sum, mut q_max) = (0.0, 0.0, f32::MIN);
        let errors = &mut *update.errors;
        let loss = fused_loss([q], |[q]| {
            errors.resize(rows, 0.0);
            let mut gradient = vec![0.0; q.len()];
            for (at, &value) in q.iter().enumerate() {
                let row = at % rows;
                let weight = batch.weight[row] / rows as f32;
                let error = value - s.target[row];
                loss_value += 0.5 * weight * error * error;
                gradient[at] = weight * error;
                errors[row] += 0.5 * error.abs();
                q_sum += value;
                q_max = q_max.max(value);
            }
            (loss_value, [gradient])
        });
        finite("the critic loss", loss_value, update.number)?;
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        let norm = finite("the gradient of the critics", global_norm(&[&gradient]), update.number)?;
        let rate = self.config.learning_rate.at(update.progress.fraction()) as f32;
        self.critic_optimizer.step(&mut self.critic.params, &gradient, rate, 1.0);
        update.metrics.add("critic_loss", loss_value);
        update.metrics.add("q_value_mean", q_sum / (2 * rows) as f32);
        update.metrics.add("q_max", q_max);
        update.metrics.add("target_q_mean", s.target.iter().sum::<f32>() / rows as f32);
        update.metrics.add("critic_grad_norm", norm);
        Ok(())
    }

    fn update_actor(&mut self, obs: &[f32], update: &mut Update<'_>) -> Result<(), Diverged> {
        let rows = update.batch.rows;
        let (width, d) = (self.encoder.width(), self.actions);
        let alpha = self.temperature.value();
        fill_normal(&mut self.scratch.noise, rows * d, update.rng);

        let params = self.actor.params.tracked();
        let obs = leaf(obs, [rows, width]);
        let head = self.actor.forward(obs.clone(), params.clone(), None).reshape([rows, 2 * d]);
        let drawn = tanh_gaussian(head, &self.scratch.noise, LOG_STD);
        let joint = Tensor::cat(vec![obs, drawn.clone().slice([0..rows, 0..d])], 1);
        let q = self.critic.forward(joint, self.critic.params.frozen(), None).reshape([2 * rows, 1]);
        let (mut loss_value, mut log_prob_mean) = (0.0, 0.0);
        let loss = fused_loss([drawn, q], |[drawn, q]| {
            let share = 1.0 / rows as f32;
            let mut drawn_gradient = vec![0.0; drawn.len()];
            let mut q_gradient = vec![0.0; q.len()];
            for row in 0..rows {
                let log_prob = drawn[row * (d + 1) + d];
                let smaller = if q[row] <= q[rows + row] { row } else { rows + row };
                loss_value += share * (alpha * log_prob - q[smaller]);
                log_prob_mean += share * log_prob;
                drawn_gradient[row * (d + 1) + d] = share * alpha;
                q_gradient[smaller] = -share;
            }
            (loss_value, [drawn_gradient, q_gradient])
        });
        finite("the actor loss", loss_value, update.number)?;
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        let norm = finite("the gradient of the actor", global_norm(&[&gradient]), update.number)?;
        let rate = self.rate(update.progress);
        self.actor_optimizer.step(&mut self.actor.params, &gradient, rate, 1.0);
        self.temperature.update(log_prob_mean, rate);
        update.metrics.add("actor_loss", loss_value);
        update.metrics.add("entropy", -log_prob_mean);
        update.metrics.add("actor_grad_norm", norm);
        update.metrics.add("ent_coef", alpha);
        update.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }
}

fn fill_normal(into: &mut Vec<f32>, len: usize, rng: &mut Rng) {
    into.clear();
    into.extend((0..len).map(|_| -> f32 { StandardNormal.sample(rng) }));
}

/// Rows of `a` followed by rows of `b`.
fn join_columns(a: &[f32], b: &[f32], rows: usize, into: &mut Vec<f32>) {
    let (wa, wb) = (a.len() / rows, b.len() / rows);
    into.clear();
    for row in 0..rows {
        into.extend_from_slice(&a[row * wa..(row + 1) * wa]);
        into.extend_from_slice(&b[row * wb..(row + 1) * wb]);
    }
}

impl ReplayLearner for SacLearner {
    fn explore(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        _progress: Progress,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        self.predict(obs, masks, rows, false, rng, actions);
    }

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        _masks: &[bool],
        rows: usize,
        deterministic: bool,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        let obs = self.encoder.encode(obs);
        if deterministic {
            self.actor.infer(&obs, rows, &mut self.scratch.head);
            for (action, head) in actions.chunks_mut(self.actions).zip(self.scratch.head.chunks(2 * self.actions)) {
                for (a, mean) in action.iter_mut().zip(head) {
                    *a = mean.tanh();
                }
            }
        } else {
            self.sample(&obs, rows, rng);
            actions.copy_from_slice(&self.scratch.action);
        }
    }

    fn values(&mut self, obs: ObsRef<'_>, masks: &[bool], rows: usize, values: &mut [f32]) {
        let mut actions = vec![0.0; rows * self.actions];
        // The deterministic action draws nothing.
        self.predict(obs, masks, rows, true, &mut axiomrl_core::stream(0, "unused"), &mut actions);
        let s = &mut self.scratch;
        join_columns(&self.encoder.encode(obs), &actions, rows, &mut s.joint);
        self.critic.infer(&s.joint, rows, &mut s.q);
        let (first, second) = s.q.split_at(rows);
        for (value, (a, b)) in values.iter_mut().zip(first.iter().zip(second)) {
            *value = a.min(*b);
        }
    }

    fn update(&mut self, mut update: Update<'_>) -> Result<(), Diverged> {
        self.compute_targets(&mut update);
        let obs = self.encoder.encode(update.batch.obs.as_ref());
        self.update_critics(&obs, &mut update)?;
        self.update_actor(&obs, &mut update)?;
        self.critic_target.params.polyak_from(&self.critic.params, self.config.tau);
        Ok(())
    }

    fn metric_names(&self) -> &'static [&'static str] {
        &[
            "critic_loss",
            "actor_loss",
            "q_value_mean",
            "q_max",
            "target_q_mean",
            "entropy",
            "ent_coef",
            "critic_grad_norm",
            "actor_grad_norm",
            "learning_rate",
        ]
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.mlp("actor", &mut self.actor)?;
        io.mlp("critic", &mut self.critic)?;
        io.mlp("critic_target", &mut self.critic_target)?;
        io.optimizer("actor", &mut self.actor_optimizer)?;
        io.optimizer("critic", &mut self.critic_optimizer)?;
        self.temperature.exchange(io)
    }
}
