//! The residual encoder in Burn's own operations.

use super::ResidualSpec;
use crate::burn::tensor::module::max_pool2d;
use crate::burn::tensor::ops::MaxPoolOptions;
use crate::burn::tensor::{Tensor, activation};
use crate::images::composed::{channels_first, convolve, linear, to_rows};

/// The residual encoder: `x` `[images, height·width·channels]`, result `[images, features]`.
pub fn residual(spec: &ResidualSpec, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
    let mut tensors = spec.layout().into_iter();
    let mut h = channels_first(x, spec.input);
    for _ in &spec.channels {
        h = convolve(h, &params, &mut tensors, 1, 1);
        h = max_pool2d(h, MaxPoolOptions::new([3, 3]).with_stride([2, 2]).with_padding([1, 1]));
        for _ in 0..spec.blocks {
            let hidden = convolve(activation::relu(h.clone()), &params, &mut tensors, 1, 1);
            h = h + convolve(activation::relu(hidden), &params, &mut tensors, 1, 1);
        }
    }
    let features = linear(activation::relu(to_rows(h)), &params, &mut tensors);
    if spec.relu_features { activation::relu(features) } else { features }
}
