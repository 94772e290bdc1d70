//! The residual encoder of IMPALA on flat parameters.

mod passes;

use crate::composed;
use crate::convolution::Convolution;
use crate::error::NnError;
use crate::images::{self, Kept, Pixels};
use crate::init::Init;
use crate::kernels::patches::Window;
use crate::kernels::pooling::Pool;
use crate::named::{export_layout, import_layout};
use crate::ops::{map_byte_images, map_images};
use crate::params::Params;
use crate::spec::TensorLayout;
use crate::tensors::{into_graph, leaf_from_bytes, on_fused_device};
use burn::tensor::Tensor;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
            let conv = Convolution { window, outputs, offset };
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

/// A residual encoder: its shape and its parameters.
#[derive(Clone, Debug)]
pub struct ResidualNet {
    /// The shape.
    pub spec: Arc<ResidualSpec>,
    /// Parameters `[1, parameters]`.
    pub params: Params,
}

impl ResidualNet {
    /// Every layer is drawn as a hidden layer of `init`.
    pub fn new(spec: ResidualSpec, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        let (stages, linear) = spec.plan();
        let mut values = Vec::with_capacity(spec.param_count());
        for (_, conv) in stages.iter().flat_map(Stage::convolutions) {
            init.draw_hidden(conv.window.patch_len(), conv.outputs, &mut values, rng);
        }
        init.draw_hidden(linear.inputs, spec.features, &mut values, rng);
        Self { params: Params::from_vec(1, spec.param_count(), values), spec: Arc::new(spec) }
    }

    /// Features `[images, features]` of float images, without a graph; `out` is resized.
    pub fn infer(&self, x: &[f32], images: usize, out: &mut Vec<f32>) {
        self.run(Pixels::Floats(x), images, out);
    }

    /// As [`infer`](Self::infer) for bytes, scaled to 0..1.
    pub fn infer_u8(&self, x: &[u8], images: usize, out: &mut Vec<f32>) {
        self.run(Pixels::Bytes(x), images, out);
    }

    fn run(&self, x: Pixels<'_>, images: usize, out: &mut Vec<f32>) {
        out.resize(images * self.spec.features, 0.0);
        let mut kept = Kept::new(&*self.spec, images);
        images::forward(&*self.spec, images, x, self.params.as_slice(), &mut kept, out);
    }

    /// Evaluates as one graph node: `x` `[images, height·width·channels]`, result `[images, features]`.
    ///
    /// `params` comes from `self.params.tracked()` or `.frozen()`.
    pub fn forward(&self, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
        if !on_fused_device(&params) {
            return composed::residual(&self.spec, x, params);
        }
        into_graph(map_images(self.spec.clone(), x, params))
    }

    /// As [`forward`](Self::forward) for bytes, scaled to 0..1; they get no gradient.
    pub fn forward_u8(&self, x: impl Into<Arc<[u8]>>, images: usize, params: Tensor<2>) -> Tensor<2> {
        let x = x.into();
        if !on_fused_device(&params) {
            return composed::residual(&self.spec, leaf_from_bytes(&x, images, &params.device()), params);
        }
        into_graph(map_byte_images(self.spec.clone(), x, images, params))
    }

    /// Hands out every tensor by name: convolutions in PyTorch's layout, `linear.weight` with its columns channels last.
    pub fn export(&self, prefix: &str, put: &mut dyn FnMut(String, Vec<usize>, Vec<f32>)) {
        export_layout(&self.spec.layout(), self.params.as_slice(), prefix, put);
    }

    /// Reads every tensor back; on an error the network is unchanged.
    pub fn import(
        &mut self,
        prefix: &str,
        get: &mut dyn FnMut(&str) -> Option<(Vec<usize>, Vec<f32>)>,
    ) -> Result<(), NnError> {
        let values = import_layout(&self.spec.layout(), 1, prefix, get)?;
        self.params.make_mut().copy_from_slice(&values);
        Ok(())
    }
}
