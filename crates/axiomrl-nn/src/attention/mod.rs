//! A causal transformer on flat parameters.

pub(crate) mod composed;
mod pass;
mod passes;

pub use pass::TransformerPass;

use crate::error::NnError;
use crate::init::Init;
use crate::layout::TensorLayout;
use crate::named::NamedTensors;
use crate::params::Params;
use passes::{Job, Mode};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Blocks of attention and two linear layers over sequences of tokens, in which a token sees itself and those before it:
/// ```text
/// x = dropout(norm(tokens))
/// each block:  x += dropout(attention(norm(x)))
///              x += dropout(w2 · relu(w1 · norm(x)))
/// outputs = norm(x)
/// ```
/// Attention has weights dropout(softmax(q·k / √(width / heads))). There is no code of a token's position: it belongs to what makes
/// the tokens.
///
/// Flat layout: the first LayerNorm's scale and shift; for each block its first LayerNorm, queries, keys and values as one weight
/// `[width, 3·width]` with a bias, the attention's output map, the second LayerNorm and the two linear layers; the last LayerNorm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransformerSpec {
    /// Numbers of a token.
    pub width: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Heads that share the width.
    pub heads: usize,
    /// Width of the layer inside a block.
    pub hidden: usize,
    /// Probability of dropping a number in training mode.
    pub dropout: f32,
}

/// Where a LayerNorm's scale and shift are in the flat vector.
#[derive(Clone, Debug)]
pub(crate) struct Norm {
    pub scale: Range<usize>,
    pub shift: Range<usize>,
}

/// Where a linear layer's weight `[inputs, outputs]` and bias are in the flat vector.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    pub weight: Range<usize>,
    pub bias: Range<usize>,
}

/// The places of one block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub attention_norm: Norm,
    /// Queries, keys and values.
    pub qkv: Linear,
    pub attention_out: Linear,
    pub mlp_norm: Norm,
    pub mlp_in: Linear,
    pub mlp_out: Linear,
}

/// All places.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub input_norm: Norm,
    pub blocks: Vec<Block>,
    pub output_norm: Norm,
    pub params: usize,
}

impl TransformerSpec {
    /// One head, layers of four times the width inside the blocks, no dropout.
    pub fn new(width: usize, blocks: usize) -> Self {
        Self { width, blocks, heads: 1, hidden: 4 * width, dropout: 0.0 }
    }

    /// Sets the number of heads.
    pub fn with_heads(mut self, heads: usize) -> Self {
        self.heads = heads;
        self
    }

    /// Sets the dropout probability.
    pub fn with_dropout(mut self, probability: f32) -> Self {
        self.dropout = probability;
        self
    }

    /// Refuses a shape without numbers, or with heads that do not share them evenly.
    pub fn check(&self) -> Result<(), NnError> {
        let Self { width, heads, hidden, .. } = *self;
        if width == 0 || hidden == 0 || heads == 0 || !width.is_multiple_of(heads) {
            return Err(NnError::UnevenHeads { width, heads });
        }
        Ok(())
    }

    /// Number of parameters.
    pub fn param_count(&self) -> usize {
        self.plan().params
    }

    /// Floating-point operations of a forward pass over `tokens` tokens, without those of the attention itself.
    pub fn flops(&self, tokens: usize) -> usize {
        2 * tokens * self.blocks * (4 * self.width + 2 * self.hidden) * self.width
    }

