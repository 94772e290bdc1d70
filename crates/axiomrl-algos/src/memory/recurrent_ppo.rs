//! # Recurrent PPO
//!
//! **What it does.** Proximal policy optimisation with an LSTM in the policy and in the value function, so that both can act
//! on what was seen earlier.
//!
//! **When to use it.** As PPO, where observations do not tell everything: velocities are missing, a sign was passed long ago.
//!
//! **The update.** That of `ppo`, on whole sequences instead of single steps: rollouts are cut into `sequence_length` steps,
//! each begins with the memory the policy had there, and the gradient flows back through time within it.
//! ```text
//! loss = -mean min(r A, clip(r, 1 - c, 1 + c) A) + c_v * mean 1/2 (V - G)^2 - c_e * mean entropy
//! ```
//!
//! **Details that matter.**
//! - The memory is emptied where an episode begins, both when acting and within a sequence.
//! - A minibatch is as many sequences as fit into `minibatch_size` steps, one at least. Sequences are shuffled, steps are not.
//! - The values at a time limit and at the end of a rollout are those of the memory that led there.
//! - Policy and value have a memory each; `shared: true` gives them one together, at half the price.
//! - `cell: gru` takes a gated recurrent unit instead of the LSTM. `hidden_sizes` are layers before the memory, `head_sizes`
//!   layers after it.
//! - Everything else is as in `ppo`: advantages standardised per minibatch, Gaussian Box actions, masks, schedules,
//!   `target_kl`.
//!
//! **What is left out.** More than one layer of memory.
//!
//! **References.** Schulman and others, Proximal policy optimization algorithms, 2017; Hochreiter and Schmidhuber, Long
//! short-term memory, 1997.

use super::actor_critic::ActorCritic;
use super::minibatches::{SequenceMinibatch, Source};
use super::torso::{Sequences, Torso, TorsoSpec};
use crate::agent::{Agent, Diverged, Setup, finite};
use crate::config::{Problem, choices, layer_widths};
use crate::parts::checks::BuildError;
use crate::parts::group::{ParamGroup, slices};
use crate::parts::sight::Vision;
use crate::policy::ppo_loss::{PpoReport, PpoTerms};
use crate::policy::shared::{distribution_for, explained_variance, log_step};
use crate::regimes::{RecurrentLearner, RecurrentRollout, RecurrentSettings, RecurrentUpdate};
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use axiomrl_core::Schedule;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{Activation, AdamConfig, CellKind, Distribution, Init, Mlp, MlpSpec, OptimizerConfig, Params};
use garde::Validate;
use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Settings of recurrent PPO.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct RecurrentPpoConfig {
    /// Step size of Adam.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Steps of each environment per rollout.
    #[garde(range(min = 1, max = 1_000_000))]
    pub num_steps: usize,
    /// Steps of a sequence; the last one of a rollout may be shorter.
    #[garde(range(min = 1, max = 1_000_000))]
    pub sequence_length: usize,
    /// Passes over each rollout.
    #[garde(range(min = 1, max = 1000))]
    pub update_epochs: usize,
    /// Steps per update, in whole sequences.
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
    /// What looks at images, before the layers before the memory.
    pub vision: Vision,
    /// Widths of the layers before the memory; without any it sees the observation itself.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Kind of memory.
    #[schemars(schema_with = "choices::<CellKind>")]
    pub cell: CellKind,
    /// Width of the memory.
    #[garde(range(min = 1, max = 16_384))]
    pub recurrent_hidden_size: usize,
    /// Widths of the hidden layers after the memory.
    #[garde(custom(layer_widths))]
    pub head_sizes: Vec<usize>,
    /// One memory for policy and value together.
    pub shared: bool,
    /// Non-linearity of the hidden layers.
    #[schemars(schema_with = "choices::<Activation>")]
    pub activation: Activation,
    /// Logarithm of the initial standard deviation of Box actions.
    #[garde(range(min = -20.0, max = 2.0))]
    pub log_std_init: f32,
}

