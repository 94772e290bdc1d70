//! A GRU whose gates pass one LayerNorm together. Layers: the input's, then the gates' over input and state.

use super::gated::{Gated, Gates};
use super::{BackStep, CellTrace, Rows};
use crate::kernels::matmul::Left;
use crate::kernels::update_gates::{update_gates, update_gates_backward};

pub struct Normed;

impl Gates for Normed {
    fn step(cell: &Gated<'_, Self>, trace: &mut CellTrace, rows: Rows, h: &mut [f32]) {
        let (core, deter) = (&cell.core, cell.core.widths.deter);
        let [input, gates] = &mut trace.layers[..] else { unreachable!("a normed GRU has two layers") };
        let h_in = rows.of(&trace.h, deter);
        let sums = rows.of_mut(&mut gates.out, 3 * deter);
        cell.x.product(sums, rows.count, Left::Rows(rows.of(&input.out, core.widths.hidden)), false);
        cell.h.product(sums, rows.count, Left::Rows(h_in), true);
        core.layers[1].finish(core.params, gates, rows.first, rows.count);
        let sums = rows.of(&gates.out, 3 * deter);
        update_gates(sums, h_in, rows.of_mut(&mut trace.gates, 3 * deter), h, deter);
    }

    fn back(cell: &Gated<'_, Self>, step: &mut BackStep<'_>) {
        let BackStep { trace, rows, grads, dh, params, .. } = step;
        let (core, deter) = (&cell.core, cell.core.widths.deter);
        let d_gates = rows.of_mut(&mut grads.0[1], 3 * deter);
        let (sums, gates) = (rows.of(&trace.layers[1].out, 3 * deter), rows.of(&trace.gates, 3 * deter));
        update_gates_backward(d_gates, sums, gates, rows.of(&trace.h, deter), dh, deter);
        core.layers[1].unfinish(core.params, &trace.layers[1], rows.first, d_gates, params.as_deref_mut());
    }
}
