//! Forward and backward pass of the residual encoder, on plain slices.

use super::{ResidualSpec, Stage};
use crate::buffers::Pooled;
use crate::conv::convolution::ConvTrace;
use crate::images::{ImageNetwork, KeptMut, Pixels, Trace};
use crate::kernels::activation::Activation::{Identity, Relu};
use crate::kernels::activation::{activate, activation_backward, bias_activation};
use crate::kernels::matmul::{Left, product, product_transposed};
use crate::kernels::pooling::{max_pool, max_pool_backward};
use crate::kernels::vector::add_assign;

impl Stage {
    /// Values of the stage's output, and of every map inside its blocks.
    fn map_len(&self) -> usize {
        self.pool.out_len()
    }

    /// Values kept of one image: per block relu(x) and the hidden map, then the stage's output.
    fn kept_len(&self) -> usize {
        (2 * self.blocks.len() + 1) * self.map_len()
    }

    /// Images convolved at once before the pool, so that the larger map before it is never kept whole.
    fn group(&self) -> usize {
        const VALUES: usize = 1 << 16;
        (VALUES / self.conv.out_len()).max(1)
    }

    fn forward(&self, x: Pixels<'_>, params: &[f32], kept: &mut [f32], choices: &mut [u8]) {
        let map = choices.len();
        let (blocks, out) = kept.split_at_mut(2 * self.blocks.len() * map);
        let (pool, map_len) = (self.pool, self.map_len());
        let mut first = 0;
        let groups = out.chunks_mut(self.group() * map_len).zip(choices.chunks_mut(self.group() * map_len));
        for (out, choices) in groups {
            let count = out.len() / map_len;
            let mut wide = Pooled::new(count * pool.in_len());
            let x = x.images(first, count, self.conv.window.image_len());
            self.conv.forward(x, params, Identity, &mut [], &mut wide);
            let pooled = out.chunks_exact_mut(map_len).zip(choices.chunks_exact_mut(map_len));
            for (image, (out, choices)) in wide.chunks_exact(pool.in_len()).zip(pooled) {
                max_pool(pool, image, out, choices);
            }
            first += count;
        }
        for ([first, second], block) in self.blocks.iter().zip(blocks.chunks_exact_mut(2 * map)) {
            let (positive, hidden) = block.split_at_mut(map);
            positive.copy_from_slice(out);
            activate(positive, Relu);
            first.forward(Pixels::Floats(positive), params, Relu, &mut [], hidden);
            second.forward_onto(Pixels::Floats(hidden), params, out);
        }
    }

    /// `grad` is that of the output and is used up; `grad_params` is added to, `grad_x` overwritten.
    fn backward(
        &self,
        trace: Trace<'_>,
        grad: &mut [f32],
        mut grad_params: Option<&mut [f32]>,
        mut grad_x: Option<&mut [f32]>,
    ) {
        let (params, map) = (trace.params, grad.len());
        let blocks = trace.values[..2 * self.blocks.len() * map].chunks_exact(2 * map);
        let mut room = Pooled::new(2 * map);
        for ([first, second], block) in self.blocks.iter().zip(blocks).rev() {
            let (positive, hidden) = block.split_at(map);
            let (d_hidden, d_positive) = room.split_at_mut(map);
            let outer =
                ConvTrace { x: Pixels::Floats(hidden), params, activation: Identity, activated: &[], normal: &[] };
            second.backward(outer, grad, grad_params.as_deref_mut(), Some(d_hidden));
            let inner =
                ConvTrace { x: Pixels::Floats(positive), params, activation: Relu, activated: hidden, normal: &[] };
            first.backward(inner, d_hidden, grad_params.as_deref_mut(), Some(d_positive));
            activation_backward(d_positive, positive, map, &mut [], Relu);
            add_assign(grad, d_positive);
        }
        let (pool, map_len, image_len) = (self.pool, self.map_len(), self.conv.window.image_len());
        let mut first = 0;
        for grad in grad.chunks(self.group() * map_len) {
            let count = grad.len() / map_len;
            let mut wide = Pooled::new(count * pool.in_len());
            let choices = &trace.choices[first * map_len..(first + count) * map_len];
            let pooled = grad.chunks_exact(map_len).zip(choices.chunks_exact(map_len));
            for (image, (grad, choices)) in wide.chunks_exact_mut(pool.in_len()).zip(pooled) {
                max_pool_backward(pool, choices, grad, image);
            }
            let x = trace.x.images(first, count, image_len);
            let entry = ConvTrace { x, params, activation: Identity, activated: &[], normal: &[] };
            let grad_x = grad_x.as_deref_mut().map(|g| &mut g[first * image_len..(first + count) * image_len]);
            self.conv.backward(entry, &mut wide, grad_params.as_deref_mut(), grad_x);
            first += count;
        }
    }
}

