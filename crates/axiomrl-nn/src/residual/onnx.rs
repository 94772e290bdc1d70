//! The residual encoder as nodes of an ONNX graph.

use super::ResidualNet;
use crate::images::onnx::{Tensors, channels_first, to_rows};
use axiomrl_onnx::{Attribute, Graph, Value};

impl ResidualNet {
    /// Features `[images, features]` of images `[images, height·width·channels]`, whose pixels lie in 0..1.
    pub fn onnx(&self, graph: &mut Graph, x: Value) -> Value {
        let spec = &self.spec;
        let pool = [
            ("kernel_shape", Attribute::Ints(&[3, 3])),
            ("strides", Attribute::Ints(&[2, 2])),
            ("pads", Attribute::Ints(&[1; 4])),
        ];
        let mut tensors = Tensors::new(&spec.layout(), self.params.as_slice());
        let mut h = channels_first(graph, x, spec.input);
        for _ in &spec.channels {
            h = tensors.convolve(graph, h, 1, 1);
            h = graph.node("MaxPool", &[h], &pool);
            for _ in 0..spec.blocks {
                let open = graph.relu(h);
                let hidden = tensors.convolve(graph, open, 1, 1);
                let hidden = graph.relu(hidden);
                let change = tensors.convolve(graph, hidden, 1, 1);
                h = graph.add(h, change);
            }
        }
        let rows = to_rows(graph, h, spec.plan().1.inputs);
        let rows = graph.relu(rows);
        let features = tensors.linear(graph, rows);
        if spec.relu_features { graph.relu(features) } else { features }
    }
}
