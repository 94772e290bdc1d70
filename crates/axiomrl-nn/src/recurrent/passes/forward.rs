//! The forward pass over a sequence.

use super::{Chunk, Job, Packed, Saved, Weights, halves_of_steps, once_or_twice, steps_of};
use crate::buffers::Pooled;
use crate::kernels::activation::{Activation, bias_activation};
use crate::kernels::gates::{LstmStep, gru_step, lstm_step};
use crate::kernels::matmul::{Left, Repeated, product};
use crate::recurrent::CellKind;
use crate::threads::join;

/// Evaluates: `x` `[steps, rows, inputs]` to `out` `[steps, rows, hidden]`, starting from `state` `[rows, state width]`, which
/// is replaced by the final one. `saved` (see [`Job::saved_len`]) keeps what the backward pass needs.
pub fn forward(job: Job<'_>, x: &[f32], params: &[f32], state: &mut [f32], saved: &mut [f32], out: &mut [f32]) {
    let Job { spec, steps, rows, resets } = job;
    assert!(
        x.len() == steps * rows * spec.inputs
            && out.len() == steps * rows * spec.hidden
            && state.len() == rows * spec.state_width()
            && resets.len() == steps * rows
            && params.len() == spec.param_count()
            && saved.len() == job.saved_len(),
        "the slices do not fit the sequence"
    );
    let weights = Weights::of(spec, params);
    let packed = |rows: usize| Packed {
        input: job.step_by_step().then(|| Repeated::new(weights.input, spec.inputs, spec.gates(), steps, rows)),
        hidden: Repeated::new(weights.hidden, spec.hidden, spec.gates(), steps, rows),
    };
    let Some(half) = job.split() else {
        let steps_out = steps_of(out, rows, spec.hidden).collect();
        return chunk_forward(job.whole(), weights, &packed(rows), x, state, saved, steps_out);
    };
    let (of_first, of_second) = once_or_twice(half, rows - half, packed);
    let of_second = of_second.as_ref().unwrap_or(&of_first);
    let (first, second) = (job.chunk(0, half), job.chunk(half, rows - half));
    let (state_first, state_second) = state.split_at_mut(half * spec.state_width());
    let (saved_first, saved_second) = saved.split_at_mut(half * Saved::width(spec, steps));
    let (out_first, out_second) = halves_of_steps(out, rows, half, spec.hidden);
    join(
        || chunk_forward(first, weights, &of_first, x, state_first, saved_first, out_first),
        || chunk_forward(second, weights, of_second, x, state_second, saved_second, out_second),
    );
}

/// One chunk; `state`, `saved` and `out`, one slice per step, are its own.
fn chunk_forward(
    chunk: Chunk<'_>,
    weights: Weights<'_>,
    packed: &Packed<'_>,
    x: &[f32],
    state: &mut [f32],
    saved: &mut [f32],
    out: Vec<&mut [f32]>,
) {
    let Job { spec, steps, .. } = chunk.job;
    let (n, hidden, gates) = (chunk.rows, spec.hidden, spec.gates());
    let [all_gates, h, c, kept] = Saved::of(spec, steps, n).cut_mut(saved);

    if packed.input.is_none() {
        let x = chunk.gather(x, spec.inputs);
        product(all_gates, steps * n, gates, spec.inputs, Left::Rows(&x), weights.input, false);
    }
    // The inputs' part of the weighted sums.
    let from_input = |gates: &mut [f32], step: usize| {
        if let Some(weights) = &packed.input {
            weights.product(gates, n, Left::Rows(chunk.at(x, step, spec.inputs)), false);
        }
    };
    for (row, state) in state.chunks_exact(spec.state_width()).enumerate() {
        h[row * hidden..(row + 1) * hidden].copy_from_slice(&state[..hidden]);
        if !c.is_empty() {
            c[row * hidden..(row + 1) * hidden].copy_from_slice(&state[hidden..]);
        }
    }
    let block = n * hidden;
    match spec.kind {
        CellKind::Lstm => {
            let mut bias = Pooled::new(gates);
            for ((b, input), hidden) in bias.iter_mut().zip(weights.bias_input).zip(weights.bias_hidden) {
                *b = input + hidden;
            }
            for (step, out) in out.into_iter().enumerate() {
                let (h_in, h_out) = h[step * block..(step + 2) * block].split_at_mut(block);
                let (c_in, c_out) = c[step * block..(step + 2) * block].split_at_mut(block);
                chunk.reset(step, h_in);
                chunk.reset(step, c_in);
                let gates_now = &mut all_gates[step * n * gates..(step + 1) * n * gates];
                from_input(gates_now, step);
                packed.hidden.product(gates_now, n, Left::Rows(h_in), true);
                let tanh_c = &mut kept[step * block..(step + 1) * block];
                lstm_step(gates_now, &bias, c_in, LstmStep { c: c_out, tanh_c, h: h_out }, hidden);
                out.copy_from_slice(h_out);
            }
        }
        CellKind::Gru => {
            let mut from_hidden = Pooled::new(n * gates);
            for (step, out) in out.into_iter().enumerate() {
                let (h_in, h_out) = h[step * block..(step + 2) * block].split_at_mut(block);
                chunk.reset(step, h_in);
                packed.hidden.product(&mut from_hidden, n, Left::Rows(h_in), false);
                let gates_now = &mut all_gates[step * n * gates..(step + 1) * n * gates];
                from_input(gates_now, step);
                bias_activation(gates_now, weights.bias_input, Activation::Identity);
                let candidate = &mut kept[step * block..(step + 1) * block];
                gru_step(gates_now, &from_hidden, weights.bias_hidden, h_in, candidate, h_out, hidden);
                out.copy_from_slice(h_out);
            }
        }
    }
    for (row, state) in state.chunks_exact_mut(spec.state_width()).enumerate() {
        let last = steps * block + row * hidden;
        state[..hidden].copy_from_slice(&h[last..last + hidden]);
        if !c.is_empty() {
            state[hidden..].copy_from_slice(&c[last..last + hidden]);
        }
    }
}
