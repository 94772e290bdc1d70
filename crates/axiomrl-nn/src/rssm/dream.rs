//! Imagination that can be gone back through to the actions, for actors that learn through the model itself.
//!
//! The model's weights get no gradient: in the dream they are the world.

use super::Rssm;
use super::cell::{self, BackStep, CellBackward, CellForward, CellGrads, CellTrace, Rows};
use super::dense::LayerTrace;
use super::head::{self, HeadBackward, HeadForward};
use super::plan::Plan;
use super::sequence::seen_actions;
use super::spec::{RssmCore, RssmSpec};
use crate::buffers::Pooled;
use crate::kernels::vector::add_assign;
use crate::threads::{SPLIT_FLOPS, join};

/// States that go on by what the model expects, under given actions, step after step; and the way back.
pub struct Dream<'a> {
    model: Model<'a>,
    rows: usize,
    features: Pooled,
    /// The rows in one part or two.
    parts: Vec<Part>,
}

struct Model<'a> {
    spec: &'a RssmSpec,
    plan: Plan,
    params: &'a [f32],
    cell: Box<dyn CellForward + 'a>,
    prior: HeadForward<'a>,
    /// Made for the first step back.
    back: Option<(Box<dyn CellBackward + 'a>, HeadBackward<'a>)>,
}

/// Some rows, with all their steps.
struct Part {
    rows: usize,
    h: Pooled,
    z: Pooled,
    steps: Vec<Step>,
    /// What later steps hand back to the state of the last one left.
    dh: Pooled,
    dz: Pooled,
}

/// What one step left behind.
struct Step {
    cell: CellTrace,
    prior: Vec<LayerTrace>,
    noise: Vec<f32>,
    actions: Vec<f32>,
}

impl Rssm {
    /// Dreams on from `start` `[rows, features]`.
    ///
    /// # Panics
    /// When the states do not fit: a mistake in the calling code.
    pub fn dream<'a>(&'a self, start: &[f32], rows: usize) -> Dream<'a> {
        let (spec, plan, params) = (&*self.spec, self.spec.plan(), self.params.as_slice());
        assert_eq!(start.len(), rows * spec.features(), "the states do not fit the rows");
        let mut features = Pooled::new(start.len());
        features.copy_from_slice(start);
        let half = if spec.flops(rows) < SPLIT_FLOPS || rows < 2 { rows } else { (rows / 2).next_multiple_of(8) };
        let counts = [half, rows - half.min(rows)];
        let counts = counts.iter().filter(|count| **count > 0);
        let mut first = 0;
        let parts = counts.map(|&count| {
            let part = Part::new(spec, &start[first * spec.features()..][..count * spec.features()]);
            first += count;
            part
        });
        let parts = parts.collect();
        let cell = cell::forward(spec, &plan, params);
        let prior = HeadForward::new(&plan.prior, params, spec.latent, spec.deter);
        Dream { model: Model { spec, plan, params, cell, prior, back: None }, rows, features, parts }
    }
}

impl Dream<'_> {
    /// The states now, `[rows, features]`.
    pub fn features(&self) -> &[f32] {
        &self.features
    }

    /// How many steps there are to go back.
    pub fn steps(&self) -> usize {
        self.parts.first().map_or(0, |part| part.steps.len())
    }

    /// One step: `actions` `[rows, actions]`, `noise` `[rows, noise]`.
    pub fn step(&mut self, actions: &[f32], noise: &[f32]) {
        let spec = self.model.spec;
        let fits = actions.len() == self.rows * spec.actions && noise.len() == self.rows * spec.latent.noise();
        assert!(fits, "the slices do not fit the rows");
        let model = &self.model;
        match &mut self.parts[..] {
            [first, second] => {
                let (actions, rest_actions) = actions.split_at(first.rows * spec.actions);
                let (noise, rest_noise) = noise.split_at(first.rows * spec.latent.noise());
                let (state, rest_state) = self.features.split_at_mut(first.rows * spec.features());
                join(
                    || first.step(model, actions, noise, state),
                    || second.step(model, rest_actions, rest_noise, rest_state),
                );
            }
            parts => parts.iter_mut().for_each(|part| part.step(model, actions, noise, &mut self.features)),
        }
    }

    /// One step back: from the gradient of the state that the last step left leads to, `[rows, features]`, to that of its action.
    /// What this step's state owes to later ones is added by itself.
    ///
    /// # Panics
    /// When there is no step left, or the gradient does not fit: a mistake in the calling code.
    pub fn back(&mut self, by_features: &[f32]) -> Pooled {
        let spec = self.model.spec;
        assert_eq!(by_features.len(), self.rows * spec.features(), "a gradient for every number");
        assert!(self.steps() > 0 || self.rows == 0, "all steps were gone back");
        let Model { plan, params, back, .. } = &mut self.model;
        let params = *params;
        back.get_or_insert_with(|| {
            let prior = HeadBackward::new(&plan.prior, params, spec.latent, spec.deter);
            (cell::backward(spec, plan, params), prior)
        });
        let model = &self.model;
        let mut da = Pooled::new(self.rows * spec.actions);
        match &mut self.parts[..] {
            [first, second] => {
                let (grad, rest_grad) = by_features.split_at(first.rows * spec.features());
                let (da, rest_da) = da.split_at_mut(first.rows * spec.actions);
                join(|| first.back(model, grad, da), || second.back(model, rest_grad, rest_da));
            }
            parts => parts.iter_mut().for_each(|part| part.back(model, by_features, &mut da)),
        }
        da
    }
}

