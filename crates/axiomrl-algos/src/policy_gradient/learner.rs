//! What every learner of this family is: a stochastic policy with its value function, and a rule that improves both.

use super::net::{PolicyValueNet, PolicyValueSpec, with_log_std};
use super::shared::distribution_for;
use crate::agent::{LearnError, Learned, Setup, UpdateContext};
use crate::export::{Answer, Graph, NoGraph, Shown, best};
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::parts::torso::{MemoryKind, Sequences};
use crate::policy::{ActContext, ActInput, Actor, Mode};
use crate::regimes::{ActedRow, Played, RolloutLearner};
use crate::state::{StateError, StateIo};
use axiomrl_core::Metrics;
use axiomrl_nn::{Activation, CellKind, Distribution, Params};

/// The shape of policy and value, as settings have it.
pub struct PolicyShape<'a> {
    pub vision: Vision,
    pub hidden_sizes: &'a [usize],
    pub activation: Activation,
    /// Kind and width of the memory, if there is one.
    pub memory: Option<(CellKind, usize)>,
    /// Hidden layers after the memory.
    pub head_sizes: &'a [usize],
    pub shared: bool,
    /// Whether the policy's network says what an observation is worth, too.
    pub aux_head: bool,
    /// Values of each observation: of the environment's rewards, and perhaps of those that the learner pays itself.
    pub streams: usize,
    pub log_std_init: f32,
}

impl<'a> PolicyShape<'a> {
    /// Policy and value apart, without a memory.
    pub fn new(vision: Vision, hidden_sizes: &'a [usize], activation: Activation, log_std_init: f32) -> Self {
        let (memory, head_sizes, shared, aux_head, streams) = (None, &[][..], false, false, 1);
        Self { vision, hidden_sizes, activation, memory, head_sizes, shared, aux_head, streams, log_std_init }
    }

    /// With a memory of this kind and width, if it is one, and hidden layers after it.
    pub fn remembering(self, memory: MemoryKind, width: usize, head_sizes: &'a [usize]) -> Self {
        Self { memory: memory.cell().map(|cell| (cell, width)), head_sizes, ..self }
    }
}

/// A policy that is sampled from, and what it thinks observations are worth.
pub struct PolicyValue {
    pub distribution: Distribution,
    pub net: PolicyValueNet,
    /// One log standard deviation per action of a Box; empty for other spaces.
    pub log_std: Params,
    pub head: Vec<f32>,
    pub values: Vec<f32>,
}

impl PolicyValue {
    pub fn new(shape: &PolicyShape<'_>, setup: &Setup) -> Result<Self, BuildError> {
        let distribution = distribution_for(setup.action_space())?;
        let spec = PolicyValueSpec {
            observations: setup.observation_space(),
            vision: shape.vision,
            hidden_sizes: shape.hidden_sizes,
            memory: shape.memory,
            head_sizes: shape.head_sizes,
            activation: shape.activation,
            shared: shape.shared,
            aux_head: shape.aux_head,
            outputs: distribution.head_width(),
            value_outputs: shape.streams,
        };
        let net = PolicyValueNet::new(&spec, &mut setup.rng("init"))?;
        let free = distribution.log_std_width();
        let log_std = Params::from_vec(1, free, vec![shape.log_std_init; free]);
        Ok(Self { distribution, net, log_std, head: Vec::new(), values: Vec::new() })
    }

    /// All that is learned.
    pub fn params(&mut self) -> Vec<&mut Params> {
        with_log_std(&mut self.net, &mut self.log_std)
    }

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

    /// Logs the standard deviation of Box actions.
    pub fn log_deviation(&self, metrics: &mut Metrics) {
        if let Some(log_std) = self.log_std.as_slice().first() {
            metrics.set("std", f64::from(log_std.exp()));
        }
    }
}

/// How a policy is improved by what it has just done.
pub trait PolicyUpdate: Send {
    /// One step of an optimiser. Says whether it was the last one on this rollout.
    fn step(&mut self, policy: &mut PolicyValue, played: Played<'_>, context: &mut UpdateContext<'_>) -> Learned<bool>;

    /// Whether rollouts keep raw observations beside those that the policy saw.
    fn keeps_raw(&self) -> bool {
        false
    }

    /// Saves or loads optimisers, and how far an update has come.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// A policy and the rule that improves it.
pub struct PolicyLearner<U> {
    pub policy: PolicyValue,
    pub rule: U,
}

impl<U: PolicyUpdate> Actor for PolicyLearner<U> {
    fn memory_width(&self) -> usize {
        self.policy.net.state_width()
    }

    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { memory, mode, rng } = context;
        let PolicyValue { distribution, net, log_std, head, .. } = &mut self.policy;
        net.infer(Sequences::single(input.obs, &memory.starts), &mut memory.state, head, None);
        let heads = head.chunks_exact(distribution.head_width());
        let chosen = actions.chunks_exact_mut(distribution.action_width());
        for (row, (head, action)) in heads.zip(chosen).enumerate() {
            match mode {
                Mode::Best => distribution.mode(head, log_std.as_slice(), input.mask(row), action),
                Mode::Sample => distribution.sample(head, log_std.as_slice(), input.mask(row), rng, action),
            }
        }
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let (head, memory) = self.policy.net.onnx(graph, shown)?;
        Ok(best(graph, &self.policy.distribution, head, shown.mask).remembering(memory))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.policy.net.visit_policy(io)?;
        if !self.policy.log_std.as_slice().is_empty() {
            io.params("log_std", &mut self.policy.log_std)?;
        }
        Ok(())
    }
}

impl<U: PolicyUpdate> RolloutLearner for PolicyLearner<U> {
    fn play(&mut self, input: ActInput<'_>, context: ActContext<'_>, row: ActedRow<'_>) -> Result<(), LearnError> {
        let ActContext { memory, rng, .. } = context;
        let ActedRow { actions, log_probs, values } = row;
        let policy = &mut self.policy;
        let now = Sequences::single(input.obs, &memory.starts);
        policy.net.infer(now, &mut memory.state, &mut policy.head, Some(&mut policy.values));
        let heads = policy.head.chunks_exact(policy.distribution.head_width());
        let chosen = actions.chunks_exact_mut(policy.distribution.action_width());
        for (row, (head, action)) in heads.zip(chosen).enumerate() {
            let (log_std, mask) = (policy.log_std.as_slice(), input.mask(row));
            log_probs[row] = policy.distribution.sample_log_prob(head, log_std, mask, rng, action);
        }
        values[..policy.values.len()].copy_from_slice(&policy.values);
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, memory: &[f32], values: &mut [f32]) -> Result<(), LearnError> {
        let going_on = vec![false; if memory.is_empty() { 0 } else { input.rows() }];
        let now = Sequences::single(input.obs, &going_on);
        let policy = &mut self.policy;
        policy.net.infer_values(now, &mut memory.to_vec(), &mut policy.values);
        values[..policy.values.len()].copy_from_slice(&policy.values);
        Ok(())
    }

    fn keeps_raw(&self) -> bool {
        self.rule.keeps_raw()
    }

    fn update(&mut self, played: Played<'_>, context: &mut UpdateContext<'_>) -> Result<bool, LearnError> {
        self.rule.step(&mut self.policy, played, context)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.policy.net.visit_value(io)?;
        self.rule.visit_state(io)
    }
}
