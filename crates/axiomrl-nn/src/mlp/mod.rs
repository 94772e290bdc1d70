//! A multi-layer perceptron, or an ensemble of them, on flat parameters.

pub(crate) mod composed;
mod onnx;
mod op;
mod pass;
mod passes;
mod spec;

pub use pass::MlpPass;
pub(crate) use spec::Layer;
pub use spec::MlpSpec;

use crate::buffers::{self, Pooled};
use crate::burn::tensor::Tensor;
use crate::init::Init;
use crate::layout::TensorLayout;
use crate::named::NamedTensors;
use crate::params::Params;
use crate::tensors::on_fused_device;
use op::{MlpCall, mlp};
use passes::{Input, Job};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// A network ensemble: its shape and its parameters.
#[derive(Clone, Debug)]
pub struct Mlp {
    /// The shape all members share.
    pub spec: Arc<MlpSpec>,
    /// Parameters `[members, parameters]`.
    pub params: Params,
}

impl Mlp {
    /// `members` networks of the same shape, drawn from `rng` one after another.
    pub fn new(spec: MlpSpec, members: usize, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        let params = Params::from_vec(members, spec.param_count(), init.draw(&spec, members, rng));
        Self { spec: Arc::new(spec), params }
    }

    /// Evaluates without a graph: acting, targets, evaluation.
    ///
    /// `x` is `[rows, in]` shared by all members, or `[members, rows, in]`, told apart by its length. `out` is resized
    /// to `[members, rows, out]`.
    pub fn infer(&self, x: &[f32], rows: usize, out: &mut Vec<f32>) {
        self.run(x, rows, None, out);
    }

    /// As [`infer`](Self::infer) in training mode: dropout masks come from `seed`.
    pub fn infer_dropout(&self, x: &[f32], rows: usize, seed: u64, out: &mut Vec<f32>) {
        self.run(x, rows, Some(seed), out);
    }

    /// What the last hidden layer makes of `x` `[rows, in]`: the features that the outputs are linear in. Without hidden
    /// layers, `x` itself.
    ///
    /// # Panics
    /// For an ensemble.
    pub fn infer_features(&self, x: &[f32], rows: usize, out: &mut Vec<f32>) {
        assert_eq!(self.params.members(), 1, "features of an ensemble");
        let Some(spec) = self.spec.without_output() else {
            out.clear();
            return out.extend_from_slice(x);
        };
        out.resize(rows * spec.outputs, 0.0);
        // The parameters lie layer after layer: those of the output come last.
        let params = &self.params.as_slice()[..spec.param_count()];
        let mut between = Pooled::new(passes::saved_len(&spec, rows, false));
        let job = Job { spec: &spec, members: 1, rows, dropout_seed: None };
        passes::forward(job, Input::Shared(x), params, &mut between, out);
    }

    fn run(&self, x: &[f32], rows: usize, dropout_seed: Option<u64>, out: &mut Vec<f32>) {
        let members = self.params.members();
        buffers::resize(out, members * rows * self.spec.outputs);
        let job = Job { spec: &self.spec, members, rows, dropout_seed };
        let mut between = Pooled::new(members * passes::saved_len(&self.spec, rows, false));
        let input = Input::by_len(x, members, rows, self.spec.inputs);
        passes::forward(job, input, self.params.as_slice(), &mut between, out);
    }

    /// Evaluates as one graph node: `x` `[rows, in]` shared by all members, result `[members, rows, out]`.
    ///
    /// `params` comes from `self.params.tracked()` or `.frozen()`; `dropout_seed` switches training mode on.
    pub fn forward(&self, x: Tensor<2>, params: Tensor<2>, dropout_seed: Option<u64>) -> Tensor<3> {
        if !on_fused_device(&params) {
            return composed::mlp(&self.spec, x.unsqueeze(), params, dropout_seed);
        }
        mlp(x.autodiff(), params.autodiff(), MlpCall { spec: self.spec.clone(), dropout_seed })
    }

    /// As [`forward`](Self::forward) with an input of its own for each member: `x` `[members, rows, in]`.
    pub fn forward_members(&self, x: Tensor<3>, params: Tensor<2>, dropout_seed: Option<u64>) -> Tensor<3> {
        if !on_fused_device(&params) {
            return composed::mlp(&self.spec, x, params, dropout_seed);
        }
        mlp(x.autodiff(), params.autodiff(), MlpCall { spec: self.spec.clone(), dropout_seed })
    }
}

impl NamedTensors for Mlp {
    fn tensors(&self) -> (Vec<TensorLayout>, &Params) {
        (self.spec.layout(), &self.params)
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}
