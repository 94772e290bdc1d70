//! The backward pass over a sequence.

use super::{Chunk, Job, Packed, Saved, Weights, halves_of_steps, once_or_twice, steps_of};
use crate::buffers::Pooled;
use crate::kernels::activation::column_sums;
use crate::kernels::gates::{GruTrace, LstmTrace, gru_step_backward, lstm_step_backward};
use crate::kernels::matmul::{Left, Repeated, product, product_transposed};
use crate::kernels::transpose::transpose;
use crate::kernels::vector::add_assign;
use crate::recurrent::{CellKind, RecurrentSpec};
use crate::threads::join;

/// What the forward pass read and left behind.
#[derive(Clone, Copy)]
pub struct Trace<'a> {
    pub x: &'a [f32],
    pub params: &'a [f32],
    pub saved: &'a [f32],
    /// The gradient of the loss with respect to the outputs, `[steps, rows, hidden]`.
    pub grad_out: &'a [f32],
}

/// Writes the gradients wanted: of the parameters, of `x`, and of the initial state.
pub fn backward(
    job: Job<'_>,
    trace: Trace<'_>,
    grad_params: Option<&mut [f32]>,
    grad_x: Option<&mut [f32]>,
    grad_state: Option<&mut [f32]>,
) {
    let Job { spec, steps, rows, .. } = job;
    let (weights, gates, hidden) = (Weights::of(spec, trace.params), spec.gates(), spec.hidden);
    let mut back_hidden = Pooled::new(weights.hidden.len());
    transpose(weights.hidden, &mut back_hidden, hidden, gates);
    let stepwise = grad_x.is_some() && job.step_by_step();
    let mut back_input = Pooled::new(if stepwise { weights.input.len() } else { 0 });
    if stepwise {
        transpose(weights.input, &mut back_input, spec.inputs, gates);
    }
    let packed = |rows: usize| Packed {
        input: stepwise.then(|| Repeated::new(&back_input, gates, spec.inputs, steps, rows)),
        hidden: Repeated::new(&back_hidden, gates, hidden, steps, rows),
    };
    let Some(half) = job.split() else {
        let grad_x = grad_x.map(|grad| steps_of(grad, rows, spec.inputs).collect());
        return chunk_backward(job.whole(), trace, &packed(rows), grad_params, grad_x, grad_state);
    };
    let (of_first, of_second) = once_or_twice(half, rows - half, packed);
    let of_second = of_second.as_ref().unwrap_or(&of_first);
    let (first, second) = (job.chunk(0, half), job.chunk(half, rows - half));
    let (saved_first, saved_second) = trace.saved.split_at(half * Saved::width(spec, steps));
    let (state_first, state_second) = grad_state.map(|g| g.split_at_mut(half * spec.state_width())).unzip();
    let mut total = grad_params;
    let mut partial = total.as_ref().map(|g| Pooled::new(g.len()));
    let (x_first, x_second) = grad_x.map(|grad| halves_of_steps(grad, rows, half, spec.inputs)).unzip();
    {
        let (params_first, params_second) = (total.as_deref_mut(), partial.as_deref_mut());
        let (trace_first, trace_second) =
            (Trace { saved: saved_first, ..trace }, Trace { saved: saved_second, ..trace });
        join(
            || chunk_backward(first, trace_first, &of_first, params_first, x_first, state_first),
            || chunk_backward(second, trace_second, of_second, params_second, x_second, state_second),
        );
    }
    if let (Some(total), Some(partial)) = (total, partial) {
        add_assign(total, &partial);
    }
}

