//! Recurrent networks, step by step.

use super::{CellKind, RecurrentSpec};
use crate::burn::tensor::Tensor;
use crate::burn::tensor::activation::{sigmoid, tanh};
use crate::composed::part;
use crate::tensors::leaf_on;

/// Outputs `[steps, rows, hidden]` and the final state `[rows, state width]`; see `Recurrent::infer` for the shapes.
pub fn recurrent(
    spec: &RecurrentSpec,
    x: Tensor<3>,
    params: Tensor<2>,
    resets: &[bool],
    state: Tensor<2>,
) -> (Tensor<3>, Tensor<2>) {
    let ([steps, rows, inputs], hidden, device) = (x.dims(), spec.hidden, params.device());
    assert_eq!(resets.len(), steps * rows, "one reset per row and step");
    let weights = spec.layout().into_iter().map(|tensor| {
        let width = tensor.shape[0];
        part(&params, &tensor).reshape([tensor.len() / width, width])
    });
    let [w_input, w_hidden, b_input, b_hidden]: [Tensor<2>; 4] =
        weights.collect::<Vec<_>>().try_into().expect("a recurrent network has four tensors");
    let gate = |all: &Tensor<2>, index: usize| all.clone().slice([0..rows, index * hidden..(index + 1) * hidden]);
    let mut h = state.clone().slice([0..rows, 0..hidden]);
    let mut c = (spec.kind == CellKind::Lstm).then(|| state.slice([0..rows, hidden..2 * hidden]));
    let mut outputs = Vec::with_capacity(steps);
    for (step, resets) in resets.chunks_exact(rows.max(1)).enumerate() {
        let keep: Vec<f32> = resets.iter().map(|reset| if *reset { 0.0 } else { 1.0 }).collect();
        let keep = leaf_on(&keep, [rows, 1], &device);
        h = h * keep.clone();
        let now = x.clone().slice([step..step + 1, 0..rows, 0..inputs]).reshape([rows, inputs]);
        let from_x = now.matmul(w_input.clone()) + b_input.clone();
        let from_h = h.clone().matmul(w_hidden.clone()) + b_hidden.clone();
        if let Some(cell) = c.take() {
            let all = from_x + from_h;
            let (i, f) = (sigmoid(gate(&all, 0)), sigmoid(gate(&all, 1)));
            let cell = f * cell * keep + i * tanh(gate(&all, 2));
            h = sigmoid(gate(&all, 3)) * tanh(cell.clone());
            c = Some(cell);
        } else {
            let r = sigmoid(gate(&from_x, 0) + gate(&from_h, 0));
            let z = sigmoid(gate(&from_x, 1) + gate(&from_h, 1));
            let n = tanh(gate(&from_x, 2) + r * gate(&from_h, 2));
            h = n.clone() + z * (h - n);
        }
        outputs.push(h.clone());
    }
    let last = [Some(h), c].into_iter().flatten().collect();
    (Tensor::stack(outputs, 0), Tensor::cat(last, 1))
}
