//! Convolutional encoders on flat parameters.

pub(crate) mod composed;
pub(crate) mod convolution;
mod onnx;
mod pass;
mod passes;
pub(crate) mod windows;

pub use pass::ConvPass;

use crate::burn::tensor::Tensor;
use crate::error::NnError;
use crate::images::{ImageNet, ImageSpec, SeesImages};
use crate::init::Init;
use crate::kernels::activation::Activation;
use crate::kernels::patches::Window;
use crate::layout::TensorLayout;
use convolution::Convolution;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// One square convolution, followed by the encoder's activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvLayer {
    /// Output channels.
    pub channels: usize,
    /// Side of the kernel.
    pub kernel: usize,
    /// Pixels between output positions.
    pub stride: usize,
    /// Zero pixels around the image.
    pub padding: usize,
}

impl ConvLayer {
    /// A convolution.
    pub fn new(channels: usize, kernel: usize, stride: usize, padding: usize) -> Self {
        Self { channels, kernel, stride, padding }
    }
}

/// A stack of convolutions over images `[height, width, channels]`, channels last.
///
/// The features are the last layer's `[height, width, channels]`, flattened in that order (PyTorch flattens channels first:
/// reorder the columns of a linear layer that follows when moving weights). Flat layout, layer after layer: weight
/// `[kernel, kernel, in, out]`, bias `[out]`, and the norm's scale `[out]` when present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvSpec {
    /// Height, width and channels of an image.
    pub input: [usize; 3],
    /// The convolutions from input to output.
    pub layers: Vec<ConvLayer>,
    /// Activation after every convolution.
    pub activation: Activation,
    /// RMSNorm over the channels of each pixel before every activation.
    #[serde(default)]
    pub rms_norm: bool,
}

impl ConvSpec {
    /// Any stack of convolutions.
    pub fn new(input: [usize; 3], layers: &[ConvLayer], activation: Activation) -> Self {
        Self { input, layers: layers.to_vec(), activation, rms_norm: false }
    }

    /// Adds RMSNorm over the channels to every layer.
    pub fn with_rms_norm(mut self) -> Self {
        self.rms_norm = true;
        self
    }

    /// The DQN encoder of Nature 2015, for images of 84x84 or so.
    pub fn nature(input: [usize; 3]) -> Self {
        let layers = [ConvLayer::new(32, 8, 4, 0), ConvLayer::new(64, 4, 2, 0), ConvLayer::new(64, 3, 1, 0)];
        Self::new(input, &layers, Activation::Relu)
    }

    /// The encoder of DrQ: four 3x3 convolutions of 32 channels, the first of stride 2.
    pub fn drq(input: [usize; 3]) -> Self {
        let rest = ConvLayer::new(32, 3, 1, 0);
        Self::new(input, &[ConvLayer::new(32, 3, 2, 0), rest, rest, rest], Activation::Relu)
    }

    /// For images of 8 to 40 pixels: halves the image with each layer, three times from 24 pixels on, twice below.
    pub fn small(input: [usize; 3]) -> Self {
        let mut layers = vec![ConvLayer::new(16, 3, 2, 1), ConvLayer::new(32, 3, 2, 1)];
        if input[0].min(input[1]) >= 24 {
            layers.push(ConvLayer::new(32, 3, 2, 1));
        }
        Self::new(input, &layers, Activation::Relu)
    }

    /// Refuses a layer that does not fit its image.
    pub fn check(&self) -> Result<(), NnError> {
        let [mut height, mut width, _] = self.input;
        for (index, layer) in self.layers.iter().enumerate() {
            let padded = height.min(width) + 2 * layer.padding;
            if layer.kernel == 0 || layer.stride == 0 || layer.channels == 0 || layer.kernel > padded {
                return Err(NnError::KernelTooLarge { layer: index, kernel: layer.kernel, height, width });
            }
            let size = |side: usize| (side + 2 * layer.padding - layer.kernel) / layer.stride + 1;
            (height, width) = (size(height), size(width));
        }
        Ok(())
    }

    /// Height, width and channels after the last layer.
    ///
    /// # Panics
    /// As everything below, when a layer does not fit its image: call [`check`](Self::check) on what a user gave.
    pub fn output_shape(&self) -> [usize; 3] {
        match self.convolutions().last() {
            Some(conv) => [conv.window.out_height(), conv.window.out_width(), conv.outputs],
            None => self.input,
        }
    }

    /// Values per image after the last layer.
    pub fn features(&self) -> usize {
        self.output_shape().iter().product()
    }

    /// Numbers that each layer takes at every position: those of a patch.
    pub fn patch_lens(&self) -> Vec<usize> {
        self.convolutions().iter().map(|conv| conv.window.patch_len()).collect()
    }

    /// Number of parameters.
    pub fn param_count(&self) -> usize {
        self.convolutions().iter().map(Convolution::params).sum()
    }

    /// Floating-point operations of a forward pass over `images` images.
    pub fn flops(&self, images: usize) -> usize {
        images * self.convolutions().iter().map(Convolution::flops).sum::<usize>()
    }

    /// The named tensors inside the flat vector.
    pub fn layout(&self) -> Vec<TensorLayout> {
        let tensors = self.convolutions().into_iter().enumerate();
        tensors.flat_map(|(index, conv)| conv.layout(&index.to_string())).collect()
    }

    /// The layers with their geometry, from input to output.
    pub(crate) fn convolutions(&self) -> Vec<Convolution> {
        if let Err(error) = self.check() {
            panic!("{error}");
        }
        let [mut height, mut width, mut channels] = self.input;
        let mut offset = 0;
        let convolutions = self.layers.iter().map(|layer| {
            let ConvLayer { kernel, stride, padding, .. } = *layer;
            let window = Window { height, width, channels, kernel, stride, padding };
            let conv = Convolution { window, outputs: layer.channels, offset, normed: self.rms_norm };
            (height, width, channels) = (window.out_height(), window.out_width(), layer.channels);
            offset += conv.params();
            conv
        });
        convolutions.collect()
    }
}

/// A stack of convolutions with its parameters.
pub type ConvNet = ImageNet<ConvSpec>;

impl SeesImages for ConvSpec {}

impl ImageSpec for ConvSpec {
    fn draw(&self, init: &Init, rng: &mut ChaCha8Rng, values: &mut Vec<f32>) {
        assert!(!self.layers.is_empty(), "an encoder needs at least one layer");
        for conv in self.convolutions() {
            init.draw_hidden(conv.window.patch_len(), conv.outputs, values, rng);
            values.extend(std::iter::repeat_n(1.0, if conv.normed { conv.outputs } else { 0 }));
        }
    }

    fn tensors(&self) -> Vec<TensorLayout> {
        self.layout()
    }

    fn composed(&self, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
        composed::conv(self, x, params)
    }
}
