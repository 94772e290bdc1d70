//! One observed step of a recurrent state-space model as nodes of an ONNX graph.

use super::Rssm;
use super::dense::{Dense, LAYER_NORM_EPSILON, Norm};
use super::latent::Latent;
use super::spec::{RssmCore, RssmSpec};
use crate::onnx::{activate, layer_norm, rms_norm};
use axiomrl_onnx::{Element, Graph, Value};

impl Rssm {
    /// The state `[rows, features]` after a step: `state` is the one before, `action` `[rows, actions]` led here, `tokens`
    /// `[rows, tokens]` are what is seen, and the latent is drawn by `noise` `[rows, noise]`, as [`Rssm::step`] does it.
    pub fn onnx(&self, graph: &mut Graph, state: Value, action: Value, tokens: Value, noise: Value) -> Value {
        let (spec, plan) = (&*self.spec, self.spec.plan());
        let (deter, all) = (spec.deter, spec.features());
        let mut model = Nodes { graph, spec, params: self.params.as_slice() };
        let (h, z) = (model.graph.columns(state, 0..deter, all), model.graph.columns(state, deter..all, all));
        let action = model.seen_action(action);
        let h = model.cell(&plan.cell, h, z, action);
        let joint = model.graph.concat(&[h, tokens]);
        let stats = plan.posterior.iter().fold(joint, |x, layer| model.layer(layer, x, None));
        let z = draw(model.graph, spec.latent, stats, noise);
        model.graph.concat(&[h, z])
    }
}

struct Nodes<'a> {
    graph: &'a mut Graph,
    spec: &'a RssmSpec,
    params: &'a [f32],
}

impl Nodes<'_> {
    /// As `seen_actions` has it.
    fn seen_action(&mut self, action: Value) -> Value {
        let RssmCore::BlockGru { .. } = self.spec.core else { return action };
        let (size, one) = (self.graph.node("Abs", &[action], &[]), self.graph.scalar(1.0));
        let size = self.graph.node("Max", &[size, one], &[]);
        self.graph.div(action, size)
    }

    fn cell(&mut self, layers: &[Dense], h: Value, z: Value, a: Value) -> Value {
        match (self.spec.core, layers) {
            (RssmCore::Gru, [input, from_x, from_h]) => {
                let joint = self.graph.concat(&[z, a]);
                let x = self.layer(input, joint, None);
                let (from_x, from_h) = (self.layer(from_x, x, None), self.layer(from_h, h, None));
                self.plain_update(from_x, from_h, h)
            }
            (RssmCore::NormGru, [input, gates]) => {
                let joint = self.graph.concat(&[z, a]);
                let x = self.layer(input, joint, None);
                let joint = self.graph.concat(&[x, h]);
                let sums = self.layer(gates, joint, None);
                self.update(sums, h, 1)
            }
            (RssmCore::BlockGru { blocks }, [from_h, from_z, from_a, mix, gates]) => {
                let shared = [self.layer(from_h, h, None), self.layer(from_z, z, None), self.layer(from_a, a, None)];
                let shared = self.graph.concat(&shared);
                let mixed = self.layer(mix, h, Some(shared));
                let sums = self.layer(gates, mixed, None);
                self.update(sums, h, blocks)
            }
            _ => unreachable!("a plan has its core's layers"),
        }
    }

    /// A GRU whose reset gate acts behind the recurrent product.
    fn plain_update(&mut self, from_x: Value, from_h: Value, h: Value) -> Value {
        let (graph, deter) = (&mut *self.graph, self.spec.deter);
        let mut gate = |all: Value, index: usize| graph.columns(all, index * deter..(index + 1) * deter, 3 * deter);
        let [[xr, hr], [xg, hg], [xc, hc]] = [0, 1, 2].map(|index| [gate(from_x, index), gate(from_h, index)]);
        let (r, g) = (graph.add(xr, hr), graph.add(xg, hg));
        let (r, g) = (graph.sigmoid(r), graph.sigmoid(g));
        let kept = graph.mul(r, hc);
        let c = graph.add(xc, kept);
        let c = graph.tanh(c);
        let apart = graph.sub(h, c);
        let apart = graph.mul(g, apart);
        graph.add(c, apart)
    }

    /// The gates, of which each block has its own three.
    fn update(&mut self, sums: Value, h: Value, blocks: usize) -> Value {
        let (graph, deter) = (&mut *self.graph, self.spec.deter);
        let width = deter / blocks;
        let sums = graph.reshape(sums, &[-1, blocks as i64, 3 * width as i64]);
        let mut gate = |index: usize| {
            let gate = graph.columns(sums, index * width..(index + 1) * width, 3 * width);
            graph.reshape(gate, &[-1, deter as i64])
        };
        let (reset, candidate, update) = (gate(0), gate(1), gate(2));
        let reset = graph.sigmoid(reset);
        let c = graph.mul(reset, candidate);
        let c = graph.tanh(c);
        let update = graph.add_scalar(update, -1.0);
        let u = graph.sigmoid(update);
        let apart = graph.sub(c, h);
        let apart = graph.mul(u, apart);
        graph.add(h, apart)
    }

    /// A layer; `shared` is what all blocks see.
    fn layer(&mut self, layer: &Dense, own: Value, shared: Option<Value>) -> Value {
        let (graph, outputs) = (&mut *self.graph, layer.outputs);
        let (weight, vectors) = self.params[layer.offset..].split_at(layer.weights());
        let vector = |index: usize| &vectors[index * outputs..(index + 1) * outputs];
        let (own_weight, shared_weight) = weight.split_at(layer.own * outputs);
        let mut sums = blocks(graph, layer, own, own_weight);
        if let Some(shared) = shared {
            let weight = graph.floats(&[layer.shared, outputs], shared_weight);
            let product = graph.node("MatMul", &[shared, weight], &[]);
            sums = graph.add(sums, product);
        }
        let bias = graph.floats(&[outputs], vector(0));
        let sums = graph.add(sums, bias);
        let normal = match layer.norm {
            Norm::None => sums,
            Norm::Layer => layer_norm(graph, sums, vector(1), vector(2), LAYER_NORM_EPSILON),
            Norm::Rms => {
                let scale = graph.floats(&[outputs], vector(1));
                rms_norm(graph, sums, -1, scale)
            }
        };
        activate(graph, normal, layer.activation)
    }
}

