//! From the deterministic state to the statistics of a latent: the prior, and with tokens beside the state the posterior.

use super::cell::Rows;
use super::dense::{Dense, LayerTrace};
use super::latent::Latent;
use crate::buffers::Pooled;
use crate::kernels::matmul::Left;
use crate::kernels::packed::Packed;

/// Room for the layers of a head over `rows` rows.
pub fn traces(layers: &[Dense], rows: usize) -> Vec<LayerTrace> {
    layers.iter().map(|layer| LayerTrace::new(layer, rows)).collect()
}

/// Room for the gradients of their weighted sums.
pub fn grads(layers: &[Dense], rows: usize) -> Vec<Pooled> {
    layers.iter().map(|layer| Pooled::new(rows * layer.outputs)).collect()
}

/// The statistics in a head's trace.
pub fn stats(traces: &[LayerTrace]) -> &[f32] {
    traces.last().map_or(&[], |trace| &trace.out)
}

/// The way forward. Weights are packed once.
pub struct HeadForward<'a> {
    layers: Vec<Dense>,
    params: &'a [f32],
    latent: Latent,
    tokens: Option<Packed>,
    weights: Vec<Packed>,
}

impl<'a> HeadForward<'a> {
    /// The first layer's inputs are `deter` numbers of the state, then the tokens, if any.
    pub fn new(layers: &[Dense], params: &'a [f32], latent: Latent, deter: usize) -> Self {
        let tokens = layers[0].own - deter;
        let pack = |(index, layer): (usize, &Dense)| layer.pack(params, 0, if index == 0 { deter } else { layer.own });
        Self {
            layers: layers.to_vec(),
            params,
            latent,
            tokens: (tokens > 0).then(|| layers[0].pack(params, deter, tokens)),
            weights: layers.iter().enumerate().map(pack).collect(),
        }
    }

    /// What the tokens contribute, for `rows` rows at once.
    pub fn prepare(&self, traces: &mut [LayerTrace], rows: Rows, tokens: &[f32]) {
        if let Some(weight) = &self.tokens {
            let sums = rows.of_mut(&mut traces[0].out, self.layers[0].outputs);
            weight.product(sums, rows.count, Left::Rows(tokens), false);
        }
    }

    /// The rows' statistics from their `h`, after `prepare`.
    pub fn step(&self, traces: &mut [LayerTrace], rows: Rows, h: &[f32]) {
        for (index, (layer, weight)) in self.layers.iter().zip(&self.weights).enumerate() {
            let (below, own) = traces.split_at_mut(index);
            let input = below.last().map_or(h, |below| rows.of(&below.out, layer.own));
            let sums = rows.of_mut(&mut own[0].out, layer.outputs);
            weight.product(sums, rows.count, Left::Rows(input), index == 0 && self.tokens.is_some());
            layer.finish(self.params, &mut own[0], rows.first, rows.count);
        }
        if let (Some(last), Some(layer)) = (traces.last_mut(), self.layers.last()) {
            self.latent.finish_stats(rows.of_mut(&mut last.out, layer.outputs));
        }
    }
}

/// The way back.
pub struct HeadBackward<'a> {
    layers: Vec<Dense>,
    params: &'a [f32],
    latent: Latent,
    deter: usize,
    weights: Vec<Packed>,
}

impl<'a> HeadBackward<'a> {
    pub fn new(layers: &[Dense], params: &'a [f32], latent: Latent, deter: usize) -> Self {
        let pack = |(index, layer): (usize, &Dense)| {
            layer.pack_transposed(params, 0, if index == 0 { deter } else { layer.own })
        };
        let weights = layers.iter().enumerate().map(pack).collect();
        Self { layers: layers.to_vec(), params, latent, deter, weights }
    }

    /// Back through the rows, whose statistics' gradient lies in the last of `grads`: adds to `dh`, and to the gradients of biases
    /// and norms in `params`, if wanted.
    pub fn step(
        &self,
        traces: &[LayerTrace],
        grads: &mut [Pooled],
        rows: Rows,
        dh: &mut [f32],
        mut params: Option<&mut [f32]>,
    ) {
        if let (Some(layer), Some(grad)) = (self.layers.last(), grads.last_mut()) {
            let width = layer.outputs;
            self.latent.unfinish_stats(rows.of(stats(traces), width), rows.of_mut(grad, width));
        }
        for (index, (layer, weight)) in self.layers.iter().zip(&self.weights).enumerate().rev() {
            let (below, own) = grads.split_at_mut(index);
            let grad = rows.of_mut(&mut own[0], layer.outputs);
            layer.unfinish(self.params, &traces[index], rows.first, grad, params.as_deref_mut());
            match below.last_mut() {
                Some(below) => weight.product(rows.of_mut(below, layer.own), rows.count, Left::Rows(grad), false),
                None => weight.product(dh, rows.count, Left::Rows(grad), true),
            }
        }
    }

    /// Writes the gradients of all weights, once all rows were gone back through. `tokens` is empty for a prior.
    pub fn weights(&self, traces: &[LayerTrace], grads: &[Pooled], h: &[f32], tokens: &[f32], params: &mut [f32]) {
        for (index, (layer, grad)) in self.layers.iter().zip(grads).enumerate() {
            match index.checked_sub(1) {
                Some(below) => layer.weight_gradient(0, layer.own, &traces[below].out, grad, params),
                None => {
                    layer.weight_gradient(0, self.deter, h, grad, params);
                    layer.weight_gradient(self.deter, layer.own - self.deter, tokens, grad, params);
                }
            }
        }
    }

    /// Writes the gradient of the tokens, for `rows` rows.
    pub fn tokens(&self, grads: &[Pooled], rows: usize, grad_tokens: &mut [f32]) {
        let layer = &self.layers[0];
        let weight = layer.pack_transposed(self.params, self.deter, layer.own - self.deter);
        weight.product(grad_tokens, rows, Left::Rows(&grads[0]), false);
    }
}
