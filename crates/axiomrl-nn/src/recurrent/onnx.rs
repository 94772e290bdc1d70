//! One step of an LSTM or GRU as nodes of an ONNX graph, whose gates have another order: i, o, f, c and z, r, h.

use super::{CellKind, Recurrent};
use crate::named::NamedTensors;
use axiomrl_onnx::{Attribute, Graph, Value};

impl Recurrent {
    /// Outputs `[rows, hidden]` of one step and the state after it, for `x` `[rows, inputs]` and the state `[rows, state width]`.
    pub fn onnx(&self, graph: &mut Graph, x: Value, state: Value) -> (Value, Value) {
        let (spec, hidden) = (&self.spec, self.spec.hidden);
        let order: &[usize] = match spec.kind {
            CellKind::Lstm => &[0, 3, 1, 2],
            CellKind::Gru => &[1, 0, 2],
        };
        let mut tensors = Vec::new();
        self.export("", &mut |_, _, values| tensors.push(reordered(&values, order, hidden)));
        let gates = order.len() * hidden;
        let biases = tensors[2..].concat();
        let weight = graph.floats(&[1, gates, spec.inputs], &tensors[0]);
        let recurrence = graph.floats(&[1, gates, hidden], &tensors[1]);
        let bias = graph.floats(&[1, 2 * gates], &biases);

        let x = graph.reshape(x, &[1, -1, spec.inputs as i64]);
        let mut part = |index: usize| {
            let columns = graph.columns(state, index * hidden..(index + 1) * hidden, spec.state_width());
            graph.reshape(columns, &[1, -1, hidden as i64])
        };
        let h = part(0);
        let size = ("hidden_size", Attribute::Int(hidden as i64));
        let inputs = [x, weight, recurrence, bias].map(Some);
        let flat = |graph: &mut Graph, value: Value| graph.reshape(value, &[-1, hidden as i64]);
        match spec.kind {
            CellKind::Lstm => {
                let c = part(1);
                let inputs = [&inputs[..], &[None, Some(h), Some(c)]].concat();
                let [_, h, c] = graph.node_with("LSTM", &inputs, &[size]);
                let (h, c) = (flat(graph, h), flat(graph, c));
                (h, graph.concat(&[h, c]))
            }
            CellKind::Gru => {
                let inputs = [&inputs[..], &[None, Some(h)]].concat();
                let inside = ("linear_before_reset", Attribute::Int(1));
                let [_, h] = graph.node_with("GRU", &inputs, &[size, inside]);
                let h = flat(graph, h);
                (h, h)
            }
        }
    }
}

/// Blocks of rows, `hidden` for each gate, in another order.
fn reordered(values: &[f32], order: &[usize], hidden: usize) -> Vec<f32> {
    let block = values.len() / order.len();
    debug_assert_eq!(block % hidden, 0, "gates are whole rows");
    order.iter().flat_map(|&gate| &values[gate * block..(gate + 1) * block]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_change_places_as_whole_rows() {
        let values: Vec<f32> = (0..16).map(|v| v as f32).collect();
        let moved = reordered(&values, &[0, 3, 1, 2], 2);
        assert_eq!(moved[..8], [0.0, 1.0, 2.0, 3.0, 12.0, 13.0, 14.0, 15.0]);
        assert_eq!(moved[8..], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    }
}
