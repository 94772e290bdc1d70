//! Decoders from a feature vector to an image, on flat parameters.

mod passes;
mod upconv;

use crate::composed;
use crate::error::NnError;
use crate::images::{self, Kept, Pixels};
use crate::init::Init;
use crate::named::{export_layout, import_layout};
use crate::ops::map_images;
use crate::params::Params;
use crate::spec::{Activation, TensorLayout};
use crate::tensors::{into_graph, on_fused_device};
use burn::tensor::Tensor;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
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
}

impl DecoderSpec {
    /// Any decoder.
    pub fn new(inputs: usize, start: [usize; 3], channels: &[usize], activation: Activation) -> Self {
        Self { inputs, start, channels: channels.to_vec(), activation }
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
        (self.inputs + 1) * self.start_len() + layers
    }

    /// Floating-point operations of a forward pass over `images` images.
    pub fn flops(&self, images: usize) -> usize {
        images * (2 * self.inputs * self.start_len() + self.upconvs().iter().map(UpConv::flops).sum::<usize>())
    }

    /// The named tensors inside the flat vector: `linear.weight`, `linear.bias`, `0.weight`, `0.bias` …
    pub fn layout(&self) -> Vec<TensorLayout> {
        let layers = self.upconvs().into_iter().enumerate();
        let layers = layers.flat_map(|(index, layer)| layer.layout(&index.to_string()));
        TensorLayout::linear("linear", 0, self.inputs, self.start_len()).into_iter().chain(layers).collect()
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
        let mut offset = (self.inputs + 1) * self.start_len();
        let layers = self.channels.iter().enumerate().map(|(index, &outputs)| {
            let is_last = index + 1 == self.channels.len();
            let activation = if is_last { Activation::Identity } else { self.activation };
            let layer = UpConv { height, width, channels, outputs, offset, activation };
            (height, width, channels) = (2 * height, 2 * width, outputs);
            offset += layer.params();
            layer
        });
        layers.collect()
    }
}

/// A decoder: its shape and its parameters.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// The shape.
    pub spec: Arc<DecoderSpec>,
    /// Parameters `[1, parameters]`.
    pub params: Params,
}

impl Decoder {
    /// Every layer is drawn as a hidden layer of `init`.
    pub fn new(spec: DecoderSpec, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        let mut values = Vec::with_capacity(spec.param_count());
        init.draw_hidden(spec.inputs, spec.start_len(), &mut values, rng);
        for layer in spec.upconvs() {
            init.draw_hidden(9 * layer.channels, layer.outputs, &mut values, rng);
        }
        Self { params: Params::from_vec(1, spec.param_count(), values), spec: Arc::new(spec) }
    }

    /// Images `[images, height·width·channels]` of feature rows, without a graph; `out` is resized.
    pub fn infer(&self, x: &[f32], images: usize, out: &mut Vec<f32>) {
        out.resize(images * self.spec.output_shape().iter().product::<usize>(), 0.0);
        let mut kept = Kept::new(&*self.spec, images);
        images::forward(&*self.spec, images, Pixels::Floats(x), self.params.as_slice(), &mut kept, out);
    }

    /// Evaluates as one graph node: `x` `[images, inputs]`, result `[images, height·width·channels]`.
    ///
    /// `params` comes from `self.params.tracked()` or `.frozen()`.
    pub fn forward(&self, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
        if !on_fused_device(&params) {
            return composed::decoder(&self.spec, x, params);
        }
        into_graph(map_images(self.spec.clone(), x, params))
    }

    /// Hands out every tensor by name: convolutions in PyTorch's layout, the linear map's rows channels last.
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
