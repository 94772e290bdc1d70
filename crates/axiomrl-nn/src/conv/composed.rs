//! A stack of convolutions in Burn's own operations.

use super::ConvSpec;
use crate::burn::tensor::Tensor;
use crate::composed::activate;
use crate::images::composed::{channels_first, convolve, rms_norm, to_rows};

/// A stack of convolutions: `x` `[images, height·width·channels]`, result `[images, features]`.
pub fn conv(spec: &ConvSpec, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
    let mut tensors = spec.layout().into_iter();
    let mut h = channels_first(x, spec.input);
    for layer in &spec.layers {
        h = convolve(h, &params, &mut tensors, layer.stride, layer.padding);
        if spec.rms_norm {
            h = rms_norm(h, &params, &mut tensors);
        }
        h = activate(h, spec.activation);
    }
    to_rows(h)
}
