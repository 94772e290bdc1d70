//! The backward pass.

use super::kept::{Kept, KeptBlock, KeptNorm, kept_len};
use super::{Chunk, ENTRANCE, Job, after_attention, after_mlp, heads, room};
use crate::attention::{Linear, Norm};
use crate::buffers::Pooled;
use crate::kernels::activation::{Activation, activation_backward, column_sums};
use crate::kernels::layer_norm::{layer_norm_backward, scale_shift};
use crate::kernels::matmul::{Left, product, product_transposed};
use crate::kernels::vector::add_assign;
use crate::threads::join;

/// `gradient` is that of the outputs and becomes that of the tokens; `by_params` is overwritten. `kept` is what the forward pass of
/// the same job left.
pub fn backward(job: &Job<'_>, params: &[f32], kept: &mut [f32], gradient: &mut [f32], by_params: &mut [f32]) {
    let (tokens, width) = (job.tokens(), job.spec.width);
    assert!(
        gradient.len() == tokens * width && params.len() == job.plan.params && by_params.len() == params.len(),
        "the slices do not fit the sequences"
    );
    let Some(cut) = job.split() else {
        let whole = job.chunk(0, job.lengths.len());
        return whole.backward(params, &mut kept[..kept_len(&whole)], gradient, by_params);
    };
    let (first, second) = (job.chunk(0, cut), job.chunk(cut, job.lengths.len() - cut));
    let (kept_first, kept_second) = kept.split_at_mut(kept_len(&first));
    let (gradient_first, gradient_second) = gradient.split_at_mut(first.tokens * width);
    let mut by_params_second = Pooled::new(params.len());
    let second_part = &mut by_params_second[..];
    join(
        || first.backward(params, kept_first, gradient_first, by_params),
        || second.backward(params, &mut kept_second[..kept_len(&second)], gradient_second, second_part),
    );
    add_assign(by_params, &by_params_second);
}

impl Chunk<'_> {
    /// `grad` is that of the outputs, then of what comes before, and in the end of the tokens.
    fn backward(&self, params: &[f32], kept: &mut [f32], grad: &mut [f32], by_params: &mut [f32]) {
        let mut kept = Kept::cut(self, kept);
        let (len, wide) = (grad.len(), self.tokens * self.spec.hidden.max(3 * self.spec.width));
        let (mut branch, mut normed, mut inside) = (room(len), room(len), room(wide));
        let (branch, normed) = (&mut branch[..len], &mut normed[..len]);
        by_params.fill(0.0);
        let mut back = Back { params, by_params };

        back.norm(grad, &self.plan.output_norm, &kept.output_norm);
        for (index, block) in self.plan.blocks.iter().enumerate().rev() {
            let KeptBlock { attention_norm, qkv, weights, attended, mlp_norm, hidden } = kept.block(self, index);
            // x += dropout(w2 · relu(w1 · norm(x)))
            branch.copy_from_slice(grad);
            self.drop_tokens(branch, after_mlp(index));
            let by_hidden = &mut inside[..hidden.len()];
            back.linear(branch, hidden, &block.mlp_out, by_hidden);
            activation_backward(by_hidden, hidden, self.spec.hidden, &mut [], Activation::Relu);
            back.normed(&mlp_norm, &block.mlp_norm, normed);
            back.linear(by_hidden, normed, &block.mlp_in, branch);
            back.norm(branch, &block.mlp_norm, &mlp_norm);
            add_assign(grad, branch);
            // x += dropout(attention(norm(x)))
            branch.copy_from_slice(grad);
            self.drop_tokens(branch, after_attention(index));
            back.linear(branch, attended, &block.attention_out, normed);
            let by_qkv = &mut inside[..qkv.len()];
            heads::backward(self, index, qkv, weights, normed, by_qkv);
            back.normed(&attention_norm, &block.attention_norm, normed);
            back.linear(by_qkv, normed, &block.qkv, branch);
            back.norm(branch, &block.attention_norm, &attention_norm);
            add_assign(grad, branch);
        }
        self.drop_tokens(grad, ENTRANCE);
        back.norm(grad, &self.plan.input_norm, &kept.input_norm);
    }
}

/// The parameters and the gradients found for them.
struct Back<'a> {
    params: &'a [f32],
    by_params: &'a mut [f32],
}

impl Back<'_> {
    /// Through a linear layer that was given `x`: `by_x` is overwritten.
    fn linear(&mut self, by_y: &[f32], x: &[f32], linear: &Linear, by_x: &mut [f32]) {
        let weight = &self.params[linear.weight.clone()];
        let outputs = linear.bias.len();
        let (inputs, rows) = (weight.len() / outputs, by_y.len() / outputs);
        column_sums(by_y, &mut self.by_params[linear.bias.clone()]);
        let by_weight = &mut self.by_params[linear.weight.clone()];
        product(by_weight, inputs, outputs, rows, Left::Transposed(x), by_y, false);
        product_transposed(by_x, rows, inputs, outputs, by_y, weight, false);
    }

    /// Through a LayerNorm, in place.
    fn norm(&mut self, grad: &mut [f32], norm: &Norm, kept: &KeptNorm<'_>) {
        // A LayerNorm's scale and shift lie side by side.
        let both = &mut self.by_params[norm.scale.start..norm.shift.end];
        let (by_scale, by_shift) = both.split_at_mut(norm.scale.len());
        let scale = &self.params[norm.scale.clone()];
        layer_norm_backward(grad, scale, kept.normal, kept.inverse, by_scale, by_shift);
    }

    /// What a LayerNorm gave.
    fn normed(&self, kept: &KeptNorm<'_>, norm: &Norm, out: &mut [f32]) {
        scale_shift(kept.normal, &self.params[norm.scale.clone()], &self.params[norm.shift.clone()], out);
    }
}
