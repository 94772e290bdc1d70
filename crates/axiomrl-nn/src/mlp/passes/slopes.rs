//! The gradient of slopes: how the parameters change what a network of ReLUs makes of a small step of its input.
//!
//! As long as no unit switches on or off, such a network is linear in its input, and its slope `∂y/∂x` is a product of the
//! layers' weights. For directions `v` the gradient of `Σ v·∂y/∂x` then needs two passes and no second derivative: tangents
//! `t` of the activations go up from `v`, the deltas `δ` of an ordinary backward pass come down, and each weight gets `t·δ`.
//! Biases have none.

use super::backward::{Trace, member_part, take_front};
use super::saved::{SavedLayer, layers_from_the_top, saved_len};
use super::{Chunk, Input, Job, Split};
use crate::buffers::Pooled;
use crate::kernels::activation::activation_backward;
use crate::kernels::vector::add_assign;
use crate::mlp::Layer;
use crate::threads::join;

/// Writes the gradient of `Σ along·∂(Σ grad_out·y)/∂x` by the parameters, `[members, parameters]`.
pub fn slopes(job: Job<'_>, along: Input<'_>, trace: Trace<'_>, grad_params: &mut [f32]) {
    let Job { spec, members, rows, .. } = job;
    let (input_len, per_member) = (rows * spec.inputs, spec.param_count());
    let run = |first: usize, last: usize, grad_params: &mut [f32]| {
        let mut rest = Some(grad_params);
        for member in first..last {
            let part = |values| member_part(values, member, members);
            let (params, saved, grad_out) = (part(trace.params), part(trace.saved), part(trace.grad_out));
            let trace = Trace { params, saved, grad_out, out: &[] };
            let grad = take_front(&mut rest, per_member).unwrap_or_default();
            chunk_slopes(job.chunk(member, 0, rows), along.member(member, input_len), trace, grad);
        }
    };
    match job.split() {
        Split::Members(half) => {
            let (first, second) = grad_params.split_at_mut(half * per_member);
            join(|| run(0, half, first), || run(half, members, second));
        }
        Split::Whole => run(0, members, grad_params),
        // What was saved lies as the forward pass was cut.
        Split::Rows(half) => {
            let (saved, rest_saved) = trace.saved.split_at(saved_len(spec, half, true));
            let (grad_out, rest_grad_out) = trace.grad_out.split_at(half * spec.outputs);
            let (along, rest_along) = along.member(0, input_len).split_at(half * spec.inputs);
            let mut partial = Pooled::new(grad_params.len());
            let (first, second) = (
                Trace { saved, grad_out, out: &[], ..trace },
                Trace { saved: rest_saved, grad_out: rest_grad_out, out: &[], ..trace },
            );
            join(
                || chunk_slopes(job.chunk(0, 0, half), along, first, grad_params),
                || chunk_slopes(job.chunk(0, half, rows - half), rest_along, second, &mut partial),
            );
            add_assign(grad_params, &partial);
        }
    }
}

/// Some rows of one member.
fn chunk_slopes(chunk: Chunk<'_>, along: &[f32], trace: Trace<'_>, grad_params: &mut [f32]) {
    let (spec, rows) = (chunk.spec, chunk.rows);
    let mut layers: Vec<(Layer, SavedLayer<'_>)> = layers_from_the_top(spec, rows, trace.saved).collect();
    layers.reverse();
    let weight = |layer: &Layer| &trace.params[layer.offset..layer.offset + layer.weights()];
    // t_l = D_l·(t_{l-1}·W_l), with D_l the units that are on.
    let mut tangents: Vec<Pooled> = Vec::with_capacity(spec.hidden.len());
    for (layer, saved) in layers.iter().filter(|(layer, _)| !layer.is_output) {
        let mut tangent = Pooled::new(rows * layer.outputs);
        let below = tangents.last().map_or(along, |below| &below[..]);
        chunk.products(layer).forward(&mut tangent, below, weight(layer));
        activation_backward(&mut tangent, saved.output, layer.outputs, &mut [], layer.activation);
        tangents.push(tangent);
    }
    // δ_l = D_l·(δ_{l+1}·W_{l+1}ᵀ), and each weight's gradient t_{l-1}ᵀ·δ_l.
    let (mut delta, mut next) = (Pooled::new(rows * spec.widest()), Pooled::new(rows * spec.widest()));
    delta[..trace.grad_out.len()].copy_from_slice(trace.grad_out);
    for (layer, saved) in layers.iter().rev() {
        let (products, here) = (chunk.products(layer), &mut delta[..rows * layer.outputs]);
        if !layer.is_output {
            activation_backward(here, saved.output, layer.outputs, &mut [], layer.activation);
        }
        let (grad_weight, grad_bias) =
            grad_params[layer.offset..layer.offset + layer.len()].split_at_mut(layer.weights());
        grad_bias.fill(0.0);
        let below = if layer.index == 0 { along } else { &tangents[layer.index - 1] };
        products.grad_weight(grad_weight, below, here);
        if layer.index > 0 {
            products.grad_input(&mut next[..rows * layer.inputs], here, weight(layer), false);
            std::mem::swap(&mut delta, &mut next);
        }
    }
}
