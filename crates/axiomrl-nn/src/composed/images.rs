//! Networks over images. Burn's convolutions have channels first, so images are turned at the beginning and at the end.

use super::{activate, part};
use crate::conv::ConvSpec;
use crate::decoder::DecoderSpec;
use crate::residual::ResidualSpec;
use crate::spec::{Activation, TensorLayout};
use burn::tensor::module::{conv2d, max_pool2d};
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};
use burn::tensor::{Tensor, activation};

/// Rows of images, channels last, to `[images, channels, height, width]`.
fn channels_first(x: Tensor<2>, [height, width, channels]: [usize; 3]) -> Tensor<4> {
    let images = x.dims()[0];
    x.reshape([images, height, width, channels]).permute([0, 3, 1, 2])
}

/// The reverse of [`channels_first`].
fn to_rows(x: Tensor<4>) -> Tensor<2> {
    let [images, channels, height, width] = x.dims();
    x.permute([0, 2, 3, 1]).reshape([images, height * width * channels])
}

/// A convolution whose weight and bias are the next two tensors.
fn convolve(
    x: Tensor<4>,
    params: &Tensor<2>,
    tensors: &mut impl Iterator<Item = TensorLayout>,
    stride: usize,
    padding: usize,
) -> Tensor<4> {
    let (weight, bias) = weight_and_bias(tensors);
    let [outputs, channels, kernel, _] = weight.shape[..] else { panic!("a convolution's weight has four dimensions") };
    let kernels = part(params, &weight).reshape([kernel, kernel, channels, outputs]).permute([3, 2, 0, 1]);
    let bias = part(params, &bias).reshape([outputs]);
    conv2d(x, kernels, Some(bias), ConvOptions::new([stride; 2], [padding; 2], [1, 1], 1))
}

/// A linear map whose weight and bias are the next two tensors.
fn linear(x: Tensor<2>, params: &Tensor<2>, tensors: &mut impl Iterator<Item = TensorLayout>) -> Tensor<2> {
    let (weight, bias) = weight_and_bias(tensors);
    let (outputs, inputs) = (weight.shape[0], weight.shape[1]);
    x.matmul(part(params, &weight).reshape([inputs, outputs])) + part(params, &bias)
}

fn weight_and_bias(tensors: &mut impl Iterator<Item = TensorLayout>) -> (TensorLayout, TensorLayout) {
    tensors.next().zip(tensors.next()).expect("a layout lists every layer's weight and bias")
}

/// A stack of convolutions: `x` `[images, height·width·channels]`, result `[images, features]`.
pub fn conv(spec: &ConvSpec, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
    let mut tensors = spec.layout().into_iter();
    let mut h = channels_first(x, spec.input);
    for layer in &spec.layers {
        h = activate(convolve(h, &params, &mut tensors, layer.stride, layer.padding), spec.activation);
    }
    to_rows(h)
}

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
    for index in 0..spec.channels.len() {
        let is_last = index + 1 == spec.channels.len();
        h = convolve(enlarge(h), &params, &mut tensors, 1, 1);
        h = activate(h, if is_last { Activation::Identity } else { spec.activation });
    }
    to_rows(h)
}
