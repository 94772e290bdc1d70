//! One layer of a model: a linear map, dense or in blocks, then a norm and an activation.

use crate::buffers::Pooled;
use crate::kernels::activation::{Activation, activate, activation_backward, bias_activation, column_sums};
use crate::kernels::layer_norm::{layer_norm, layer_norm_backward};
use crate::kernels::matmul::{Left, product};
use crate::kernels::packed::Packed;
use crate::kernels::rms_norm::{rms_norm, rms_norm_backward, scale_rows};
use crate::layout::TensorLayout;

/// What the gates' LayerNorm adds to the variance, as DreamerV2 has it.
pub const LAYER_NORM_EPSILON: f32 = 1e-3;

/// What stands between a linear map and its activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    None,
    Layer,
    Rms,
}

/// A layer and the place of its parameters: weight `[own + shared, outputs]`, bias, then the norm's scale and shift.
///
/// In blocks, block `j` has the columns `j·outputs/blocks…` of the weight. Its first `own` rows meet the block's own part of the
/// input, the `shared` ones inputs that all blocks see.
#[derive(Clone, Copy, Debug)]
pub struct Dense {
    pub offset: usize,
    pub own: usize,
    pub shared: usize,
    pub outputs: usize,
    pub blocks: usize,
    pub norm: Norm,
    pub activation: Activation,
}

/// What the forward pass leaves of a layer for some rows; parts not needed are empty.
pub struct LayerTrace {
    /// Outputs `[rows, outputs]`.
    pub out: Pooled,
    /// What the norm made of the sums, and one factor for each row.
    normal: Pooled,
    inverse: Pooled,
    /// The activation's inputs, where its outputs do not tell its slope.
    before: Pooled,
}

impl LayerTrace {
    pub fn new(layer: &Dense, rows: usize) -> Self {
        let (block, normed) = (rows * layer.outputs, layer.norm != Norm::None);
        let apart = layer.activation == Activation::Silu && !normed;
        Self {
            out: Pooled::new(block),
            normal: Pooled::new(if normed { block } else { 0 }),
            inverse: Pooled::new(if normed { rows } else { 0 }),
            before: Pooled::new(if apart { block } else { 0 }),
        }
    }
}

/// `rows` rows of `width` values from row `first` on.
pub fn rows_of(values: &[f32], first: usize, rows: usize, width: usize) -> &[f32] {
    &values[first * width..(first + rows) * width]
}

/// As [`rows_of`], for writing.
pub fn rows_of_mut(values: &mut [f32], first: usize, rows: usize, width: usize) -> &mut [f32] {
    &mut values[first * width..(first + rows) * width]
}

/// As [`rows_of`], of a buffer that may be empty.
fn some_rows_mut(values: &mut [f32], first: usize, rows: usize, width: usize) -> &mut [f32] {
    if values.is_empty() { values } else { rows_of_mut(values, first, rows, width) }
}

impl Dense {
    /// Rows of the weight.
    pub fn fan_in(&self) -> usize {
        self.own + self.shared
    }

    pub fn weights(&self) -> usize {
        self.fan_in() * self.outputs
    }

    fn vectors(&self) -> usize {
        match self.norm {
            Norm::None => 1,
            Norm::Rms => 2,
            Norm::Layer => 3,
        }
    }

    pub fn len(&self) -> usize {
        self.weights() + self.vectors() * self.outputs
    }

    /// Multiplications of one row.
    pub fn products(&self) -> usize {
        self.weights()
    }

    /// Outputs of one block.
    pub fn block_outputs(&self) -> usize {
        self.outputs / self.blocks
    }

    pub fn layout(&self, name: &str) -> Vec<TensorLayout> {
        let mut tensors = TensorLayout::linear(name, self.offset, self.fan_in(), self.outputs).to_vec();
        let mut offset = self.offset + self.weights() + self.outputs;
        let norms = ["norm.weight", "norm.bias"];
        for part in &norms[..self.vectors() - 1] {
            let (name, shape) = (format!("{name}.{part}"), vec![self.outputs]);
            tensors.push(TensorLayout { name, offset, shape, transposed: false });
            offset += self.outputs;
        }
        tensors
    }

