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

mod actor_critic;
mod minibatches;

use crate::agent::{Diverged, LearnError, Setup, UpdateContext, finite};
use crate::config::{Problem, choices, layer_widths};
use crate::parts::checks::BuildError;
use crate::parts::descend::{ParamGroup, slices};
use crate::parts::input::Vision;
use crate::parts::torso::{Sequences, Torso, TorsoSpec};
use crate::policy::{ActInput, Actor, Memory, Mode};
use crate::policy_gradient::passes::Passes;
use crate::policy_gradient::ppo_loss::{PpoReport, PpoTerms};
use crate::policy_gradient::shared::{distribution_for, explained_variance, log_step};
use crate::regimes::{ActedRow, Learner, Played, RolloutLearner, RolloutSettings};
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use actor_critic::ActorCritic;
use axiomrl_core::Schedule;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{Activation, AdamConfig, CellKind, Distribution, Init, Mlp, MlpSpec, OptimizerConfig, Params};
use garde::Validate;
use minibatches::{SequenceMinibatch, Source};
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
        config.vision.check(setup.observation_space())
    }

    fn build(config: RecurrentPpoConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = RolloutSettings {
            num_steps: config.num_steps,
            sequence_length: config.sequence_length,
            gamma: config.gamma,
            gae_lambda: config.gae_lambda,
        };
        Ok(Learner::OnPolicy(Box::new(RecurrentPpoLearner::new(config, setup)?), settings))
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
    passes: Passes,
    /// Sequences of a whole rollout.
    sequences: usize,
}

impl RecurrentPpoLearner {
    fn new(config: RecurrentPpoConfig, setup: &Setup) -> Result<Self, BuildError> {
        let distribution = distribution_for(setup.action_space())?;
        let sequences = config.num_steps.div_ceil(config.sequence_length) * setup.num_envs;
        let mut rng = setup.rng("init");
        let gain = std::f32::consts::SQRT_2;
        let orthogonal = |output_gain| Init::Orthogonal { hidden_gain: gain, output_gain };
        let shape = TorsoSpec {
            observations: setup.observation_space(),
            vision: config.vision,
            layers: &config.hidden_sizes,
            activation: config.activation,
            memory: Some((config.cell, config.recurrent_hidden_size)),
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
            passes: Passes::default(),
            sequences,
        })
    }

    /// Heads and values one observation further.
    fn look(&mut self, obs: ObsRef<'_>, starts: &[bool], state: &mut [f32]) {
        let now = Sequences { steps: 1, rows: obs.rows, obs, resets: starts };
        self.net.infer(now, state, &mut self.head, &mut self.values);
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

impl Actor for RecurrentPpoLearner {
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
        self.look(input.obs, &memory.starts, &mut memory.state);
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

    /// Values included: a row of memory holds what both networks remember.
    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.net.visit_state(io)?;
        if !self.log_std.as_slice().is_empty() {
            io.params("log_std", &mut self.log_std)?;
        }
        Ok(())
    }
}

impl RolloutLearner for RecurrentPpoLearner {
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
        values.copy_from_slice(&self.values);
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, memory: &[f32], values: &mut [f32]) -> Result<(), LearnError> {
        self.look(input.obs, &vec![false; input.rows()], &mut memory.to_vec());
        values[..input.rows()].copy_from_slice(&self.values);
        Ok(())
    }

    fn update(&mut self, played: Played<'_>, context: &mut UpdateContext<'_>) -> Result<bool, LearnError> {
        let (at, config) = (context.fraction(), &self.config);
        let rate = config.learning_rate.at(at) as f32;
        let terms = PpoTerms {
            clip: config.clip_coef.at(at) as f32,
            value_clip: config.value_clip_coef,
            value_weight: config.vf_coef,
            entropy_weight: config.ent_coef.at(at) as f32,
        };
        let source = Source::new(played, self.net.state_width());
        let together = (config.minibatch_size / played.length).max(1);
        let chosen = self.passes.next(together, context.rng, || (0..source.count() as u32).collect());
        self.minibatch.gather(&source, &self.passes.order()[chosen], config.normalize_advantage);
        let (report, norm) = self.step(rate, terms, context.number())?;
        log_step(context.metrics, &report, norm);
        let done = self.passes.stepped(report.approx_kl, self.config.update_epochs, self.config.target_kl);
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
        self.group.visit_state("policy_and_value", io)?;
        self.passes.visit_state(self.sequences, io)
    }
}
