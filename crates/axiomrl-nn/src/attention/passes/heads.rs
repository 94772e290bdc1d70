//! Attention itself: every head of every sequence by itself.

use super::{Chunk, on_weights, room};
use crate::kernels::dropout::dropout;
use crate::kernels::matmul::{Left, product};
use crate::kernels::softmax::{causal_softmax, causal_softmax_backward};
use std::ops::Range;

/// One head of one sequence.
struct Place {
    tokens: usize,
    /// The sequence's rows.
    rows: Range<usize>,
    /// Its square block among the chunk's weights.
    weights: Range<usize>,
    /// The head's first column of the width.
    column: usize,
}

impl Chunk<'_> {
    /// Numbers of a head.
    fn head(&self) -> usize {
        self.spec.width / self.spec.heads
    }

    /// Factor on a product of a query and a key.
    fn scale(&self) -> f32 {
        1.0 / (self.head() as f32).sqrt()
    }

    fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        let (heads, head) = (self.spec.heads, self.head());
        let (mut row, mut weight) = (0, 0);
        self.lengths.iter().flat_map(move |&tokens| {
            let (rows, first) = (row..row + tokens, weight);
            row += tokens;
            weight += heads * tokens * tokens;
            (0..heads).map(move |index| {
                let start = first + index * tokens * tokens;
                Place { tokens, rows: rows.clone(), weights: start..start + tokens * tokens, column: index * head }
            })
        })
    }

    /// The weights as they were used: with some of them dropped, in `copy`.
    fn used<'a>(&self, block: usize, place: &Place, weights: &'a [f32], copy: &'a mut [f32]) -> &'a [f32] {
        if self.dropout(on_weights(block)).is_none() {
            return weights;
        }
        copy.copy_from_slice(weights);
        self.drop_weights(block, place, copy);
        copy
    }

    fn drop_weights(&self, block: usize, place: &Place, values: &mut [f32]) {
        if let Some((key, probability)) = self.dropout(on_weights(block)) {
            dropout(values, key, self.first_weight + place.weights.start, probability);
        }
    }
}

/// Queries, keys and values `[tokens, 3·width]` to the weights and to what they gather, `[tokens, width]`.
pub fn forward(chunk: &Chunk<'_>, block: usize, qkv: &[f32], weights: &mut [f32], attended: &mut [f32]) {
    let (width, head, longest) = (chunk.spec.width, chunk.head(), chunk.longest());
    let mut scratch = room(4 * longest * head + longest * longest);
    for place in chunk.places() {
        let Place { tokens, column, .. } = place;
        let [q, k_transposed, v, gathered, copy] = pieces(&mut scratch, tokens, head);
        let rows = &qkv[place.rows.start * 3 * width..place.rows.end * 3 * width];
        gather(rows, 3 * width, column, head, q);
        gather_transposed(rows, 3 * width, width + column, tokens, k_transposed);
        gather(rows, 3 * width, 2 * width + column, head, v);
        // softmax(q·kᵀ / √head), then what it weighs of v.
        let weights = &mut weights[place.weights.clone()];
        product(weights, tokens, tokens, head, Left::Rows(q), k_transposed, false);
        causal_softmax(weights, tokens, chunk.scale());
        let used = chunk.used(block, &place, weights, copy);
        product(gathered, tokens, head, tokens, Left::Rows(used), v, false);
        scatter(gathered, &mut attended[place.rows.start * width..place.rows.end * width], width, column, head);
    }
}

/// The gradient of what was gathered to that of queries, keys and values.
pub fn backward(
    chunk: &Chunk<'_>,
    block: usize,
    qkv: &[f32],
    weights: &[f32],
    by_attended: &[f32],
    by_qkv: &mut [f32],
) {
    let (width, head, longest) = (chunk.spec.width, chunk.head(), chunk.longest());
    let mut scratch = room(4 * longest * head + longest * longest);
    let mut second = room(longest * head + longest * longest);
    for place in chunk.places() {
        let Place { tokens, column, .. } = place;
        let [q, k, v_transposed, by_gathered, copy] = pieces(&mut scratch, tokens, head);
        let (result, by_weights) = second[..tokens * (head + tokens)].split_at_mut(tokens * head);
        let span = place.rows.start * 3 * width..place.rows.end * 3 * width;
        let (rows, by_rows) = (&qkv[span.clone()], &mut by_qkv[span]);
        gather(rows, 3 * width, column, head, q);
        gather(rows, 3 * width, width + column, head, k);
        gather_transposed(rows, 3 * width, 2 * width + column, tokens, v_transposed);
        let by_attended = &by_attended[place.rows.start * width..place.rows.end * width];
        gather(by_attended, width, column, head, by_gathered);

        let weights = &weights[place.weights.clone()];
        let used = chunk.used(block, &place, weights, copy);
        product(result, tokens, head, tokens, Left::Transposed(used), by_gathered, false);
        scatter(result, by_rows, 3 * width, 2 * width + column, head);
        product(by_weights, tokens, tokens, head, Left::Rows(by_gathered), v_transposed, false);
        chunk.drop_weights(block, &place, by_weights);
        causal_softmax_backward(by_weights, weights, tokens, chunk.scale());
        product(result, tokens, head, tokens, Left::Rows(by_weights), k, false);
        scatter(result, by_rows, 3 * width, column, head);
        product(result, tokens, head, tokens, Left::Transposed(by_weights), q, false);
        scatter(result, by_rows, 3 * width, width + column, head);
    }
}

/// Four matrices `[tokens, head]` or their transposes, and one of weights.
fn pieces(scratch: &mut [f32], tokens: usize, head: usize) -> [&mut [f32]; 5] {
    let (matrices, rest) = scratch.split_at_mut(4 * tokens * head);
    let (first, second) = matrices.split_at_mut(2 * tokens * head);
    let (a, b) = first.split_at_mut(tokens * head);
    let (c, d) = second.split_at_mut(tokens * head);
    [a, b, c, d, &mut rest[..tokens * tokens]]
}

/// Columns from `column` on of rows that are `stride` wide, to rows that are `width` wide.
fn gather(rows: &[f32], stride: usize, column: usize, width: usize, out: &mut [f32]) {
    for (row, out) in rows.chunks_exact(stride).zip(out.chunks_exact_mut(width)) {
        out.copy_from_slice(&row[column..column + width]);
    }
}

/// As [`gather`], one column after the other: each has `tokens` numbers.
fn gather_transposed(rows: &[f32], stride: usize, column: usize, tokens: usize, out: &mut [f32]) {
    for (offset, out) in out.chunks_exact_mut(tokens.max(1)).enumerate() {
        for (row, out) in rows.chunks_exact(stride).zip(out) {
            *out = row[column + offset];
        }
    }
}

/// The reverse of [`gather`].
fn scatter(from: &[f32], rows: &mut [f32], stride: usize, column: usize, width: usize) {
    for (row, from) in rows.chunks_exact_mut(stride).zip(from.chunks_exact(width)) {
        row[column..column + width].copy_from_slice(from);
    }
}
