//! Multi-layer perceptrons as nodes of an ONNX graph.

use super::{Layer, Mlp};
use crate::kernels::layer_norm::EPSILON;
use crate::onnx::{activate, layer_norm, rms_norm};
use axiomrl_onnx::{Graph, Value};

impl Mlp {
    /// What the first member makes of `x` `[..., inputs]`, without dropout: `[..., outputs]`.
    pub fn onnx(&self, graph: &mut Graph, x: Value) -> Value {
        let params = &self.params.as_slice()[..self.params.per_member()];
        self.spec.layers().fold(x, |x, layer| onnx_layer(graph, x, &layer, &params[layer.offset..]))
    }
}

/// `params` begin with those of the layer: weight, bias, and the norm's scale and shift.
fn onnx_layer(graph: &mut Graph, x: Value, layer: &Layer, params: &[f32]) -> Value {
    let width = layer.outputs;
    let (weight, vectors) = params.split_at(layer.weights());
    let vector = |index: usize| &vectors[index * width..(index + 1) * width];
    let norm = |graph: &mut Graph, x: Value| match (layer.normed, layer.rms) {
        (false, _) => x,
        (true, false) => layer_norm(graph, x, vector(1), vector(2), EPSILON),
        (true, true) => {
            let scale = graph.floats(&[width], vector(1));
            rms_norm(graph, x, -1, scale)
        }
    };
    let sums = graph.linear(x, (layer.inputs, width), weight, vector(0));
    if layer.norm_after {
        let activated = activate(graph, sums, layer.activation);
        return norm(graph, activated);
    }
    let normal = norm(graph, sums);
    activate(graph, normal, layer.activation)
}
