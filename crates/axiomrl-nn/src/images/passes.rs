//! What networks over images have in common, on plain slices.
//!
//! Images never meet, so a large batch is cut in two by images, by size alone; each half has its own stretch of every buffer.

use crate::buffers::Pooled;
use crate::kernels::vector::add_assign;
use crate::threads::SPLIT_FLOPS;
use crate::threads::join;
use std::fmt::Debug;

/// A batch of rows, most often images `[images, height, width, channels]`.
#[derive(Clone, Copy)]
pub enum Pixels<'a> {
    Floats(&'a [f32]),
    /// Scaled by 1/255 when read.
    Bytes(&'a [u8]),
}

impl<'a> Pixels<'a> {
    pub fn len(&self) -> usize {
        match self {
            Pixels::Floats(x) => x.len(),
            Pixels::Bytes(x) => x.len(),
        }
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        match self {
            Pixels::Floats(x) => (Pixels::Floats(&x[..at]), Pixels::Floats(&x[at..])),
            Pixels::Bytes(x) => (Pixels::Bytes(&x[..at]), Pixels::Bytes(&x[at..])),
        }
    }

    /// `count` images of `len` values, from `first` on.
    pub fn images(self, first: usize, count: usize, len: usize) -> Self {
        self.split_at(first * len).1.split_at(count * len).0
    }
}

/// A network that maps every image of a batch on its own, given by its shape.
pub trait ImageNetwork: Debug + Send + Sync + 'static {
    /// Values of one input and of one output.
    fn row_lens(&self) -> (usize, usize);
    /// Number of parameters.
    fn parameters(&self) -> usize;
    /// Floating-point operations of a forward pass over one image.
    fn flops_each(&self) -> usize;
    /// Values and choices (a max-pool's) kept of one image between the passes.
    fn kept_each(&self) -> (usize, usize);
    /// How many images an inference, which keeps nothing, maps at a time. Must not change a bit of the results.
    fn infer_together(&self) -> usize {
        usize::MAX
    }
    /// Evaluates one chunk; `kept` and `out` are its own.
    fn chunk_forward(&self, x: Pixels<'_>, params: &[f32], kept: KeptMut<'_>, out: &mut [f32]);
    /// Backward through one chunk; both gradients are overwritten.
    fn chunk_backward(&self, trace: Trace<'_>, grad_params: Option<&mut [f32]>, grad_x: Option<&mut [f32]>);
}

/// What a forward pass keeps for the backward pass.
#[derive(Debug)]
pub struct Kept {
    values: Pooled,
    choices: Vec<u8>,
}

impl Kept {
    /// Room for `images` images.
    pub fn new(net: &impl ImageNetwork, images: usize) -> Self {
        let (values, choices) = net.kept_each();
        Self { values: Pooled::new(images * values), choices: vec![0; images * choices] }
    }

    /// All that a backward pass reads, of a forward pass over `images` images that filled this.
    pub fn trace<'a>(
        &'a self,
        images: usize,
        x: Pixels<'a>,
        params: &'a [f32],
        out: &'a [f32],
        grad_out: &'a [f32],
    ) -> Trace<'a> {
        Trace { images, x, params, values: &self.values, choices: &self.choices, out, grad_out }
    }
}

/// One chunk's stretch of [`Kept`].
pub struct KeptMut<'a> {
    pub values: &'a mut [f32],
    pub choices: &'a mut [u8],
}

/// What the forward pass of a chunk read and left behind.
#[derive(Clone, Copy)]
pub struct Trace<'a> {
    pub images: usize,
    pub x: Pixels<'a>,
    pub params: &'a [f32],
    pub values: &'a [f32],
    pub choices: &'a [u8],
    /// The outputs, row after row.
    pub out: &'a [f32],
    /// The gradient of the loss with respect to them.
    pub grad_out: &'a [f32],
}

/// The image at which a batch is cut, if it is.
fn split(net: &impl ImageNetwork, images: usize) -> Option<usize> {
    (images > 1 && images * net.flops_each() >= SPLIT_FLOPS).then_some(images / 2)
}

