//! A policy and a value function, apart or over one torso, with or without a memory.

use crate::agent::Diverged;
use crate::config::Problem;
use crate::export::{Graph, NoGraph, Shown, Value};
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::Vision;
use crate::parts::torso::{Sequences, Torso, TorsoSpec};
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_envs::Space;
use axiomrl_nn::{Activation, CellKind, Init, Mlp, MlpSpec, Params, Tensor, fused_loss};
use rand_chacha::ChaCha8Rng;
use std::borrow::Cow;
use std::ops::Range;

mod apart;

/// The shape of policy and value.
pub struct PolicyValueSpec<'a> {
    pub observations: &'a Space,
    pub vision: Vision,
    /// Hidden layers; with a memory, those before it.
    pub hidden_sizes: &'a [usize],
    /// Kind and width of the memory, if there is one.
    pub memory: Option<(CellKind, usize)>,
    /// Hidden layers after the memory.
    pub head_sizes: &'a [usize],
    pub activation: Activation,
    /// One torso for both: all but the heads.
    pub shared: bool,
    /// Whether the policy's network says what an observation is worth, too: another head over the policy's hidden layers. Policy
    /// and value are then apart.
    pub aux_head: bool,
    /// Numbers that describe the policy's distribution.
    pub outputs: usize,
    /// Numbers that the value's head gives: one for each kind of reward, or one for each action.
    pub value_outputs: usize,
}

/// With one torso both heads read the same features, and the same memory; with two, each has its own, and a row of memory is
/// the policy's part followed by that of the value.
#[derive(Clone)]
pub struct PolicyValueNet {
    torso: Torso,
    /// The value's own. None where it is shared, or where there is nothing in it that learns.
    value_torso: Option<Torso>,
    policy: Mlp,
    value: Mlp,
    /// What the policy's network thinks observations are worth.
    aux: Option<Mlp>,
}

impl PolicyValueNet {
    pub fn new(spec: &PolicyValueSpec<'_>, rng: &mut ChaCha8Rng) -> Result<Self, Problem> {
        let gain = std::f32::consts::SQRT_2;
        let orthogonal = |output_gain| Init::Orthogonal { hidden_gain: gain, output_gain };
        // Without a memory the hidden layers come right before the outputs: in the torso they are shared, in the heads not.
        let (layers, head_layers) = match (spec.memory, spec.shared || spec.aux_head) {
            (Some(_), _) => (spec.hidden_sizes, spec.head_sizes),
            (None, true) => (spec.hidden_sizes, &[][..]),
            (None, false) => (&[][..], spec.hidden_sizes),
        };
        let PolicyValueSpec { observations, vision, activation, memory, .. } = *spec;
        let shape = TorsoSpec { observations, vision, layers, activation, memory };
        let torso = Torso::new(&shape, &orthogonal(gain), rng)?;
        let apart = !spec.shared && torso.learns();
        let value_torso = apart.then(|| Torso::new(&shape, &orthogonal(gain), rng)).transpose()?;
        let head = |outputs| MlpSpec::new(torso.features(), head_layers, outputs, activation);
        // A small last layer: at first all actions are about as likely.
        let policy = Mlp::new(head(spec.outputs), 1, &orthogonal(0.01), rng);
        let value = Mlp::new(head(spec.value_outputs), 1, &orthogonal(1.0), rng);
        let aux = spec.aux_head.then(|| Mlp::new(head(1), 1, &orthogonal(1.0), rng));
        Ok(Self { torso, value_torso, policy, value, aux })
    }

    /// Numbers of a row of memory; 0 without one.
    pub fn state_width(&self) -> usize {
        self.torso.state_width() + self.value_torso.as_ref().map_or(0, Torso::state_width)
    }

    /// The policy's columns of a row of memory, and the value's.
    fn parts_of_state(&self) -> [Range<usize>; 2] {
        let (split, width) = (self.torso.state_width(), self.state_width());
        [0..split, if self.value_torso.is_some() { split..width } else { 0..width }]
    }

