//! What networks over images have in common. Burn's convolutions have channels first, so images are turned at the beginning and at the end.

use crate::burn::tensor::Tensor;
use crate::burn::tensor::module::conv2d;
use crate::burn::tensor::ops::ConvOptions;
use crate::composed::part;
use crate::kernels::rms_norm::EPSILON;
use crate::layout::TensorLayout;

/// Rows of images, channels last, to `[images, channels, height, width]`.
pub fn channels_first(x: Tensor<2>, [height, width, channels]: [usize; 3]) -> Tensor<4> {
    let images = x.dims()[0];
    x.reshape([images, height, width, channels]).permute([0, 3, 1, 2])
}

/// The reverse of [`channels_first`].
pub fn to_rows(x: Tensor<4>) -> Tensor<2> {
    let [images, channels, height, width] = x.dims();
    x.permute([0, 2, 3, 1]).reshape([images, height * width * channels])
}

/// A convolution whose weight and bias are the next two tensors.
pub fn convolve(
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

/// RMSNorm over the channels, whose scale is the next tensor.
pub fn rms_norm(x: Tensor<4>, params: &Tensor<2>, tensors: &mut impl Iterator<Item = TensorLayout>) -> Tensor<4> {
    let scale = tensors.next().expect("a layout lists every norm's scale");
    let scale = part(params, &scale).reshape([1, scale.len(), 1, 1]);
    let square = (x.clone() * x.clone()).mean_dim(1);
    x / (square + EPSILON).sqrt() * scale
}

/// A linear map whose weight and bias are the next two tensors.
pub fn linear(x: Tensor<2>, params: &Tensor<2>, tensors: &mut impl Iterator<Item = TensorLayout>) -> Tensor<2> {
    let (weight, bias) = weight_and_bias(tensors);
    let (outputs, inputs) = (weight.shape[0], weight.shape[1]);
    x.matmul(part(params, &weight).reshape([inputs, outputs])) + part(params, &bias)
}

fn weight_and_bias(tensors: &mut impl Iterator<Item = TensorLayout>) -> (TensorLayout, TensorLayout) {
    tensors.next().zip(tensors.next()).expect("a layout lists every layer's weight and bias")
}
