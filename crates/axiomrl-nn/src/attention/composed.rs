//! The transformer in Burn's own operations, sequence by sequence.

use super::TransformerSpec;
use super::passes::{ENTRANCE, after_attention, after_mlp, on_weights};
use crate::burn::tensor::{Tensor, activation};
use crate::composed::part;
use crate::images::composed::linear;
use crate::kernels::dropout::{DropoutKey, dropout};
use crate::kernels::layer_norm::EPSILON;
use crate::layout::TensorLayout;
use crate::tensors::leaf_on;

/// What hides a token from those before it: its weight comes out as 0.
const HIDDEN: f32 = -1e9;

/// Outputs `[tokens, width]` of sequences that lie one after the other: see `Transformer::infer` for the shapes.
pub fn transformer(
    spec: &TransformerSpec,
    x: Tensor<2>,
    lengths: &[usize],
    params: Tensor<2>,
    dropout_seed: Option<u64>,
) -> Tensor<2> {
    let (mut token, mut weight, mut outputs) = (0, 0, Vec::with_capacity(lengths.len()));
    for &length in lengths {
        let tokens = x.clone().slice([token..token + length, 0..spec.width]);
        let places = Places { spec, seed: dropout_seed, token, weight };
        outputs.push(sequence(tokens, &params, &places));
        token += length;
        weight += spec.heads * length * length;
    }
    Tensor::cat(outputs, 0)
}

/// Where a sequence's numbers are among those of all, for dropout.
struct Places<'a> {
    spec: &'a TransformerSpec,
    seed: Option<u64>,
    token: usize,
    weight: usize,
}

impl Places<'_> {
    fn drop(&self, x: Tensor<2>, place: usize, first: usize) -> Tensor<2> {
        let Some(seed) = self.seed.filter(|_| self.spec.dropout > 0.0) else { return x };
        let (shape, device) = (x.dims(), x.device());
        let mut mask = vec![1.0; shape[0] * shape[1]];
        dropout(&mut mask, DropoutKey::new(seed, 0, place), first, self.spec.dropout);
        x * leaf_on(&mask, shape, &device)
    }

    fn drop_tokens(&self, x: Tensor<2>, place: usize) -> Tensor<2> {
        self.drop(x, place, self.token * self.spec.width)
    }
}

fn sequence(x: Tensor<2>, params: &Tensor<2>, places: &Places<'_>) -> Tensor<2> {
    let TransformerSpec { width, blocks, heads, .. } = *places.spec;
    let (tokens, head, device) = (x.dims()[0], width / heads, params.device());
    let mut tensors = places.spec.layout().into_iter();
    let mask: Vec<f32> = (0..tokens * tokens).map(|i| if i % tokens > i / tokens { HIDDEN } else { 0.0 }).collect();
    let mask = leaf_on(&mask, [tokens, tokens], &device);

    let mut x = places.drop_tokens(norm(x, params, &mut tensors), ENTRANCE);
    for block in 0..blocks {
        let normed = norm(x.clone(), params, &mut tensors);
        let qkv = linear(normed, params, &mut tensors);
        let gathered = (0..heads).map(|index| {
            let part = |which: usize| {
                let first = which * width + index * head;
                qkv.clone().slice([0..tokens, first..first + head])
            };
            let scores = part(0).matmul(part(1).transpose()) / (head as f32).sqrt() + mask.clone();
            let weights = activation::softmax(scores, 1);
            let first = places.weight + index * tokens * tokens;
            places.drop(weights, on_weights(block), first).matmul(part(2))
        });
        let attended = Tensor::cat(gathered.collect(), 1);
        x = x + places.drop_tokens(linear(attended, params, &mut tensors), after_attention(block));
        let normed = norm(x.clone(), params, &mut tensors);
        let hidden = activation::relu(linear(normed, params, &mut tensors));
        x = x + places.drop_tokens(linear(hidden, params, &mut tensors), after_mlp(block));
    }
    norm(x, params, &mut tensors)
}

fn norm(x: Tensor<2>, params: &Tensor<2>, tensors: &mut impl Iterator<Item = TensorLayout>) -> Tensor<2> {
    let (scale, shift) = pair(tensors);
    let centred = x.clone() - x.mean_dim(1);
    let variance = (centred.clone() * centred.clone()).mean_dim(1);
    centred / (variance + EPSILON).sqrt() * part(params, &scale) + part(params, &shift)
}

fn pair(tensors: &mut impl Iterator<Item = TensorLayout>) -> (TensorLayout, TensorLayout) {
    tensors.next().zip(tensors.next()).expect("a layout lists every layer's two tensors")
}