impl Default for RecurrentPpoConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(3e-4),
            num_steps: 128,
            sequence_length: 32,
            update_epochs: 10,
            minibatch_size: 128,
            gamma: 0.99,
            gae_lambda: 0.95,
            clip_coef: Schedule::Constant(0.2),
            value_clip_coef: None,
            ent_coef: Schedule::Constant(0.0),
            vf_coef: 0.5,
            max_grad_norm: 0.5,
            normalize_advantage: true,
            target_kl: None,
            vision: Vision::Auto,
            hidden_sizes: vec![64],
            cell: CellKind::Lstm,
            recurrent_hidden_size: 64,
            head_sizes: Vec::new(),
            shared: false,
            activation: Activation::Tanh,
            log_std_init: 0.0,
        }
    }
}

pub struct RecurrentPpo;

impl Algorithm for RecurrentPpo {
    type Config = RecurrentPpoConfig;

    fn check_setup(config: &RecurrentPpoConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(&setup.observation_space)
    }

    fn build(config: RecurrentPpoConfig, setup: &Setup) -> Result<Box<dyn Agent>, BuildError> {
        let settings = RecurrentSettings {
            num_steps: config.num_steps,
            sequence_length: config.sequence_length,
            gamma: config.gamma,
            gae_lambda: config.gae_lambda,
        };
        Ok(Box::new(RecurrentRollout::new(RecurrentPpoLearner::new(config, setup)?, settings, setup)))
    }
}

/// The learner of recurrent PPO.
struct RecurrentPpoLearner {
    config: RecurrentPpoConfig,
    distribution: Distribution,
    net: ActorCritic,
    /// One log standard deviation per action of a Box; empty for other spaces.
    log_std: Params,
    group: ParamGroup,
    head: Vec<f32>,
    values: Vec<f32>,
    minibatch: SequenceMinibatch,
}

impl RecurrentPpoLearner {
    fn new(config: RecurrentPpoConfig, setup: &Setup) -> Result<Self, BuildError> {
        let distribution = distribution_for(&setup.action_space)?;
        let mut rng = setup.rng("init");
        let gain = std::f32::consts::SQRT_2;
        let orthogonal = |output_gain| Init::Orthogonal { hidden_gain: gain, output_gain };
        let shape = TorsoSpec {
            observations: &setup.observation_space,
            vision: config.vision,
            encoder: &config.hidden_sizes,
            activation: config.activation,
            cell: config.cell,
            hidden: config.recurrent_hidden_size,
        };
        let torso = Torso::new(&shape, &orthogonal(gain), &mut rng)?;
        let value_torso = (!config.shared).then(|| Torso::new(&shape, &orthogonal(gain), &mut rng)).transpose()?;
        let head = |outputs| MlpSpec::new(torso.features(), &config.head_sizes, outputs, config.activation);
        let policy = Mlp::new(head(distribution.head_width()), 1, &orthogonal(0.01), &mut rng);
        let value = Mlp::new(head(1), 1, &orthogonal(1.0), &mut rng);
        let mut net = ActorCritic::new(torso, value_torso, policy, value);
        let free = distribution.log_std_width();
        let mut log_std = Params::from_vec(1, free, vec![config.log_std_init; free]);
        let adam = OptimizerConfig::Adam(AdamConfig { eps: 1e-5, ..AdamConfig::default() });
        let group = ParamGroup::new(&adam, &with_log_std(&mut net, &mut log_std), config.max_grad_norm);
        Ok(Self {
            config,
            distribution,
            net,
            log_std,
            group,
            head: Vec::new(),
            values: Vec::new(),
            minibatch: SequenceMinibatch::default(),
        })
    }

    /// Heads and values one observation further.
    fn look(&mut self, obs: ObsRef<'_>, rows: usize, starts: &[bool], state: &mut [f32]) {
        let now = Sequences { steps: 1, rows, obs, resets: starts };
        self.net.infer(now, state, &mut self.head, &mut self.values);
    }

