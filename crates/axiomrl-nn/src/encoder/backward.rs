//! The backward pass of a stack of convolutions.

use super::{Pixels, patch_room, saved_len, split};
use crate::buffers::Pooled;
use crate::conv::ConvSpec;
use crate::kernels::activation::activation_backward;
use crate::kernels::matmul::{Left, product};
use crate::kernels::patches::fold;
use crate::kernels::transpose::transpose;
use crate::kernels::vector::add_assign;

/// What the forward pass read and left behind.
#[derive(Clone, Copy)]
pub struct Trace<'a> {
    pub x: Pixels<'a>,
    pub params: &'a [f32],
    pub saved: &'a [f32],
    /// The encoder's outputs `[images, features]`.
    pub out: &'a [f32],
    /// The gradient of the loss with respect to them.
    pub grad_out: &'a [f32],
}

/// Writes the gradients wanted.
pub fn backward(
    spec: &ConvSpec,
    images: usize,
    trace: Trace<'_>,
    grad_params: Option<&mut [f32]>,
    grad_x: Option<&mut [f32]>,
) {
    let Some(half) = split(spec, images) else {
        return chunk_backward(spec, images, trace, grad_params, grad_x);
    };
    let image: usize = spec.input.iter().product();
    let (x_first, x_second) = trace.x.split_at(half * image);
    let (saved_first, saved_second) = trace.saved.split_at(half * saved_len(spec));
    let (out_first, out_second) = trace.out.split_at(half * spec.features());
    let (grad_first, grad_second) = trace.grad_out.split_at(half * spec.features());
    let first = Trace { x: x_first, saved: saved_first, out: out_first, grad_out: grad_first, ..trace };
    let second = Trace { x: x_second, saved: saved_second, out: out_second, grad_out: grad_second, ..trace };
    let (dx_first, dx_second) = grad_x.map(|g| g.split_at_mut(half * image)).unzip();
    let mut total = grad_params;
    let mut partial = total.as_ref().map(|g| Pooled::new(g.len()));
    {
        let (params_first, params_second) = (total.as_deref_mut(), partial.as_deref_mut());
        rayon::join(
            || chunk_backward(spec, half, first, params_first, dx_first),
            || chunk_backward(spec, images - half, second, params_second, dx_second),
        );
    }
    if let (Some(total), Some(partial)) = (total, partial) {
        add_assign(total, &partial);
    }
}

fn chunk_backward(
    spec: &ConvSpec,
    images: usize,
    trace: Trace<'_>,
    mut grad_params: Option<&mut [f32]>,
    mut grad_x: Option<&mut [f32]>,
) {
    let stages = spec.stages();
    let mut end = trace.saved.len();
    let mut grad = Pooled::new(trace.grad_out.len());
    grad.copy_from_slice(trace.grad_out);
    if let Some(total) = grad_params.as_deref_mut() {
        total.fill(0.0);
    }
    for (index, stage) in stages.iter().enumerate().rev() {
        // This layer's outputs, and the outputs of the one below, which are its inputs.
        let (kept, before) = stage.kept(spec.activation);
        let stretch = &trace.saved[end - images * (kept + before)..end];
        end -= stretch.len();
        let (output, before) = stretch.split_at(images * kept);
        let output = if stage.is_last { trace.out } else { output };
        let derivative_of = if before.is_empty() { output } else { before };
        let input = match index.checked_sub(1).map(|below| stages[below].kept(spec.activation)) {
            Some((kept, before)) => {
                let start = end - images * (kept + before);
                Pixels::Floats(&trace.saved[start..start + images * kept])
            }
            None => trace.x,
        };

        let (patches, patch, image) = (stage.window.patches(), stage.window.patch_len(), stage.window.image_len());
        let weight = &trace.params[stage.offset..stage.offset + stage.weights()];
        // What lies below gets a gradient unless it is an input nobody asks about.
        let mut below = (index > 0).then(|| Pooled::new(images * image));
        let mut grad_below = if index > 0 { below.as_deref_mut() } else { grad_x.as_deref_mut() };
        let mut back_weight = Pooled::new(if grad_below.is_some() { weight.len() } else { 0 });
        if grad_below.is_some() {
            transpose(weight, &mut back_weight, patch, stage.outputs);
        }
        let mut room = patch_room(stage, images);
        let mut no_sums = [];
        let mut first = 0;
        for grad in grad.chunks_mut(stage.group() * stage.out_len()) {
            let count = grad.len() / stage.out_len();
            let rows = &mut room[..count * patches * patch];
            let saved = &derivative_of[first * stage.out_len()..][..grad.len()];
            if let Some(total) = grad_params.as_deref_mut() {
                let own = &mut total[stage.offset..stage.offset + stage.params()];
                let (grad_weight, grad_bias) = own.split_at_mut(stage.weights());
                activation_backward(grad, saved, stage.outputs, grad_bias, spec.activation);
                input.unfold(stage.window, first, count, rows);
                let left = Left::Transposed(rows);
                product(grad_weight, patch, stage.outputs, count * patches, left, grad, true);
            } else {
                activation_backward(grad, saved, stage.outputs, &mut no_sums, spec.activation);
            }
            if let Some(below) = grad_below.as_deref_mut() {
                product(rows, count * patches, patch, stage.outputs, Left::Rows(grad), &back_weight, false);
                let targets = below[first * image..(first + count) * image].chunks_exact_mut(image);
                for (rows, target) in rows.chunks_exact(patches * patch).zip(targets) {
                    fold(stage.window, rows, target);
                }
            }
            first += count;
        }
        if let Some(below) = below {
            grad = below;
        }
    }
}
