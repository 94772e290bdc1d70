//! A whole network ensemble, forward and backward, on plain slices.
//!
//! The work is cut into chunks, each a contiguous run of rows of one member with its own stretch of the saved-activation
//! buffer, so that two threads never share a slice. Few rows under large weights are one chunk, whose products are cut instead
//! (`layer_products`). How it is cut depends on sizes alone.

mod backward;
mod captures;
mod forward;
mod layer_products;
mod saved;
mod slopes;
mod tangents;

pub use backward::{Trace, backward};
pub use captures::captures;
pub use forward::forward;
pub use saved::saved_len;
pub use slopes::slopes;
pub use tangents::tangents;

use super::{Layer, MlpSpec};
use crate::threads::SPLIT_FLOPS;
use layer_products::{LayerProducts, by_weights};

/// The input rows of an ensemble.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    /// `[rows, inputs]`, the same for every member.
    Shared(&'a [f32]),
    /// `[members, rows, inputs]`.
    PerMember(&'a [f32]),
}

impl<'a> Input<'a> {
    /// Tells the two apart by their length.
    pub fn by_len(x: &'a [f32], members: usize, rows: usize, inputs: usize) -> Self {
        if x.len() == rows * inputs {
            return Input::Shared(x);
        }
        assert_eq!(x.len(), members * rows * inputs, "input must be [rows, inputs] or [members, rows, inputs]");
        Input::PerMember(x)
    }

    fn member(self, member: usize, len: usize) -> &'a [f32] {
        match self {
            Input::Shared(x) => &x[..len],
            Input::PerMember(x) => &x[member * len..(member + 1) * len],
        }
    }
}

/// An ensemble evaluation: everything but the numbers.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub spec: &'a MlpSpec,
    pub members: usize,
    pub rows: usize,
    /// `Some(seed)` in training mode; `None` leaves dropout out.
    pub dropout_seed: Option<u64>,
}

/// Part of a job: some rows of one member.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    spec: &'a MlpSpec,
    /// Probability and seed, when dropout takes part.
    dropout: Option<(f32, u64)>,
    member: usize,
    first_row: usize,
    rows: usize,
}

/// Where a job is cut in two.
enum Split {
    Whole,
    /// One member: at this row.
    Rows(usize),
    /// Several members: at this member.
    Members(usize),
}

impl<'a> Job<'a> {
    fn split(&self) -> Split {
        let small = self.members * self.spec.flops(self.rows) < SPLIT_FLOPS;
        if small || (self.members == 1 && by_weights(self.spec, self.rows)) {
            return Split::Whole;
        }
        // Whole tiles of eight rows in the first half.
        let half = (self.rows / 2).next_multiple_of(8);
        if self.members > 1 {
            Split::Members(self.members / 2)
        } else if half < self.rows {
            Split::Rows(half)
        } else {
            Split::Whole
        }
    }

    fn chunk(&self, member: usize, first_row: usize, rows: usize) -> Chunk<'a> {
        let active = self.spec.dropout > 0.0;
        let dropout = self.dropout_seed.filter(|_| active).map(|seed| (self.spec.dropout, seed));
        Chunk { spec: self.spec, dropout, member, first_row, rows }
    }
}

impl Chunk<'_> {
    fn products(&self, layer: &Layer) -> LayerProducts {
        LayerProducts::new(layer, self.rows, by_weights(self.spec, self.rows))
    }
}
