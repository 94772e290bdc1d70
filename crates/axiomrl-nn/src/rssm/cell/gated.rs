//! What the plain and the normed GRU share: a layer over latent and action, then gates over its outputs and over the state. They
//! differ in how gates are made of the two products.

use super::{BackStep, CellBackward, CellForward, CellGrads, CellTrace, Core, Dense, Pack, Rows, Widths};
use crate::kernels::matmul::Left;
use crate::kernels::packed::Packed;
use crate::rssm::spec::RssmSpec;

/// How gates are made.
pub trait Gates: Sync + Sized {
    /// From the rows' inputs, of which the first layer has been through, to the new `h`.
    fn step(cell: &Gated<'_, Self>, trace: &mut CellTrace, rows: Rows, h: &mut [f32]);

    /// From the gradient of the new `h` to those of the two products, which are those of the layers behind the first one. `dh`
    /// becomes what goes by the gates to the previous state.
    fn back(cell: &Gated<'_, Self>, step: &mut BackStep<'_>);
}

/// A cell whose weights are packed for one direction.
pub struct Gated<'a, G> {
    pub core: Core<'a>,
    /// Of the first layer.
    latent: Packed,
    action: Packed,
    /// Of the gates.
    pub x: Packed,
    pub h: Packed,
    /// The layer of the weights over the state, and their first row there.
    state: (usize, usize),
    gates: std::marker::PhantomData<G>,
}

impl<'a, G> Gated<'a, G> {
    pub fn new(spec: &RssmSpec, layers: &[Dense], params: &'a [f32], pack: Pack) -> Self {
        let core = Core::new(spec, layers, params);
        let Widths { deter, hidden, latent, actions } = core.widths;
        // The plain GRU has a layer for each product, the normed one a layer for both.
        let state = if layers.len() == 3 { (2, 0) } else { (1, hidden) };
        Self {
            latent: pack(&layers[0], params, 0, latent),
            action: pack(&layers[0], params, latent, actions),
            x: pack(&layers[1], params, 0, hidden),
            h: pack(&layers[state.0], params, state.1, deter),
            core,
            state,
            gates: std::marker::PhantomData,
        }
    }
}

impl<G: Gates> CellForward for Gated<'_, G> {
    fn prepare(&self, trace: &mut CellTrace, rows: Rows) {
        let Widths { hidden, actions, .. } = self.core.widths;
        let sums = rows.of_mut(&mut trace.layers[0].out, hidden);
        self.action.product(sums, rows.count, Left::Rows(rows.of(&trace.a, actions)), false);
    }

    fn step(&self, trace: &mut CellTrace, rows: Rows, h: &mut [f32]) {
        let Widths { hidden, latent, .. } = self.core.widths;
        let sums = rows.of_mut(&mut trace.layers[0].out, hidden);
        self.latent.product(sums, rows.count, Left::Rows(rows.of(&trace.z, latent)), true);
        self.core.layers[0].finish(self.core.params, &mut trace.layers[0], rows.first, rows.count);
        G::step(self, trace, rows, h);
    }
}

impl<G: Gates> CellBackward for Gated<'_, G> {
    fn step(&self, mut step: BackStep<'_>) {
        G::back(self, &mut step);
        let BackStep { trace, rows, grads, dh, dz, da, params } = step;
        let Widths { deter, hidden, .. } = self.core.widths;
        let (input, gates) = grads.0.split_at_mut(1);
        let [d_x, d_h] = [1, self.state.0].map(|layer| rows.of(&gates[layer - 1], 3 * deter));
        self.h.product(dh, rows.count, Left::Rows(d_h), true);
        let d_input = rows.of_mut(&mut input[0], hidden);
        self.x.product(d_input, rows.count, Left::Rows(d_x), false);
        self.core.layers[0].unfinish(self.core.params, &trace.layers[0], rows.first, d_input, params);
        self.latent.product(dz, rows.count, Left::Rows(d_input), false);
        if let Some(da) = da {
            self.action.product(da, rows.count, Left::Rows(d_input), false);
        }
    }

    fn weights(&self, trace: &CellTrace, grads: &mut CellGrads, _: usize, grad_params: &mut [f32]) {
        let (Widths { deter, hidden, latent, actions }, (over_h, first)) = (self.core.widths, self.state);
        let layers = &self.core.layers;
        layers[0].weight_gradient(0, latent, &trace.z, &grads.0[0], grad_params);
        layers[0].weight_gradient(latent, actions, &trace.a, &grads.0[0], grad_params);
        layers[1].weight_gradient(0, hidden, &trace.layers[0].out, &grads.0[1], grad_params);
        layers[over_h].weight_gradient(first, deter, &trace.h, &grads.0[over_h], grad_params);
    }
}
