//! Windows gone through without a graph.

use super::plan::Plan;
use super::sequence::{self, ChunkTrace, Job, Results, Upstream};
use super::{Rssm, Window};
use crate::buffers::Pooled;

/// What a model made of windows, and what its backward pass needs of how that came about.
pub struct RssmPass<'a> {
    model: &'a Rssm,
    plan: Plan,
    window: Window<'a>,
    tokens: &'a [f32],
    features: Pooled,
    posterior: Pooled,
    prior: Pooled,
    traces: Vec<ChunkTrace>,
}

impl Rssm {
    /// Looks at windows as [`observe`](Self::observe) does, to the same bits, so that gradients can be asked for by hand.
    ///
    /// # Panics
    /// When something does not fit the window: a mistake in the calling code.
    pub fn pass<'a>(&'a self, tokens: &'a [f32], window: Window<'a>) -> RssmPass<'a> {
        let (spec, plan, total) = (&*self.spec, self.spec.plan(), window.steps * window.rows);
        let mut features = Pooled::new(total * spec.features());
        let (mut posterior, mut prior) =
            (Pooled::new(total * spec.latent.stats()), Pooled::new(total * spec.latent.stats()));
        let results = Results { features: &mut features, posterior: &mut posterior, prior: &mut prior };
        let traces = sequence::forward(Job::new(spec, &plan, window), tokens, self.params.as_slice(), results);
        RssmPass { model: self, plan, window, tokens, features, posterior, prior, traces }
    }
}

impl RssmPass<'_> {
    /// States `[steps · rows, features]`.
    pub fn features(&self) -> &[f32] {
        &self.features
    }

    /// The posteriors' statistics.
    pub fn posterior(&self) -> &[f32] {
        &self.posterior
    }

    /// The priors' statistics.
    pub fn prior(&self) -> &[f32] {
        &self.prior
    }

    /// The gradients of the parameters and of the tokens, given those of the results; an empty one stands for zeros.
    pub fn gradients(&self, by_features: &[f32], by_posterior: &[f32], by_prior: &[f32]) -> (Pooled, Pooled) {
        let given = [(by_features, &self.features), (by_posterior, &self.posterior), (by_prior, &self.prior)];
        let fits = given.iter().all(|(grad, values)| grad.is_empty() || grad.len() == values.len());
        assert!(fits, "a gradient for every number, or none");
        let params = self.model.params.as_slice();
        let (mut grad_params, mut grad_tokens) = (Pooled::new(params.len()), Pooled::new(self.tokens.len()));
        let job = Job::new(&self.model.spec, &self.plan, self.window);
        let upstream = Upstream { features: by_features, posterior: by_posterior, prior: by_prior };
        let (dp, dt) = (Some(&mut grad_params[..]), Some(&mut grad_tokens[..]));
        sequence::backward(job, self.tokens, params, &self.traces, upstream, dp, dt);
        (grad_params, grad_tokens)
    }
}
