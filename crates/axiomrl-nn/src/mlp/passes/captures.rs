//! What goes into each layer, and the gradient at its linear outputs, row by row: what curvature is made of.

use super::backward::{Trace, before_activation};
use super::saved::{layers_with_inputs, saved_len};
use super::{Chunk, Input, Job, Split};
use crate::buffers::Pooled;
use crate::kfac::Captured;

/// All layers of a single network, from the first to the last.
pub fn captures(job: Job<'_>, x: Input<'_>, trace: Trace<'_>) -> Vec<Captured> {
    let Job { spec, rows, .. } = job;
    let mut found = vec![Captured::default(); spec.depth()];
    let x = x.member(0, rows * spec.inputs);
    // What was saved lies as the forward pass was cut.
    let half = if let Split::Rows(half) = job.split() { half } else { rows };
    for (first, count) in [(0, half), (half, rows - half)].into_iter().filter(|(_, count)| *count > 0) {
        let saved_at = if first == 0 { 0 } else { saved_len(spec, first, true) };
        let outputs = first * spec.outputs..(first + count) * spec.outputs;
        let own = Trace {
            saved: &trace.saved[saved_at..saved_at + saved_len(spec, count, true)],
            out: &trace.out[outputs.clone()],
            grad_out: &trace.grad_out[outputs],
            ..trace
        };
        let x = &x[first * spec.inputs..(first + count) * spec.inputs];
        chunk_captures(job.chunk(0, first, count), x, own, &mut found);
    }
    found
}

/// Some rows, whose parts are put behind those of the rows before.
fn chunk_captures(chunk: Chunk<'_>, x: &[f32], trace: Trace<'_>, found: &mut [Captured]) {
    let (spec, rows) = (chunk.spec, chunk.rows);
    let (mut grad, mut next) = (Pooled::new(rows * spec.widest()), Pooled::new(rows * spec.widest()));
    grad[..trace.grad_out.len()].copy_from_slice(trace.grad_out);
    for (layer, saved, input) in layers_with_inputs(spec, rows, x, trace.saved) {
        let (weight, vectors) = trace.params[layer.offset..layer.offset + layer.len()].split_at(layer.weights());
        let gradient = &mut grad[..rows * layer.outputs];
        let output = if layer.is_output { trace.out } else { saved.output };
        before_activation(chunk, &layer, gradient, output, saved, vectors, &mut []);
        found[layer.index].inputs.extend_from_slice(input);
        found[layer.index].gradients.extend_from_slice(gradient);
        if layer.index > 0 {
            chunk.products(&layer).grad_input(&mut next[..rows * layer.inputs], gradient, weight, false);
            std::mem::swap(&mut grad, &mut next);
        }
    }
}
