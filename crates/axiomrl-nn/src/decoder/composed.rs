//! A decoder in Burn's own operations.

use super::DecoderSpec;
use crate::burn::tensor::Tensor;
use crate::composed::activate;
use crate::images::composed::{channels_first, convolve, linear, rms_norm, to_rows};
use crate::kernels::activation::Activation;

/// Every pixel as 2x2 pixels.
fn enlarge(x: Tensor<4>) -> Tensor<4> {
    let [images, channels, height, width] = x.dims();
    let pixels: Tensor<6> = x.reshape([images, channels, height, 1, width, 1]);
    pixels.repeat_dim(3, 2).repeat_dim(5, 2).reshape([images, channels, 2 * height, 2 * width])
}

/// A decoder: `x` `[images, inputs]`, result `[images, height·width·channels]`.
pub fn decoder(spec: &DecoderSpec, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
    let mut tensors = spec.layout().into_iter();
    let mut h = channels_first(linear(x, &params, &mut tensors), spec.start);
    if spec.rms_norm {
        h = activate(rms_norm(h, &params, &mut tensors), spec.activation);
    }
    for index in 0..spec.channels.len() {
        let is_last = index + 1 == spec.channels.len();
        h = convolve(enlarge(h), &params, &mut tensors, 1, 1);
        if spec.rms_norm && !is_last {
            h = rms_norm(h, &params, &mut tensors);
        }
        h = activate(h, if is_last { Activation::Identity } else { spec.activation });
    }
    to_rows(h)
}
