//! The backward pass.

use super::saved::{SavedLayer, layers_with_inputs, saved_len};
use super::{Chunk, Input, Job, Split};
use crate::buffers::Pooled;
use crate::kernels::activation::{Activation, activation_backward, column_sums};
use crate::kernels::dropout::{DropoutKey, dropout};
use crate::kernels::layer_norm::{layer_norm_backward, scale_shift};
use crate::kernels::rms_norm::{rms_norm_backward, scale_rows};
use crate::kernels::vector::add_assign;
use crate::mlp::Layer;
use crate::threads::join;

/// What the forward pass read and left behind.
#[derive(Clone, Copy)]
pub struct Trace<'a> {
    pub params: &'a [f32],
    pub saved: &'a [f32],
    /// The network's outputs.
    pub out: &'a [f32],
    /// The gradient of the loss with respect to them.
    pub grad_out: &'a [f32],
}

/// Gradient buffers of one chunk. Both are overwritten, except that `x` is added to when `add_to_x`.
struct Wanted<'a> {
    params: Option<&'a mut [f32]>,
    x: Option<&'a mut [f32]>,
    add_to_x: bool,
}

/// Writes the gradients wanted: `grad_params` `[members, parameters]`, and `grad_x` in the shape of `x`.
pub fn backward(
    job: Job<'_>,
    x: Input<'_>,
    trace: Trace<'_>,
    grad_params: Option<&mut [f32]>,
    grad_x: Option<&mut [f32]>,
) {
    match job.split() {
        Split::Rows(half) => by_rows(job, half, x, trace, grad_params, grad_x),
        Split::Members(half) => by_members(job, Some(half), x, trace, grad_params, grad_x),
        Split::Whole => by_members(job, None, x, trace, grad_params, grad_x),
    }
}

/// One member in two runs of rows; the second one's parameter gradient is added to the first one's.
fn by_rows(
    job: Job<'_>,
    half: usize,
    x: Input<'_>,
    trace: Trace<'_>,
    mut grad_params: Option<&mut [f32]>,
    grad_x: Option<&mut [f32]>,
) {
    let Job { spec, rows, .. } = job;
    let (saved, rest_saved) = trace.saved.split_at(saved_len(spec, half, true));
    let (out, rest_out) = trace.out.split_at(half * spec.outputs);
    let (grad_out, rest_grad_out) = trace.grad_out.split_at(half * spec.outputs);
    let (x_first, x_second) = x.member(0, rows * spec.inputs).split_at(half * spec.inputs);
    let (grad_x_first, grad_x_second) = grad_x.map(|g| g.split_at_mut(half * spec.inputs)).unzip();
    let mut partial = grad_params.as_ref().map(|g| Pooled::new(g.len()));
    {
        let first = Wanted { params: grad_params.as_deref_mut(), x: grad_x_first, add_to_x: false };
        let second = Wanted { params: partial.as_deref_mut(), x: grad_x_second, add_to_x: false };
        let trace_first = Trace { saved, out, grad_out, ..trace };
        let trace_second = Trace { saved: rest_saved, out: rest_out, grad_out: rest_grad_out, ..trace };
        join(
            || chunk_backward(job.chunk(0, 0, half), x_first, trace_first, first),
            || chunk_backward(job.chunk(0, half, rows - half), x_second, trace_second, second),
        );
    }
    if let (Some(total), Some(partial)) = (grad_params, partial) {
        add_assign(total, &partial);
    }
}

/// Members one after another, in two runs when `half` says where to cut.
fn by_members(
    job: Job<'_>,
    half: Option<usize>,
    x: Input<'_>,
    trace: Trace<'_>,
    grad_params: Option<&mut [f32]>,
    grad_x: Option<&mut [f32]>,
) {
    let (members, input_len, per_member) = (job.members, job.rows * job.spec.inputs, job.spec.param_count());
    let shared = matches!(x, Input::Shared(_));
    let run = |first: usize, last: usize, grad_params: Option<&mut [f32]>, grad_x: Option<&mut [f32]>| {
        let (mut params_rest, mut x_rest) = (grad_params, grad_x);
        for member in first..last {
            let params = take_front(&mut params_rest, per_member);
            // Members that share their input add up their gradients in one buffer.
            let grad_x = if shared { x_rest.as_deref_mut() } else { take_front(&mut x_rest, input_len) };
            let wanted = Wanted { params, x: grad_x, add_to_x: shared && member > first };
            let part = |values| member_part(values, member, members);
            let trace = Trace {
                params: part(trace.params),
                saved: part(trace.saved),
                out: part(trace.out),
                grad_out: part(trace.grad_out),
            };
            chunk_backward(job.chunk(member, 0, job.rows), x.member(member, input_len), trace, wanted);
        }
    };
    let Some(half) = half else {
        return run(0, members, grad_params, grad_x);
    };
    let (params_first, params_second) = grad_params.map(|g| g.split_at_mut(half * per_member)).unzip();
    if !shared {
        let (x_first, x_second) = grad_x.map(|g| g.split_at_mut(half * input_len)).unzip();
        join(|| run(0, half, params_first, x_first), || run(half, members, params_second, x_second));
        return;
    }
    let mut total = grad_x;
    let mut partial = total.as_ref().map(|g| Pooled::new(g.len()));
    {
        let (x_first, x_second) = (total.as_deref_mut(), partial.as_deref_mut());
        join(|| run(0, half, params_first, x_first), || run(half, members, params_second, x_second));
    }
    if let (Some(total), Some(partial)) = (total, partial) {
        add_assign(total, &partial);
    }
}