    /// The named tensors inside the flat vector: `input_norm.weight`, `blocks.0.attention.qkv.weight` … `output_norm.bias`.
    pub fn layout(&self) -> Vec<TensorLayout> {
        let plan = self.plan();
        let vector = |name: String, at: &Range<usize>| TensorLayout {
            name,
            offset: at.start,
            shape: vec![at.len()],
            transposed: false,
        };
        let norm = |name: &str, norm: &Norm| {
            vec![vector(format!("{name}.weight"), &norm.scale), vector(format!("{name}.bias"), &norm.shift)]
        };
        let linear = |name: &str, linear: &Linear| {
            let outputs = linear.bias.len();
            TensorLayout::linear(name, linear.weight.start, linear.weight.len() / outputs, outputs).to_vec()
        };
        let mut tensors = norm("input_norm", &plan.input_norm);
        for (index, block) in plan.blocks.iter().enumerate() {
            tensors.extend(norm(&format!("blocks.{index}.attention.norm"), &block.attention_norm));
            tensors.extend(linear(&format!("blocks.{index}.attention.qkv"), &block.qkv));
            tensors.extend(linear(&format!("blocks.{index}.attention.out"), &block.attention_out));
            tensors.extend(norm(&format!("blocks.{index}.mlp.norm"), &block.mlp_norm));
            tensors.extend(linear(&format!("blocks.{index}.mlp.0"), &block.mlp_in));
            tensors.extend(linear(&format!("blocks.{index}.mlp.1"), &block.mlp_out));
        }
        tensors.extend(norm("output_norm", &plan.output_norm));
        tensors
    }

    pub(crate) fn plan(&self) -> Plan {
        let (width, hidden) = (self.width, self.hidden);
        let mut offset = 0;
        let mut next = |len: usize| {
            offset += len;
            offset - len..offset
        };
        let norm = |next: &mut dyn FnMut(usize) -> Range<usize>| Norm { scale: next(width), shift: next(width) };
        let linear = |next: &mut dyn FnMut(usize) -> Range<usize>, inputs: usize, outputs: usize| Linear {
            weight: next(inputs * outputs),
            bias: next(outputs),
        };
        let input_norm = norm(&mut next);
        let blocks = (0..self.blocks)
            .map(|_| Block {
                attention_norm: norm(&mut next),
                qkv: linear(&mut next, width, 3 * width),
                attention_out: linear(&mut next, width, width),
                mlp_norm: norm(&mut next),
                mlp_in: linear(&mut next, width, hidden),
                mlp_out: linear(&mut next, hidden, width),
            })
            .collect();
        let output_norm = norm(&mut next);
        Plan { input_norm, blocks, output_norm, params: offset }
    }
}

/// A transformer: its shape and its parameters.
#[derive(Clone, Debug)]
pub struct Transformer {
    /// The shape.
    pub spec: Arc<TransformerSpec>,
    /// Parameters `[1, parameters]`.
    pub params: Params,
}

impl Transformer {
    /// Linear layers as `init` has hidden ones; LayerNorm starts as the identity.
    ///
    /// # Panics
    /// For a shape that [`TransformerSpec::check`] refuses: call it on what a user gave.
    pub fn new(spec: TransformerSpec, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        if let Err(error) = spec.check() {
            panic!("{error}");
        }
        let (width, plan) = (spec.width, spec.plan());
        let mut values = Vec::with_capacity(plan.params);
        let norm = |values: &mut Vec<f32>| {
            values.extend(std::iter::repeat_n(1.0, width));
            values.extend(std::iter::repeat_n(0.0, width));
        };
        norm(&mut values);
        for _ in 0..spec.blocks {
            norm(&mut values);
            init.draw_hidden(width, 3 * width, &mut values, rng);
            init.draw_hidden(width, width, &mut values, rng);
            norm(&mut values);
            init.draw_hidden(width, spec.hidden, &mut values, rng);
            init.draw_hidden(spec.hidden, width, &mut values, rng);
        }
        norm(&mut values);
        Self { params: Params::from_vec(1, plan.params, values), spec: Arc::new(spec) }
    }

    /// Evaluates sequences that lie one after the other, without dropout: `x` `[tokens, width]`, of which each sequence has as many
    /// as `lengths` says. `out` is resized to `[tokens, width]`.
    ///
    /// # Panics
    /// When `x` and `lengths` disagree: a mistake in the calling code.
    pub fn infer(&self, x: &[f32], lengths: &[usize], out: &mut Vec<f32>) {
        let job = Job::new(&self.spec, lengths, Mode::Infer);
        let mut between = job.room();
        out.resize(x.len(), 0.0);
        passes::forward(&job, x, self.params.as_slice(), &mut between, out);
    }
}

impl NamedTensors for Transformer {
    fn tensors(&self) -> (Vec<TensorLayout>, &Params) {
        (self.spec.layout(), &self.params)
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}
