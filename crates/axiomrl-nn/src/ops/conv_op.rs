//! A whole stack of convolutions as one node of the autodiff graph.

use crate::buffers::{self, Pooled};
use crate::conv::ConvSpec;
use crate::encoder::{self, Pixels, Trace};
use crate::tensors::{GraphTensor, Values, graph, wrap};
use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::tensor::Tensor;
use std::sync::Arc;

/// The images as the node keeps them.
#[derive(Clone, Debug)]
enum Images {
    Floats(Values),
    Bytes(Arc<[u8]>),
}

impl Images {
    fn pixels(&self) -> Pixels<'_> {
        match self {
            Images::Floats(x) => Pixels::Floats(x),
            Images::Bytes(x) => Pixels::Bytes(x),
        }
    }
}

/// Everything the backward pass reads.
#[derive(Clone, Debug)]
struct ConvState {
    spec: Arc<ConvSpec>,
    images: usize,
    x: Images,
    params: Values,
    out: Values,
    saved: Arc<Pooled>,
}

#[derive(Debug)]
struct ConvBackward;

/// Parents: the parameters, then the images unless they are bytes.
impl<const N: usize> Backward<Flex, N> for ConvBackward {
    type State = ConvState;

    fn backward(self, ops: Ops<ConvState, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let mut parents = ops.parents.into_iter();
        let (params_node, x_node) = (parents.next().flatten(), parents.next().flatten());
        let grad_out = Values::new(grads.consume::<Flex>(&ops.node));
        let ConvState { spec, images, x, params, out, saved } = ops.state;
        let mut grad_params = params_node.as_ref().map(|_| buffers::take(params.len()));
        let mut grad_x = x_node.as_ref().map(|_| buffers::take(x.pixels().len()));
        let trace = Trace { x: x.pixels(), params: &params, saved: &saved, out: &out, grad_out: &grad_out };
        encoder::backward(&spec, images, trace, grad_params.as_deref_mut(), grad_x.as_deref_mut());
        if let (Some(node), Some(grad)) = (params_node, grad_params) {
            grads.register::<Flex>(node.id, wrap(grad, params.shape()));
        }
        if let (Some(node), Some(grad), Images::Floats(x)) = (x_node, grad_x, &x) {
            grads.register::<Flex>(node.id, wrap(grad, x.shape()));
        }
        if let Images::Floats(x) = x {
            x.recycle();
        }
        out.recycle();
        grad_out.recycle();
    }
}

/// `parents` as the backward pass expects them; the images are `bytes` or the second parent.
fn node<const N: usize>(
    spec: Arc<ConvSpec>,
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
        Some(bytes) => Images::Bytes(bytes),
        None => Images::Floats(tensors.remove(1)),
    };
    let params = tensors.remove(0);

    let mut saved = Pooled::new(images * encoder::saved_len(&spec));
    let mut out = buffers::take(images * spec.features());
    encoder::forward(&spec, images, x.pixels(), &params, &mut saved, &mut out);
    let out = wrap(out, &[images, spec.features()]);
    match Backward::<Flex, N>::prepare::<NoCheckpointing>(ConvBackward, nodes).compute_bound().stateful() {
        OpsKind::Tracked(prep) => {
            let state = ConvState { spec, images, x, params, out: Values::new(out.clone()), saved: Arc::new(saved) };
            prep.finish(state, out)
        }
        OpsKind::UnTracked(prep) => prep.finish(out),
    }
}

/// Features `[images, features]` of float images `[images, height·width·channels]`.
pub fn encode(spec: Arc<ConvSpec>, x: Tensor<2>, params: Tensor<2>) -> GraphTensor {
    let images = x.dims()[0];
    node(spec, images, None, [graph(params), graph(x)])
}

/// Features `[images, features]` of byte images.
pub fn encode_bytes(spec: Arc<ConvSpec>, x: Arc<[u8]>, images: usize, params: Tensor<2>) -> GraphTensor {
    node(spec, images, Some(x), [graph(params)])
}
