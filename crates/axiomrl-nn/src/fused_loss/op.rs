//! A node whose local gradients are known when it is made: backward only scales them.

use crate::burn::backend::Flex;
use crate::burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use crate::burn::backend::autodiff::grads::Gradients;
use crate::burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use crate::burn::tensor::Tensor;
use crate::kernels::vector::scale;
use crate::tensors::{GraphTensor, Values, graph, wrap};

/// The gradient of the scalar result with respect to each input, and the inputs' shapes.
#[derive(Clone, Debug)]
struct Local<const N: usize> {
    gradients: [Vec<f32>; N],
    shapes: [Vec<usize>; N],
}

#[derive(Debug)]
struct ScaleGradients;

impl<const N: usize> Backward<Flex, N> for ScaleGradients {
    type State = Local<N>;

    fn backward(self, ops: Ops<Local<N>, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let factor = Values::new(grads.consume::<Flex>(&ops.node))[0];
        let Local { gradients, shapes } = ops.state;
        for ((node, mut gradient), shape) in ops.parents.into_iter().zip(gradients).zip(shapes) {
            let Some(node) = node else { continue };
            if factor != 1.0 {
                scale(&mut gradient, factor);
            }
            grads.register::<Flex>(node.id, wrap(gradient, &shape));
        }
    }
}

/// A scalar node over `inputs`, whose value and local gradients `f` computes at once.
pub fn scaled_node<const N: usize, const D: usize>(
    inputs: [Tensor<D>; N],
    f: impl FnOnce([&[f32]; N]) -> (f32, [Vec<f32>; N]),
) -> GraphTensor {
    let (mut tensors, mut nodes) = (Vec::with_capacity(N), Vec::with_capacity(N));
    for input in inputs {
        let (tensor, node) = graph(input).into_parts();
        tensors.push(Values::new(tensor));
        nodes.push(node);
    }
    let slices: [&[f32]; N] = std::array::from_fn(|i| &*tensors[i]);
    let (value, gradients) = f(slices);
    for (gradient, input) in gradients.iter().zip(&tensors) {
        assert_eq!(gradient.len(), input.len(), "a gradient must be as long as its input");
    }
    let shapes = std::array::from_fn(|i| tensors[i].shape().to_vec());
    let out = wrap(vec![value], &[1]);
    let nodes = nodes.try_into().unwrap_or_else(|_| unreachable!("one node per input"));
    match Backward::<Flex, N>::prepare::<NoCheckpointing>(ScaleGradients, nodes).compute_bound().stateful() {
        OpsKind::Tracked(prep) => prep.finish(Local { gradients, shapes }, out),
        OpsKind::UnTracked(prep) => prep.finish(out),
    }
}
