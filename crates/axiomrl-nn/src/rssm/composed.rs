//! A recurrent state-space model in Burn's own operations, step by step.

use super::dense::{Dense, LAYER_NORM_EPSILON, Norm};
use super::latent::Latent;
use super::plan::Plan;
use super::sequence::seen_actions;
use super::spec::{RssmCore, RssmSpec};
use super::{Observed, Window};
use crate::burn::tensor::Tensor;
use crate::burn::tensor::activation::{sigmoid, softmax, softplus, tanh};
use crate::composed::activate;
use crate::kernels::rms_norm::EPSILON;
use crate::tensors::{leaf_on, values};

/// See [`Rssm::observe`](crate::Rssm::observe).
pub fn observe(spec: &RssmSpec, tokens: Tensor<2>, params: Tensor<2>, window: Window<'_>) -> Observed {
    let (plan, device) = (spec.plan(), params.device());
    let model = Model { spec, plan: &plan, params };
    let Window { steps, rows, .. } = window;
    let (deter, latent) = (spec.deter, spec.latent);
    let start = leaf_on(window.start, [rows, spec.features()], &device);
    let mut h = start.clone().slice([0..rows, 0..deter]);
    let mut z = start.slice([0..rows, deter..spec.features()]);
    let (mut features, mut posteriors, mut priors) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..steps {
        let at = |width: usize| step * rows * width..(step + 1) * rows * width;
        let keep: Vec<f32> = window.is_first[at(1)].iter().map(|first| if *first { 0.0 } else { 1.0 }).collect();
        let keep = leaf_on(&keep, [rows, 1], &device);
        let mut actions = window.actions[at(spec.actions)].to_vec();
        seen_actions(spec, &mut actions);
        let actions = leaf_on(&actions, [rows, spec.actions], &device) * keep.clone();
        h = model.cell(h * keep.clone(), z * keep, actions);
        let now = tokens.clone().slice([step * rows..(step + 1) * rows, 0..spec.tokens]);
        let posterior = model.head(&plan.posterior, Tensor::cat(vec![h.clone(), now], 1));
        z = sample(latent, posterior.clone(), &window.noise[at(latent.noise())]);
        features.push(Tensor::cat(vec![h.clone(), z.clone()], 1));
        priors.push(model.head(&plan.prior, h.clone()));
        posteriors.push(posterior);
    }
    Observed {
        features: Tensor::cat(features, 0),
        posterior: Tensor::cat(posteriors, 0),
        prior: Tensor::cat(priors, 0),
    }
}

/// A latent drawn on the host; its gradient is the reparametrised or the straight-through one.
fn sample(latent: Latent, stats: Tensor<2>, noise: &[f32]) -> Tensor<2> {
    let (rows, device) = (stats.dims()[0], stats.device());
    match latent {
        Latent::Gaussian { size, .. } => {
            let (mean, std) = (stats.clone().slice([0..rows, 0..size]), stats.slice([0..rows, size..2 * size]));
            mean + std * leaf_on(noise, [rows, size], &device)
        }
        Latent::Categorical { groups, classes, unimix } => {
            let mut drawn = vec![0.0; rows * groups * classes];
            latent.sample(&values(&stats), noise, &mut drawn);
            let probabilities = softmax(stats.reshape([rows, groups, classes]), 2).reshape([rows, groups * classes]);
            // The difference is zero, its gradient is not.
            let through = (probabilities.clone() - probabilities.detach()) * (1.0 - unimix);
            leaf_on(&drawn, [rows, groups * classes], &device) + through
        }
    }
}

struct Model<'a> {
    spec: &'a RssmSpec,
    plan: &'a Plan,
    params: Tensor<2>,
}

