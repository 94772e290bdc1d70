//! Convolutional encoders on flat parameters.

use crate::composed;
use crate::convolution::Convolution;
use crate::error::NnError;
use crate::images::{self, Kept, Pixels};
use crate::init::Init;
use crate::kernels::patches::Window;
use crate::named::{export_layout, import_layout};
use crate::ops::{map_byte_images, map_images};
use crate::params::Params;
use crate::spec::{Activation, TensorLayout};
use crate::tensors::{into_graph, leaf_from_bytes, on_fused_device};
use burn::tensor::Tensor;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
/// `[kernel, kernel, in, out]`, bias `[out]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvSpec {
    /// Height, width and channels of an image.
    pub input: [usize; 3],
    /// The convolutions from input to output.
    pub layers: Vec<ConvLayer>,
    /// Activation after every convolution.
    pub activation: Activation,
}

impl ConvSpec {
    /// Any stack of convolutions.
    pub fn new(input: [usize; 3], layers: &[ConvLayer], activation: Activation) -> Self {
        Self { input, layers: layers.to_vec(), activation }
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
            let conv = Convolution { window, outputs: layer.channels, offset };
            (height, width, channels) = (window.out_height(), window.out_width(), layer.channels);
            offset += conv.params();
            conv
        });
        convolutions.collect()
    }
}

/// An encoder: its shape and its parameters.
#[derive(Clone, Debug)]
pub struct ConvNet {
    /// The shape.
    pub spec: Arc<ConvSpec>,
    /// Parameters `[1, parameters]`.
    pub params: Params,
}

impl ConvNet {
    /// Every layer is drawn as a hidden layer of `init`, with kernel·kernel·channels inputs.
    pub fn new(spec: ConvSpec, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        assert!(!spec.layers.is_empty(), "an encoder needs at least one layer");
        let mut values = Vec::with_capacity(spec.param_count());
        for conv in spec.convolutions() {
            init.draw_hidden(conv.window.patch_len(), conv.outputs, &mut values, rng);
        }
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
        out.resize(images * self.spec.features(), 0.0);
        let mut kept = Kept::new(&*self.spec, images);
        images::forward(&*self.spec, images, x, self.params.as_slice(), &mut kept, out);
    }

    /// Evaluates as one graph node: `x` `[images, height·width·channels]`, result `[images, features]`.
    ///
    /// `params` comes from `self.params.tracked()` or `.frozen()`.
    pub fn forward(&self, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
        if !on_fused_device(&params) {
            return composed::conv(&self.spec, x, params);
        }
        into_graph(map_images(self.spec.clone(), x, params))
    }

    /// As [`forward`](Self::forward) for bytes, scaled to 0..1; they get no gradient.
    pub fn forward_u8(&self, x: impl Into<Arc<[u8]>>, images: usize, params: Tensor<2>) -> Tensor<2> {
        let x = x.into();
        if !on_fused_device(&params) {
            return composed::conv(&self.spec, leaf_from_bytes(&x, images, &params.device()), params);
        }
        into_graph(map_byte_images(self.spec.clone(), x, images, params))
    }

    /// Hands out every tensor by name, in PyTorch's layout (`0.weight` `[out, in, height, width]`, `0.bias` …).
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
