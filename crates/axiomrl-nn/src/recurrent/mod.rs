//! LSTM and GRU over whole sequences, on flat parameters.

pub(crate) mod composed;
mod onnx;
mod op;
mod passes;

use crate::buffers::{self, Pooled};
use crate::burn::tensor::Tensor;
use crate::layout::TensorLayout;
use crate::named::NamedTensors;
use crate::params::Params;
use crate::tensors::{into_graph, on_fused_device, values};
use op::recurrent;
use passes::Job;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The kind of recurrent cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellKind {
    /// Long short-term memory; gates in PyTorch's order i, f, g, o. The state row is h, then c.
    Lstm,
    /// Gated recurrent unit as PyTorch has it; gates r, z, n. The state row is h.
    Gru,
}

/// The shape of a one-layer recurrent network.
///
/// Flat layout: input weight `[inputs, gates·hidden]`, hidden weight `[hidden, gates·hidden]`, and PyTorch's pair of biases, the
/// input's and the hidden state's, each `[gates·hidden]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecurrentSpec {
    /// The cell.
    pub kind: CellKind,
    /// Width of the input row.
    pub inputs: usize,
    /// Width of the output row.
    pub hidden: usize,
}

impl RecurrentSpec {
    /// A network of one cell.
    pub fn new(kind: CellKind, inputs: usize, hidden: usize) -> Self {
        Self { kind, inputs, hidden }
    }

    /// Width of a state row: h and c for an LSTM, h for a GRU.
    pub fn state_width(&self) -> usize {
        match self.kind {
            CellKind::Lstm => 2 * self.hidden,
            CellKind::Gru => self.hidden,
        }
    }

    /// Number of parameters.
    pub fn param_count(&self) -> usize {
        (self.inputs + self.hidden + 2) * self.gates()
    }

    /// Floating-point operations of a forward pass over `rows` rows, all steps counted.
    pub fn flops(&self, rows: usize) -> usize {
        2 * rows * (self.inputs + self.hidden) * self.gates()
    }

    /// The named tensors inside the flat vector, with PyTorch's names.
    pub fn layout(&self) -> Vec<TensorLayout> {
        let gates = self.gates();
        let mut offset = 0;
        let mut tensor = |name: &str, shape: Vec<usize>| {
            let start = offset;
            offset += shape.iter().product::<usize>();
            TensorLayout { name: name.into(), offset: start, transposed: shape.len() > 1, shape }
        };
        vec![
            tensor("weight_ih_l0", vec![gates, self.inputs]),
            tensor("weight_hh_l0", vec![gates, self.hidden]),
            tensor("bias_ih_l0", vec![gates]),
            tensor("bias_hh_l0", vec![gates]),
        ]
    }

    /// Width of all gates of a row.
    pub(crate) fn gates(&self) -> usize {
        match self.kind {
            CellKind::Lstm => 4 * self.hidden,
            CellKind::Gru => 3 * self.hidden,
        }
    }
}

/// A recurrent network: its shape and its parameters.
#[derive(Clone, Debug)]
pub struct Recurrent {
    /// The shape.
    pub spec: Arc<RecurrentSpec>,
    /// Parameters `[1, parameters]`.
    pub params: Params,
}

impl Recurrent {
    /// All parameters uniform in ±1/√hidden, PyTorch's default.
    pub fn new(spec: RecurrentSpec, rng: &mut ChaCha8Rng) -> Self {
        let bound = 1.0 / (spec.hidden.max(1) as f32).sqrt();
        let values = (0..spec.param_count()).map(|_| bound * (2.0 * rng.random::<f32>() - 1.0)).collect();
        Self { params: Params::from_vec(1, spec.param_count(), values), spec: Arc::new(spec) }
    }

    /// Evaluates without a graph: acting (one step), targets, burn-in.
    ///
    /// Time-major: `x` `[steps, rows, inputs]`; `resets` `[steps, rows]`, where `true` zeroes the row's state *before* that
    /// step; `state` `[rows, state width]` holds the initial state and then the final one. `out` is resized to
    /// `[steps, rows, hidden]`.
    ///
    /// # Panics
    /// When a slice does not fit: a mistake in the calling code.
    pub fn infer(&self, x: &[f32], steps: usize, rows: usize, resets: &[bool], state: &mut [f32], out: &mut Vec<f32>) {
        let job = Job { spec: &self.spec, steps, rows, resets };
        buffers::resize(out, steps * rows * self.spec.hidden);
        let mut saved = Pooled::new(job.saved_len());
        passes::forward(job, x, self.params.as_slice(), state, &mut saved, out);
    }

    /// Evaluates as one graph node: see [`infer`](Self::infer) for the shapes.
    ///
    /// `params` comes from `self.params.tracked()` or `.frozen()`. The gradient also flows into `x` and the initial `state`
    /// where those are tracked.
    pub fn forward(&self, x: Tensor<3>, params: Tensor<2>, resets: &[bool], state: Tensor<2>) -> Tensor<3> {
        self.forward_with_state(x, params, resets, state).0
    }

    /// As [`forward`](Self::forward), also returning the final state's values, outside the graph.
    pub fn forward_with_state(
        &self,
        x: Tensor<3>,
        params: Tensor<2>,
        resets: &[bool],
        state: Tensor<2>,
    ) -> (Tensor<3>, Vec<f32>) {
        if !on_fused_device(&params) {
            let (out, last) = composed::recurrent(&self.spec, x, params, resets, state);
            return (out, values(&last).to_vec());
        }
        let (out, last) = recurrent(self.spec.clone(), x, params, resets, state);
        (into_graph(out), last)
    }
}

/// Names and layout are PyTorch's (`weight_ih_l0` `[gates·hidden, inputs]` …).
impl NamedTensors for Recurrent {
    fn tensors(&self) -> (Vec<TensorLayout>, &Params) {
        (self.spec.layout(), &self.params)
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}
