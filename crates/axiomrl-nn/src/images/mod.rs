//! The outside that all networks over images share: a shape, its parameters, and how they are evaluated.

pub(crate) mod composed;
pub(crate) mod onnx;
mod op;
mod passes;

pub use passes::{ImageNetwork, Kept, KeptMut, Pixels, Trace, backward, chunks, forward};

use crate::burn::tensor::Tensor;
use crate::init::Init;
use crate::layout::TensorLayout;
use crate::named::NamedTensors;
use crate::params::Params;
use crate::tensors::{into_graph, leaf_from_bytes, on_fused_device};
use op::{map_byte_images, map_images};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// What a shape adds to the arithmetic of [`ImageNetwork`]. Cannot be implemented outside of this crate.
pub trait ImageSpec: ImageNetwork {
    /// Draws fresh parameters in the order of the flat layout.
    fn draw(&self, init: &Init, rng: &mut ChaCha8Rng, values: &mut Vec<f32>);
    /// The tensors inside the flat parameters.
    fn tensors(&self) -> Vec<TensorLayout>;
    /// The same network of Burn's own operations, for other devices.
    fn composed(&self, x: Tensor<2>, params: Tensor<2>) -> Tensor<2>;
}

/// A shape whose inputs are images, which may come as bytes.
pub trait SeesImages: ImageSpec {}

/// A network that maps every row of a batch on its own, from an image or to one: its shape and its parameters.
#[derive(Clone, Debug)]
pub struct ImageNet<S> {
    /// The shape.
    pub spec: Arc<S>,
    /// Parameters `[1, parameters]`.
    pub params: Params,
}

impl<S: ImageSpec> ImageNet<S> {
    /// Every layer is drawn as a hidden layer of `init`; a convolution has kernel·kernel·channels inputs.
    pub fn new(spec: S, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        let mut values = Vec::with_capacity(spec.parameters());
        spec.draw(init, rng, &mut values);
        Self { params: Params::from_vec(1, spec.parameters(), values), spec: Arc::new(spec) }
    }

    /// Outputs `[rows, outputs]`, without a graph; `out` is resized.
    pub fn infer(&self, x: &[f32], rows: usize, out: &mut Vec<f32>) {
        self.run(Pixels::Floats(x), rows, out);
    }

    fn run(&self, x: Pixels<'_>, rows: usize, out: &mut Vec<f32>) {
        out.resize(rows * self.spec.row_lens().1, 0.0);
        passes::infer(&*self.spec, rows, x, self.params.as_slice(), out);
    }

    /// Evaluates as one graph node: `x` `[rows, inputs]`, result `[rows, outputs]`. Images are flattened channels last.
    ///
    /// `params` comes from `self.params.tracked()` or `.frozen()`.
    pub fn forward(&self, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
        if !on_fused_device(&params) {
            return self.spec.composed(x, params);
        }
        into_graph(map_images(self.spec.clone(), x, params))
    }
}

/// Convolutions are in PyTorch's layout (`[out, in, height, width]`); rows and columns of linear maps that stand for images are
/// channels last.
impl<S: ImageSpec> NamedTensors for ImageNet<S> {
    fn tensors(&self) -> (Vec<TensorLayout>, &Params) {
        (self.spec.tensors(), &self.params)
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}

impl<S: SeesImages> ImageNet<S> {
    /// As [`infer`](Self::infer) for bytes, scaled to 0..1.
    pub fn infer_u8(&self, x: &[u8], images: usize, out: &mut Vec<f32>) {
        self.run(Pixels::Bytes(x), images, out);
    }

    /// As [`forward`](Self::forward) for bytes, scaled to 0..1; they get no gradient.
    pub fn forward_u8(&self, x: impl Into<Arc<[u8]>>, images: usize, params: Tensor<2>) -> Tensor<2> {
        let x = x.into();
        if !on_fused_device(&params) {
            return self.spec.composed(leaf_from_bytes(&x, images, &params.device()), params);
        }
        into_graph(map_byte_images(self.spec.clone(), x, images, params))
    }
}