impl ImageNetwork for ResidualSpec {
    fn row_lens(&self) -> (usize, usize) {
        (self.input.iter().product(), self.features)
    }

    fn parameters(&self) -> usize {
        self.param_count()
    }

    fn flops_each(&self) -> usize {
        self.flops(1)
    }

    fn kept_each(&self) -> (usize, usize) {
        let stages = self.plan().0;
        (stages.iter().map(Stage::kept_len).sum(), stages.iter().map(Stage::map_len).sum())
    }

    fn chunk_forward(&self, x: Pixels<'_>, params: &[f32], kept: KeptMut<'_>, out: &mut [f32]) {
        let (stages, linear) = self.plan();
        let images = out.len() / self.features;
        let (mut values, mut choices) = (kept.values, kept.choices);
        let mut map: &mut [f32] = &mut [];
        for (index, stage) in stages.iter().enumerate() {
            let (own_values, later_values) = std::mem::take(&mut values).split_at_mut(images * stage.kept_len());
            let (own_choices, later_choices) = std::mem::take(&mut choices).split_at_mut(images * stage.map_len());
            (values, choices) = (later_values, later_choices);
            let input = if index == 0 { x } else { Pixels::Floats(map) };
            stage.forward(input, params, own_values, own_choices);
            map = own_values.split_at_mut(2 * stage.blocks.len() * own_choices.len()).1;
        }
        activate(map, Relu);
        let (weight, bias) = params[linear.offset..].split_at(linear.inputs * self.features);
        product(out, images, self.features, linear.inputs, Left::Rows(map), weight, false);
        bias_activation(out, bias, if self.relu_features { Relu } else { Identity });
    }

    fn chunk_backward(&self, trace: Trace<'_>, mut grad_params: Option<&mut [f32]>, mut grad_x: Option<&mut [f32]>) {
        let ((stages, linear), images) = (self.plan(), trace.images);
        if let Some(total) = grad_params.as_deref_mut() {
            total.fill(0.0);
        }
        // Each stage's stretch of what was kept, whose end is the stage's output.
        let (mut values, mut choices) = (trace.values, trace.choices);
        let kept: Vec<_> = stages
            .iter()
            .map(|stage| {
                let (own_values, later_values) = values.split_at(images * stage.kept_len());
                let (own_choices, later_choices) = choices.split_at(images * stage.map_len());
                (values, choices) = (later_values, later_choices);
                (own_values, own_choices, &own_values[own_values.len() - own_choices.len()..])
            })
            .collect();

        let flat = kept.last().map_or(&[][..], |(_, _, out)| *out);
        let mut grad_out = Pooled::new(trace.grad_out.len());
        grad_out.copy_from_slice(trace.grad_out);
        let weights = linear.inputs * self.features;
        let (grad_weight, grad_bias) =
            grad_params.as_deref_mut().map(|g| g[linear.offset..].split_at_mut(weights)).unwrap_or_default();
        let activation = if self.relu_features { Relu } else { Identity };
        activation_backward(&mut grad_out, trace.out, self.features, grad_bias, activation);
        if !grad_weight.is_empty() {
            product(grad_weight, linear.inputs, self.features, images, Left::Transposed(flat), &grad_out, false);
        }
        let weight = &trace.params[linear.offset..linear.offset + weights];
        let mut grad = Pooled::new(flat.len());
        product_transposed(&mut grad, images, linear.inputs, self.features, &grad_out, weight, false);
        activation_backward(&mut grad, flat, linear.inputs, &mut [], Relu);

        for (index, stage) in stages.iter().enumerate().rev() {
            let (values, choices, _) = kept[index];
            let x = index.checked_sub(1).map_or(trace.x, |below| Pixels::Floats(kept[below].2));
            // What lies below gets a gradient unless it is an input nobody asks about.
            let mut below = (index > 0).then(|| Pooled::new(x.len()));
            let grad_below = if index > 0 { below.as_deref_mut() } else { grad_x.as_deref_mut() };
            stage.backward(Trace { x, values, choices, ..trace }, &mut grad, grad_params.as_deref_mut(), grad_below);
            if let Some(below) = below {
                grad = below;
            }
        }
    }
}
