//! What the forward pass keeps for the backward pass, and where.
//!
//! Per layer and chunk: the outputs (the last layer's go to the caller instead), LayerNorm's normalised rows and inverse
//! standard deviations, SiLU's inputs when LayerNorm does not already determine them, and what the activation gave where
//! LayerNorm stands behind it.

use crate::kernels::activation::Activation;
use crate::mlp::{Layer, MlpSpec};
use std::iter;

/// Lengths of one layer's kept values over `rows` rows.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub output: usize,
    pub normal: usize,
    pub inverse_std: usize,
    pub activation: usize,
}

impl Kept {
    /// Without gradients only the outputs are needed, as the next layer's inputs.
    pub fn of(layer: &Layer, rows: usize, for_backward: bool) -> Self {
        let block = rows * layer.outputs;
        let when = |needed: bool, len: usize| if needed { len } else { 0 };
        let silu = layer.activation == Activation::Silu && !layer.normed;
        // Otherwise the layer's outputs, or LayerNorm's, say how the activation sloped.
        let apart = silu || layer.norm_after;
        Self {
            output: when(!layer.is_output, block),
            normal: when(layer.normed && for_backward, block),
            inverse_std: when(layer.normed && for_backward, rows),
            activation: when(apart && for_backward, block),
        }
    }

    pub fn len(&self) -> usize {
        self.output + self.normal + self.inverse_std + self.activation
    }

    /// Cuts one layer's stretch into its parts: output, normal, inverse_std, activation.
    pub fn cut_mut<'a>(&self, stretch: &'a mut [f32]) -> [&'a mut [f32]; 4] {
        let (output, rest) = stretch.split_at_mut(self.output);
        let (normal, rest) = rest.split_at_mut(self.normal);
        let (inverse_std, activation) = rest.split_at_mut(self.inverse_std);
        [output, normal, inverse_std, activation]
    }

    /// As `cut_mut`, for reading.
    fn cut<'a>(&self, stretch: &'a [f32]) -> SavedLayer<'a> {
        let (output, rest) = stretch.split_at(self.output);
        let (normal, rest) = rest.split_at(self.normal);
        let (inverse_std, activation) = rest.split_at(self.inverse_std);
        SavedLayer { output, normal, inverse_std, activation }
    }
}

/// What the forward pass kept of one layer; parts not needed are empty.
#[derive(Clone, Copy)]
pub struct SavedLayer<'a> {
    pub output: &'a [f32],
    pub normal: &'a [f32],
    pub inverse_std: &'a [f32],
    /// What the derivative of the activation is read from: its inputs for SiLU, its outputs otherwise.
    pub activation: &'a [f32],
}

/// The layers from output to input, each with what was kept of it.
pub fn layers_from_the_top<'a>(
    spec: &'a MlpSpec,
    rows: usize,
    saved: &'a [f32],
) -> impl Iterator<Item = (Layer, SavedLayer<'a>)> {
    let (mut offset, mut end) = (spec.param_count(), saved.len());
    (0..spec.depth()).rev().map(move |index| {
        offset -= spec.layer(index, 0).len();
        let layer = spec.layer(index, offset);
        let kept = Kept::of(&layer, rows, true);
        let stretch = &saved[end - kept.len()..end];
        end -= kept.len();
        (layer, kept.cut(stretch))
    })
}

/// As [`layers_from_the_top`], each with its inputs; `x` are those of the network.
pub fn layers_with_inputs<'a>(
    spec: &'a MlpSpec,
    rows: usize,
    x: &'a [f32],
    saved: &'a [f32],
) -> impl Iterator<Item = (Layer, SavedLayer<'a>, &'a [f32])> {
    let mut layers = layers_from_the_top(spec, rows, saved).peekable();
    iter::from_fn(move || {
        let (layer, kept) = layers.next()?;
        // The outputs of the layer below are this layer's inputs.
        let inputs = layers.peek().map_or(x, |(_, below)| below.output);
        Some((layer, kept, inputs))
    })
}

/// Values kept by one member over `rows` rows.
pub fn saved_len(spec: &MlpSpec, rows: usize, for_backward: bool) -> usize {
    spec.layers().map(|layer| Kept::of(&layer, rows, for_backward).len()).sum()
}
