//! A GRU whose gates pass one LayerNorm together. Layers: the input's, then the gates' over input and state.

use super::{BackStep, CellBackward, CellForward, CellGrads, CellTrace, Dense, Rows, Widths, input};
use crate::kernels::matmul::Left;
use crate::kernels::packed::Packed;
use crate::kernels::update_gates::{update_gates, update_gates_backward};
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
            from_h: layers[1].pack(params, widths.hidden, widths.deter),
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
        let [input, gates] = &mut trace.layers[..] else { unreachable!("a normed GRU has two layers") };
        let h_in = rows.of(&trace.h, deter);
        let sums = rows.of_mut(&mut gates.out, 3 * deter);
        self.from_x.product(sums, rows.count, Left::Rows(rows.of(&input.out, hidden)), false);
        self.from_h.product(sums, rows.count, Left::Rows(h_in), true);
        self.layers[1].finish(self.params, gates, rows.first, rows.count);
        let sums = rows.of(&gates.out, 3 * deter);
        update_gates(sums, h_in, rows.of_mut(&mut trace.gates, 3 * deter), h, deter);
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
            to_h: layers[1].pack_transposed(params, widths.hidden, widths.deter),
        }
    }
}

impl CellBackward for Backward<'_> {
    fn step(&self, step: BackStep<'_>) {
        let BackStep { trace, rows, grads, dh, dz, da, mut params } = step;
        let Widths { deter, hidden, .. } = self.widths;
        let [d_input, d_gates] = &mut grads.0[..] else { unreachable!("a normed GRU has two layers") };
        let d_gates = rows.of_mut(d_gates, 3 * deter);
        let (sums, gates) = (rows.of(&trace.layers[1].out, 3 * deter), rows.of(&trace.gates, 3 * deter));
        update_gates_backward(d_gates, sums, gates, rows.of(&trace.h, deter), dh, deter);
        self.layers[1].unfinish(self.params, &trace.layers[1], rows.first, d_gates, params.as_deref_mut());
        self.to_h.product(dh, rows.count, Left::Rows(d_gates), true);
        let d_input = rows.of_mut(d_input, hidden);
        self.to_x.product(d_input, rows.count, Left::Rows(d_gates), false);
        self.layers[0].unfinish(self.params, &trace.layers[0], rows.first, d_input, params);
        self.input.step(d_input, rows.count, dz, da);
    }

    fn weights(&self, trace: &CellTrace, grads: &mut CellGrads, _: usize, grad_params: &mut [f32]) {
        let Widths { deter, hidden, latent, actions } = self.widths;
        let [input, gates] = &self.layers[..] else { unreachable!("a normed GRU has two layers") };
        input.weight_gradient(0, latent, &trace.z, &grads.0[0], grad_params);
        input.weight_gradient(latent, actions, &trace.a, &grads.0[0], grad_params);
        gates.weight_gradient(0, hidden, &trace.layers[0].out, &grads.0[1], grad_params);
        gates.weight_gradient(hidden, deter, &trace.h, &grads.0[1], grad_params);
    }
}
