//! What is kept of a forward pass, and where.

use super::{Chunk, Mode};
use std::mem;

/// A LayerNorm's normalised rows and the inverse deviation of each; both empty where no backward pass will follow.
pub struct KeptNorm<'a> {
    pub normal: &'a mut [f32],
    pub inverse: &'a mut [f32],
}

pub struct KeptBlock<'a> {
    pub attention_norm: KeptNorm<'a>,
    /// `[tokens, 3·width]`
    pub qkv: &'a mut [f32],
    /// For each sequence and head a square block, before dropout.
    pub weights: &'a mut [f32],
    /// `[tokens, width]`: what the heads gathered, side by side.
    pub attended: &'a mut [f32],
    pub mlp_norm: KeptNorm<'a>,
    /// `[tokens, hidden]`, after the ReLU.
    pub hidden: &'a mut [f32],
}

/// The whole of a chunk.
pub struct Kept<'a> {
    pub input_norm: KeptNorm<'a>,
    pub output_norm: KeptNorm<'a>,
    /// Block after block; of one alone where no backward pass will follow.
    blocks: &'a mut [f32],
}

fn norm_len(chunk: &Chunk<'_>) -> usize {
    if chunk.mode == Mode::Infer { 0 } else { chunk.tokens * (chunk.spec.width + 1) }
}

fn block_len(chunk: &Chunk<'_>) -> usize {
    2 * norm_len(chunk) + chunk.tokens * (4 * chunk.spec.width + chunk.spec.hidden) + chunk.weights()
}

/// Numbers kept of a chunk. Those of two chunks add up to those of both together.
pub fn kept_len(chunk: &Chunk<'_>) -> usize {
    let blocks = if chunk.mode == Mode::Infer { 1 } else { chunk.spec.blocks };
    2 * norm_len(chunk) + blocks * block_len(chunk)
}

impl<'a> Kept<'a> {
    /// Cuts the chunk's stretch into its pieces.
    pub fn cut(chunk: &Chunk<'_>, stretch: &'a mut [f32]) -> Self {
        let mut rest = stretch;
        Self { input_norm: norm(chunk, &mut rest), output_norm: norm(chunk, &mut rest), blocks: rest }
    }

    /// The pieces of block `index`.
    pub fn block(&mut self, chunk: &Chunk<'_>, index: usize) -> KeptBlock<'_> {
        let (index, len) = (if chunk.mode == Mode::Infer { 0 } else { index }, block_len(chunk));
        let mut rest = &mut self.blocks[index * len..(index + 1) * len];
        let (tokens, width) = (chunk.tokens, chunk.spec.width);
        KeptBlock {
            attention_norm: norm(chunk, &mut rest),
            qkv: take(&mut rest, tokens * 3 * width),
            weights: take(&mut rest, chunk.weights()),
            attended: take(&mut rest, tokens * width),
            mlp_norm: norm(chunk, &mut rest),
            hidden: take(&mut rest, tokens * chunk.spec.hidden),
        }
    }
}

fn norm<'a>(chunk: &Chunk<'_>, rest: &mut &'a mut [f32]) -> KeptNorm<'a> {
    let rows = if chunk.mode == Mode::Infer { 0 } else { chunk.tokens };
    KeptNorm { normal: take(rest, rows * chunk.spec.width), inverse: take(rest, rows) }
}

/// The first `len` numbers of what is left.
fn take<'a>(rest: &mut &'a mut [f32], len: usize) -> &'a mut [f32] {
    let (first, others) = mem::take(rest).split_at_mut(len);
    *rest = others;
    first
}
