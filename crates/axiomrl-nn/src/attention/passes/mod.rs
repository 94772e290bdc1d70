//! A transformer over sequences that lie one after the other, forward and backward, on plain slices.
//!
//! Sequences never meet, so no token is spent on making them equally long, and a large batch is cut in two between them. Everything
//! but the attention itself works on all tokens of a part at once. How it is cut depends on sizes alone.

mod backward;
mod forward;
mod heads;
mod kept;

pub use backward::backward;
pub use forward::forward;

use super::{Plan, TransformerSpec};
use crate::buffers::Pooled;
use crate::kernels::dropout::{DropoutKey, dropout};
use crate::threads::SPLIT_FLOPS;
use kept::kept_len;

/// What a forward pass is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Outputs alone.
    Infer,
    /// A backward pass will follow; dropout takes part where there is a seed.
    Keep(Option<u64>),
}

/// An evaluation: everything but the numbers.
pub struct Job<'a> {
    spec: &'a TransformerSpec,
    plan: Plan,
    lengths: &'a [usize],
    mode: Mode,
}

/// Some sequences of a job.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    spec: &'a TransformerSpec,
    plan: &'a Plan,
    lengths: &'a [usize],
    mode: Mode,
    tokens: usize,
    /// Tokens of the sequences before.
    first_token: usize,
    /// Attention weights of the sequences before, in each block.
    first_weight: usize,
}

impl<'a> Job<'a> {
    pub fn new(spec: &'a TransformerSpec, lengths: &'a [usize], mode: Mode) -> Self {
        Self { spec, plan: spec.plan(), lengths, mode }
    }

    /// Room for what is kept from the forward pass, chunk after chunk.
    pub fn room(&self) -> Pooled {
        room(kept_len(&self.chunk(0, self.lengths.len())))
    }

    /// Tokens of all sequences.
    fn tokens(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// The sequence before which the work is cut, if it is: where about half of the tokens have passed.
    fn split(&self) -> Option<usize> {
        let tokens = self.tokens();
        if self.spec.flops(tokens) < SPLIT_FLOPS || self.lengths.len() < 2 {
            return None;
        }
        let mut passed = 0;
        let half = self.lengths.iter().position(|length| {
            passed += length;
            2 * passed >= tokens
        });
        half.map(|last| (last + 1).min(self.lengths.len() - 1))
    }

    /// `count` sequences from number `first` on.
    fn chunk(&self, first: usize, count: usize) -> Chunk<'_> {
        let (before, lengths) = (&self.lengths[..first], &self.lengths[first..first + count]);
        Chunk {
            spec: self.spec,
            plan: &self.plan,
            lengths,
            mode: self.mode,
            tokens: lengths.iter().sum(),
            first_token: before.iter().sum(),
            first_weight: weights_of(self.spec, before),
        }
    }
}

impl Chunk<'_> {
    /// Attention weights of all its sequences, in each block.
    fn weights(&self) -> usize {
        weights_of(self.spec, self.lengths)
    }

    /// Drops some of the numbers of its tokens, which are `[tokens, width]`; `place` tells one such place in the network from the
    /// others.
    fn drop_tokens(&self, values: &mut [f32], place: usize) {
        if let Some((key, probability)) = self.dropout(place) {
            dropout(values, key, self.first_token * self.spec.width, probability);
        }
    }

    fn dropout(&self, place: usize) -> Option<(DropoutKey, f32)> {
        let Mode::Keep(Some(seed)) = self.mode else { return None };
        (self.spec.dropout > 0.0).then(|| (DropoutKey::new(seed, 0, place), self.spec.dropout))
    }
}

/// Places of dropout: the tokens as they enter, then three in each block.
pub const ENTRANCE: usize = 0;

pub fn on_weights(block: usize) -> usize {
    3 * block + 1
}

pub fn after_attention(block: usize) -> usize {
    3 * block + 2
}

pub fn after_mlp(block: usize) -> usize {
    3 * block + 3
}

fn weights_of(spec: &TransformerSpec, lengths: &[usize]) -> usize {
    spec.heads * lengths.iter().map(|length| length * length).sum::<usize>()
}

/// A recycled buffer of at least `len` numbers. How many tokens there are differs from batch to batch; a length that is rounded up
/// finds the buffer of the batch before.
fn room(len: usize) -> Pooled {
    Pooled::new(len.next_power_of_two())
}
