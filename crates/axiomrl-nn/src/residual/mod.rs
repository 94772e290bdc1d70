//! The residual encoder of IMPALA on flat parameters.

pub(crate) mod composed;
mod onnx;
mod passes;

use crate::burn::tensor::Tensor;
use crate::conv::convolution::Convolution;
use crate::error::NnError;
use crate::images::{ImageNet, ImageSpec, SeesImages};
use crate::init::Init;
use crate::kernels::patches::Window;
use crate::kernels::pooling::Pool;
use crate::layout::TensorLayout;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Residual stages over images `[height, width, channels]`, channels last, and a linear map to the features.
///
/// A stage is a 3x3 convolution, a 3x3 max-pool of stride 2 and a few blocks `x + conv(relu(conv(relu(x))))`; every convolution
/// keeps the image's size by a padding of one. After the last stage: ReLU, a linear map over `[height, width, channels]`
/// flattened in that order (PyTorch flattens channels first: reorder the columns of `linear.weight` when moving weights), and
/// ReLU once more unless `relu_features` is off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResidualSpec {
    /// Height, width and channels of an image.
    pub input: [usize; 3],
    /// Channels of each stage.
    pub channels: Vec<usize>,
    /// Residual blocks per stage.
    pub blocks: usize,
    /// Width of the output row.
    pub features: usize,
    /// Whether ReLU follows the linear map, as in the paper.
    pub relu_features: bool,
}

/// One stage: its convolutions, from input to output, and its pool.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub conv: Convolution,
    pub pool: Pool,
    pub blocks: Vec<[Convolution; 2]>,
}

/// The linear map: weight `[inputs, features]` from `offset` on, then the bias.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear {
    pub inputs: usize,
    pub offset: usize,
}

impl ResidualSpec {
    /// IMPALA's encoder: stages of 16, 32 and 32 channels, times `width`, with two blocks each.
    pub fn impala(input: [usize; 3], width: usize, features: usize) -> Self {
        let channels = [16, 32, 32].map(|channels| channels * width).to_vec();
        Self { input, channels, blocks: 2, features, relu_features: true }
    }

    /// Refuses a shape without pixels, channels or features.
    pub fn check(&self) -> Result<(), NnError> {
        let sizes = self.input.iter().chain(&self.channels).chain([&self.features]);
        if self.channels.is_empty() || sizes.into_iter().any(|size| *size == 0) {
            return Err(NnError::EmptyLayer { network: "residual encoder" });
        }
        Ok(())
    }

    /// Number of parameters.
    ///
    /// # Panics
    /// As everything below, when the shape is empty somewhere: call [`check`](Self::check) on what a user gave.
    pub fn param_count(&self) -> usize {
        let linear = self.plan().1;
        linear.offset + (linear.inputs + 1) * self.features
    }

    /// Floating-point operations of a forward pass over `images` images.
    pub fn flops(&self, images: usize) -> usize {
        let (stages, linear) = self.plan();
        let convolutions = stages.iter().flat_map(Stage::convolutions).map(|(_, conv)| conv.flops()).sum::<usize>();
        images * (convolutions + 2 * linear.inputs * self.features)
    }

    /// The named tensors inside the flat vector: `0.conv.weight`, `0.block0.conv0.weight` … `linear.bias`.
    pub fn layout(&self) -> Vec<TensorLayout> {
        let (stages, linear) = self.plan();
        let mut layout: Vec<_> = stages
            .iter()
            .enumerate()
            .flat_map(|(index, stage)| stage.convolutions().map(move |(name, conv)| (format!("{index}.{name}"), conv)))
            .flat_map(|(name, conv)| conv.layout(&name))
            .collect();
        layout.extend(TensorLayout::linear("linear", linear.offset, linear.inputs, self.features));
        layout
    }

    /// The stages and the linear map with their geometry.
    pub(crate) fn plan(&self) -> (Vec<Stage>, Linear) {
        if let Err(error) = self.check() {
            panic!("{error}");
        }
        let [mut height, mut width, mut channels] = self.input;
        let mut offset = 0;
        let mut conv = |height, width, channels, outputs| {
            let window = Window { height, width, channels, kernel: 3, stride: 1, padding: 1 };
            let conv = Convolution { window, outputs, offset, normed: false };
            offset += conv.params();
            conv
        };
        let mut stages = Vec::with_capacity(self.channels.len());
        for &outputs in &self.channels {
            let entry = conv(height, width, channels, outputs);
            let pool = Pool { height, width, channels: outputs };
            (height, width, channels) = (pool.out_height(), pool.out_width(), outputs);
            let blocks = (0..self.blocks).map(|_| [(); 2].map(|()| conv(height, width, channels, channels))).collect();
            stages.push(Stage { conv: entry, pool, blocks });
        }
        (stages, Linear { inputs: height * width * channels, offset })
    }
}

impl Stage {
    /// Every convolution with its name inside the stage.
    fn convolutions(&self) -> impl Iterator<Item = (String, &Convolution)> {
        let blocks = self.blocks.iter().enumerate().flat_map(|(block, pair)| {
            pair.iter().enumerate().map(move |(index, conv)| (format!("block{block}.conv{index}"), conv))
        });
        [("conv".to_string(), &self.conv)].into_iter().chain(blocks)
    }
}

/// A residual encoder with its parameters.
pub type ResidualNet = ImageNet<ResidualSpec>;

impl SeesImages for ResidualSpec {}

impl ImageSpec for ResidualSpec {
    fn draw(&self, init: &Init, rng: &mut ChaCha8Rng, values: &mut Vec<f32>) {
        let (stages, linear) = self.plan();
        for (_, conv) in stages.iter().flat_map(Stage::convolutions) {
            init.draw_hidden(conv.window.patch_len(), conv.outputs, values, rng);
        }
        init.draw_hidden(linear.inputs, self.features, values, rng);
    }

    fn tensors(&self) -> Vec<TensorLayout> {
        self.layout()
    }

    fn composed(&self, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
        composed::residual(self, x, params)
    }
}
