//! What networks of several kinds have in common as nodes of an ONNX graph.

use crate::kernels::activation::Activation;
use crate::kernels::rms_norm::EPSILON;
use axiomrl_onnx::{Attribute, Graph, Value};

pub(crate) fn activate(graph: &mut Graph, x: Value, kind: Activation) -> Value {
    match kind {
        Activation::Identity => x,
        Activation::Relu => graph.relu(x),
        Activation::Tanh => graph.tanh(x),
        Activation::Elu => graph.node("Elu", &[x], &[]),
        Activation::Silu => {
            let open = graph.sigmoid(x);
            graph.mul(x, open)
        }
    }
}

/// LayerNorm over the last axis.
pub(crate) fn layer_norm(graph: &mut Graph, x: Value, scale: &[f32], shift: &[f32], epsilon: f32) -> Value {
    let (scale, shift) = (graph.floats(&[scale.len()], scale), graph.floats(&[shift.len()], shift));
    graph.node("LayerNormalization", &[x, scale, shift], &[("epsilon", Attribute::Float(epsilon))])
}

/// RMSNorm over one axis; `scale` comes with the shape in which it goes with `x`.
pub(crate) fn rms_norm(graph: &mut Graph, x: Value, axis: i64, scale: Value) -> Value {
    let squares = graph.mul(x, x);
    let mean = graph.mean(squares, axis);
    let mean = graph.add_scalar(mean, EPSILON);
    let root = graph.sqrt(mean);
    let normal = graph.div(x, root);
    graph.mul(normal, scale)
}
