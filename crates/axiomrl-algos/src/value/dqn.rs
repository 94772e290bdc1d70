//! # DQN: deep Q-learning
//!
//! **What it does.** Learns the value Q(s, a) of every discrete action with a neural network, from a store of past
//! transitions, and acts greedily on it.
//!
//! **When to use it.** Few discrete actions, a simulator that is not too fast, and no need for a stochastic policy.
//!
//! **The update.** For a batch of transitions, with a slowly moving copy Q' of the network:
//! ```text
//! y    = R + D * max_a Q'(s', a)        D = gamma^k, or 0 where the episode terminated
//! loss = mean Huber(Q(s, a) - y)
//! ```
//!
//! **Details that matter.**
//! - Termination and time limits are told apart: a time limit does not make the future worthless.
//! - `target_update_interval` counts environment steps; `tau` below 1 blends instead of copying.
//! - `train_frequency` and `gradient_steps` set how often and how much is learned: 256 and 128 (learn in bursts) is
//!   a well-tried setting for CartPole; `gradient_steps: -1` makes as many updates as steps were taken.
//! - `double_q` picks the next action with the online network and values it with the copy.
//! - `n_step` and `prioritized_replay` change which transitions are learned from, not the update.
//! - Before `learning_starts`, actions are uniformly random.
//! - Forbidden actions (masks) are neither taken nor bootstrapped from.
//!
//! **What is left out.** Image observations.
//!
//! **Reference.** Mnih and others, Human-level control through deep reinforcement learning, 2015.

use crate::agent::{Agent, Diverged, Progress, Setup, finite};
use crate::config::layer_widths;
use crate::parts::actions::{argmax, random_choice};
use crate::parts::checks::BuildError;
use crate::parts::encode::Encoder;
use crate::regimes::{OffPolicy, ReplayLearner, ReplaySettings, Update};
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use axiomrl_core::value_functions::{huber, huber_grad};
use axiomrl_core::{PrioritySpec, Schedule};
use axiomrl_envs::{ObsRef, Rng, Space};
use axiomrl_nn::{
    Activation, AdamConfig, Init, Mlp, MlpSpec, Optimizer, OptimizerConfig, clip_scale, fused_loss, global_norm,
    gradients, leaf,
};
use garde::Validate;
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of DQN.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct DqnConfig {
    /// Step size of Adam.
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
    /// Environment steps between updates of the target network.
    #[garde(range(min = 1))]
    pub target_update_interval: u64,
    /// How much of the online network the target takes over: 1 copies.
    #[garde(range(min = 0.0, max = 1.0))]
    pub tau: f32,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Chance of a random action at the start.
    #[garde(range(min = 0.0, max = 1.0))]
    pub epsilon_start: f64,
    /// Chance of a random action after `exploration_fraction` of the run.
    #[garde(range(min = 0.0, max = 1.0))]
    pub epsilon_end: f64,
    /// Part of the run over which the chance falls.
    #[garde(range(min = 0.0, max = 1.0))]
    pub exploration_fraction: f64,
    /// Largest global norm of a gradient.
    #[garde(range(min = 0.0))]
    pub max_grad_norm: f32,
    /// Widths of the hidden layers.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Non-linearity of the hidden layers.
    #[schemars(with = "String")]
    pub activation: Activation,
    /// Choose the next action with the online network, value it with the target.
    pub double_q: bool,
    /// Rewards summed before bootstrapping.
    #[garde(range(min = 1, max = 1000))]
    pub n_step: usize,
    /// Draw transitions in proportion to their error.
    pub prioritized_replay: bool,
    /// How strongly the error counts: 0 is uniform.
    #[garde(range(min = 0.0, max = 1.0))]
    pub prioritized_alpha: f32,
    /// Correction for the uneven drawing, over the run.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub prioritized_beta: Schedule,
    /// Smallest error, so that no transition is forgotten.
    #[garde(range(min = 0.0))]
    pub prioritized_eps: f32,
}

impl Default for DqnConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(1e-3),
            buffer_capacity: 100_000,
            batch_size: 64,
            learning_starts: 1000,
            train_frequency: 1,
            gradient_steps: 1,
            target_update_interval: 250,
            tau: 1.0,
            gamma: 0.99,
            epsilon_start: 1.0,
            epsilon_end: 0.05,
            exploration_fraction: 0.3,
            max_grad_norm: 10.0,
            hidden_sizes: vec![64, 64],
            activation: Activation::Relu,
            double_q: false,
            n_step: 1,
            prioritized_replay: false,
            prioritized_alpha: 0.6,
            prioritized_beta: Schedule::Linear { start: 0.4, end: 1.0, fraction: 1.0 },
            prioritized_eps: 1e-6,
        }
    }
}

/// The learner of DQN.
struct DqnLearner {
    config: DqnConfig,
    encoder: Encoder,
    actions: usize,
    online: Mlp,
    target: Mlp,
    optimizer: Optimizer,
    epsilon: Schedule,
    q: Vec<f32>,
    next_q: Vec<f32>,
    online_next_q: Vec<f32>,
    targets: Vec<f32>,
}

pub struct Dqn;

impl Algorithm for Dqn {
    type Config = DqnConfig;

    fn build(config: DqnConfig, setup: &Setup) -> Result<Box<dyn Agent>, BuildError> {
        let Space::Discrete { n: actions } = setup.action_space else {
            return Err(BuildError::Setting("DQN acts in Discrete spaces".to_owned()));
        };
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
            priority: config
                .prioritized_replay
                .then_some(PrioritySpec { alpha: config.prioritized_alpha, eps: config.prioritized_eps }),
            priority_beta: config.prioritized_beta.clone(),
        };
        Ok(Box::new(OffPolicy::new(DqnLearner::new(config, actions, setup), settings, setup)))
    }
}

