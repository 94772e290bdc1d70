//! The forward tangent: how the outputs move when the parameters move along a direction.
//!
//! With ẋ the movement of what enters a layer, and V, c the direction's part in its weights and biases,
//! `ȧ = ẋ·W + x·V + c` and `ẏ = φ′(a)⊙ȧ`. One pass up, exact, from what the forward pass kept.

use super::backward::{Trace, member_part};
use super::saved::{SavedLayer, layers_from_the_top, saved_len};
use super::{Chunk, Input, Job, Split};
use crate::buffers::Pooled;
use crate::kernels::activation::{Activation, activation_backward, bias_activation};
use crate::kernels::matmul::{Left, product};
use crate::mlp::Layer;
use crate::threads::join;

/// Writes the movement of the outputs `[members, rows, outputs]`, given that of the parameters, `along`. Of `trace`, the gradient
/// of the outputs is not looked at. LayerNorm and dropout have no tangent here.
pub fn tangents(job: Job<'_>, x: Input<'_>, trace: Trace<'_>, along: &[f32], out: &mut [f32]) {
    let Job { spec, members, rows, .. } = job;
    let (input_len, output_len) = (rows * spec.inputs, rows * spec.outputs);
    let run = |first: usize, last: usize, out: &mut [f32]| {
        for (member, out) in (first..last).zip(out.chunks_exact_mut(output_len)) {
            let part = |values| member_part(values, member, members);
            let own =
                Trace { params: part(trace.params), saved: part(trace.saved), out: part(trace.out), grad_out: &[] };
            chunk_tangents(job.chunk(member, 0, rows), x.member(member, input_len), own, part(along), out);
        }
    };
    if out.is_empty() {
        return;
    }
    match job.split() {
        Split::Members(half) => {
            let (first, second) = out.split_at_mut(half * output_len);
            join(|| run(0, half, first), || run(half, members, second));
        }
        Split::Whole => run(0, members, out),
        // What was saved lies as the forward pass was cut.
        Split::Rows(half) => {
            let (saved, rest_saved) = trace.saved.split_at(saved_len(spec, half, true));
            let (known, rest_known) = trace.out.split_at(half * spec.outputs);
            let (x, rest_x) = x.member(0, input_len).split_at(half * spec.inputs);
            let (first_out, second_out) = out.split_at_mut(half * spec.outputs);
            let first = Trace { saved, out: known, grad_out: &[], ..trace };
            let second = Trace { saved: rest_saved, out: rest_known, grad_out: &[], ..trace };
            join(
                || chunk_tangents(job.chunk(0, 0, half), x, first, along, first_out),
                || chunk_tangents(job.chunk(0, half, rows - half), rest_x, second, along, second_out),
            );
        }
    }
}

/// Some rows of one member.
fn chunk_tangents(chunk: Chunk<'_>, x: &[f32], trace: Trace<'_>, along: &[f32], out: &mut [f32]) {
    let (spec, rows) = (chunk.spec, chunk.rows);
    let mut layers: Vec<(Layer, SavedLayer<'_>)> = layers_from_the_top(spec, rows, trace.saved).collect();
    layers.reverse();
    let (mut input, mut below) = (x, Pooled::new(0));
    for (layer, saved) in &layers {
        let (width, mut tangent) = (layer.outputs, Pooled::new(rows * layer.outputs));
        let place = layer.offset..layer.offset + layer.len();
        let weight = &trace.params[place.clone()][..layer.weights()];
        let (by_weight, by_bias) = along[place].split_at(layer.weights());
        // ȧ = x·V + ẋ·W + c; what enters the first layer does not move.
        product(&mut tangent, rows, width, layer.inputs, Left::Rows(input), by_weight, false);
        if layer.index > 0 {
            product(&mut tangent, rows, width, layer.inputs, Left::Rows(&below), weight, true);
        }
        bias_activation(&mut tangent, by_bias, Activation::Identity);
        let output = if layer.is_output { trace.out } else { saved.output };
        let known = if layer.activation == Activation::Silu { saved.activation } else { output };
        activation_backward(&mut tangent, known, width, &mut [], layer.activation);
        (input, below) = (saved.output, tangent);
    }
    out.copy_from_slice(&below);
}
