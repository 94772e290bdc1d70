//! One layer of a decoder: nearest enlargement by two, then a 3x3 convolution. See `kernels::tiling`.

use crate::buffers::Pooled;
use crate::conv::windows::Windows;
use crate::images::Pixels;
use crate::kernels::activation::{Activation, activate, activation_backward, bias_activation, column_sums};
use crate::kernels::matmul::{Left, product};
use crate::kernels::patches::{Window, fold};
use crate::kernels::rms_norm::{rms_norm, rms_norm_backward, scale_rows};
use crate::kernels::tiling::{fold_weight, image_to_tiles, tiles_to_image, unfold_weight};
use crate::kernels::transpose::transpose;
use crate::layout::TensorLayout;

/// The geometry of a layer and the place of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct UpConv {
    /// Of the small image.
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    pub outputs: usize,
    /// First of its parameters: weight `[3, 3, channels, outputs]`, then bias `[outputs]`, then the norm's scale, if any.
    pub offset: usize,
    /// Whether RMSNorm over the channels follows.
    pub normed: bool,
    /// The identity in the last layer.
    pub activation: Activation,
}

impl UpConv {
    pub fn weights(&self) -> usize {
        9 * self.channels * self.outputs
    }

    pub fn params(&self) -> usize {
        self.weights() + self.outputs * if self.normed { 2 } else { 1 }
    }

    /// Values that a norm keeps of one image.
    pub fn norm_len(&self) -> usize {
        if self.normed { self.out_len() + 4 * self.height * self.width } else { 0 }
    }

    pub fn in_len(&self) -> usize {
        self.height * self.width * self.channels
    }

    pub fn out_len(&self) -> usize {
        4 * self.height * self.width * self.outputs
    }

    /// Floating-point operations of one image.
    pub fn flops(&self) -> usize {
        2 * self.window().patches() * self.window().patch_len() * 4 * self.outputs
    }

    /// The named tensors `<name>.weight` and `<name>.bias`, and `<name>.norm.weight` of a norm.
    pub fn layout(&self, name: &str) -> Vec<TensorLayout> {
        let [mut weight, bias] = TensorLayout::linear(name, self.offset, 9 * self.channels, self.outputs);
        weight.shape = vec![self.outputs, self.channels, 3, 3];
        let norm = (self.normed).then(|| TensorLayout {
            name: format!("{name}.norm.weight"),
            offset: bias.offset + self.outputs,
            ..bias.clone()
        });
        [weight, bias].into_iter().chain(norm).collect()
    }

    /// The 2x2 patches of the small image.
    fn window(&self) -> Window {
        let Self { height, width, channels, .. } = *self;
        Window { height, width, channels, kernel: 2, stride: 1, padding: 1 }
    }

    fn folded_weight(&self, params: &[f32]) -> Pooled {
        let weight = &params[self.offset..self.offset + self.weights()];
        let mut folded = Pooled::new(16 * self.channels * self.outputs);
        fold_weight(weight, self.channels, self.outputs, &mut folded);
        folded
    }

    /// `target ← activation(norm(conv(enlarged x) + bias))`; `before`, unless empty, keeps what the activation was applied to, or what
    /// a norm keeps.
    pub fn forward(&self, x: &[f32], params: &[f32], before: &mut [f32], target: &mut [f32]) {
        let window = self.window();
        let (patches, patch, tile) = (window.patches(), window.patch_len(), 4 * self.outputs);
        let folded = self.folded_weight(params);
        let group = window.group(target.len() / self.out_len());
        let mut windows = Windows::new(window, group, Pixels::Floats(x));
        let mut tiles = Pooled::new(group * patches * tile);
        let groups = x.chunks(group * self.in_len()).zip(target.chunks_mut(group * self.out_len()));
        for (x, target) in groups {
            let count = target.len() / self.out_len();
            let tiles = &mut tiles[..count * patches * tile];
            let rows = windows.of(Pixels::Floats(x), 0, count).rows();
            product(tiles, count * patches, tile, patch, rows, &folded, false);
            for (tiles, image) in tiles.chunks_exact(patches * tile).zip(target.chunks_exact_mut(self.out_len())) {
                tiles_to_image(tiles, self.width, self.outputs, image);
            }
        }
        let (bias, scale) = params[self.offset + self.weights()..self.offset + self.params()].split_at(self.outputs);
        if self.normed {
            return finish_normed(target, bias, scale, before, self.activation);
        }
        if before.is_empty() {
            return bias_activation(target, bias, self.activation);
        }
        bias_activation(target, bias, Activation::Identity);
        before.copy_from_slice(target);
        activate(target, self.activation);
    }

