//! A recurrent network over a whole sequence, forward and backward, on plain slices.
//!
//! Everything is time-major: step after step, and within a step row after row. The rows of a batch never meet, so a large
//! batch is cut in two by rows; a half works on its own contiguous copies. How it is cut depends on sizes alone.

mod backward;
mod forward;

pub use backward::{Trace, backward};
pub use forward::forward;

use crate::buffers::{Gathered, Pooled};
use crate::kernels::matmul::{PANEL_ROWS, Repeated};
use crate::recurrent::{CellKind, RecurrentSpec};
use crate::threads::SPLIT_FLOPS;
use std::slice::ChunksExactMut;

/// A sequence evaluation: everything but the numbers.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub spec: &'a RecurrentSpec,
    pub steps: usize,
    pub rows: usize,
    /// `[steps, rows]`: the state is zeroed before a step marked here.
    pub resets: &'a [bool],
}

impl<'a> Job<'a> {
    /// The row at which the batch is cut, if it is.
    fn split(&self) -> Option<usize> {
        if self.spec.flops(self.steps * self.rows) < SPLIT_FLOPS || self.rows < 2 {
            return None;
        }
        // Whole tiles of eight rows in the first half, where there are enough.
        let half = (self.rows / 2).next_multiple_of(8);
        Some(if half < self.rows { half } else { self.rows / 2 })
    }

    fn whole(&self) -> Chunk<'a> {
        self.chunk(0, self.rows)
    }

    fn chunk(&self, first: usize, rows: usize) -> Chunk<'a> {
        Chunk { job: *self, first, rows }
    }

    /// Whether the inputs are multiplied step by step, like the state, because the weights stay in a second-level cache. Larger
    /// ones are better read once, for all steps together.
    fn step_by_step(&self) -> bool {
        (self.spec.inputs + self.spec.hidden) * self.spec.gates() <= 1 << 16
    }

    /// Values kept between the passes, chunk after chunk.
    pub fn saved_len(&self) -> usize {
        self.rows * Saved::width(self.spec, self.steps)
    }
}

/// Some rows of a job, at every step.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    job: Job<'a>,
    first: usize,
    rows: usize,
}

impl Chunk<'_> {
    fn is_whole(&self) -> bool {
        self.rows == self.job.rows
    }

    /// This chunk's rows of step `step` in a `[steps, all rows, width]` block.
    fn at<'a>(&self, values: &'a [f32], step: usize, width: usize) -> &'a [f32] {
        let start = (step * self.job.rows + self.first) * width;
        &values[start..start + self.rows * width]
    }

    /// This chunk's rows of every step, contiguous.
    fn gather<'a>(&self, values: &'a [f32], width: usize) -> Gathered<'a> {
        if self.is_whole() {
            return Gathered::Borrowed(values);
        }
        let mut copy = Pooled::new(self.job.steps * self.rows * width);
        for (step, copy) in copy.chunks_exact_mut((self.rows * width).max(1)).enumerate() {
            copy.copy_from_slice(self.at(values, step, width));
        }
        Gathered::Copied(copy)
    }

    /// Zeroes the rows of `values` whose state is reset before `step`.
    fn reset(&self, step: usize, values: &mut [f32]) {
        let start = step * self.job.rows + self.first;
        let resets = &self.job.resets[start..start + self.rows];
        for (row, _) in resets.iter().enumerate().filter(|(_, reset)| **reset) {
            let width = self.job.spec.hidden;
            values[row * width..(row + 1) * width].fill(0.0);
        }
    }
}

/// The steps of a `[steps, all rows, width]` block, each as the two chunks that are cut at row `half`.
fn halves_of_steps(values: &mut [f32], rows: usize, half: usize, width: usize) -> (Vec<&mut [f32]>, Vec<&mut [f32]>) {
    steps_of(values, rows, width).map(|step| step.split_at_mut(half * width)).unzip()
}

fn steps_of(values: &mut [f32], rows: usize, width: usize) -> ChunksExactMut<'_, f32> {
    values.chunks_exact_mut((rows * width).max(1))
}

/// The parameters of a cell inside its flat vector.
#[derive(Clone, Copy)]
struct Weights<'a> {
    /// `[inputs, gates]`.
    input: &'a [f32],
    /// `[hidden, gates]`.
    hidden: &'a [f32],
    bias_input: &'a [f32],
    bias_hidden: &'a [f32],
}

impl<'a> Weights<'a> {
    fn of(spec: &RecurrentSpec, params: &'a [f32]) -> Self {
        let gates = spec.gates();
        let (input, rest) = params.split_at(spec.inputs * gates);
        let (hidden, biases) = rest.split_at(spec.hidden * gates);
        let (bias_input, bias_hidden) = biases.split_at(gates);
        Self { input, hidden, bias_input, bias_hidden }
    }
}

/// Weights as the steps of a sequence read them, again and again.
struct Packed<'a> {
    /// Where inputs are multiplied step by step.
    input: Option<Repeated<'a>>,
    hidden: Repeated<'a>,
}

/// What two chunks of so many rows work with: the same, unless one of them is too small for panels.
fn once_or_twice<T>(first: usize, second: usize, make: impl Fn(usize) -> T) -> (T, Option<T>) {
    let alike = (first >= PANEL_ROWS) == (second >= PANEL_ROWS);
    (make(first), (!alike).then(|| make(second)))
}

/// Lengths of what one chunk keeps for its backward pass.
///
/// The activated gates; the states each step starts from (after a reset), `h` and for an LSTM `c`; and what the cell keeps
/// beside them: an LSTM tanh(c), a GRU the state's part of its candidate.
struct Saved {
    gates: usize,
    h: usize,
    c: usize,
}

impl Saved {
    /// Values kept per row of the batch.
    fn width(spec: &RecurrentSpec, steps: usize) -> usize {
        let Saved { gates, h, c } = Saved::of(spec, steps, 1);
        gates + h + c + steps * spec.hidden
    }

    fn of(spec: &RecurrentSpec, steps: usize, rows: usize) -> Self {
        let state = (steps + 1) * rows * spec.hidden;
        Self { gates: steps * rows * spec.gates(), h: state, c: if spec.kind == CellKind::Lstm { state } else { 0 } }
    }

    /// Cuts a chunk's stretch into gates, h, c and the rest.
    fn cut<'a>(&self, stretch: &'a [f32]) -> [&'a [f32]; 4] {
        let (gates, rest) = stretch.split_at(self.gates);
        let (h, rest) = rest.split_at(self.h);
        let (c, rest) = rest.split_at(self.c);
        [gates, h, c, rest]
    }

    fn cut_mut<'a>(&self, stretch: &'a mut [f32]) -> [&'a mut [f32]; 4] {
        let (gates, rest) = stretch.split_at_mut(self.gates);
        let (h, rest) = rest.split_at_mut(self.h);
        let (c, rest) = rest.split_at_mut(self.c);
        [gates, h, c, rest]
    }
}