pub fn member_part(values: &[f32], member: usize, members: usize) -> &[f32] {
    let len = values.len() / members;
    &values[member * len..(member + 1) * len]
}

/// Splits `len` values off the front.
pub fn take_front<'a>(rest: &mut Option<&'a mut [f32]>, len: usize) -> Option<&'a mut [f32]> {
    let (front, back) = rest.take()?.split_at_mut(len);
    *rest = Some(back);
    Some(front)
}

/// One chunk, from the last layer to the first.
fn chunk_backward(chunk: Chunk<'_>, x: &[f32], trace: Trace<'_>, mut wanted: Wanted<'_>) {
    let (spec, rows) = (chunk.spec, chunk.rows);
    // `grad` is the gradient at the current layer's output, `next` the one at its input.
    let mut grad = Pooled::new(rows * spec.widest());
    let mut next = Pooled::new(rows * spec.widest());
    grad[..trace.grad_out.len()].copy_from_slice(trace.grad_out);

    for (layer, saved, input) in layers_with_inputs(spec, rows, x, trace.saved) {
        let (width, products) = (layer.outputs, chunk.products(&layer));
        let params = &trace.params[layer.offset..layer.offset + layer.len()];
        let (weight, vectors) = params.split_at(layer.weights());
        let grads = wanted.params.as_deref_mut().map(|g| &mut g[layer.offset..layer.offset + layer.len()]);
        let (grad_weight, grad_vectors) =
            grads.unwrap_or_default().split_at_mut_checked(layer.weights()).unwrap_or_default();
        grad_vectors.fill(0.0);

        let gradient = &mut grad[..rows * width];
        let output = if layer.is_output { trace.out } else { saved.output };
        before_activation(chunk, &layer, gradient, output, saved, vectors, grad_vectors);

        if !grad_weight.is_empty() {
            products.grad_weight(grad_weight, input, gradient);
        }
        if layer.index > 0 {
            let target = &mut next[..rows * layer.inputs];
            products.grad_input(target, gradient, weight, false);
            std::mem::swap(&mut grad, &mut next);
        } else if let Some(grad_x) = wanted.x.as_deref_mut() {
            products.grad_input(grad_x, gradient, weight, wanted.add_to_x);
        }
    }
}

/// Takes `gradient` from a layer's output back to its linear map's output, filling the gradients of bias and LayerNorm.
pub fn before_activation(
    chunk: Chunk<'_>,
    layer: &Layer,
    gradient: &mut [f32],
    output: &[f32],
    saved: SavedLayer<'_>,
    vectors: &[f32],
    grad_vectors: &mut [f32],
) {
    let width = layer.outputs;
    let (grad_bias, grad_norm) = grad_vectors.split_at_mut(width.min(grad_vectors.len()));
    let silu = layer.activation == Activation::Silu;
    let drops = chunk.dropout.filter(|_| !layer.is_output);
    if drops.is_none() && !layer.normed {
        let known = if silu { saved.activation } else { output };
        return activation_backward(gradient, known, width, grad_bias, layer.activation);
    }
    if layer.normed {
        let (scale, shift) = vectors[width..].split_at(width);
        let mut through_norm = |gradient: &mut [f32]| {
            if layer.rms {
                return rms_norm_backward(gradient, scale, saved.normal, saved.inverse_std, grad_norm);
            }
            let (grad_scale, grad_shift) = grad_norm.split_at_mut(grad_norm.len() / 2);
            layer_norm_backward(gradient, scale, saved.normal, saved.inverse_std, grad_scale, grad_shift);
        };
        if layer.norm_after {
            through_norm(gradient);
            activation_backward(gradient, saved.activation, width, &mut [], layer.activation);
        } else if silu {
            // SiLU's input was not kept: it follows from the normalised rows.
            let mut inputs = Pooled::new(saved.normal.len());
            match layer.rms {
                true => scale_rows(saved.normal, scale, &mut inputs),
                false => scale_shift(saved.normal, scale, shift, &mut inputs),
            }
            activation_backward(gradient, &inputs, width, &mut [], layer.activation);
            through_norm(gradient);
        } else {
            activation_backward(gradient, output, width, &mut [], layer.activation);
            through_norm(gradient);
        }
    } else {
        let known = if silu { saved.activation } else { output };
        activation_backward(gradient, known, width, &mut [], layer.activation);
    }
    if let Some((probability, seed)) = drops {
        let key = DropoutKey::new(seed, chunk.member, layer.index);
        dropout(gradient, key, chunk.first_row * width, probability);
    }
    column_sums(gradient, grad_bias);
}
