//! Multi-layer perceptrons.

use super::{Layer, MlpSpec};
use crate::burn::tensor::Tensor;
use crate::composed::{activate, part};
use crate::kernels::dropout::{DropoutKey, dropout};
use crate::kernels::layer_norm::EPSILON;
use crate::kernels::rms_norm::EPSILON as RMS_EPSILON;
use crate::tensors::leaf_on;

/// An ensemble: `x` `[members, rows, in]`, or `[1, rows, in]` shared by all; `params` `[members, parameters]`; result
/// `[members, rows, out]`.
pub fn mlp(spec: &MlpSpec, x: Tensor<3>, params: Tensor<2>, dropout_seed: Option<u64>) -> Tensor<3> {
    let (members, [_, rows, inputs]) = (params.dims()[0], x.dims());
    let mut tensors = spec.layout().into_iter();
    let mut next = |rows: usize, columns: usize| -> Tensor<3> {
        let tensor = tensors.next().expect("a layout lists every tensor of every layer");
        part(&params, &tensor).reshape([members, rows, columns])
    };
    let mut h = x.expand([members, rows, inputs]);
    for layer in spec.layers() {
        let width = layer.outputs;
        h = h.matmul(next(layer.inputs, width)) + next(1, width);
        if let Some(seed) = dropout_seed.filter(|_| spec.dropout > 0.0 && !layer.is_output) {
            let mask = dropout_mask(spec, &layer, members, rows, seed);
            h = h * leaf_on(&mask, [members, rows, width], &params.device());
        }
        let mut norm = |h: Tensor<3>| {
            if layer.rms {
                let square = (h.clone() * h.clone()).mean_dim(2);
                return h / (square + RMS_EPSILON).sqrt() * next(1, width);
            }
            let centred = h.clone() - h.mean_dim(2);
            let variance = (centred.clone() * centred.clone()).mean_dim(2);
            centred / (variance + EPSILON).sqrt() * next(1, width) + next(1, width)
        };
        h = match (layer.normed, layer.norm_after) {
            (false, _) => activate(h, layer.activation),
            (true, false) => activate(norm(h), layer.activation),
            (true, true) => norm(activate(h, layer.activation)),
        };
    }
    h
}

/// The factors the fused operation multiplies with.
fn dropout_mask(spec: &MlpSpec, layer: &Layer, members: usize, rows: usize, seed: u64) -> Vec<f32> {
    let mut mask = vec![1.0; members * rows * layer.outputs];
    for (member, mask) in mask.chunks_exact_mut((rows * layer.outputs).max(1)).enumerate() {
        dropout(mask, DropoutKey::new(seed, member, layer.index), 0, spec.dropout);
    }
    mask
}