    /// What the policy does for every row of `self.head`.
    fn choose(&self, masks: &[bool], rows: usize, deterministic: bool, rng: &mut Rng, actions: &mut [f32]) {
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

    /// One step of gradient descent on the gathered minibatch.
    fn step(&mut self, rate: f32, terms: PpoTerms, update: u64) -> Result<(PpoReport, f32), Diverged> {
        let (mut report, mut log_std_gradient) = (PpoReport::default(), Vec::new());
        let batch = &self.minibatch;
        let gradients = self.net.gradients(batch.sequences(), &batch.state, |head, values| {
            let (found, gradient) = batch.loss(&self.distribution, head, values, self.log_std.as_slice(), terms);
            (report, log_std_gradient) = (found, gradient.log_std);
            (found.loss, [gradient.head, gradient.value])
        });
        finite("the loss", report.loss, update)?;
        let mut all = slices(&gradients);
        if !log_std_gradient.is_empty() {
            all.push(&log_std_gradient);
        }
        let norm = self.group.step(&mut with_log_std(&mut self.net, &mut self.log_std), &all, rate);
        finite("the gradient of policy and value", norm, update)?;
        Ok((report, norm))
    }
}

/// All that is learned; the standard deviations last, where there are any.
fn with_log_std<'a>(net: &'a mut ActorCritic, log_std: &'a mut Params) -> Vec<&'a mut Params> {
    let mut params = net.params();
    if !log_std.as_slice().is_empty() {
        params.push(log_std);
    }
    params
}

impl RecurrentLearner for RecurrentPpoLearner {
    fn state_width(&self) -> usize {
        self.net.state_width()
    }

    fn act(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        starts: &[bool],
        state: &mut [f32],
        rng: &mut Rng,
        actions: &mut [f32],
        log_probs: &mut [f32],
        values: &mut [f32],
    ) {
        self.look(obs, rows, starts, state);
        self.choose(masks, rows, false, rng, actions);
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
        values.copy_from_slice(&self.values);
    }

    fn values(&mut self, obs: ObsRef<'_>, rows: usize, state: &[f32], values: &mut [f32]) {
        self.look(obs, rows, &vec![false; rows], &mut state.to_vec());
        values[..rows].copy_from_slice(&self.values);
    }

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        deterministic: bool,
        starts: &[bool],
        state: &mut [f32],
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        self.look(obs, rows, starts, state);
        self.choose(masks, rows, deterministic, rng, actions);
    }

    fn update(&mut self, update: RecurrentUpdate<'_>) -> Result<(), Diverged> {
        let at = update.progress.fraction();
        let rate = self.config.learning_rate.at(at) as f32;
        let terms = PpoTerms {
            clip: self.config.clip_coef.at(at) as f32,
            value_clip: self.config.value_clip_coef,
            value_weight: self.config.vf_coef,
            entropy_weight: self.config.ent_coef.at(at) as f32,
        };
        let source = Source::new(&update, self.net.state_width());
        let together = (self.config.minibatch_size / update.length).max(1);
        let mut order: Vec<usize> = (0..source.count()).collect();
        for _ in 0..self.config.update_epochs {
            order.shuffle(update.rng);
            let mut divergence = 0.0f32;
            for chosen in order.chunks(together) {
                self.minibatch.gather(&source, chosen, self.config.normalize_advantage);
                *update.updates += 1;
                let (report, norm) = self.step(rate, terms, *update.updates)?;
                log_step(update.metrics, &report, norm);
                divergence = divergence.max(report.approx_kl);
            }
            if self.config.target_kl.is_some_and(|limit| divergence > 1.5 * limit) {
                break;
            }
        }
        let steps = update.rollout.filled * update.rollout.lanes;
        update.metrics.set("learning_rate", f64::from(rate));
        update.metrics.set("clip_range", f64::from(terms.clip));
        update.metrics.add("explained_variance", explained_variance(update.rollout, steps));
        if let Some(log_std) = self.log_std.as_slice().first() {
            update.metrics.set("std", f64::from(log_std.exp()));
        }
        Ok(())
    }

    fn metric_names(&self) -> &'static [&'static str] {
        crate::policy::shared::METRICS
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.net.exchange(io)?;
        if !self.log_std.as_slice().is_empty() {
            io.params("log_std", &mut self.log_std)?;
        }
        self.group.exchange("policy_and_value", io)
    }
}