    /// Heads of the policy and, where wanted, values, for every time and row. `state` moves on.
    pub fn infer(
        &self,
        sequences: Sequences<'_>,
        state: &mut [f32],
        head: &mut Vec<f32>,
        values: Option<&mut Vec<f32>>,
    ) {
        let (count, [own, of_value]) = (sequences.steps * sequences.rows, self.parts_of_state());
        let mut seen = infer(&self.torso, sequences, state, own);
        self.policy.infer(&seen, count, head);
        // A memory moves on even where nobody asks for the value.
        if let Some(torso) = &self.value_torso
            && (values.is_some() || torso.state_width() > 0)
        {
            seen = infer(torso, sequences, state, of_value);
        }
        if let Some(values) = values {
            self.value.infer(&seen, count, values);
        }
    }

    /// The policy's head and the memory after, as nodes of a graph in the ONNX format.
    pub fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<(Value, Option<Value>), NoGraph> {
        let (width, [own, of_value]) = (self.state_width(), self.parts_of_state());
        let part = |graph: &mut Graph, part| shown.memory.map(|state| graph.columns(state, part, width));
        let state = part(graph, own);
        let (seen, memory) = self.torso.onnx(graph, shown, state)?;
        let head = self.policy.onnx(graph, seen);
        let (Some(torso), Some(own)) = (&self.value_torso, memory) else { return Ok((head, memory)) };
        // What the value remembers is a part of the row, and moves on with the rest.
        let state = part(graph, of_value);
        let (_, of_value) = torso.onnx(graph, shown, state)?;
        let memory: Vec<Value> = std::iter::once(own).chain(of_value).collect();
        Ok((head, Some(graph.concat(&memory))))
    }

    /// Values alone; of `state`, the policy's part stays as it is unless it is the value's, too.
    pub fn infer_values(&self, sequences: Sequences<'_>, state: &mut [f32], values: &mut Vec<f32>) {
        let [_, of_value] = self.parts_of_state();
        let seen = infer(self.value_torso.as_ref().unwrap_or(&self.torso), sequences, state, of_value);
        self.value.infer(&seen, sequences.steps * sequences.rows, values);
    }

    /// One step down a loss of heads and values, and of the standard deviations, which enter it directly: `loss` gives its value
    /// and its gradients by all three. Gives the norm of the gradient.
    pub fn descend(
        &mut self,
        group: &mut ParamGroup,
        log_std: &mut Params,
        (sequences, state): (Sequences<'_>, &[f32]),
        (rate, update): (f32, u64),
        loss: impl FnOnce(&[f32], &[f32]) -> (f32, [Vec<f32>; 2], Vec<f32>),
    ) -> Result<f32, Diverged> {
        const WHOSE: &str = "policy and value";
        let mut by_log_std = Vec::new();
        if !self.torso.learns() {
            // Nothing but the two networks learns: no graph is needed.
            let (seen, rows) = (self.torso.input.infer(sequences.obs), sequences.obs.rows);
            let (policy, values) = (self.policy.pass(&seen, rows, None), self.value.pass(&seen, rows, None));
            let (value, [by_head, by_values], last) = loss(policy.outputs(), values.outputs());
            let gradients = [policy.params_gradient(&by_head), values.params_gradient(&by_values)];
            drop((policy, values));
            let params = &mut with_log_std(self, log_std);
            return group.descend_along(WHOSE, value, &gradients, params, rate, update, |_| there_is(last));
        }
        let (outputs, tracked) = self.forward(sequences, state);
        let mut value = 0.0;
        let node = fused_loss(outputs, |[head, values]| {
            let (found, gradients, last) = loss(head, values);
            (value, by_log_std) = (found, last);
            (found, gradients)
        });
        let loss = Loss { node, value, tracked };
        group.descend_with(WHOSE, loss, &mut with_log_std(self, log_std), rate, update, |_| there_is(by_log_std))
    }

    /// Heads of the policy and values as nodes of the graph, with the parameters they came from: those of
    /// [`PolicyValueNet::params`], in that order.
    fn forward(&self, sequences: Sequences<'_>, state: &[f32]) -> ([Tensor<3>; 2], Vec<Tensor<2>>) {
        let (width, [own, of_value]) = (self.state_width(), self.parts_of_state());
        let (seen, mut tracked) = self.torso.forward(sequences, &columns(state, width, own));
        let seen_by_value = match &self.value_torso {
            Some(torso) => {
                let (seen, of_torso) = torso.forward(sequences, &columns(state, width, of_value));
                tracked.extend(of_torso);
                seen
            }
            None => seen.clone(),
        };
        let heads = [self.policy.params.tracked(), self.value.params.tracked()];
        let head = self.policy.forward(seen, heads[0].clone(), None);
        let values = self.value.forward(seen_by_value, heads[1].clone(), None);
        tracked.extend(heads);
        ([head, values], tracked)
    }

    /// Saves or loads what acting needs. With a memory that is everything: a row of it holds what both remember.
    pub fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.torso.visit_state("policy", io)?;
        let remembers = self.state_width() > 0;
        if let (Some(torso), true) = (&mut self.value_torso, remembers) {
            torso.visit_state("value", io)?;
        }
        io.network(if self.torso.learns() { "policy.head" } else { "policy" }, &mut self.policy)?;
        if remembers { io.network("value.head", &mut self.value) } else { Ok(()) }
    }

