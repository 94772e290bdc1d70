//! Reparametrised sampling of a squashed Gaussian as one node of the graph.

use super::{Flow, LogStdBounds, composed, sample_with_flow};
use crate::buffers::{self, Pooled};
use crate::burn::backend::Flex;
use crate::burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use crate::burn::backend::autodiff::grads::Gradients;
use crate::burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use crate::burn::tensor::Tensor;
use crate::tensors::{Values, graph, into_graph, on_fused_device, wrap};
use std::sync::Arc;

/// Samples `tanh(mean + std·eps)`.
///
/// `head` is `[rows, 2d]` (means, then raw log standard deviations), `eps` holds `rows·d` standard normal numbers. The
/// result is `[rows, d + 1]`: the action and, last, its log-density. The gradient reaches the head through both.
///
/// # Panics
/// When `eps` does not fit the head: a mistake in the calling code.
pub fn tanh_gaussian(head: Tensor<2>, eps: &[f32], bounds: LogStdBounds) -> Tensor<2> {
    let (rows, d) = (head.dims()[0], head.dims()[1] / 2);
    assert_eq!(eps.len(), rows * d, "eps must hold one number per action element");
    if !on_fused_device(&head) {
        return composed::tanh_gaussian(head, eps, bounds);
    }
    let (head, node) = graph(head).into_parts();
    let head = Values::new(head);

    let mut flow = Pooled::new(2 * eps.len());
    let (spread, slope) = flow.split_at_mut(eps.len());
    let (mut action, mut log_prob) = (Pooled::new(eps.len()), Pooled::new(rows));
    sample_with_flow(&head, eps, bounds, &mut action, &mut log_prob, Flow { spread, slope });

    let mut out = buffers::take(rows * (d + 1));
    for ((out, action), log_prob) in out.chunks_exact_mut(d + 1).zip(action.chunks_exact(d)).zip(log_prob.iter()) {
        out[..d].copy_from_slice(action);
        out[d] = *log_prob;
    }
    let out = wrap(out, &[rows, d + 1]);
    let tensor = match SampleBackward.prepare::<NoCheckpointing>([node]).compute_bound().stateful() {
        OpsKind::Tracked(prep) => {
            let state = SampleState { out: Values::new(out.clone()), flow: Arc::new(flow) };
            prep.finish(state, out)
        }
        OpsKind::UnTracked(prep) => prep.finish(out),
    };
    into_graph(tensor)
}

/// Sampled rows, then spread and slope of every element.
#[derive(Clone, Debug)]
struct SampleState {
    out: Values,
    flow: Arc<Pooled>,
}

#[derive(Debug)]
struct SampleBackward;

impl Backward<Flex, 1> for SampleBackward {
    type State = SampleState;

    fn backward(self, ops: Ops<SampleState, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad_out = Values::new(grads.consume::<Flex>(&ops.node));
        let SampleState { out, flow } = ops.state;
        let [Some(node)] = ops.parents else { return };
        let (rows, d) = (out.shape()[0], out.shape()[1] - 1);
        let (spread, slope) = flow.split_at(rows * d);
        let mut grad = buffers::take(rows * 2 * d);
        for (row, grad) in grad.chunks_exact_mut(2 * d).enumerate() {
            let (sampled, incoming) = (&out[row * (d + 1)..], &grad_out[row * (d + 1)..]);
            let along_log_prob = incoming[d];
            for i in 0..d {
                let (a, at) = (sampled[i], row * d + i);
                // ∂tanh(u)/∂u = 1 − a², and −∂ln(1 − tanh²u)/∂u = 2a.
                let along_u = incoming[i] * (1.0 - a) * (1.0 + a) + along_log_prob * 2.0 * a;
                grad[i] = along_u;
                grad[d + i] = (along_u * spread[at] - along_log_prob) * slope[at];
            }
        }
        grads.register::<Flex>(node.id, wrap(grad, &[rows, 2 * d]));
    }
}