    /// Takes the gradient of the outputs (changed to that of the weighted sums) back: adds to this layer's part of
    /// `grad_params` and overwrites `grad_x`. `activated` holds the activation's outputs, for SiLU its inputs, or what a norm kept.
    pub fn backward(
        &self,
        x: &[f32],
        params: &[f32],
        activated: &[f32],
        grad: &mut [f32],
        grad_params: Option<&mut [f32]>,
        grad_x: &mut [f32],
    ) {
        let window = self.window();
        let (patches, patch, tile) = (window.patches(), window.patch_len(), 4 * self.outputs);
        let own = grad_params.map(|g| &mut g[self.offset..self.offset + self.params()]);
        let (grad_weight, grad_bias) = own.map(|own| own.split_at_mut(self.weights())).unwrap_or_default();
        if self.normed {
            let scale = &params[self.offset + self.weights() + self.outputs..self.offset + self.params()];
            unfinish_normed(grad, scale, activated, self.activation, grad_bias);
        } else {
            activation_backward(grad, activated, self.outputs, grad_bias, self.activation);
        }

        let folded = self.folded_weight(params);
        let mut back_weight = Pooled::new(folded.len());
        transpose(&folded, &mut back_weight, patch, tile);
        let mut grad_folded = Pooled::new(if grad_weight.is_empty() { 0 } else { folded.len() });
        grad_folded.fill(0.0);
        let group = window.group(grad.len() / self.out_len());
        let mut windows = Windows::new(window, group, Pixels::Floats(x));
        let (mut rows, mut tiles) = (Pooled::new(group * patches * patch), Pooled::new(group * patches * tile));
        let inputs = x.chunks(group * self.in_len()).zip(grad_x.chunks_mut(group * self.in_len()));
        for (grad, (x, grad_x)) in grad.chunks(group * self.out_len()).zip(inputs) {
            let count = grad.len() / self.out_len();
            let (rows, tiles) = (&mut rows[..count * patches * patch], &mut tiles[..count * patches * tile]);
            for (image, tiles) in grad.chunks_exact(self.out_len()).zip(tiles.chunks_exact_mut(patches * tile)) {
                image_to_tiles(image, self.width, self.outputs, tiles);
            }
            if !grad_folded.is_empty() {
                let columns = windows.of(Pixels::Floats(x), 0, count).transposed();
                product(&mut grad_folded, patch, tile, count * patches, columns, tiles, true);
            }
            product(rows, count * patches, patch, tile, Left::Rows(tiles), &back_weight, false);
            for (rows, image) in rows.chunks_exact(patches * patch).zip(grad_x.chunks_exact_mut(self.in_len())) {
                fold(window, rows, image);
            }
        }
        if !grad_weight.is_empty() {
            unfold_weight(&grad_folded, self.channels, self.outputs, grad_weight);
        }
    }
}

/// From weighted sums to outputs with a norm over the channels; `kept` receives the normalised outputs and one factor per pixel.
pub fn finish_normed(sums: &mut [f32], bias: &[f32], scale: &[f32], kept: &mut [f32], activation: Activation) {
    let (normal, inverse) = kept.split_at_mut(sums.len());
    bias_activation(sums, bias, Activation::Identity);
    rms_norm(sums, scale, normal, inverse);
    activate(sums, activation);
}

/// The way back, to the gradient of the weighted sums; adds to those of bias and scale in `vectors`, unless that is empty.
pub fn unfinish_normed(grad: &mut [f32], scale: &[f32], kept: &[f32], activation: Activation, vectors: &mut [f32]) {
    let (normal, inverse) = kept.split_at(grad.len());
    let mut activated = Pooled::new(grad.len());
    scale_rows(normal, scale, &mut activated);
    if activation != Activation::Silu {
        activate(&mut activated, activation);
    }
    activation_backward(grad, &activated, scale.len(), &mut [], activation);
    let (grad_bias, grad_scale) = vectors.split_at_mut(vectors.len() / 2);
    rms_norm_backward(grad, scale, normal, inverse, grad_scale);
    column_sums(grad, grad_bias);
}
