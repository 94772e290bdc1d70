//! One convolution over a chunk of images, forward and backward, on plain slices: what encoders are made of.
//!
//! A few images at a time: enough rows for an efficient product, few enough that they stay in the cache.

use super::windows::Windows;
use crate::buffers::Pooled;
use crate::images::Pixels;
use crate::kernels::activation::{Activation, activate, activation_backward, bias_activation, column_sums};
use crate::kernels::matmul::{Left, Repeated, product};
use crate::kernels::patches::{Window, fold_next};
use crate::kernels::rms_norm::{rms_norm, rms_norm_backward, scale_rows};
use crate::kernels::transpose::transpose;
use crate::layout::TensorLayout;

/// Gradients of patches are folded into images before they leave the cache: about so many values at a time, in whole tiles.
const BLOCK_VALUES: usize = 1 << 15;
const BLOCK_ROWS: usize = 24;

/// A convolution's geometry and the place of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Convolution {
    pub window: Window,
    pub outputs: usize,
    /// First of its parameters: weight `[patch, outputs]`, then bias `[outputs]`, then the norm's scale `[outputs]`, if any.
    pub offset: usize,
    /// Whether RMSNorm over the channels follows.
    pub normed: bool,
}

/// What the backward pass reads of the forward pass.
#[derive(Clone, Copy)]
pub struct ConvTrace<'a> {
    pub x: Pixels<'a>,
    /// The network's parameters, all of them.
    pub params: &'a [f32],
    pub activation: Activation,
    /// The activation's outputs, for SiLU without a norm its inputs; not read for the identity.
    pub activated: &'a [f32],
    /// Of a norm: the normalised outputs, then one factor for each pixel.
    pub normal: &'a [f32],
}

impl Convolution {
    pub fn weights(&self) -> usize {
        self.window.patch_len() * self.outputs
    }

    pub fn params(&self) -> usize {
        self.weights() + self.outputs * if self.normed { 2 } else { 1 }
    }

    /// Values that a norm keeps of one image.
    pub fn norm_len(&self) -> usize {
        if self.normed { self.out_len() + self.window.patches() } else { 0 }
    }

    /// Values of one output image.
    pub fn out_len(&self) -> usize {
        self.window.patches() * self.outputs
    }

    /// Floating-point operations of one image.
    pub fn flops(&self) -> usize {
        2 * self.window.patches() * self.weights()
    }

    /// The named tensors `<name>.weight` and `<name>.bias`, and `<name>.norm.weight` of a norm.
    pub fn layout(&self, name: &str) -> Vec<TensorLayout> {
        let Window { kernel, channels, .. } = self.window;
        let weight = TensorLayout {
            name: format!("{name}.weight"),
            offset: self.offset,
            shape: vec![self.outputs, channels, kernel, kernel],
            transposed: true,
        };
        let bias = TensorLayout {
            name: format!("{name}.bias"),
            offset: self.offset + self.weights(),
            shape: vec![self.outputs],
            transposed: false,
        };
        let norm = TensorLayout {
            name: format!("{name}.norm.weight"),
            offset: bias.offset + self.outputs,
            shape: vec![self.outputs],
            transposed: false,
        };
        [weight, bias].into_iter().chain(self.normed.then_some(norm)).collect()
    }

    /// `target ← activation(norm(conv(x) + bias))`; `before`, unless empty, keeps what the activation was applied to, or what a norm
    /// keeps.
    pub fn forward(
        &self,
        x: Pixels<'_>,
        params: &[f32],
        activation: Activation,
        before: &mut [f32],
        target: &mut [f32],
    ) {
        let (normal, inverse) = before.split_at_mut(if self.normed { target.len() } else { 0 });
        self.run(x, params, false, target, |sums, vectors, first| {
            let (bias, scale) = vectors.split_at(self.outputs);
            if self.normed {
                bias_activation(sums, bias, Activation::Identity);
                let inverse = &mut inverse[first / self.outputs..][..sums.len() / self.outputs];
                rms_norm(sums, scale, &mut normal[first..first + sums.len()], inverse);
                return activate(sums, activation);
            }
            let before = &mut *inverse;
            if before.is_empty() {
                return bias_activation(sums, bias, activation);
            }
            bias_activation(sums, bias, Activation::Identity);
            before[first..first + sums.len()].copy_from_slice(sums);
            activate(sums, activation);
        });
    }

    /// `target += conv(x) + bias`: the end of a residual block.
    pub fn forward_onto(&self, x: Pixels<'_>, params: &[f32], target: &mut [f32]) {
        self.run(x, params, true, target, |sums, bias, _| bias_activation(sums, bias, Activation::Identity));
    }

