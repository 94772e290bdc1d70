//! A forward pass that can be gone back through without a graph.
//!
//! Where a loss depends on one network alone there is nothing for a graph to connect: the same kernels run as in the op, to
//! the same bits, and the cost of nodes, which is a good part of an update of a small network, is saved.

use super::Mlp;
use super::passes::{self, Input, Job, Trace};
use crate::buffers::Pooled;
use crate::kernels::activation::Activation;
use crate::kfac::Captured;

/// The outputs of a network, and what its backward pass needs of how they came about.
pub struct MlpPass<'a> {
    net: &'a Mlp,
    x: &'a [f32],
    rows: usize,
    dropout_seed: Option<u64>,
    saved: Pooled,
    out: Pooled,
}

impl Mlp {
    /// Evaluates `x`, laid out as for [`infer`](Mlp::infer), so that gradients can be asked for.
    pub fn pass<'a>(&'a self, x: &'a [f32], rows: usize, dropout_seed: Option<u64>) -> MlpPass<'a> {
        let members = self.params.members();
        let job = Job { spec: &self.spec, members, rows, dropout_seed };
        let mut saved = Pooled::new(members * passes::saved_len(&self.spec, rows, true));
        let mut out = Pooled::new(members * rows * self.spec.outputs);
        let input = Input::by_len(x, members, rows, self.spec.inputs);
        passes::forward(job, input, self.params.as_slice(), &mut saved, &mut out);
        MlpPass { net: self, x, rows, dropout_seed, saved, out }
    }
}

impl MlpPass<'_> {
    /// `[members, rows, out]`
    pub fn outputs(&self) -> &[f32] {
        &self.out
    }

    /// The gradient of the parameters, given that of the outputs.
    pub fn params_gradient(&self, by_outputs: &[f32]) -> Pooled {
        let mut gradient = Pooled::new(self.net.params.as_slice().len());
        self.backward(by_outputs, Some(&mut gradient), None);
        gradient
    }

    /// The gradient of the input, given that of the outputs, in the layout of the input.
    pub fn input_gradient(&self, by_outputs: &[f32]) -> Pooled {
        let mut gradient = Pooled::new(self.x.len());
        self.backward(by_outputs, None, Some(&mut gradient));
        gradient
    }

    /// Both at once, in one way back: of the parameters, and of the input.
    pub fn gradients(&self, by_outputs: &[f32]) -> (Pooled, Pooled) {
        let (mut params, mut x) = (Pooled::new(self.net.params.as_slice().len()), Pooled::new(self.x.len()));
        self.backward(by_outputs, Some(&mut params), Some(&mut x));
        (params, x)
    }

    /// The gradient by the parameters of `Σ along · slope`, where the slope is what [`input_gradient`](Self::input_gradient) gives
    /// for `by_outputs`, and `along` a direction for each row, in the layout of the input. Exact, and the cost of a backward
    /// pass.
    ///
    /// # Panics
    /// Unless the network is piecewise linear ([`MlpSpec::is_piecewise_linear`](crate::MlpSpec::is_piecewise_linear)) up to
    /// linear outputs: others bend, and would need a second derivative.
    pub fn slope_gradient(&self, by_outputs: &[f32], along: &[f32]) -> Pooled {
        let (net, rows) = (self.net, self.rows);
        let members = net.params.members();
        let linear = net.spec.is_piecewise_linear() && net.spec.output_activation == Activation::Identity;
        assert!(linear, "slopes of a network that bends");
        assert_eq!((by_outputs.len(), along.len()), (self.out.len(), self.x.len()), "a number for each");
        let job = Job { spec: &net.spec, members, rows, dropout_seed: None };
        let along = Input::by_len(along, members, rows, net.spec.inputs);
        let trace = Trace { params: net.params.as_slice(), saved: &self.saved, out: &self.out, grad_out: by_outputs };
        let mut gradient = Pooled::new(net.params.as_slice().len());
        passes::slopes(job, along, trace, &mut gradient);
        gradient
    }

    /// How the outputs move when the parameters move along a direction, `[members, rows, out]`: the Jacobian times `along`. Exact,
    /// and the cost of two forward passes.
    ///
    /// # Panics
    /// For a network with LayerNorm or dropout.
    pub fn tangent(&self, along: &[f32]) -> Pooled {
        let (net, rows) = (self.net, self.rows);
        let (spec, members) = (&net.spec, net.params.members());
        assert!(!spec.layer_norm && !spec.output_layer_norm && self.dropout_seed.is_none(), "no tangent through norms");
        assert_eq!(along.len(), net.params.as_slice().len(), "a number for each parameter");
        let job = Job { spec, members, rows, dropout_seed: None };
        let input = Input::by_len(self.x, members, rows, spec.inputs);
        let trace = Trace { params: net.params.as_slice(), saved: &self.saved, out: &self.out, grad_out: &[] };
        let mut tangent = Pooled::new(self.out.len());
        passes::tangents(job, input, trace, along, &mut tangent);
        tangent
    }

    /// What goes into each layer and the gradient at its linear outputs, row by row, given that of the network's outputs.
    ///
    /// # Panics
    /// For an ensemble, and for a network with LayerNorm or dropout.
    pub fn captures(&self, by_outputs: &[f32]) -> Vec<Captured> {
        let (net, rows) = (self.net, self.rows);
        let plain = !net.spec.layer_norm && !net.spec.output_layer_norm && self.dropout_seed.is_none();
        assert!(plain && net.params.members() == 1, "layers of a single plain network");
        assert_eq!(by_outputs.len(), self.out.len(), "a gradient for every output");
        let job = Job { spec: &net.spec, members: 1, rows, dropout_seed: None };
        let trace = Trace { params: net.params.as_slice(), saved: &self.saved, out: &self.out, grad_out: by_outputs };
        passes::captures(job, Input::Shared(self.x), trace)
    }

    fn backward(&self, by_outputs: &[f32], params: Option<&mut [f32]>, x: Option<&mut [f32]>) {
        let (net, rows) = (self.net, self.rows);
        let members = net.params.members();
        assert_eq!(by_outputs.len(), self.out.len(), "a gradient for every output");
        let job = Job { spec: &net.spec, members, rows, dropout_seed: self.dropout_seed };
        let input = Input::by_len(self.x, members, rows, net.spec.inputs);
        let trace = Trace { params: net.params.as_slice(), saved: &self.saved, out: &self.out, grad_out: by_outputs };
        passes::backward(job, input, trace, params, x);
    }
}
