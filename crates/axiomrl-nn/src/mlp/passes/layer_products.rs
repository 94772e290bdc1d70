//! The three matrix products of a layer, in two halves where the weights are large and the rows few.
//!
//! Cutting such a layer by rows, as everything else is, would have both threads read all of its weights, and write a gradient
//! of all of them each, to be added. Here the weights are cut instead. How depends on sizes alone.

use crate::buffers::Pooled;
use crate::kernels::matmul::{Left, product, product_transposed};
use crate::kernels::transpose::transpose;
use crate::mlp::{Layer, MlpSpec};
use crate::threads::join;
use std::ops::RangeInclusive;

/// Weights that no second-level cache holds.
const LARGE: usize = 1 << 20;
/// Rows that are few beside them, but fill a tile. Measured with AVX2 on a layer of 3136x512: 40 GFLOP/s forward for 16 rows by a
/// plain product and 65 with the weights as the left factor; 50 and 70 for 32 rows, 77 and 67 for 64.
const FEW: RangeInclusive<usize> = 16..=32;
/// Below this many weights, handing over half of a product is not worth it.
const SMALL: usize = 1 << 14;

/// Whether a network's layers are cut by their weights.
pub fn by_weights(spec: &MlpSpec, rows: usize) -> bool {
    FEW.contains(&rows) && spec.layers().any(|layer| layer.weights() >= LARGE)
}

/// A layer of a network, and how many rows go through it.
#[derive(Clone, Copy)]
pub struct LayerProducts {
    pub rows: usize,
    inputs: usize,
    outputs: usize,
    halved: bool,
}

impl LayerProducts {
    pub fn new(layer: &Layer, rows: usize, by_weights: bool) -> Self {
        let halved = by_weights && layer.weights() >= SMALL;
        Self { rows, inputs: layer.inputs, outputs: layer.outputs, halved }
    }

    /// `y = x·w`.
    pub fn forward(self, y: &mut [f32], x: &[f32], w: &[f32]) {
        let Self { rows, inputs, outputs, halved } = self;
        if !halved {
            return product(y, rows, outputs, inputs, Left::Rows(x), w, false);
        }
        // yᵀ = wᵀ·xᵀ, by outputs.
        let (mut columns, mut flipped) = (Pooled::new(x.len()), Pooled::new(y.len()));
        transpose(x, &mut columns, rows, inputs);
        let half = outputs / 2;
        let (first, second) = flipped.split_at_mut(half * rows);
        let part = |part: &mut [f32], from: usize| {
            let w = Left::Strided { values: &w[from..], row: 1, step: outputs };
            product(part, part.len() / rows, rows, inputs, w, &columns, false);
        };
        join(|| part(first, 0), || part(second, half));
        transpose(&flipped, y, outputs, rows);
    }

    /// The gradient of the weights, `xᵀ·grad_y`.
    pub fn grad_weight(self, grad_w: &mut [f32], x: &[f32], grad_y: &[f32]) {
        let Self { rows, inputs, outputs, halved } = self;
        if !halved {
            return product(grad_w, inputs, outputs, rows, Left::Transposed(x), grad_y, false);
        }
        let half = inputs / 2;
        let (first, second) = grad_w.split_at_mut(half * outputs);
        let part = |part: &mut [f32], from: usize| {
            let x = Left::Strided { values: &x[from..], row: 1, step: inputs };
            product(part, part.len() / outputs, outputs, rows, x, grad_y, false);
        };
        join(|| part(first, 0), || part(second, half));
    }

    /// The gradient of the inputs, `grad_y·wᵀ`, or that added to what is there.
    pub fn grad_input(self, grad_x: &mut [f32], grad_y: &[f32], w: &[f32], add: bool) {
        let Self { rows, inputs, outputs, halved } = self;
        if !halved || add {
            return product_transposed(grad_x, rows, inputs, outputs, grad_y, w, add);
        }
        // grad_xᵀ = w·grad_yᵀ, by inputs.
        let (mut columns, mut flipped) = (Pooled::new(grad_y.len()), Pooled::new(grad_x.len()));
        transpose(grad_y, &mut columns, rows, outputs);
        let half = inputs / 2;
        let (first, second) = flipped.split_at_mut(half * rows);
        let (w_first, w_second) = w.split_at(half * outputs);
        let part = |part: &mut [f32], w: &[f32]| {
            product(part, part.len() / rows, rows, outputs, Left::Rows(w), &columns, false);
        };
        join(|| part(first, w_first), || part(second, w_second));
        transpose(&flipped, grad_x, inputs, rows);
    }
}