impl Model<'_> {
    fn part(&self, offset: usize, rows: usize, columns: usize) -> Tensor<2> {
        self.params.clone().slice([0..1, offset..offset + rows * columns]).reshape([rows, columns])
    }

    /// The linear map alone; `shared` is what all blocks see.
    fn linear(&self, layer: &Dense, own: Tensor<2>, shared: Option<Tensor<2>>) -> Tensor<2> {
        let (rows, width) = (own.dims()[0], layer.block_outputs());
        let weight = self.part(layer.offset, layer.fan_in(), layer.outputs);
        let blocks = (0..layer.blocks).map(|block| {
            let x = own.clone().slice([0..rows, block * layer.own..(block + 1) * layer.own]);
            x.matmul(weight.clone().slice([0..layer.own, block * width..(block + 1) * width]))
        });
        let mut sums = Tensor::cat(blocks.collect(), 1);
        if let Some(shared) = shared {
            sums = sums + shared.matmul(weight.slice([layer.own..layer.fan_in(), 0..layer.outputs]));
        }
        sums + self.part(layer.offset + layer.weights(), 1, layer.outputs)
    }

    fn layer(&self, layer: &Dense, own: Tensor<2>, shared: Option<Tensor<2>>) -> Tensor<2> {
        let sums = self.linear(layer, own, shared);
        let vector = |index: usize| self.part(layer.offset + layer.weights() + index * layer.outputs, 1, layer.outputs);
        let square_mean = |x: &Tensor<2>| (x.clone() * x.clone()).mean_dim(1);
        let normed = match layer.norm {
            Norm::None => sums,
            Norm::Rms => {
                let square = square_mean(&sums);
                sums / (square + EPSILON).sqrt() * vector(1)
            }
            Norm::Layer => {
                let centred = sums.clone() - sums.mean_dim(1);
                let variance = square_mean(&centred);
                centred / (variance + LAYER_NORM_EPSILON).sqrt() * vector(1) + vector(2)
            }
        };
        activate(normed, layer.activation)
    }

    fn cell(&self, h: Tensor<2>, z: Tensor<2>, a: Tensor<2>) -> Tensor<2> {
        let (layers, deter, rows) = (&self.plan.cell[..], self.spec.deter, h.dims()[0]);
        match (self.spec.core, layers) {
            (RssmCore::Gru, [input, from_x, from_h]) => {
                let x = self.layer(input, Tensor::cat(vec![z, a], 1), None);
                let (from_x, from_h) = (self.linear(from_x, x, None), self.linear(from_h, h.clone(), None));
                let gate =
                    |all: &Tensor<2>, index: usize| all.clone().slice([0..rows, index * deter..(index + 1) * deter]);
                let r = sigmoid(gate(&from_x, 0) + gate(&from_h, 0));
                let g = sigmoid(gate(&from_x, 1) + gate(&from_h, 1));
                let c = tanh(gate(&from_x, 2) + r * gate(&from_h, 2));
                c.clone() + g * (h - c)
            }
            (RssmCore::NormGru, [input, gates]) => {
                let x = self.layer(input, Tensor::cat(vec![z, a], 1), None);
                self.update(self.layer(gates, Tensor::cat(vec![x, h.clone()], 1), None), h, 1)
            }
            (RssmCore::BlockGru { blocks }, [from_h, from_z, from_a, mix, gates]) => {
                let shared =
                    vec![self.layer(from_h, h.clone(), None), self.layer(from_z, z, None), self.layer(from_a, a, None)];
                let mixed = self.layer(mix, h.clone(), Some(Tensor::cat(shared, 1)));
                self.update(self.layer(gates, mixed, None), h, blocks)
            }
            _ => unreachable!("a plan has its core's layers"),
        }
    }

    /// The gates, of which each block has its own three.
    fn update(&self, sums: Tensor<2>, h: Tensor<2>, blocks: usize) -> Tensor<2> {
        let (rows, width) = (h.dims()[0], self.spec.deter / blocks);
        let sums = sums.reshape([rows, blocks, 3, width]);
        let gate = |index: usize| -> Tensor<2> {
            sums.clone().slice([0..rows, 0..blocks, index..index + 1, 0..width]).reshape([rows, blocks * width])
        };
        let c = tanh(sigmoid(gate(0)) * gate(1));
        let u = sigmoid(gate(2) - 1.0);
        h.clone() + u * (c - h)
    }

    /// A latent's statistics.
    fn head(&self, layers: &[Dense], x: Tensor<2>) -> Tensor<2> {
        let raw = layers.iter().fold(x, |x, layer| self.layer(layer, x, None));
        let Latent::Gaussian { size, min_std } = self.spec.latent else { return raw };
        let rows = raw.dims()[0];
        let std = softplus(raw.clone().slice([0..rows, size..2 * size]), 1.0) + min_std;
        Tensor::cat(vec![raw.slice([0..rows, 0..size]), std], 1)
    }
}
