//! Fresh parameters of a model.

use super::dense::{Dense, Norm};
use super::spec::{RssmCore, RssmSpec};
use crate::init::{orthogonal, truncated_normal};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// All parameters, layer after layer.
pub fn draw(spec: &RssmSpec, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let plan = spec.plan();
    let mut values = Vec::with_capacity(plan.params);
    for (name, layer) in plan.layers() {
        match spec.core {
            RssmCore::BlockGru { .. } => {
                // A block's weights are as small as if it saw all blocks' inputs.
                let scale = 1.0 / ((layer.blocks * layer.fan_in()).max(1) as f32).sqrt();
                values.extend((0..layer.weights()).map(|_| scale * truncated_normal(rng)));
            }
            RssmCore::Gru if name == "core.gates_h" => values.extend(orthogonal(layer.own, layer.outputs, rng)),
            _ => {
                let bound = (6.0 / (layer.fan_in() + layer.outputs) as f32).sqrt();
                values.extend((0..layer.weights()).map(|_| bound * (2.0 * rng.random::<f32>() - 1.0)));
            }
        }
        vectors(layer, &mut values);
    }
    values
}

/// Biases 0, norms as the identity.
fn vectors(layer: &Dense, values: &mut Vec<f32>) {
    let mut repeat = |value: f32| values.extend(std::iter::repeat_n(value, layer.outputs));
    repeat(0.0);
    if layer.norm != Norm::None {
        repeat(1.0);
    }
    if layer.norm == Norm::Layer {
        repeat(0.0);
    }
}
