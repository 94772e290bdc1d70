//! The layers of a model and where their parameters lie.

use super::dense::{Dense, Norm};
use super::spec::{RssmCore, RssmSpec};
use crate::kernels::activation::Activation;

/// All layers in the order of the flat parameters.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Of the cell: see the files of the cells for which is which.
    pub cell: Vec<Dense>,
    /// From `[h, tokens]` to the posterior's statistics.
    pub posterior: Vec<Dense>,
    /// From `h` to the prior's statistics.
    pub prior: Vec<Dense>,
    pub params: usize,
}

/// Names of the cells' layers.
const GRU: [&str; 3] = ["input", "gates_x", "gates_h"];
const NORM_GRU: [&str; 2] = ["input", "gates"];
const BLOCK_GRU: [&str; 5] = ["input_h", "input_z", "input_a", "mix", "gates"];

impl Plan {
    pub fn of(spec: &RssmSpec) -> Self {
        let RssmSpec { deter, hidden, tokens, actions, .. } = *spec;
        let (z, stats) = (spec.latent.width(), spec.latent.stats());
        let (norm, activation) = match spec.core {
            RssmCore::BlockGru { .. } => (Norm::Rms, Activation::Silu),
            _ => (Norm::None, Activation::Elu),
        };
        let plain = (Norm::None, Activation::Identity);
        let mut params = 0;
        let mut add = |inputs: usize, outputs: usize, (norm, activation)| {
            let layer = Dense { offset: params, own: inputs, shared: 0, outputs, blocks: 1, norm, activation };
            params += layer.len();
            layer
        };
        let cell = match spec.core {
            RssmCore::Gru => vec![
                add(z + actions, hidden, (norm, activation)),
                add(hidden, 3 * deter, plain),
                add(deter, 3 * deter, plain),
            ],
            RssmCore::NormGru => vec![
                add(z + actions, hidden, (norm, activation)),
                add(hidden + deter, 3 * deter, (Norm::Layer, Activation::Identity)),
            ],
            RssmCore::BlockGru { blocks } => {
                let inputs = [deter, z, actions].map(|width| add(width, hidden, (norm, activation)));
                let own = deter / blocks;
                let mix = Dense { blocks, own, shared: 3 * hidden, ..add(own + 3 * hidden, deter, (norm, activation)) };
                let gates = Dense { blocks, ..add(own, 3 * deter, plain) };
                inputs.into_iter().chain([mix, gates]).collect()
            }
        };
        let mut head = |inputs: usize, layers: usize| {
            let mut width = inputs;
            let mut head = Vec::with_capacity(layers + 1);
            for _ in 0..layers {
                head.push(add(width, hidden, (norm, activation)));
                width = hidden;
            }
            head.push(add(width, stats, plain));
            head
        };
        let (posterior, prior) = (head(deter + tokens, spec.posterior_layers), head(deter, spec.prior_layers));
        Self { cell, posterior, prior, params }
    }

    /// Every layer with its name.
    pub fn layers(&self) -> impl Iterator<Item = (String, &Dense)> {
        let names: &[&str] = match self.cell.len() {
            3 => &GRU,
            2 => &NORM_GRU,
            _ => &BLOCK_GRU,
        };
        let cell = names.iter().zip(&self.cell).map(|(name, layer)| (format!("core.{name}"), layer));
        let posterior = self.posterior.iter().enumerate().map(|(index, layer)| (format!("posterior.{index}"), layer));
        let prior = self.prior.iter().enumerate().map(|(index, layer)| (format!("prior.{index}"), layer));
        cell.chain(posterior).chain(prior)
    }
}
