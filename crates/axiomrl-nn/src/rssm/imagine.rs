//! Steps without gradients: acting on what is seen, and imagining what might come.

use super::Rssm;
use super::cell::{self, CellForward, CellTrace, Rows};
use super::dense::LayerTrace;
use super::head::{self, HeadForward};
use super::plan::Plan;
use super::sequence::seen_actions;
use super::spec::RssmSpec;
use crate::buffers::Pooled;
use crate::threads::{SPLIT_FLOPS, join};

/// Rows that are taken a step together: what lies between their layers stays in the cache.
const TOGETHER: usize = 64;

/// A cell and one of the heads, ready for many steps.
struct Stepper<'a> {
    spec: &'a RssmSpec,
    plan: Plan,
    cell: Box<dyn CellForward + 'a>,
    head: HeadForward<'a>,
    posterior: bool,
}

/// What some rows take a step with. The posterior sees tokens, the prior none.
#[derive(Clone, Copy)]
struct Inputs<'a> {
    actions: &'a [f32],
    noise: &'a [f32],
    tokens: &'a [f32],
    is_first: &'a [bool],
}

impl<'a> Inputs<'a> {
    /// `count` rows from `first` on.
    fn rows(&self, spec: &RssmSpec, first: usize, count: usize) -> Inputs<'a> {
        let cut = |values: &'a [f32], width: usize| match values.is_empty() {
            true => values,
            false => &values[first * width..(first + count) * width],
        };
        Inputs {
            actions: cut(self.actions, spec.actions),
            noise: cut(self.noise, spec.latent.noise()),
            tokens: cut(self.tokens, spec.tokens),
            is_first: if self.is_first.is_empty() { &[] } else { &self.is_first[first..first + count] },
        }
    }
}

impl<'a> Stepper<'a> {
    fn new(model: &'a Rssm, posterior: bool) -> Self {
        let (spec, plan, params) = (&*model.spec, model.spec.plan(), model.params.as_slice());
        let cell = cell::forward(spec, &plan, params);
        let layers = if posterior { &plan.posterior } else { &plan.prior };
        let head = HeadForward::new(layers, params, spec.latent, spec.deter);
        Self { spec, plan, cell, head, posterior }
    }

    /// Takes `state` `[rows, features]` a step on; `stats` receives the latents' statistics.
    fn step(&self, inputs: Inputs<'_>, state: &mut [f32], stats: &mut [f32]) {
        let spec = self.spec;
        let (features, width) = (spec.features(), spec.latent.stats());
        let rows = state.len() / features;
        let run = |inputs: Inputs<'_>, state: &mut [f32], stats: &mut [f32]| {
            let together = TOGETHER.min(state.len() / features);
            let mut room = Room::new(self, together);
            let chunks = state.chunks_mut(together * features).zip(stats.chunks_mut(together * width));
            for (index, (state, stats)) in chunks.enumerate() {
                let count = state.len() / features;
                self.few(&mut room, inputs.rows(spec, index * together, count), state, stats);
            }
        };
        if rows == 0 {
            return;
        }
        if spec.flops(rows) < SPLIT_FLOPS || rows < 2 * TOGETHER {
            return run(inputs, state, stats);
        }
        let half = (rows / 2).next_multiple_of(8);
        let (state_first, state_second) = state.split_at_mut(half * features);
        let (stats_first, stats_second) = stats.split_at_mut(half * width);
        let (first, second) = (inputs.rows(spec, 0, half), inputs.rows(spec, half, rows - half));
        join(|| run(first, state_first, stats_first), || run(second, state_second, stats_second));
    }

    /// A few rows.
    fn few(&self, room: &mut Room, inputs: Inputs<'_>, state: &mut [f32], stats: &mut [f32]) {
        let spec = self.spec;
        let (deter, latent) = (spec.deter, spec.latent.width());
        let rows = Rows { first: 0, count: state.len() / spec.features() };
        let actions = rows.of_mut(&mut room.trace.a, spec.actions);
        actions.copy_from_slice(inputs.actions);
        seen_actions(spec, actions);
        let (h_in, z_in) = (rows.of_mut(&mut room.trace.h, deter), rows.of_mut(&mut room.trace.z, latent));
        for (row, state) in state.chunks_exact(spec.features()).enumerate() {
            let (h, z) = (&mut h_in[row * deter..(row + 1) * deter], &mut z_in[row * latent..(row + 1) * latent]);
            h.copy_from_slice(&state[..deter]);
            z.copy_from_slice(&state[deter..]);
            if inputs.is_first.get(row).copied().unwrap_or(false) {
                h.fill(0.0);
                z.fill(0.0);
                actions[row * spec.actions..(row + 1) * spec.actions].fill(0.0);
            }
        }
        self.cell.prepare(&mut room.trace, rows);
        let h = rows.of_mut(&mut room.h, deter);
        self.cell.step(&mut room.trace, rows, h);
        if self.posterior {
            self.head.prepare(&mut room.head, rows, inputs.tokens);
        }
        self.head.step(&mut room.head, rows, h);
        stats.copy_from_slice(rows.of(head::stats(&room.head), spec.latent.stats()));
        let z = rows.of_mut(&mut room.z, latent);
        spec.latent.sample(stats, inputs.noise, z);
        for (row, state) in state.chunks_exact_mut(spec.features()).enumerate() {
            state[..deter].copy_from_slice(&h[row * deter..(row + 1) * deter]);
            state[deter..].copy_from_slice(&z[row * latent..(row + 1) * latent]);
        }
    }
}

