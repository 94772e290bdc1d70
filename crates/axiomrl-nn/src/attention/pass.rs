//! A forward pass that can be gone back through without a graph, as [`MlpPass`](crate::MlpPass) is.

use super::Transformer;
use super::passes::{self, Job, Mode};
use crate::buffers::Pooled;

/// The outputs of a transformer, and what its backward pass needs of how they came about.
pub struct TransformerPass<'a> {
    net: &'a Transformer,
    job: Job<'a>,
    saved: Pooled,
    out: Vec<f32>,
}

impl Transformer {
    /// Evaluates `x`, laid out as for [`infer`](Transformer::infer), so that gradients can be asked for; `dropout_seed` switches
    /// training mode on.
    pub fn pass<'a>(&'a self, x: &[f32], lengths: &'a [usize], dropout_seed: Option<u64>) -> TransformerPass<'a> {
        let job = Job::new(&self.spec, lengths, Mode::Keep(dropout_seed));
        let (mut saved, mut out) = (job.room(), vec![0.0; x.len()]);
        passes::forward(&job, x, self.params.as_slice(), &mut saved, &mut out);
        TransformerPass { net: self, job, saved, out }
    }
}

impl TransformerPass<'_> {
    /// `[tokens, width]`
    pub fn outputs(&self) -> &[f32] {
        &self.out
    }

    /// Turns `gradient`, that of the outputs, into that of the tokens; gives the gradient of the parameters.
    ///
    /// # Panics
    /// When there is not one number for each output: a mistake in the calling code.
    pub fn backward(mut self, gradient: &mut [f32]) -> Pooled {
        let mut by_params = Pooled::new(self.net.params.as_slice().len());
        passes::backward(&self.job, self.net.params.as_slice(), &mut self.saved, gradient, &mut by_params);
        by_params
    }
}