impl DqnLearner {
    fn new(config: DqnConfig, actions: usize, setup: &Setup) -> Self {
        let encoder = Encoder::new(&setup.observation_space);
        let spec = MlpSpec::new(encoder.width(), &config.hidden_sizes, actions, config.activation);
        let online = Mlp::new(spec, 1, &Init::pytorch(), &mut setup.rng("init"));
        let target = online.clone();
        let optimizer = Optimizer::new(&OptimizerConfig::Adam(AdamConfig::default()), online.params.as_slice().len());
        let epsilon = Schedule::Linear {
            start: config.epsilon_start,
            end: config.epsilon_end,
            fraction: config.exploration_fraction,
        };
        Self {
            config,
            encoder,
            actions,
            online,
            target,
            optimizer,
            epsilon,
            q: Vec::new(),
            next_q: Vec::new(),
            online_next_q: Vec::new(),
            targets: Vec::new(),
        }
    }

    fn mask<'a>(&self, masks: &'a [bool], row: usize) -> &'a [bool] {
        if masks.is_empty() { &[] } else { &masks[row * self.actions..(row + 1) * self.actions] }
    }

    /// y = R + D * Q'(s', a*) for every row.
    fn compute_targets(&mut self, update: &Update<'_>) {
        let batch = update.batch;
        let next_obs = self.encoder.encode(batch.next_obs.as_ref());
        self.target.infer(&next_obs, batch.rows, &mut self.next_q);
        if self.config.double_q {
            self.online.infer(&next_obs, batch.rows, &mut self.online_next_q);
        }
        self.targets.clear();
        for row in 0..batch.rows {
            let values = &self.next_q[row * self.actions..(row + 1) * self.actions];
            let mask = self.mask(&batch.next_mask, row);
            let chosen = if self.config.double_q {
                argmax(&self.online_next_q[row * self.actions..(row + 1) * self.actions], mask)
            } else {
                argmax(values, mask)
            };
            self.targets.push(batch.reward[row] + batch.discount[row] * values[chosen]);
        }
    }
}

impl ReplayLearner for DqnLearner {
    fn explore(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        progress: Progress,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        self.predict(obs, masks, rows, true, rng, actions);
        let epsilon = self.epsilon.at(progress.fraction());
        for (row, action) in actions.iter_mut().enumerate() {
            if rng.random::<f64>() < epsilon {
                *action = random_choice(self.actions, self.mask(masks, row), rng) as f32;
            }
        }
    }

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        _deterministic: bool,
        _rng: &mut Rng,
        actions: &mut [f32],
    ) {
        self.online.infer(&self.encoder.encode(obs), rows, &mut self.q);
        for (row, action) in actions.iter_mut().enumerate() {
            let values = &self.q[row * self.actions..(row + 1) * self.actions];
            *action = argmax(values, self.mask(masks, row)) as f32;
        }
    }

    fn values(&mut self, obs: ObsRef<'_>, masks: &[bool], rows: usize, values: &mut [f32]) {
        self.online.infer(&self.encoder.encode(obs), rows, &mut self.q);
        for (row, value) in values.iter_mut().enumerate() {
            let q = &self.q[row * self.actions..(row + 1) * self.actions];
            *value = q[argmax(q, self.mask(masks, row))];
        }
    }

    fn update(&mut self, update: Update<'_>) -> Result<(), Diverged> {
        self.compute_targets(&update);
        let batch = update.batch;
        let rows = batch.rows;
        let targets = &self.targets;
        let actions = self.actions;
        let errors = update.errors;
        let (mut value_sum, mut value_max) = (0.0, f32::MIN);

        let params = self.online.params.tracked();
        let obs = self.encoder.encode(batch.obs.as_ref());
        let q = self.online.forward(leaf(&obs, [rows, self.encoder.width()]), params.clone(), None);
        let mut loss_value = 0.0;
        let loss = fused_loss([q], |[q]| {
            let mut gradient = vec![0.0; q.len()];
            for (row, target) in targets.iter().enumerate() {
                let at = row * actions + batch.action[row] as usize;
                let error = q[at] - target;
                let weight = batch.weight[row] / rows as f32;
                loss_value += weight * huber(error, 1.0);
                gradient[at] = weight * huber_grad(error, 1.0);
                errors.push(error.abs());
                value_sum += q[at];
                value_max = value_max.max(q[at]);
            }
            (loss_value, [gradient])
        });
        finite("the loss", loss_value, update.number)?;
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        let norm = finite("the gradient of the Q-network", global_norm(&[&gradient]), update.number)?;
        let rate = self.config.learning_rate.at(update.progress.fraction()) as f32;
        self.optimizer.step(&mut self.online.params, &gradient, rate, clip_scale(norm, self.config.max_grad_norm));

        let n = rows as f32;
        update.metrics.add("loss", loss_value);
        update.metrics.add("q_value_mean", value_sum / n);
        update.metrics.add("q_max", value_max);
        update.metrics.add("target_mean", targets.iter().sum::<f32>() / n);
        update.metrics.add("td_error_mean", errors.iter().sum::<f32>() / n);
        update.metrics.add("grad_norm", norm);
        update.metrics.set("learning_rate", f64::from(rate));
        update.metrics.set("exploration_rate", self.epsilon.at(update.progress.fraction()));
        Ok(())
    }

    fn stepped(&mut self, before: u64, after: u64) {
        let every = self.config.target_update_interval;
        if before / every < after / every {
            self.target.params.polyak_from(&self.online.params, self.config.tau);
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
        ]
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.mlp("q", &mut self.online)?;
        io.mlp("q_target", &mut self.target)?;
        io.optimizer("q", &mut self.optimizer)
    }
}