    /// `finish` gets the weighted sums of a few images, bias and scale, and the place of the first sum in `target`.
    fn run(
        &self,
        x: Pixels<'_>,
        params: &[f32],
        accumulate: bool,
        target: &mut [f32],
        mut finish: impl FnMut(&mut [f32], &[f32], usize),
    ) {
        let (weight, vectors) = params[self.offset..self.offset + self.params()].split_at(self.weights());
        let (patches, patch) = (self.window.patches(), self.window.patch_len());
        let group = self.window.group(target.len() / self.out_len());
        let mut windows = Windows::new(self.window, group, x);
        let mut first = 0;
        for target in target.chunks_mut(group * self.out_len()) {
            let count = target.len() / self.out_len();
            let rows = windows.of(x, first, count).rows();
            product(target, count * patches, self.outputs, patch, rows, weight, accumulate);
            finish(target, vectors, first * self.out_len());
            first += count;
        }
    }

    /// Takes the gradient of the outputs (changed to that of the weighted sums) back: adds to this convolution's part of the
    /// network's `grad_params`, overwrites `grad_x`.
    pub fn backward(
        &self,
        trace: ConvTrace<'_>,
        grad: &mut [f32],
        mut grad_params: Option<&mut [f32]>,
        grad_x: Option<&mut [f32]>,
    ) {
        let (patches, patch) = (self.window.patches(), self.window.patch_len());
        let group = self.window.group(grad.len() / self.out_len());
        let mut windows = grad_params.is_some().then(|| Windows::new(self.window, group, trace.x));
        let mut first = 0;
        for grad in grad.chunks_mut(group * self.out_len()) {
            let count = grad.len() / self.out_len();
            let activated = match trace.activation {
                Activation::Identity => &[],
                _ => &trace.activated[first * self.out_len()..][..grad.len()],
            };
            if self.normed {
                let own = grad_params.as_deref_mut().map(|all| &mut all[self.offset..self.offset + self.params()]);
                let vectors = own.map(|own| &mut own[self.weights()..]).unwrap_or_default();
                self.norm_backward(trace, first * self.out_len(), activated, grad, vectors);
            }
            if let (Some(total), Some(windows)) = (grad_params.as_deref_mut(), &mut windows) {
                let own = &mut total[self.offset..self.offset + self.params()];
                let (grad_weight, grad_bias) = own.split_at_mut(self.weights());
                if !self.normed {
                    activation_backward(grad, activated, self.outputs, grad_bias, trace.activation);
                }
                let columns = windows.of(trace.x, first, count).transposed();
                product(grad_weight, patch, self.outputs, count * patches, columns, grad, true);
            } else if !self.normed {
                activation_backward(grad, activated, self.outputs, &mut [], trace.activation);
            }
            first += count;
        }
        if let Some(grad_x) = grad_x {
            self.input_gradient(trace.params, grad, grad_x);
        }
    }

    /// From the gradient of a few images' outputs, whose first value is number `first` of all, to that of the weighted sums; adds to
    /// the gradients of bias and scale in `vectors`, unless that is empty.
    fn norm_backward(
        &self,
        trace: ConvTrace<'_>,
        first: usize,
        activated: &[f32],
        grad: &mut [f32],
        vectors: &mut [f32],
    ) {
        let params = &trace.params[self.offset..self.offset + self.params()];
        let scale = &params[self.weights() + self.outputs..];
        let (normal, inverse) = trace.normal.split_at(trace.normal.len() / (self.outputs + 1) * self.outputs);
        let normal = &normal[first..first + grad.len()];
        let inverse = &inverse[first / self.outputs..][..grad.len() / self.outputs];
        let (grad_bias, grad_scale) = vectors.split_at_mut(vectors.len() / 2);
        if trace.activation == Activation::Silu {
            let mut inputs = Pooled::new(normal.len());
            scale_rows(normal, scale, &mut inputs);
            activation_backward(grad, &inputs, self.outputs, &mut [], trace.activation);
        } else {
            activation_backward(grad, activated, self.outputs, &mut [], trace.activation);
        }
        rms_norm_backward(grad, scale, normal, inverse, grad_scale);
        column_sums(grad, grad_bias);
    }

    /// `grad_x` from the gradient of the weighted sums.
    fn input_gradient(&self, params: &[f32], grad: &[f32], grad_x: &mut [f32]) {
        let patch = self.window.patch_len();
        let weight = &params[self.offset..self.offset + self.weights()];
        let mut back_weight = Pooled::new(weight.len());
        transpose(weight, &mut back_weight, patch, self.outputs);
        let patches = grad.len() / self.outputs;
        let block = patches.min((BLOCK_VALUES / patch).max(1).next_multiple_of(BLOCK_ROWS));
        let back_weight = Repeated::new(&back_weight, self.outputs, patch, patches / block.max(1), block);
        let mut room = Pooled::new(block * patch);
        for (index, grad) in grad.chunks((block * self.outputs).max(1)).enumerate() {
            let count = grad.len() / self.outputs;
            let rows = &mut room[..count * patch];
            back_weight.product(rows, count, Left::Rows(grad), false);
            fold_next(self.window, index * block, rows, grad_x);
        }
    }
}