    pub fn weight<'a>(&self, params: &'a [f32]) -> &'a [f32] {
        &params[self.offset..self.offset + self.weights()]
    }

    /// Bias, scale and shift, as far as they are there.
    pub fn vectors_of<'a>(&self, params: &'a [f32]) -> &'a [f32] {
        &params[self.offset + self.weights()..self.offset + self.len()]
    }

    fn vectors_of_mut<'a>(&self, params: &'a mut [f32]) -> &'a mut [f32] {
        &mut params[self.offset + self.weights()..self.offset + self.len()]
    }

    /// Some rows of the weight, packed for products `[m, rows]·[rows, outputs]`.
    pub fn pack(&self, params: &[f32], first: usize, rows: usize) -> Packed {
        Packed::new(&self.weight(params)[first * self.outputs..], self.outputs, rows, self.outputs)
    }

    /// The transpose of some rows of the weight, packed for products `[m, outputs]·[outputs, rows]`.
    pub fn pack_transposed(&self, params: &[f32], first: usize, rows: usize) -> Packed {
        Packed::transposed(&self.weight(params)[first * self.outputs..], self.outputs, self.outputs, rows)
    }

    /// The matrices of the blocks, each `[own, outputs/blocks]`.
    pub fn pack_blocks(&self, params: &[f32]) -> Vec<Packed> {
        let (weight, width) = (self.weight(params), self.block_outputs());
        (0..self.blocks).map(|block| Packed::new(&weight[block * width..], self.outputs, self.own, width)).collect()
    }

    /// Their transposes, each `[outputs/blocks, own]`.
    pub fn pack_blocks_transposed(&self, params: &[f32]) -> Vec<Packed> {
        let (weight, width) = (self.weight(params), self.block_outputs());
        (0..self.blocks)
            .map(|block| Packed::transposed(&weight[block * width..], self.outputs, width, self.own))
            .collect()
    }

    /// From the weighted sums, which lie in `trace.out` from row `first` on, to the outputs.
    pub fn finish(&self, params: &[f32], trace: &mut LayerTrace, first: usize, rows: usize) {
        let (width, vectors) = (self.outputs, self.vectors_of(params));
        let (bias, norm) = vectors.split_at(width);
        let sums = rows_of_mut(&mut trace.out, first, rows, width);
        if self.norm == Norm::None && trace.before.is_empty() {
            return bias_activation(sums, bias, self.activation);
        }
        bias_activation(sums, bias, Activation::Identity);
        let normal = some_rows_mut(&mut trace.normal, first, rows, width);
        let inverse = some_rows_mut(&mut trace.inverse, first, rows, 1);
        match self.norm {
            Norm::None => rows_of_mut(&mut trace.before, first, rows, width).copy_from_slice(sums),
            Norm::Rms => rms_norm(sums, norm, normal, inverse),
            Norm::Layer => {
                let (scale, shift) = norm.split_at(width);
                layer_norm(sums, scale, shift, LAYER_NORM_EPSILON, normal, inverse);
            }
        }
        activate(sums, self.activation);
    }

    /// From the gradient of the outputs to that of the weighted sums, for the rows from `first` on. Adds to the gradients of bias
    /// and norm in `grad_params`, which is the whole model's, unless there is none.
    pub fn unfinish(
        &self,
        params: &[f32],
        trace: &LayerTrace,
        first: usize,
        grad: &mut [f32],
        grad_params: Option<&mut [f32]>,
    ) {
        let width = self.outputs;
        let rows = grad.len() / width;
        let own = grad_params.map(|all| self.vectors_of_mut(all)).unwrap_or_default();
        let (grad_bias, grad_norm) = own.split_at_mut(width.min(own.len()));
        let norm = &self.vectors_of(params)[width..];
        if self.norm == Norm::None {
            let known = if trace.before.is_empty() { &trace.out } else { &trace.before };
            let known = rows_of(known, first, rows, width);
            return activation_backward(grad, known, width, grad_bias, self.activation);
        }
        let normal = rows_of(&trace.normal, first, rows, width);
        let inverse = rows_of(&trace.inverse, first, rows, 1);
        match (self.norm, self.activation) {
            (Norm::Rms, Activation::Silu) => {
                // SiLU's input was not kept: it follows from the normalised rows.
                let mut inputs = Pooled::new(normal.len());
                scale_rows(normal, norm, &mut inputs);
                activation_backward(grad, &inputs, width, &mut [], self.activation);
            }
            _ => activation_backward(grad, rows_of(&trace.out, first, rows, width), width, &mut [], self.activation),
        }
        if self.norm == Norm::Rms {
            rms_norm_backward(grad, norm, normal, inverse, grad_norm);
        } else {
            let (grad_scale, grad_shift) = grad_norm.split_at_mut(grad_norm.len() / 2);
            layer_norm_backward(grad, &norm[..width], normal, inverse, grad_scale, grad_shift);
        }
        column_sums(grad, grad_bias);
    }

    /// Writes the gradient of `count` rows of the weight, from `first` on: those that met the inputs `x` `[rows, count]`.
    pub fn weight_gradient(&self, first: usize, count: usize, x: &[f32], grad: &[f32], grad_params: &mut [f32]) {
        let start = self.offset + first * self.outputs;
        let target = &mut grad_params[start..start + count * self.outputs];
        product(target, count, self.outputs, grad.len() / self.outputs, Left::Transposed(x), grad, false);
    }

    /// Writes the gradient of the blocks' own rows; `x` is `[rows, blocks · own]`.
    pub fn block_gradient(&self, x: &[f32], grad: &[f32], grad_params: &mut [f32]) {
        let (own, width, rows) = (self.own, self.block_outputs(), grad.len() / self.outputs);
        let (mut part, mut result) = (Pooled::new(rows * width), Pooled::new(own * width));
        for block in 0..self.blocks {
            for (part, grad) in part.chunks_exact_mut(width).zip(grad.chunks_exact(self.outputs)) {
                part.copy_from_slice(&grad[block * width..(block + 1) * width]);
            }
            let columns = Left::Strided { values: &x[block * own..], row: 1, step: self.blocks * own };
            product(&mut result, own, width, rows, columns, &part, false);
            for (row, result) in result.chunks_exact(width).enumerate() {
                let at = self.offset + row * self.outputs + block * width;
                grad_params[at..at + width].copy_from_slice(result);
            }
        }
    }
}

/// `c (+)= x·W` block by block: `x` `[rows, Σ k]`, `c` `[rows, Σ n]`.
pub fn block_product(blocks: &[Packed], x: &[f32], k: usize, rows: usize, c: &mut [f32], accumulate: bool) {
    let (x_row, n) = (blocks.len() * k, blocks[0].columns());
    for (index, block) in blocks.iter().enumerate() {
        let left = Left::Strided { values: &x[index * k..], row: x_row, step: 1 };
        block.product_into(&mut c[index * n..], blocks.len() * n, rows, left, accumulate);
    }
}
