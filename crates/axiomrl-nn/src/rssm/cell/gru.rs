//! A plain GRU whose reset gate acts behind the recurrent product. Layers: the input's, then the gates' over the input and over
//! the state.

use super::gated::{Gated, Gates};
use super::{BackStep, CellTrace, Rows};
use crate::buffers::Pooled;
use crate::kernels::activation::{Activation, bias_activation, column_sums};
use crate::kernels::gates::{GruTrace, gru_step, gru_step_backward};
use crate::kernels::matmul::Left;

pub struct Plain;

impl Gates for Plain {
    fn step(cell: &Gated<'_, Self>, trace: &mut CellTrace, rows: Rows, h: &mut [f32]) {
        let (core, deter) = (&cell.core, cell.core.widths.deter);
        let gates = rows.of_mut(&mut trace.gates, 3 * deter);
        let h_in = rows.of(&trace.h, deter);
        let x = rows.of(&trace.layers[0].out, core.widths.hidden);
        cell.x.product(gates, rows.count, Left::Rows(x), false);
        bias_activation(gates, core.layers[1].vectors_of(core.params), Activation::Identity);
        let mut from_h = Pooled::new(rows.count * 3 * deter);
        cell.h.product(&mut from_h, rows.count, Left::Rows(h_in), false);
        let candidate = rows.of_mut(&mut trace.candidate, deter);
        gru_step(gates, &from_h, core.layers[2].vectors_of(core.params), h_in, candidate, h, deter);
    }

    fn back(cell: &Gated<'_, Self>, step: &mut BackStep<'_>) {
        let BackStep { trace, rows, grads, dh, params, .. } = step;
        let deter = cell.core.widths.deter;
        let [_, d_x, d_h] = &mut grads.0[..] else { unreachable!("a plain GRU has three layers") };
        let (d_x, d_h) = (rows.of_mut(d_x, 3 * deter), rows.of_mut(d_h, 3 * deter));
        let kept = GruTrace {
            gates: rows.of(&trace.gates, 3 * deter),
            h_in: rows.of(&trace.h, deter),
            candidate: rows.of(&trace.candidate, deter),
        };
        gru_step_backward(d_x, d_h, kept, dh, deter);
        if let Some(params) = params {
            for (layer, grad) in cell.core.layers[1..].iter().zip([&*d_x, &*d_h]) {
                let bias = layer.offset + layer.weights();
                column_sums(grad, &mut params[bias..bias + layer.outputs]);
            }
        }
    }
}
