//! Forward and backward pass of a decoder, on plain slices.

use super::DecoderSpec;
use super::upconv::{UpConv, finish_normed, unfinish_normed};
use crate::buffers::Pooled;
use crate::images::{ImageNetwork, KeptMut, Pixels, Trace};
use crate::kernels::activation::{Activation, bias_activation, column_sums};
use crate::kernels::matmul::{Left, product, product_transposed};

/// Values kept of one image: the outputs (the last layer's are the caller's), and what a norm keeps, or SiLU's inputs.
fn kept(layer: &UpConv, is_last: bool) -> (usize, usize) {
    let output = if is_last { 0 } else { layer.out_len() };
    let before = match (layer.normed, layer.activation) {
        (true, _) => layer.norm_len(),
        (false, Activation::Silu) => layer.out_len(),
        _ => 0,
    };
    (output, before)
}

/// A decoder's input is never bytes.
fn floats(x: Pixels<'_>) -> &[f32] {
    match x {
        Pixels::Floats(x) => x,
        Pixels::Bytes(_) => unreachable!("decoders take floats"),
    }
}

impl ImageNetwork for DecoderSpec {
    fn row_lens(&self) -> (usize, usize) {
        (self.inputs, self.output_shape().iter().product())
    }

    fn parameters(&self) -> usize {
        self.param_count()
    }

    fn flops_each(&self) -> usize {
        self.flops(1)
    }

    fn kept_each(&self) -> (usize, usize) {
        let layers = self.upconvs();
        let lens = layers.iter().enumerate().map(|(index, layer)| {
            let (output, before) = kept(layer, index + 1 == layers.len());
            output + before
        });
        (self.start_len() + self.start_norm_len() + lens.sum::<usize>(), 0)
    }

    fn chunk_forward(&self, x: Pixels<'_>, params: &[f32], room: KeptMut<'_>, out: &mut [f32]) {
        let layers = self.upconvs();
        let (x, images, start) = (floats(x), out.len() / self.row_lens().1, self.start_len());
        let (map, rest) = room.values.split_at_mut(images * start);
        let (kept_norm, mut rest) = rest.split_at_mut(images * self.start_norm_len());
        let (weight, vectors) = params.split_at(self.inputs * start);
        product(map, images, start, self.inputs, Left::Rows(x), weight, false);
        bias_activation(map, &vectors[..start], Activation::Identity);
        if self.rms_norm {
            let channels = self.start[2];
            let zeros = vec![0.0; channels];
            finish_normed(map, &zeros, &vectors[start..start + channels], kept_norm, self.activation);
        }

        let mut input: &[f32] = map;
        let mut out = Some(out);
        for (index, layer) in layers.iter().enumerate() {
            let is_last = index + 1 == layers.len();
            let (output, before) = kept(layer, is_last);
            let (target, after) = std::mem::take(&mut rest).split_at_mut(images * output);
            let (before, after) = after.split_at_mut(images * before);
            rest = after;
            let target = if is_last { out.take().unwrap_or_default() } else { target };
            layer.forward(input, params, before, target);
            input = target;
        }
    }

    fn chunk_backward(&self, trace: Trace<'_>, mut grad_params: Option<&mut [f32]>, grad_x: Option<&mut [f32]>) {
        let (layers, images, start) = (self.upconvs(), trace.images, self.start_len());
        if let Some(total) = grad_params.as_deref_mut() {
            total.fill(0.0);
        }
        // Each layer's input and what its activation's derivative needs.
        let (mut input, rest) = trace.values.split_at(images * start);
        let (kept_norm, mut rest) = rest.split_at(images * self.start_norm_len());
        let mut kept_layers = Vec::with_capacity(layers.len());
        for (index, layer) in layers.iter().enumerate() {
            let (output, before) = kept(layer, index + 1 == layers.len());
            let (output, after) = rest.split_at(images * output);
            let (before, after) = after.split_at(images * before);
            rest = after;
            kept_layers.push((input, if before.is_empty() { output } else { before }));
            input = output;
        }

        let mut grad = Pooled::new(trace.grad_out.len());
        grad.copy_from_slice(trace.grad_out);
        for (layer, (input, activated)) in layers.iter().zip(kept_layers).rev() {
            let mut below = Pooled::new(input.len());
            layer.backward(input, trace.params, activated, &mut grad, grad_params.as_deref_mut(), &mut below);
            grad = below;
        }
        if self.rms_norm {
            let (at, channels) = ((self.inputs + 1) * start, self.start[2]);
            let scale = &trace.params[at..at + channels];
            // The bias stands before the map is taken pixel by pixel: its gradient is summed up below.
            let mut vectors = Pooled::new(2 * channels);
            vectors.fill(0.0);
            unfinish_normed(&mut grad, scale, kept_norm, self.activation, &mut vectors);
            if let Some(total) = grad_params.as_deref_mut() {
                total[at..at + channels].copy_from_slice(&vectors[channels..]);
            }
        }
        if let Some(total) = grad_params {
            let (grad_weight, vectors) = total.split_at_mut(self.inputs * start);
            product(grad_weight, self.inputs, start, images, Left::Transposed(floats(trace.x)), &grad, false);
            column_sums(&grad, &mut vectors[..start]);
        }
        if let Some(grad_x) = grad_x {
            let weight = &trace.params[..self.inputs * start];
            product_transposed(grad_x, images, self.inputs, start, &grad, weight, false);
        }
    }
}
