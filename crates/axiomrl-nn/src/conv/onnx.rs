//! A stack of convolutions as nodes of an ONNX graph.

use super::ConvNet;
use crate::images::onnx::{Tensors, channels_first, to_rows};
use crate::onnx::{activate, rms_norm};
use axiomrl_onnx::{Graph, Value};

impl ConvNet {
    /// Features `[images, features]` of images `[images, height·width·channels]`, whose pixels lie in 0..1.
    pub fn onnx(&self, graph: &mut Graph, x: Value) -> Value {
        let spec = &self.spec;
        let mut tensors = Tensors::new(&spec.layout(), self.params.as_slice());
        let mut h = channels_first(graph, x, spec.input);
        for layer in &spec.layers {
            h = tensors.convolve(graph, h, layer.stride, layer.padding);
            if spec.rms_norm {
                let (_, scale) = tensors.tensor();
                let scale = graph.floats(&[1, scale.len(), 1, 1], &scale);
                h = rms_norm(graph, h, 1, scale);
            }
            h = activate(graph, h, spec.activation);
        }
        to_rows(graph, h, spec.features())
    }
}
