//! The recurrent cells: from the previous state and the action to the next deterministic state, and back.
//!
//! A cell works on rows of a trace. The rows of a step follow those of the step before, so what depends on actions alone is
//! computed for all steps together, and so are the gradients of weights.

mod block_gru;
mod gru;
mod norm_gru;

use super::dense::{Dense, LayerTrace};
use super::plan::Plan;
use super::spec::{RssmCore, RssmSpec};
use crate::buffers::Pooled;

/// What a cell reads and leaves behind, for some rows.
pub struct CellTrace {
    /// The previous state and the action as the cell sees them: zeros behind a reset, `[rows, deter | latent | actions]`.
    pub h: Pooled,
    pub z: Pooled,
    pub a: Pooled,
    /// Of each layer.
    layers: Vec<LayerTrace>,
    /// The activated gates `[rows, 3 deter]`.
    gates: Pooled,
    /// The recurrent part of a plain GRU's candidate `[rows, deter]`.
    candidate: Pooled,
}

impl CellTrace {
    pub fn new(spec: &RssmSpec, plan: &Plan, rows: usize) -> Self {
        let plain = spec.core == RssmCore::Gru;
        // The weighted sums of a plain GRU's gates are not kept: the gates replace them.
        let layers = plan.cell.iter().enumerate().map(|(index, layer)| {
            let kept = if plain && index > 0 { 0 } else { rows };
            LayerTrace::new(layer, kept)
        });
        Self {
            h: Pooled::new(rows * spec.deter),
            z: Pooled::new(rows * spec.latent.width()),
            a: Pooled::new(rows * spec.actions),
            layers: layers.collect(),
            gates: Pooled::new(rows * 3 * spec.deter),
            candidate: Pooled::new(if plain { rows * spec.deter } else { 0 }),
        }
    }
}

/// The gradient of every layer's weighted sums, for some rows.
pub struct CellGrads(Vec<Pooled>);

impl CellGrads {
    pub fn new(plan: &Plan, rows: usize) -> Self {
        Self(plan.cell.iter().map(|layer| Pooled::new(rows * layer.outputs)).collect())
    }
}

/// Widths of what goes into a cell.
#[derive(Clone, Copy)]
struct Widths {
    deter: usize,
    hidden: usize,
    latent: usize,
    actions: usize,
}

impl Widths {
    fn of(spec: &RssmSpec) -> Self {
        Self { deter: spec.deter, hidden: spec.hidden, latent: spec.latent.width(), actions: spec.actions }
    }
}

/// Some rows of a trace.
#[derive(Clone, Copy)]
pub struct Rows {
    pub first: usize,
    pub count: usize,
}

impl Rows {
    pub fn of<'a>(&self, values: &'a [f32], width: usize) -> &'a [f32] {
        super::dense::rows_of(values, self.first, self.count, width)
    }

    pub fn of_mut<'a>(&self, values: &'a mut [f32], width: usize) -> &'a mut [f32] {
        super::dense::rows_of_mut(values, self.first, self.count, width)
    }
}

/// The way forward. Weights are packed once.
pub trait CellForward: Sync {
    /// What the actions contribute, for `rows` rows at once.
    fn prepare(&self, trace: &mut CellTrace, rows: Rows);
    /// From the rows' inputs, after `prepare`, to the new `h` `[rows, deter]`.
    fn step(&self, trace: &mut CellTrace, rows: Rows, h: &mut [f32]);
}

/// What one step back works on.
pub struct BackStep<'a> {
    pub trace: &'a CellTrace,
    pub rows: Rows,
    pub grads: &'a mut CellGrads,
    /// The gradient of the new state turns into that of the previous one.
    pub dh: &'a mut [f32],
    /// Receives the gradient of the previous latent.
    pub dz: &'a mut [f32],
    /// Receives the gradient of the action, if wanted.
    pub da: Option<&'a mut [f32]>,
    /// The model's, of which the cell's biases and norms are added to, if wanted.
    pub params: Option<&'a mut [f32]>,
}

/// The way back.
pub trait CellBackward: Sync {
    fn step(&self, step: BackStep<'_>);
    /// Writes the gradients of all weights, once all `rows` rows were gone back through.
    fn weights(&self, trace: &CellTrace, grads: &mut CellGrads, rows: usize, grad_params: &mut [f32]);
}

pub fn forward<'a>(spec: &RssmSpec, plan: &Plan, params: &'a [f32]) -> Box<dyn CellForward + 'a> {
    match spec.core {
        RssmCore::Gru => Box::new(gru::Forward::new(spec, &plan.cell, params)),
        RssmCore::NormGru => Box::new(norm_gru::Forward::new(spec, &plan.cell, params)),
        RssmCore::BlockGru { .. } => Box::new(block_gru::Forward::new(spec, &plan.cell, params)),
    }
}

pub fn backward<'a>(spec: &RssmSpec, plan: &Plan, params: &'a [f32]) -> Box<dyn CellBackward + 'a> {
    match spec.core {
        RssmCore::Gru => Box::new(gru::Backward::new(spec, &plan.cell, params)),
        RssmCore::NormGru => Box::new(norm_gru::Backward::new(spec, &plan.cell, params)),
        RssmCore::BlockGru { .. } => Box::new(block_gru::Backward::new(spec, &plan.cell, params)),
    }
}

/// The first layer of the plain and the normed GRU, over latent and action.
mod input {
    use super::{CellTrace, Dense, Rows};
    use crate::kernels::matmul::Left;
    use crate::kernels::packed::Packed;

    pub struct Forward {
        z: Packed,
        a: Packed,
    }

    impl Forward {
        pub fn new(layer: &Dense, params: &[f32], z: usize, a: usize) -> Self {
            Self { z: layer.pack(params, 0, z), a: layer.pack(params, z, a) }
        }

        pub fn prepare(&self, layer: &Dense, trace: &mut CellTrace, rows: Rows, actions: usize) {
            let target = rows.of_mut(&mut trace.layers[0].out, layer.outputs);
            self.a.product(target, rows.count, Left::Rows(rows.of(&trace.a, actions)), false);
        }

        pub fn step(&self, layer: &Dense, params: &[f32], trace: &mut CellTrace, rows: Rows, latent: usize) {
            let target = rows.of_mut(&mut trace.layers[0].out, layer.outputs);
            self.z.product(target, rows.count, Left::Rows(rows.of(&trace.z, latent)), true);
            layer.finish(params, &mut trace.layers[0], rows.first, rows.count);
        }
    }

    pub struct Backward {
        z: Packed,
        a: Packed,
    }

    impl Backward {
        pub fn new(layer: &Dense, params: &[f32], z: usize, a: usize) -> Self {
            Self { z: layer.pack_transposed(params, 0, z), a: layer.pack_transposed(params, z, a) }
        }

        /// `grad` is that of the weighted sums.
        pub fn step(&self, grad: &[f32], rows: usize, dz: &mut [f32], da: Option<&mut [f32]>) {
            self.z.product(dz, rows, Left::Rows(grad), false);
            if let Some(da) = da {
                self.a.product(da, rows, Left::Rows(grad), false);
            }
        }
    }
}
