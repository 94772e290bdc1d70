//! Recurrent state-space models, the heart of Dreamer's world models, on flat parameters.
//!
//! A model is looked at in three ways. Over windows of what was observed it is *observed*, with gradients through time
//! ([`Rssm::observe`]) or step by step without ([`Rssm::step`], for acting). Ahead of what was observed it *imagines*
//! ([`Rssm::imagine`]), and where an actor learns through the model itself it *dreams* ([`Rssm::dream`]), which can be gone back
//! through to the actions.

mod cell;
pub(crate) mod composed;
mod dense;
mod dream;
mod head;
mod imagine;
mod init;
mod kl;
mod latent;
mod onnx;
mod op;
mod pass;
mod plan;
mod sequence;
mod spec;

pub use dream::Dream;
pub use imagine::Imagination;
pub use kl::{FreeNats, KlSides, KlValues, LatentKl};
pub use latent::Latent;
pub use pass::RssmPass;
pub use spec::{RssmCore, RssmSpec};

use crate::burn::tensor::Tensor;
use crate::layout::TensorLayout;
use crate::named::NamedTensors;
use crate::params::Params;
use crate::tensors::on_fused_device;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// A recurrent state-space model: its shape and its parameters.
#[derive(Clone, Debug)]
pub struct Rssm {
    /// The shape.
    pub spec: Arc<RssmSpec>,
    /// Parameters `[1, parameters]`.
    pub params: Params,
}

/// Windows of what was observed, without the tokens: `rows` sequences of `steps` steps, time-major.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// Length of the sequences.
    pub steps: usize,
    /// How many sequences.
    pub rows: usize,
    /// `[steps, rows, actions]`: the action that *led to* each step, taken in the one before.
    pub actions: &'a [f32],
    /// `[steps, rows]`: whether an episode begins with this step, which then knows nothing of the state and the action before.
    pub is_first: &'a [bool],
    /// `[steps, rows, noise]`: random numbers for the latents, see [`Latent::draw_noise`].
    pub noise: &'a [f32],
    /// `[rows, features]`: the states before the first step, taken as constants; zeros where there was none.
    pub start: &'a [f32],
}

/// What a model made of windows; row `step · rows + row`.
#[derive(Clone, Debug)]
pub struct Observed {
    /// States `[steps · rows, features]`: the deterministic part, then the latent.
    pub features: Tensor<2>,
    /// Statistics of the latents that were drawn, which saw the tokens.
    pub posterior: Tensor<2>,
    /// Statistics of what was expected before the tokens were seen.
    pub prior: Tensor<2>,
}

impl Rssm {
    /// A model drawn as its version of Dreamer does: Glorot's uniform weights (the recurrent ones of the plain GRU orthogonal), or
    /// truncated normal ones for the GRU in blocks; biases 0.
    pub fn new(spec: RssmSpec, rng: &mut ChaCha8Rng) -> Self {
        let values = init::draw(&spec, rng);
        Self { params: Params::from_vec(1, spec.param_count(), values), spec: Arc::new(spec) }
    }

    /// Looks at windows: `tokens` `[steps · rows, tokens]`, `params` from `self.params.tracked()` or `.frozen()`.
    ///
    /// All three outputs carry gradients into the parameters and, where tracked, the tokens; they are gone back through together,
    /// once. A latent's gradient passes its draw: reparametrised if Gaussian, straight-through if categorical.
    ///
    /// # Panics
    /// When something does not fit the window: a mistake in the calling code.
    pub fn observe(&self, tokens: Tensor<2>, params: Tensor<2>, window: Window<'_>) -> Observed {
        if !on_fused_device(&params) {
            return composed::observe(&self.spec, tokens, params, window);
        }
        op::observe(self.spec.clone(), tokens, params, window)
    }
}

impl NamedTensors for Rssm {
    fn tensors(&self) -> (Vec<TensorLayout>, &Params) {
        (self.spec.layout(), &self.params)
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}
