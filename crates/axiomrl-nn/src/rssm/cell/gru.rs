//! A plain GRU whose reset gate acts behind the recurrent product. Layers: the input's, then the gates' over the input and over
//! the state.

use super::{BackStep, CellBackward, CellForward, CellGrads, CellTrace, Dense, Rows, Widths, input};
use crate::buffers::Pooled;
use crate::kernels::activation::{Activation, bias_activation, column_sums};
use crate::kernels::gates::{GruTrace, gru_step, gru_step_backward};
use crate::kernels::matmul::Left;
use crate::kernels::packed::Packed;
use crate::rssm::spec::RssmSpec;

pub struct Forward<'a> {
    layers: Vec<Dense>,
    params: &'a [f32],
    widths: Widths,
    input: input::Forward,
    from_x: Packed,
    from_h: Packed,
}

impl<'a> Forward<'a> {
    pub fn new(spec: &RssmSpec, layers: &[Dense], params: &'a [f32]) -> Self {
        let widths = Widths::of(spec);
        Self {
            layers: layers.to_vec(),
            params,
            widths,
            input: input::Forward::new(&layers[0], params, widths.latent, widths.actions),
            from_x: layers[1].pack(params, 0, widths.hidden),
            from_h: layers[2].pack(params, 0, widths.deter),
        }
    }
}

impl CellForward for Forward<'_> {
    fn prepare(&self, trace: &mut CellTrace, rows: Rows) {
        self.input.prepare(&self.layers[0], trace, rows, self.widths.actions);
    }

    fn step(&self, trace: &mut CellTrace, rows: Rows, h: &mut [f32]) {
        let Widths { deter, hidden, latent, .. } = self.widths;
        self.input.step(&self.layers[0], self.params, trace, rows, latent);
        let gates = rows.of_mut(&mut trace.gates, 3 * deter);
        let h_in = rows.of(&trace.h, deter);
        self.from_x.product(gates, rows.count, Left::Rows(rows.of(&trace.layers[0].out, hidden)), false);
        bias_activation(gates, self.layers[1].vectors_of(self.params), Activation::Identity);
        let mut from_h = Pooled::new(rows.count * 3 * deter);
        self.from_h.product(&mut from_h, rows.count, Left::Rows(h_in), false);
        let candidate = rows.of_mut(&mut trace.candidate, deter);
        gru_step(gates, &from_h, self.layers[2].vectors_of(self.params), h_in, candidate, h, deter);
    }
}

pub struct Backward<'a> {
    layers: Vec<Dense>,
    params: &'a [f32],
    widths: Widths,
    input: input::Backward,
    to_x: Packed,
    to_h: Packed,
}

impl<'a> Backward<'a> {
    pub fn new(spec: &RssmSpec, layers: &[Dense], params: &'a [f32]) -> Self {
        let widths = Widths::of(spec);
        Self {
            layers: layers.to_vec(),
            params,
            widths,
            input: input::Backward::new(&layers[0], params, widths.latent, widths.actions),
            to_x: layers[1].pack_transposed(params, 0, widths.hidden),
            to_h: layers[2].pack_transposed(params, 0, widths.deter),
        }
    }
}

impl CellBackward for Backward<'_> {
    fn step(&self, step: BackStep<'_>) {
        let BackStep { trace, rows, grads, dh, dz, da, mut params } = step;
        let Widths { deter, hidden, .. } = self.widths;
        let [d_input, d_x, d_h] = &mut grads.0[..] else { unreachable!("a plain GRU has three layers") };
        let (d_x, d_h) = (rows.of_mut(d_x, 3 * deter), rows.of_mut(d_h, 3 * deter));
        let kept = GruTrace {
            gates: rows.of(&trace.gates, 3 * deter),
            h_in: rows.of(&trace.h, deter),
            candidate: rows.of(&trace.candidate, deter),
        };
        gru_step_backward(d_x, d_h, kept, dh, deter);
        if let Some(params) = params.as_deref_mut() {
            for (layer, grad) in self.layers[1..].iter().zip([&*d_x, &*d_h]) {
                let bias = layer.offset + layer.weights();
                column_sums(grad, &mut params[bias..bias + layer.outputs]);
            }
        }
        self.to_h.product(dh, rows.count, Left::Rows(d_h), true);
        let d_input = rows.of_mut(d_input, hidden);
        self.to_x.product(d_input, rows.count, Left::Rows(d_x), false);
        self.layers[0].unfinish(self.params, &trace.layers[0], rows.first, d_input, params);
        self.input.step(d_input, rows.count, dz, da);
    }

    fn weights(&self, trace: &CellTrace, grads: &mut CellGrads, _: usize, grad_params: &mut [f32]) {
        let Widths { deter, hidden, latent, actions } = self.widths;
        let [input, from_x, from_h] = &self.layers[..] else { unreachable!("a plain GRU has three layers") };
        input.weight_gradient(0, latent, &trace.z, &grads.0[0], grad_params);
        input.weight_gradient(latent, actions, &trace.a, &grads.0[0], grad_params);
        from_x.weight_gradient(0, hidden, &trace.layers[0].out, &grads.0[1], grad_params);
        from_h.weight_gradient(0, deter, &trace.h, &grads.0[2], grad_params);
    }
}
