//! The forward pass.

use super::kept::{Kept, KeptBlock, KeptNorm, kept_len};
use super::{Chunk, ENTRANCE, Job, after_attention, after_mlp, heads, room};
use crate::attention::{Linear, Norm};
use crate::kernels::activation::{Activation, bias_activation};
use crate::kernels::layer_norm::{EPSILON, layer_norm};
use crate::kernels::matmul::{Left, product};
use crate::kernels::vector::add_assign;
use crate::threads::join;

/// Evaluates: `x` and `out` are `[tokens, width]`; `kept` comes from [`Job::room`].
pub fn forward(job: &Job<'_>, x: &[f32], params: &[f32], kept: &mut [f32], out: &mut [f32]) {
    let (tokens, width) = (job.tokens(), job.spec.width);
    assert!(
        x.len() == tokens * width && out.len() == x.len() && params.len() == job.plan.params,
        "the slices do not fit the sequences"
    );
    out.copy_from_slice(x);
    let Some(cut) = job.split() else {
        let whole = job.chunk(0, job.lengths.len());
        return whole.forward(params, &mut kept[..kept_len(&whole)], out);
    };
    let (first, second) = (job.chunk(0, cut), job.chunk(cut, job.lengths.len() - cut));
    let (kept_first, kept_second) = kept.split_at_mut(kept_len(&first));
    let (out_first, out_second) = out.split_at_mut(first.tokens * width);
    join(
        || first.forward(params, kept_first, out_first),
        || second.forward(params, &mut kept_second[..kept_len(&second)], out_second),
    );
}

impl Chunk<'_> {
    /// `x` holds the tokens, and then the outputs.
    fn forward(&self, params: &[f32], kept: &mut [f32], x: &mut [f32]) {
        let mut kept = Kept::cut(self, kept);
        let mut between = room(x.len());
        let between = &mut between[..x.len()];
        norm(x, params, &self.plan.input_norm, &mut kept.input_norm);
        self.drop_tokens(x, ENTRANCE);
        for (index, block) in self.plan.blocks.iter().enumerate() {
            let KeptBlock { mut attention_norm, qkv, weights, attended, mut mlp_norm, hidden } =
                kept.block(self, index);
            // x += dropout(attention(norm(x)))
            between.copy_from_slice(x);
            norm(between, params, &block.attention_norm, &mut attention_norm);
            linear(qkv, between, params, &block.qkv, Activation::Identity);
            heads::forward(self, index, qkv, weights, attended);
            linear(between, attended, params, &block.attention_out, Activation::Identity);
            self.drop_tokens(between, after_attention(index));
            add_assign(x, between);
            // x += dropout(w2 · relu(w1 · norm(x)))
            between.copy_from_slice(x);
            norm(between, params, &block.mlp_norm, &mut mlp_norm);
            linear(hidden, between, params, &block.mlp_in, Activation::Relu);
            linear(between, hidden, params, &block.mlp_out, Activation::Identity);
            self.drop_tokens(between, after_mlp(index));
            add_assign(x, between);
        }
        norm(x, params, &self.plan.output_norm, &mut kept.output_norm);
    }
}

fn norm(x: &mut [f32], params: &[f32], norm: &Norm, kept: &mut KeptNorm<'_>) {
    let (scale, shift) = (&params[norm.scale.clone()], &params[norm.shift.clone()]);
    layer_norm(x, scale, shift, EPSILON, kept.normal, kept.inverse);
}

/// `y = activation(x·w + b)`
fn linear(y: &mut [f32], x: &[f32], params: &[f32], linear: &Linear, activation: Activation) {
    let (weight, bias) = (&params[linear.weight.clone()], &params[linear.bias.clone()]);
    let (outputs, inputs) = (bias.len(), weight.len() / bias.len());
    product(y, x.len() / inputs, outputs, inputs, Left::Rows(x), weight, false);
    bias_activation(y, bias, activation);
}
