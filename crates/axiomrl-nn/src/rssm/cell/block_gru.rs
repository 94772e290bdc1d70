//! A GRU in blocks. Layers: projections of state, latent and action, which all blocks see; the blocks' hidden layer over their own
//! part of the state and the projections; and the blocks' gates.

use super::{BackStep, CellBackward, CellForward, CellGrads, CellTrace, Core, Dense, Pack, Rows, Widths};
use crate::kernels::matmul::Left;
use crate::kernels::packed::Packed;
use crate::kernels::update_gates::{update_gates, update_gates_backward};
use crate::rssm::dense::block_product;
use crate::rssm::spec::RssmSpec;

/// The first row of the hidden layer's weight that meets projection `index`.
fn shared_row(layers: &[Dense], index: usize) -> usize {
    layers[3].own + index * layers[index].outputs
}

/// A cell whose weights are packed for one direction.
pub struct Blocks<'a> {
    core: Core<'a>,
    /// Of state, latent and action.
    projections: [Packed; 3],
    /// The hidden layer's, over each projection and over the blocks' own states.
    shared: [Packed; 3],
    own: Vec<Packed>,
    gates: Vec<Packed>,
}

impl<'a> Blocks<'a> {
    pub fn new(
        spec: &RssmSpec,
        layers: &[Dense],
        params: &'a [f32],
        pack: Pack,
        pack_blocks: fn(&Dense, &[f32]) -> Vec<Packed>,
    ) -> Self {
        let core = Core::new(spec, layers, params);
        Self {
            projections: std::array::from_fn(|i| pack(&layers[i], params, 0, layers[i].own)),
            shared: std::array::from_fn(|i| pack(&layers[3], params, shared_row(layers, i), core.widths.hidden)),
            own: pack_blocks(&layers[3], params),
            gates: pack_blocks(&layers[4], params),
            core,
        }
    }

    /// Projection `index` of `x`, and what it adds to the hidden layer's sums.
    fn project(&self, trace: &mut CellTrace, index: usize, rows: Rows, accumulate: bool) {
        let Widths { deter, hidden, latent, actions } = self.core.widths;
        let x = match index {
            0 => rows.of(&trace.h, deter),
            1 => rows.of(&trace.z, latent),
            _ => rows.of(&trace.a, actions),
        };
        let (projections, mix) = trace.layers.split_at_mut(3);
        let projection = &mut projections[index];
        self.projections[index].product(rows.of_mut(&mut projection.out, hidden), rows.count, Left::Rows(x), false);
        self.core.layers[index].finish(self.core.params, projection, rows.first, rows.count);
        let sums = rows.of_mut(&mut mix[0].out, deter);
        self.shared[index].product(sums, rows.count, Left::Rows(rows.of(&projection.out, hidden)), accumulate);
    }

    /// From the gradient of the hidden layer's sums to that of projection `index`'s.
    fn unproject(
        &self,
        trace: &CellTrace,
        index: usize,
        rows: Rows,
        grads: &mut [crate::buffers::Pooled],
        params: Option<&mut [f32]>,
    ) {
        let Widths { deter, hidden, .. } = self.core.widths;
        let (projections, mix) = grads.split_at_mut(3);
        let grad = rows.of_mut(&mut projections[index], hidden);
        self.shared[index].product(grad, rows.count, Left::Rows(rows.of(&mix[0], deter)), false);
        self.core.layers[index].unfinish(self.core.params, &trace.layers[index], rows.first, grad, params);
    }
}

impl CellForward for Blocks<'_> {
    fn prepare(&self, trace: &mut CellTrace, rows: Rows) {
        self.project(trace, 2, rows, false);
    }

    fn step(&self, trace: &mut CellTrace, rows: Rows, h: &mut [f32]) {
        let (deter, block) = (self.core.widths.deter, self.core.layers[3].own);
        self.project(trace, 0, rows, true);
        self.project(trace, 1, rows, true);
        let (mix, gates) = trace.layers[3..].split_at_mut(1);
        let (mix, gates) = (&mut mix[0], &mut gates[0]);
        let h_in = rows.of(&trace.h, deter);
        block_product(&self.own, h_in, block, rows.count, rows.of_mut(&mut mix.out, deter), true);
        self.core.layers[3].finish(self.core.params, mix, rows.first, rows.count);
        let sums = rows.of_mut(&mut gates.out, 3 * deter);
        block_product(&self.gates, rows.of(&mix.out, deter), block, rows.count, sums, false);
        self.core.layers[4].finish(self.core.params, gates, rows.first, rows.count);
        let sums = rows.of(&gates.out, 3 * deter);
        update_gates(sums, h_in, rows.of_mut(&mut trace.gates, 3 * deter), h, block);
    }
}

impl CellBackward for Blocks<'_> {
    fn step(&self, step: BackStep<'_>) {
        let BackStep { trace, rows, grads, dh, dz, da, mut params } = step;
        let (Widths { deter, hidden, .. }, block) = (self.core.widths, self.core.layers[3].own);
        let (mix, gates) = grads.0[3..].split_at_mut(1);
        let (d_mix, d_gates) = (rows.of_mut(&mut mix[0], deter), rows.of_mut(&mut gates[0], 3 * deter));
        let (sums, open) = (rows.of(&trace.layers[4].out, 3 * deter), rows.of(&trace.gates, 3 * deter));
        update_gates_backward(d_gates, sums, open, rows.of(&trace.h, deter), dh, block);
        self.core.layers[4].unfinish(self.core.params, &trace.layers[4], rows.first, d_gates, params.as_deref_mut());
        block_product(&self.gates, d_gates, 3 * block, rows.count, d_mix, false);
        self.core.layers[3].unfinish(self.core.params, &trace.layers[3], rows.first, d_mix, params.as_deref_mut());
        block_product(&self.own, d_mix, block, rows.count, dh, true);
        self.unproject(trace, 0, rows, &mut grads.0, params.as_deref_mut());
        self.unproject(trace, 1, rows, &mut grads.0, params.as_deref_mut());
        self.projections[0].product(dh, rows.count, Left::Rows(rows.of(&grads.0[0], hidden)), true);
        self.projections[1].product(dz, rows.count, Left::Rows(rows.of(&grads.0[1], hidden)), false);
        if let Some(da) = da {
            self.unproject(trace, 2, rows, &mut grads.0, params);
            self.projections[2].product(da, rows.count, Left::Rows(rows.of(&grads.0[2], hidden)), false);
        }
    }

    fn weights(&self, trace: &CellTrace, grads: &mut CellGrads, rows: usize, grad_params: &mut [f32]) {
        let Widths { deter, hidden, latent, actions } = self.core.widths;
        // No step needed the actions' gradient, so their projection is gone back through for all steps together.
        self.unproject(trace, 2, Rows { first: 0, count: rows }, &mut grads.0, Some(&mut *grad_params));
        let inputs = [(&trace.h, deter), (&trace.z, latent), (&trace.a, actions)];
        for (index, (x, width)) in inputs.into_iter().enumerate() {
            self.core.layers[index].weight_gradient(0, width, x, &grads.0[index], grad_params);
            let (first, out) = (shared_row(&self.core.layers, index), &trace.layers[index].out);
            self.core.layers[3].weight_gradient(first, hidden, out, &grads.0[3], grad_params);
        }
        self.core.layers[3].block_gradient(&trace.h, &grads.0[3], grad_params);
        self.core.layers[4].block_gradient(&trace.layers[3].out, &grads.0[4], grad_params);
    }
}
