//! A loss as one node of the graph, whatever its formula. Formulas ready for use are in [`losses`](crate::losses).

pub(crate) mod composed;
mod op;

use crate::burn::tensor::Tensor;
use crate::tensors::{into_graph, on_fused_device};
use op::scaled_node;

/// A scalar loss computed by plain code.
///
/// `f` gets the inputs' values and returns the loss with its derivative with respect to every input value, in the same
/// order and length. The node keeps them and scales them by the incoming gradient, so a loss costs one graph node
/// whatever its formula. It is finite-difference checkable: see this crate's tests.
///
/// # Panics
/// When a returned gradient has another length than its input: a mistake in `f`.
pub fn fused_loss<const N: usize, const D: usize>(
    inputs: [Tensor<D>; N],
    f: impl FnOnce([&[f32]; N]) -> (f32, [Vec<f32>; N]),
) -> Tensor<1> {
    if !inputs.iter().all(on_fused_device) {
        return composed::loss(inputs, f);
    }
    into_graph(scaled_node(inputs, f))
}
