//! A model over windows of what was observed, forward and backward, on plain slices.
//!
//! Everything is time-major. The rows of a batch never meet, so a large batch is cut in two by rows, by size alone; each half
//! works on its own contiguous copies.

mod backward;
mod forward;

pub use backward::{Upstream, backward};
pub use forward::{Results, forward};

use super::cell::CellTrace;
use super::dense::LayerTrace;
use super::plan::Plan;
use super::spec::{RssmCore, RssmSpec};
use super::{Window, head};
use crate::buffers::{Gathered, Pooled};
use crate::threads::SPLIT_FLOPS;

/// A window and the model that looks at it.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub spec: &'a RssmSpec,
    pub plan: &'a Plan,
    pub window: Window<'a>,
}

impl<'a> Job<'a> {
    pub fn new(spec: &'a RssmSpec, plan: &'a Plan, window: Window<'a>) -> Self {
        let Window { steps, rows, .. } = window;
        let fits = window.actions.len() == steps * rows * spec.actions
            && window.is_first.len() == steps * rows
            && window.noise.len() == steps * rows * spec.latent.noise()
            && window.start.len() == rows * spec.features();
        assert!(fits, "the slices do not fit the window");
        Self { spec, plan, window }
    }

    /// One chunk or two.
    fn chunks(&self) -> Vec<Chunk<'a>> {
        let rows = self.window.rows;
        let chunk = |first, rows| Chunk { job: *self, first, rows };
        if self.spec.flops(self.window.steps * rows) < SPLIT_FLOPS || rows < 2 {
            return vec![chunk(0, rows)];
        }
        // Whole tiles of eight rows in the first half, where there are enough.
        let half = (rows / 2).next_multiple_of(8);
        let half = if half < rows { half } else { rows / 2 };
        vec![chunk(0, half), chunk(half, rows - half)]
    }
}

/// Some rows of a window, at every step.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    job: Job<'a>,
    first: usize,
    rows: usize,
}

impl Chunk<'_> {
    fn steps(&self) -> usize {
        self.job.window.steps
    }

    /// Rows of all steps together.
    fn total(&self) -> usize {
        self.steps() * self.rows
    }

    /// This chunk's rows of step `step` in a `[steps, all rows, width]` block.
    fn at<'a, T>(&self, values: &'a [T], step: usize, width: usize) -> &'a [T] {
        let start = (step * self.job.window.rows + self.first) * width;
        &values[start..start + self.rows * width]
    }

    /// This chunk's rows of every step, contiguous.
    fn gather<'a>(&self, values: &'a [f32], width: usize) -> Gathered<'a> {
        if self.rows == self.job.window.rows {
            return Gathered::Borrowed(values);
        }
        let mut copy = Pooled::new(self.total() * width);
        for (step, copy) in copy.chunks_exact_mut((self.rows * width).max(1)).enumerate() {
            copy.copy_from_slice(self.at(values, step, width));
        }
        Gathered::Copied(copy)
    }

    /// Puts contiguous rows back among those of the other chunk, `target_width` apart and from column `column` on.
    fn scatter(&self, values: &[f32], width: usize, target: &mut [f32], target_width: usize, column: usize) {
        for step in 0..self.steps() {
            for row in 0..self.rows {
                let from = (step * self.rows + row) * width;
                let to = (step * self.job.window.rows + self.first + row) * target_width + column;
                target[to..to + width].copy_from_slice(&values[from..from + width]);
            }
        }
    }

    /// Zeroes the rows that begin an episode at `step`.
    fn reset(&self, step: usize, values: &mut [f32], width: usize) {
        let starts = self.at(self.job.window.is_first, step, 1);
        for (row, _) in starts.iter().enumerate().filter(|(_, first)| **first) {
            values[row * width..(row + 1) * width].fill(0.0);
        }
    }
}

/// What the forward pass of a chunk leaves behind.
pub struct ChunkTrace {
    cell: CellTrace,
    /// `[steps, rows, deter]` and `[steps, rows, latent]`.
    h: Pooled,
    z: Pooled,
    posterior: Vec<LayerTrace>,
    prior: Vec<LayerTrace>,
}

impl ChunkTrace {
    fn new(chunk: &Chunk<'_>) -> Self {
        let (Job { spec, plan, .. }, rows) = (chunk.job, chunk.total());
        Self {
            cell: CellTrace::new(spec, plan, rows),
            h: Pooled::new(rows * spec.deter),
            z: Pooled::new(rows * spec.latent.width()),
            posterior: head::traces(&plan.posterior, rows),
            prior: head::traces(&plan.prior, rows),
        }
    }
}

/// Actions as the cell sees them: DreamerV3 brings each number to at most one.
pub fn seen_actions(spec: &RssmSpec, actions: &mut [f32]) {
    if let RssmCore::BlockGru { .. } = spec.core {
        actions.iter_mut().for_each(|a| *a /= a.abs().max(1.0));
    }
}
