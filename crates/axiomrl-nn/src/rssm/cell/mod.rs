//! The recurrent cells: from the previous state and the action to the next deterministic state, and back.
//!
//! A cell works on rows of a trace. The rows of a step follow those of the step before, so what depends on actions alone is
//! computed for all steps together, and so are the gradients of weights.

mod block_gru;
mod gated;
mod gru;
mod norm_gru;

use super::dense::{Dense, LayerTrace};
use super::plan::Plan;
use super::spec::{RssmCore, RssmSpec};
use crate::buffers::Pooled;
use crate::kernels::packed::Packed;
use block_gru::Blocks;
use gated::Gated;

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

/// What every cell has, in either direction.
struct Core<'a> {
    layers: Vec<Dense>,
    params: &'a [f32],
    widths: Widths,
}

impl<'a> Core<'a> {
    fn new(spec: &RssmSpec, layers: &[Dense], params: &'a [f32]) -> Self {
        Self { layers: layers.to_vec(), params, widths: Widths::of(spec) }
    }
}

/// How some rows of a layer's weight are packed: [`Dense::pack`] forward, [`Dense::pack_transposed`] on the way back.
type Pack = fn(&Dense, &[f32], usize, usize) -> Packed;

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
    let (layers, pack) = (&plan.cell[..], Dense::pack);
    match spec.core {
        RssmCore::Gru => Box::new(Gated::<gru::Plain>::new(spec, layers, params, pack)),
        RssmCore::NormGru => Box::new(Gated::<norm_gru::Normed>::new(spec, layers, params, pack)),
        RssmCore::BlockGru { .. } => Box::new(Blocks::new(spec, layers, params, pack, Dense::pack_blocks)),
    }
}

pub fn backward<'a>(spec: &RssmSpec, plan: &Plan, params: &'a [f32]) -> Box<dyn CellBackward + 'a> {
    let (layers, pack) = (&plan.cell[..], Dense::pack_transposed);
    match spec.core {
        RssmCore::Gru => Box::new(Gated::<gru::Plain>::new(spec, layers, params, pack)),
        RssmCore::NormGru => Box::new(Gated::<norm_gru::Normed>::new(spec, layers, params, pack)),
        RssmCore::BlockGru { .. } => Box::new(Blocks::new(spec, layers, params, pack, Dense::pack_blocks_transposed)),
    }
}