/// One chunk; the gradient buffers, that of `x` one slice per step, are its own and are overwritten.
fn chunk_backward(
    chunk: Chunk<'_>,
    trace: Trace<'_>,
    packed: &Packed<'_>,
    grad_params: Option<&mut [f32]>,
    mut grad_x: Option<Vec<&mut [f32]>>,
    grad_state: Option<&mut [f32]>,
) {
    let Job { spec, steps, .. } = chunk.job;
    let (n, hidden, gates) = (chunk.rows, spec.hidden, spec.gates());
    let parts = Saved::of(spec, steps, n);
    let [all_gates, h, c, kept] = parts.cut(trace.saved);

    let block = n * hidden;
    let (mut dh, mut dc) = (Pooled::new(block), Pooled::new(if c.is_empty() { 0 } else { block }));
    dh.fill(0.0);
    dc.fill(0.0);
    // Gradients of the weighted sums; a GRU's sums over the state differ from those over the input.
    let mut d_input = Pooled::new(parts.gates);
    let mut d_hidden = Pooled::new(if spec.kind == CellKind::Gru { parts.gates } else { 0 });
    for step in (0..steps).rev() {
        add_assign(&mut dh, chunk.at(trace.grad_out, step, hidden));
        let gate_range = step * n * gates..(step + 1) * n * gates;
        let state_range = step * block..(step + 1) * block;
        match spec.kind {
            CellKind::Lstm => {
                let d_gates = &mut d_input[gate_range.clone()];
                let (c_in, tanh_c) = (&c[state_range.clone()], &kept[state_range]);
                let trace = LstmTrace { gates: &all_gates[gate_range], c_in, tanh_c };
                lstm_step_backward(d_gates, trace, &dh, &mut dc, hidden);
                packed.hidden.product(&mut dh, n, Left::Rows(d_gates), false);
                chunk.reset(step, &mut dc);
            }
            CellKind::Gru => {
                let (d_in, d_from) = (&mut d_input[gate_range.clone()], &mut d_hidden[gate_range.clone()]);
                let (h_in, candidate) = (&h[state_range.clone()], &kept[state_range]);
                let trace = GruTrace { gates: &all_gates[gate_range], h_in, candidate };
                gru_step_backward(d_in, d_from, trace, &mut dh, hidden);
                packed.hidden.product(&mut dh, n, Left::Rows(d_from), true);
            }
        }
        chunk.reset(step, &mut dh);
        if let (Some(grad), Some(weights)) = (&mut grad_x, &packed.input) {
            weights.product(grad[step], n, Left::Rows(&d_input[step * n * gates..(step + 1) * n * gates]), false);
        }
    }
    if let Some(grad) = grad_state {
        for (row, grad) in grad.chunks_exact_mut(spec.state_width()).enumerate() {
            grad[..hidden].copy_from_slice(&dh[row * hidden..(row + 1) * hidden]);
            if !dc.is_empty() {
                grad[hidden..].copy_from_slice(&dc[row * hidden..(row + 1) * hidden]);
            }
        }
    }
    if let Some(grad) = grad_params {
        let d_hidden: &[f32] = if d_hidden.is_empty() { &d_input } else { &d_hidden };
        let x = chunk.gather(trace.x, spec.inputs);
        param_gradient(spec, steps * n, &x, &h[..steps * block], &d_input, d_hidden, grad);
    }
    if let Some(grad) = grad_x.filter(|_| packed.input.is_none()) {
        let mut together = Pooled::new(steps * n * spec.inputs);
        product_transposed(
            &mut together,
            steps * n,
            spec.inputs,
            gates,
            &d_input,
            Weights::of(spec, trace.params).input,
            false,
        );
        let parts = together.chunks_exact((n * spec.inputs).max(1));
        grad.into_iter().zip(parts).for_each(|(grad, part)| grad.copy_from_slice(part));
    }
}

/// The parameters' gradient over all steps at once: every row of every step is one row of these products.
fn param_gradient(
    spec: &RecurrentSpec,
    rows: usize,
    x: &[f32],
    h: &[f32],
    d_input: &[f32],
    d_hidden: &[f32],
    grad: &mut [f32],
) {
    let gates = spec.gates();
    let (input, rest) = grad.split_at_mut(spec.inputs * gates);
    let (hidden, biases) = rest.split_at_mut(spec.hidden * gates);
    product(input, spec.inputs, gates, rows, Left::Transposed(x), d_input, false);
    product(hidden, spec.hidden, gates, rows, Left::Transposed(h), d_hidden, false);
    biases.fill(0.0);
    let (bias_input, bias_hidden) = biases.split_at_mut(gates);
    column_sums(d_input, bias_input);
    match spec.kind {
        CellKind::Lstm => bias_hidden.copy_from_slice(bias_input),
        CellKind::Gru => column_sums(d_hidden, bias_hidden),
    }
}