    /// Saves or loads the rest.
    pub fn visit_value(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if self.state_width() > 0 {
            return Ok(());
        }
        if let Some(torso) = &mut self.value_torso {
            torso.visit_state("value", io)?;
        }
        io.network(if self.torso.learns() { "value.head" } else { "value" }, &mut self.value)?;
        self.aux.as_mut().map_or(Ok(()), |aux| io.network("policy.aux", aux))
    }
}

impl Trainable for PolicyValueNet {
    /// Torsos, then heads; of each the policy's first.
    fn params(&mut self) -> Vec<&mut Params> {
        let torsos = std::iter::once(&mut self.torso).chain(&mut self.value_torso).flat_map(Torso::params);
        torsos.chain([&mut self.policy.params, &mut self.value.params]).collect()
    }
}

/// All that is learned; the standard deviations last, where there are any.
pub fn with_log_std<'a>(net: &'a mut PolicyValueNet, log_std: &'a mut Params) -> Vec<&'a mut Params> {
    let mut params = net.params();
    if !log_std.as_slice().is_empty() {
        params.push(log_std);
    }
    params
}

/// A list of what is not empty.
fn there_is(gradient: Vec<f32>) -> Vec<Vec<f32>> {
    if gradient.is_empty() { Vec::new() } else { vec![gradient] }
}

/// Features, with the memory in some columns of `state`.
fn infer<'a>(torso: &Torso, sequences: Sequences<'a>, state: &mut [f32], part: Range<usize>) -> Cow<'a, [f32]> {
    let width = state.len() / sequences.rows.max(1);
    if part == (0..width) {
        return torso.infer(sequences, state);
    }
    let mut own = columns(state, width, part.clone()).into_owned();
    let seen = torso.infer(sequences, &mut own);
    for (row, own) in state.chunks_exact_mut(width).zip(own.chunks_exact(part.len())) {
        row[part.clone()].copy_from_slice(own);
    }
    seen
}

/// Some columns of rows that are `width` wide, copied only if there are others.
fn columns(rows: &[f32], width: usize, part: Range<usize>) -> Cow<'_, [f32]> {
    if part == (0..width) {
        return Cow::Borrowed(rows);
    }
    Cow::Owned(rows.chunks_exact(width).flat_map(|row| &row[part.clone()]).copied().collect())
}
