//! Decoders from a feature vector to an image, on flat parameters.

pub(crate) mod composed;
mod passes;
mod upconv;

use crate::burn::tensor::Tensor;
use crate::error::NnError;
use crate::images::{ImageNet, ImageSpec};
use crate::init::Init;
use crate::kernels::activation::Activation;
use crate::layout::TensorLayout;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use upconv::UpConv;

/// A linear map to a small image, then layers that each double it: nearest enlargement, 3x3 convolution, activation.
///
/// The last layer has no activation. Images are `[height, width, channels]`, channels last, the linear map's too (PyTorch has
/// channels first: reorder the rows of `linear.weight` and `linear.bias` when moving weights). Flat layout: the linear map's
/// weight `[inputs, height·width·channels]` and bias, then layer after layer weight `[3, 3, in, out]` and bias `[out]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecoderSpec {
    /// Width of the input row.
    pub inputs: usize,
    /// Height, width and channels after the linear map.
    pub start: [usize; 3],
    /// Output channels of each doubling layer; the last are the image's.
    pub channels: Vec<usize>,
    /// Activation after every layer but the last.
    pub activation: Activation,
    /// RMSNorm over the channels of each pixel, and the activation, behind the linear map; and the norm before every activation.
    #[serde(default)]
    pub rms_norm: bool,
}

impl DecoderSpec {
    /// Any decoder.
    pub fn new(inputs: usize, start: [usize; 3], channels: &[usize], activation: Activation) -> Self {
        Self { inputs, start, channels: channels.to_vec(), activation, rms_norm: false }
    }

    /// Adds RMSNorm over the channels to the linear map, with an activation, and to every layer but the last.
    pub fn with_rms_norm(mut self) -> Self {
        self.rms_norm = true;
        self
    }

    /// For an image of 16, 32 or 64 pixels (any sides of 4 to 7 pixels times the same power of two): channels halve as the
    /// image doubles, down to 16 before the last layer.
    pub fn for_image(inputs: usize, image: [usize; 3]) -> Result<Self, NnError> {
        let [height, width, image_channels] = image;
        let (mut start_height, mut start_width, mut layers) = (height, width, 0);
        while start_height.is_multiple_of(2) && start_width.is_multiple_of(2) && start_height.min(start_width) >= 8 {
            (start_height, start_width, layers) = (start_height / 2, start_width / 2, layers + 1);
        }
        let sides = 4..8;
        if layers == 0 || !sides.contains(&start_height) || !sides.contains(&start_width) {
            return Err(NnError::NotDoubled { height, width });
        }
        let mut channels: Vec<usize> = (0..layers - 1).rev().map(|layer| 16 << layer).collect();
        channels.push(image_channels);
        Ok(Self::new(inputs, [start_height, start_width, 16 << (layers - 1)], &channels, Activation::Relu))
    }

    /// Refuses a shape without pixels, channels or inputs.
    pub fn check(&self) -> Result<(), NnError> {
        let sizes = self.start.iter().chain(&self.channels).chain([&self.inputs]);
        if self.channels.is_empty() || sizes.into_iter().any(|size| *size == 0) {
            return Err(NnError::EmptyLayer { network: "decoder" });
        }
        Ok(())
    }

    /// Height, width and channels of the image.
    ///
    /// # Panics
    /// As everything below, when the shape is empty somewhere: call [`check`](Self::check) on what a user gave.
    pub fn output_shape(&self) -> [usize; 3] {
        match self.upconvs().last() {
            Some(layer) => [2 * layer.height, 2 * layer.width, layer.outputs],
            None => self.start,
        }
    }

    /// Number of parameters.
    pub fn param_count(&self) -> usize {
        let layers = self.upconvs().iter().map(UpConv::params).sum::<usize>();
        self.linear_params() + layers
    }

    /// Floating-point operations of a forward pass over `images` images.
    pub fn flops(&self, images: usize) -> usize {
        images * (2 * self.inputs * self.start_len() + self.upconvs().iter().map(UpConv::flops).sum::<usize>())
    }

    /// The named tensors inside the flat vector: `linear.weight`, `linear.bias`, `0.weight`, `0.bias` …
    pub fn layout(&self) -> Vec<TensorLayout> {
        let layers = self.upconvs().into_iter().enumerate();
        let layers = layers.flat_map(|(index, layer)| layer.layout(&index.to_string()));
        let norm = self.rms_norm.then(|| TensorLayout {
            name: "linear.norm.weight".into(),
            offset: (self.inputs + 1) * self.start_len(),
            shape: vec![self.start[2]],
            transposed: false,
        });
        let linear = TensorLayout::linear("linear", 0, self.inputs, self.start_len());
        linear.into_iter().chain(norm).chain(layers).collect()
    }

    /// Parameters of the linear map, with its norm's scale.
    fn linear_params(&self) -> usize {
        (self.inputs + 1) * self.start_len() + if self.rms_norm { self.start[2] } else { 0 }
    }

    /// Values that the linear map's norm keeps of one image.
    pub(crate) fn start_norm_len(&self) -> usize {
        if self.rms_norm { self.start_len() + self.start[0] * self.start[1] } else { 0 }
    }

    /// Values after the linear map.
    pub(crate) fn start_len(&self) -> usize {
        self.start.iter().product()
    }

    /// The doubling layers with their geometry.
    fn upconvs(&self) -> Vec<UpConv> {
        if let Err(error) = self.check() {
            panic!("{error}");
        }
        let [mut height, mut width, mut channels] = self.start;
        let mut offset = self.linear_params();
        let layers = self.channels.iter().enumerate().map(|(index, &outputs)| {
            let is_last = index + 1 == self.channels.len();
            let activation = if is_last { Activation::Identity } else { self.activation };
            let normed = self.rms_norm && !is_last;
            let layer = UpConv { height, width, channels, outputs, offset, normed, activation };
            (height, width, channels) = (2 * height, 2 * width, outputs);
            offset += layer.params();
            layer
        });
        layers.collect()
    }
}

/// A decoder with its parameters.
pub type Decoder = ImageNet<DecoderSpec>;

impl ImageSpec for DecoderSpec {
    fn draw(&self, init: &Init, rng: &mut ChaCha8Rng, values: &mut Vec<f32>) {
        init.draw_hidden(self.inputs, self.start_len(), values, rng);
        values.extend(std::iter::repeat_n(1.0, if self.rms_norm { self.start[2] } else { 0 }));
        for layer in self.upconvs() {
            init.draw_hidden(9 * layer.channels, layer.outputs, values, rng);
            values.extend(std::iter::repeat_n(1.0, if layer.normed { layer.outputs } else { 0 }));
        }
    }

    fn tensors(&self) -> Vec<TensorLayout> {
        self.layout()
    }

    fn composed(&self, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
        composed::decoder(self, x, params)
    }
}
