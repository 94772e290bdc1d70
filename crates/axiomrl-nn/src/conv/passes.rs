//! A plain stack of convolutions, forward and backward, on plain slices.

use super::ConvSpec;
use super::convolution::{ConvTrace, Convolution};
use crate::buffers::Pooled;
use crate::images::{ImageNetwork, KeptMut, Pixels, Trace};
use crate::kernels::activation::Activation;

/// Values kept of one image: the outputs (the last layer's are the caller's), and what a norm keeps, or SiLU's inputs.
fn kept(conv: &Convolution, is_last: bool, activation: Activation) -> (usize, usize) {
    let output = if is_last { 0 } else { conv.out_len() };
    let before = match (conv.normed, activation) {
        (true, _) => conv.norm_len(),
        (false, Activation::Silu) => conv.out_len(),
        _ => 0,
    };
    (output, before)
}

impl ImageNetwork for ConvSpec {
    fn row_lens(&self) -> (usize, usize) {
        (self.input.iter().product(), self.features())
    }

    fn parameters(&self) -> usize {
        self.param_count()
    }

    fn flops_each(&self) -> usize {
        self.flops(1)
    }

    fn kept_each(&self) -> (usize, usize) {
        let convolutions = self.convolutions();
        let lens = convolutions.iter().enumerate().map(|(index, conv)| {
            let (output, before) = kept(conv, index + 1 == convolutions.len(), self.activation);
            output + before
        });
        (lens.sum(), 0)
    }

    fn infer_together(&self) -> usize {
        // A quarter of a megabyte: most of a second-level cache.
        const VALUES: usize = 1 << 16;
        (VALUES / self.kept_each().0.max(1)).max(1)
    }

    fn chunk_forward(&self, x: Pixels<'_>, params: &[f32], kept_room: KeptMut<'_>, out: &mut [f32]) {
        let convolutions = self.convolutions();
        let images = x.len() / self.row_lens().0.max(1);
        let mut input = x;
        let mut rest = kept_room.values;
        let mut out = Some(out);
        for (index, conv) in convolutions.iter().enumerate() {
            let is_last = index + 1 == convolutions.len();
            let (output, before) = kept(conv, is_last, self.activation);
            let (target, after) = std::mem::take(&mut rest).split_at_mut(images * output);
            let (before, after) = after.split_at_mut(images * before);
            rest = after;
            let target = if is_last { out.take().unwrap_or_default() } else { target };
            conv.forward(input, params, self.activation, before, target);
            input = Pixels::Floats(target);
        }
    }

    fn chunk_backward(&self, trace: Trace<'_>, mut grad_params: Option<&mut [f32]>, grad_x: Option<&mut [f32]>) {
        if let Some(total) = grad_params.as_deref_mut() {
            total.fill(0.0);
        }
        self.go_back(trace, grad_params, grad_x, |_, _, _| {});
    }
}

impl ConvSpec {
    /// From the last layer to the first, adding to `grad_params`. `seen` is shown each layer's number, its inputs, and the gradient
    /// at its weighted sums.
    pub(super) fn go_back(
        &self,
        trace: Trace<'_>,
        mut grad_params: Option<&mut [f32]>,
        mut grad_x: Option<&mut [f32]>,
        mut seen: impl FnMut(usize, Pixels<'_>, &[f32]),
    ) {
        let (convolutions, images) = (self.convolutions(), trace.images);
        let mut end = trace.values.len();
        let mut grad = Pooled::new(trace.grad_out.len());
        grad.copy_from_slice(trace.grad_out);
        for (index, conv) in convolutions.iter().enumerate().rev() {
            // This layer's outputs, and the outputs of the one below, which are its inputs.
            let is_last = index + 1 == convolutions.len();
            let (output, before) = kept(conv, is_last, self.activation);
            let stretch = &trace.values[end - images * (output + before)..end];
            end -= stretch.len();
            let (output, before) = stretch.split_at(images * output);
            let output = if is_last { trace.out } else { output };
            let (normal, before) = before.split_at(if conv.normed { before.len() } else { 0 });
            let activated = if before.is_empty() { output } else { before };
            let input = match index.checked_sub(1).map(|below| kept(&convolutions[below], false, self.activation)) {
                Some((output, before)) => {
                    let start = end - images * (output + before);
                    Pixels::Floats(&trace.values[start..start + images * output])
                }
                None => trace.x,
            };
            // What lies below gets a gradient unless it is an input nobody asks about.
            let mut below = (index > 0).then(|| Pooled::new(images * conv.window.image_len()));
            let grad_below = if index > 0 { below.as_deref_mut() } else { grad_x.as_deref_mut() };
            let layer = ConvTrace { x: input, params: trace.params, activation: self.activation, activated, normal };
            conv.backward(layer, &mut grad, grad_params.as_deref_mut(), grad_below);
            seen(index, input, &grad);
            if let Some(below) = below {
                grad = below;
            }
        }
    }
}