/// Room for what lies between the layers of a few rows.
struct Room {
    trace: CellTrace,
    head: Vec<LayerTrace>,
    h: Pooled,
    z: Pooled,
}

impl Room {
    fn new(stepper: &Stepper<'_>, rows: usize) -> Self {
        let (spec, plan) = (stepper.spec, &stepper.plan);
        let layers = if stepper.posterior { &plan.posterior } else { &plan.prior };
        Self {
            trace: CellTrace::new(spec, plan, rows),
            head: head::traces(layers, rows),
            h: Pooled::new(rows * spec.deter),
            z: Pooled::new(rows * spec.latent.width()),
        }
    }
}

/// States that go on by what the model expects, under given actions; without gradients.
pub struct Imagination<'a> {
    stepper: Stepper<'a>,
    rows: usize,
    features: Pooled,
    prior: Pooled,
}

impl Rssm {
    /// Takes `state` `[rows, features]` one observed step on, in place: `tokens` `[rows, tokens]`, `actions` `[rows, actions]` that led
    /// here, `is_first` `[rows]`, `noise` `[rows, noise]`. The same bits as a window of one step.
    ///
    /// # Panics
    /// When a slice does not fit: a mistake in the calling code.
    pub fn step(
        &self,
        rows: usize,
        tokens: &[f32],
        actions: &[f32],
        is_first: &[bool],
        noise: &[f32],
        state: &mut [f32],
    ) {
        let spec = &self.spec;
        let fits = tokens.len() == rows * spec.tokens
            && actions.len() == rows * spec.actions
            && is_first.len() == rows
            && noise.len() == rows * spec.latent.noise()
            && state.len() == rows * spec.features();
        assert!(fits, "the slices do not fit the rows");
        let mut stats = Pooled::new(rows * spec.latent.stats());
        Stepper::new(self, true).step(Inputs { actions, noise, tokens, is_first }, state, &mut stats);
    }

    /// Imagines on from `start` `[rows, features]`.
    ///
    /// # Panics
    /// When the states do not fit: a mistake in the calling code.
    pub fn imagine<'a>(&'a self, start: &[f32], rows: usize) -> Imagination<'a> {
        assert_eq!(start.len(), rows * self.spec.features(), "the states do not fit the rows");
        let mut features = Pooled::new(start.len());
        features.copy_from_slice(start);
        let prior = Pooled::new(rows * self.spec.latent.stats());
        Imagination { stepper: Stepper::new(self, false), rows, features, prior }
    }
}

impl Imagination<'_> {
    /// The states now, `[rows, features]`.
    pub fn features(&self) -> &[f32] {
        &self.features
    }

    /// The statistics the last step's latents were drawn from; arbitrary before the first step.
    pub fn prior(&self) -> &[f32] {
        &self.prior
    }

    /// One step: `actions` `[rows, actions]`, `noise` `[rows, noise]`.
    pub fn step(&mut self, actions: &[f32], noise: &[f32]) {
        let spec = self.stepper.spec;
        let fits = actions.len() == self.rows * spec.actions && noise.len() == self.rows * spec.latent.noise();
        assert!(fits, "the slices do not fit the rows");
        let inputs = Inputs { actions, noise, tokens: &[], is_first: &[] };
        self.stepper.step(inputs, &mut self.features, &mut self.prior);
    }
}
