//! A whole network over images as one node of the autodiff graph.

use super::passes::{self, ImageNetwork, Kept, Pixels};
use crate::buffers;
use crate::burn::backend::Flex;
use crate::burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use crate::burn::backend::autodiff::grads::Gradients;
use crate::burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use crate::burn::tensor::Tensor;
use crate::tensors::{GraphTensor, Values, graph, wrap};
use std::marker::PhantomData;
use std::sync::Arc;

/// The input rows as the node keeps them.
#[derive(Clone, Debug)]
enum Rows {
    Floats(Values),
    Bytes(Arc<[u8]>),
}

impl Rows {
    fn pixels(&self) -> Pixels<'_> {
        match self {
            Rows::Floats(x) => Pixels::Floats(x),
            Rows::Bytes(x) => Pixels::Bytes(x),
        }
    }
}

/// Everything the backward pass reads.
#[derive(Debug)]
struct State<S> {
    spec: Arc<S>,
    images: usize,
    x: Rows,
    params: Values,
    out: Values,
    kept: Arc<Kept>,
}

/// Written out because a derived one would ask for `S: Clone`.
impl<S> Clone for State<S> {
    fn clone(&self) -> Self {
        Self {
            spec: self.spec.clone(),
            images: self.images,
            x: self.x.clone(),
            params: self.params.clone(),
            out: self.out.clone(),
            kept: self.kept.clone(),
        }
    }
}

#[derive(Debug)]
struct ImageBackward<S>(PhantomData<S>);

/// Parents: the parameters, then the input unless it is bytes.
impl<S: ImageNetwork, const N: usize> Backward<Flex, N> for ImageBackward<S> {
    type State = State<S>;

    fn backward(self, ops: Ops<State<S>, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let mut parents = ops.parents.into_iter();
        let (params_node, x_node) = (parents.next().flatten(), parents.next().flatten());
        let grad_out = Values::new(grads.consume::<Flex>(&ops.node));
        let State { spec, images, x, params, out, kept } = ops.state;
        // A parent that is not tracked asks for no work.
        let mut grad_params = params_node.as_ref().map(|_| buffers::take(params.len()));
        let mut grad_x = x_node.as_ref().map(|_| buffers::take(x.pixels().len()));
        let (dp, dx) = (grad_params.as_deref_mut(), grad_x.as_deref_mut());
        passes::backward(&*spec, kept.trace(images, x.pixels(), &params, &out, &grad_out), dp, dx);
        if let (Some(node), Some(grad)) = (params_node, grad_params) {
            grads.register::<Flex>(node.id, wrap(grad, params.shape()));
        }
        if let Rows::Floats(x) = x {
            if let (Some(node), Some(grad)) = (x_node, grad_x) {
                grads.register::<Flex>(node.id, wrap(grad, x.shape()));
            }
            x.recycle();
        }
        out.recycle();
        grad_out.recycle();
    }
}

/// `parents` as the backward pass expects them; the input is `bytes` or the second parent.
fn node<S: ImageNetwork, const N: usize>(
    spec: Arc<S>,
    images: usize,
    bytes: Option<Arc<[u8]>>,
    parents: [GraphTensor; N],
) -> GraphTensor {
    let mut tensors = Vec::with_capacity(N);
    let nodes = parents.map(|parent| {
        let (tensor, node) = parent.into_parts();
        tensors.push(Values::new(tensor));
        node
    });
    let x = match bytes {
        Some(bytes) => Rows::Bytes(bytes),
        None => Rows::Floats(tensors.remove(1)),
    };
    let params = tensors.remove(0);

    let (_, row_out) = spec.row_lens();
    let mut kept = Kept::new(&*spec, images);
    let mut out = buffers::take(images * row_out);
    passes::forward(&*spec, images, x.pixels(), &params, &mut kept, &mut out);
    let out = wrap(out, &[images, row_out]);
    let backward = ImageBackward::<S>(PhantomData);
    match Backward::<Flex, N>::prepare::<NoCheckpointing>(backward, nodes).compute_bound().stateful() {
        OpsKind::Tracked(prep) => {
            let state = State { spec, images, x, params, out: Values::new(out.clone()), kept: Arc::new(kept) };
            prep.finish(state, out)
        }
        OpsKind::UnTracked(prep) => prep.finish(out),
    }
}

/// Outputs `[images, row]` of float inputs `[images, row]`.
pub fn map_images<S: ImageNetwork>(spec: Arc<S>, x: Tensor<2>, params: Tensor<2>) -> GraphTensor {
    let images = x.dims()[0];
    node(spec, images, None, [graph(params), graph(x)])
}

/// Outputs `[images, row]` of byte images.
pub fn map_byte_images<S: ImageNetwork>(spec: Arc<S>, x: Arc<[u8]>, images: usize, params: Tensor<2>) -> GraphTensor {
    node(spec, images, Some(x), [graph(params)])
}