/// Evaluates `images` images into `out`, keeping nothing: a few at a time, where the network allows it, so that what lies
/// between its layers stays in the cache and takes little memory.
pub fn infer(net: &impl ImageNetwork, images: usize, x: Pixels<'_>, params: &[f32], out: &mut [f32]) {
    let (row_in, row_out) = net.row_lens();
    let fits = x.len() == images * row_in && params.len() == net.parameters() && out.len() == images * row_out;
    assert!(fits, "the slices do not fit the network");
    if out.is_empty() {
        return;
    }
    let run = |x: Pixels<'_>, out: &mut [f32]| {
        let together = net.infer_together().clamp(1, out.len() / row_out);
        let mut kept = Kept::new(net, together);
        let (values, choices) = net.kept_each();
        for (index, out) in out.chunks_mut(together * row_out).enumerate() {
            let count = out.len() / row_out;
            let x = x.images(index * together, count, row_in);
            let (values, choices) = (&mut kept.values[..count * values], &mut kept.choices[..count * choices]);
            net.chunk_forward(x, params, KeptMut { values, choices }, out);
        }
    };
    let Some(half) = split(net, images) else { return run(x, out) };
    let (x_first, x_second) = x.split_at(half * row_in);
    let (out_first, out_second) = out.split_at_mut(half * row_out);
    join(|| run(x_first, out_first), || run(x_second, out_second));
}

/// Evaluates `images` images into `out`.
pub fn forward(
    net: &impl ImageNetwork,
    images: usize,
    x: Pixels<'_>,
    params: &[f32],
    kept: &mut Kept,
    out: &mut [f32],
) {
    let (row_in, row_out) = net.row_lens();
    assert!(
        x.len() == images * row_in && params.len() == net.parameters() && out.len() == images * row_out,
        "the slices do not fit the network"
    );
    let Kept { values, choices } = kept;
    let Some(half) = split(net, images) else {
        return net.chunk_forward(x, params, KeptMut { values, choices }, out);
    };
    let (values_each, choices_each) = net.kept_each();
    let (x_first, x_second) = x.split_at(half * row_in);
    let (values_first, values_second) = values.split_at_mut(half * values_each);
    let (choices_first, choices_second) = choices.split_at_mut(half * choices_each);
    let (out_first, out_second) = out.split_at_mut(half * row_out);
    let first = KeptMut { values: values_first, choices: choices_first };
    let second = KeptMut { values: values_second, choices: choices_second };
    join(
        || net.chunk_forward(x_first, params, first, out_first),
        || net.chunk_forward(x_second, params, second, out_second),
    );
}

/// The chunks of a batch, as the forward pass cut it, each with its stretch of every buffer.
pub fn chunks<'a>(net: &impl ImageNetwork, trace: Trace<'a>) -> Vec<Trace<'a>> {
    let Some(half) = split(net, trace.images) else { return vec![trace] };
    let (row_in, row_out) = net.row_lens();
    let (values_each, choices_each) = net.kept_each();
    let (x_first, x_second) = trace.x.split_at(half * row_in);
    let (values_first, values_second) = trace.values.split_at(half * values_each);
    let (choices_first, choices_second) = trace.choices.split_at(half * choices_each);
    let (out_first, out_second) = trace.out.split_at(half * row_out);
    let (grad_first, grad_second) = trace.grad_out.split_at(half * row_out);
    let first = Trace {
        images: half,
        x: x_first,
        params: trace.params,
        values: values_first,
        choices: choices_first,
        out: out_first,
        grad_out: grad_first,
    };
    let second = Trace {
        images: trace.images - half,
        x: x_second,
        params: trace.params,
        values: values_second,
        choices: choices_second,
        out: out_second,
        grad_out: grad_second,
    };
    vec![first, second]
}

/// Writes the gradients wanted.
pub fn backward(
    net: &impl ImageNetwork,
    trace: Trace<'_>,
    grad_params: Option<&mut [f32]>,
    grad_x: Option<&mut [f32]>,
) {
    let [first, second] = chunks(net, trace)[..] else {
        return net.chunk_backward(trace, grad_params, grad_x);
    };
    let (dx_first, dx_second) = grad_x.map(|g| g.split_at_mut(first.x.len())).unzip();
    let mut total = grad_params;
    let mut partial = total.as_ref().map(|g| Pooled::new(g.len()));
    {
        let (params_first, params_second) = (total.as_deref_mut(), partial.as_deref_mut());
        join(
            || net.chunk_backward(first, params_first, dx_first),
            || net.chunk_backward(second, params_second, dx_second),
        );
    }
    if let (Some(total), Some(partial)) = (total, partial) {
        add_assign(total, &partial);
    }
}
