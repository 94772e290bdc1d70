//! The forward pass.

use super::saved::{Kept, saved_len};
use super::{Chunk, Input, Job, Split};
use crate::kernels::activation::{Activation, activate, bias_activation};
use crate::kernels::dropout::{DropoutKey, dropout};
use crate::kernels::layer_norm::{EPSILON, layer_norm};
use crate::kernels::rms_norm::rms_norm;
use crate::mlp::Layer;
use crate::threads::join;

/// Evaluates the ensemble into `out` `[members, rows, outputs]`.
///
/// `saved` holds `members * saved_len(spec, rows, for_backward)` values; its length tells which of the two is meant.
pub fn forward(job: Job<'_>, x: Input<'_>, params: &[f32], saved: &mut [f32], out: &mut [f32]) {
    let Job { spec, members, rows, .. } = job;
    let per_member = spec.param_count();
    assert_eq!(params.len(), members * per_member, "parameters do not fit the network");
    assert_eq!(out.len(), members * rows * spec.outputs, "output buffer does not fit the network");
    if out.is_empty() {
        return;
    }
    let for_backward = saved.len() == members * saved_len(spec, rows, true);
    assert!(for_backward || saved.len() == members * saved_len(spec, rows, false), "buffer does not fit the network");

    let row_len = spec.inputs;
    match job.split() {
        Split::Rows(half) => {
            let x = x.member(0, rows * row_len);
            let (x_first, x_second) = x.split_at(half * row_len);
            let (saved_first, saved_second) = saved.split_at_mut(saved_len(spec, half, for_backward));
            let (out_first, out_second) = out.split_at_mut(half * spec.outputs);
            let (first, second) = (job.chunk(0, 0, half), job.chunk(0, half, rows - half));
            join(
                || chunk_forward(first, x_first, params, saved_first, out_first, for_backward),
                || chunk_forward(second, x_second, params, saved_second, out_second, for_backward),
            );
        }
        split => {
            let (saved_each, out_each) = (saved.len() / members, rows * spec.outputs);
            let run = |first: usize, last: usize, saved: &mut [f32], out: &mut [f32]| {
                let mut saved_rest = saved;
                for (member, out) in (first..last).zip(out.chunks_exact_mut(out_each)) {
                    let (saved, rest) = std::mem::take(&mut saved_rest).split_at_mut(saved_each);
                    saved_rest = rest;
                    let params = &params[member * per_member..(member + 1) * per_member];
                    let x = x.member(member, rows * row_len);
                    chunk_forward(job.chunk(member, 0, rows), x, params, saved, out, for_backward);
                }
            };
            if let Split::Members(half) = split {
                let (saved_first, saved_second) = saved.split_at_mut(half * saved_each);
                let (out_first, out_second) = out.split_at_mut(half * out_each);
                join(|| run(0, half, saved_first, out_first), || run(half, members, saved_second, out_second));
            } else {
                run(0, members, saved, out);
            }
        }
    }
}

/// One chunk: some rows of one member.
fn chunk_forward(chunk: Chunk<'_>, x: &[f32], params: &[f32], saved: &mut [f32], out: &mut [f32], for_backward: bool) {
    let rows = chunk.rows;
    let mut input = x;
    let mut saved_rest = saved;
    let mut out = Some(out);
    for layer in chunk.spec.layers() {
        let kept = Kept::of(&layer, rows, for_backward);
        let (stretch, rest) = std::mem::take(&mut saved_rest).split_at_mut(kept.len());
        saved_rest = rest;
        let [output, normal, inverse_std, kept_activation] = kept.cut_mut(stretch);
        // The last layer writes to the caller's buffer, every other one to its own stretch.
        let target = if layer.is_output { out.take().unwrap_or_default() } else { output };

        let width = layer.outputs;
        let (weight, vectors) = params[layer.offset..layer.offset + layer.len()].split_at(layer.weights());
        let (bias, norm) = vectors.split_at(width);
        chunk.products(&layer).forward(target, input, weight);

        let drops = chunk.dropout.filter(|_| !layer.is_output);
        if drops.is_none() && !layer.normed && kept_activation.is_empty() {
            bias_activation(target, bias, layer.activation);
        } else {
            bias_activation(target, bias, Activation::Identity);
            if let Some((probability, seed)) = drops {
                let key = DropoutKey::new(seed, chunk.member, layer.index);
                dropout(target, key, chunk.first_row * width, probability);
            }
            if layer.normed && !layer.norm_after {
                normalise(&layer, target, norm, normal, inverse_std);
            }
            let silu = layer.activation == Activation::Silu;
            if silu && !kept_activation.is_empty() {
                kept_activation.copy_from_slice(target);
            }
            activate(target, layer.activation);
            if layer.norm_after {
                if !silu && !kept_activation.is_empty() {
                    kept_activation.copy_from_slice(target);
                }
                normalise(&layer, target, norm, normal, inverse_std);
            }
        }
        input = target;
    }
}

/// LayerNorm or RMSNorm; `norm` holds the scale and, for the former, the shift.
fn normalise(layer: &Layer, values: &mut [f32], norm: &[f32], normal: &mut [f32], inverse: &mut [f32]) {
    if layer.rms {
        return rms_norm(values, norm, normal, inverse);
    }
    let (scale, shift) = norm.split_at(layer.outputs);
    layer_norm(values, scale, shift, EPSILON, normal, inverse);
}