impl Part {
    fn new(spec: &RssmSpec, start: &[f32]) -> Self {
        let (rows, deter, latent) = (start.len() / spec.features(), spec.deter, spec.latent.width());
        let zeros = |len: usize| {
            let mut zeros = Pooled::new(len);
            zeros.fill(0.0);
            zeros
        };
        let (mut h, mut z) = (Pooled::new(rows * deter), Pooled::new(rows * latent));
        for (row, start) in start.chunks_exact(spec.features()).enumerate() {
            h[row * deter..(row + 1) * deter].copy_from_slice(&start[..deter]);
            z[row * latent..(row + 1) * latent].copy_from_slice(&start[deter..]);
        }
        Self { rows, h, z, steps: Vec::new(), dh: zeros(rows * deter), dz: zeros(rows * latent) }
    }

    fn step(&mut self, model: &Model<'_>, actions: &[f32], noise: &[f32], state: &mut [f32]) {
        let Model { spec, plan, .. } = model;
        let (rows, deter, latent) = (Rows { first: 0, count: self.rows }, spec.deter, spec.latent.width());
        let mut step = Step {
            cell: CellTrace::new(spec, plan, self.rows),
            prior: head::traces(&plan.prior, self.rows),
            noise: noise.to_vec(),
            actions: actions.to_vec(),
        };
        step.cell.h.copy_from_slice(&self.h);
        step.cell.z.copy_from_slice(&self.z);
        step.cell.a.copy_from_slice(actions);
        seen_actions(spec, &mut step.cell.a);
        model.cell.prepare(&mut step.cell, rows);
        model.cell.step(&mut step.cell, rows, &mut self.h);
        model.prior.step(&mut step.prior, rows, &self.h);
        spec.latent.sample(head::stats(&step.prior), noise, &mut self.z);
        for (row, state) in state.chunks_exact_mut(spec.features()).enumerate() {
            state[..deter].copy_from_slice(&self.h[row * deter..(row + 1) * deter]);
            state[deter..].copy_from_slice(&self.z[row * latent..(row + 1) * latent]);
        }
        self.steps.push(step);
    }

    fn back(&mut self, model: &Model<'_>, by_features: &[f32], da: &mut [f32]) {
        let Model { spec, plan, back, .. } = model;
        let (Some((cell, prior)), Some(step)) = (back, self.steps.pop()) else { return };
        let (rows, deter, latent) = (Rows { first: 0, count: self.rows }, spec.deter, spec.latent.width());
        for (row, grad) in by_features.chunks_exact(spec.features()).enumerate() {
            let (by_h, by_z) = grad.split_at(deter);
            add_assign(&mut self.dh[row * deter..(row + 1) * deter], by_h);
            add_assign(&mut self.dz[row * latent..(row + 1) * latent], by_z);
        }
        let mut head_grads = head::grads(&plan.prior, self.rows);
        if let Some(d_stats) = head_grads.last_mut() {
            d_stats.fill(0.0);
            spec.latent.sample_backward(head::stats(&step.prior), &step.noise, &self.dz, d_stats);
        }
        prior.step(&step.prior, &mut head_grads, rows, &mut self.dh, None);
        cell.step(BackStep {
            trace: &step.cell,
            rows,
            grads: &mut CellGrads::new(plan, self.rows),
            dh: &mut self.dh,
            dz: &mut self.dz,
            da: Some(&mut *da),
            params: None,
        });
        if let RssmCore::BlockGru { .. } = spec.core {
            da.iter_mut().zip(&step.actions).for_each(|(da, a)| *da /= a.abs().max(1.0));
        }
    }
}