/// Every block's own part of the input times its columns of the weight `[own, outputs]`.
fn blocks(graph: &mut Graph, layer: &Dense, x: Value, weight: &[f32]) -> Value {
    let Dense { own, outputs, blocks, .. } = *layer;
    let width = outputs / blocks;
    let mut apart = Vec::with_capacity(weight.len());
    for block in 0..blocks {
        for row in weight.chunks_exact(outputs) {
            apart.extend_from_slice(&row[block * width..(block + 1) * width]);
        }
    }
    if blocks == 1 {
        let weight = graph.floats(&[own, outputs], &apart);
        return graph.node("MatMul", &[x, weight], &[]);
    }
    let weight = graph.floats(&[blocks, own, width], &apart);
    let x = graph.reshape(x, &[-1, blocks as i64, 1, own as i64]);
    let product = graph.node("MatMul", &[x, weight], &[]);
    graph.reshape(product, &[-1, outputs as i64])
}

/// A latent from what the posterior's network puts out, as [`Latent::sample`] has it.
fn draw(graph: &mut Graph, latent: Latent, stats: Value, noise: Value) -> Value {
    match latent {
        Latent::Gaussian { size, min_std } => {
            let mean = graph.columns(stats, 0..size, 2 * size);
            let raw = graph.columns(stats, size..2 * size, 2 * size);
            let std = graph.node("Softplus", &[raw], &[]);
            let std = graph.add_scalar(std, min_std);
            let away = graph.mul(std, noise);
            graph.add(mean, away)
        }
        Latent::Categorical { groups, classes, unimix } => {
            let logits = graph.reshape(stats, &[-1, groups as i64, classes as i64]);
            let soft = graph.softmax(logits);
            let soft = graph.scale(soft, 1.0 - unimix);
            let mixed = graph.add_scalar(soft, unimix / classes as f32);
            let last = graph.ints(&[], &[-1]);
            let cumulated = graph.node("CumSum", &[mixed, last], &[]);
            // The choice is the number of classes that the noise has passed; a crumb left by rounding belongs to the last.
            let noise = graph.reshape(noise, &[-1, groups as i64, 1]);
            let beyond = graph.greater(cumulated, noise);
            let passed = graph.node("Not", &[beyond], &[]);
            let passed = graph.cast(passed, Element::Float);
            let count = graph.sum(passed);
            let count = graph.clip(count, 0.0, (classes - 1) as f32);
            let choice = graph.cast(count, Element::Int);
            let choice = graph.reshape(choice, &[-1, groups as i64, 1]);
            let chosen = graph.one_hot(choice, classes);
            graph.reshape(chosen, &[-1, (groups * classes) as i64])
        }
    }
}
