//! A recurrent network over a whole sequence as one node of the autodiff graph.

use super::RecurrentSpec;
use super::passes::{self, Job, Trace};
use crate::buffers::{self, Pooled};
use crate::burn::backend::Flex;
use crate::burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use crate::burn::backend::autodiff::grads::Gradients;
use crate::burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use crate::burn::tensor::Tensor;
use crate::tensors::{GraphTensor, Values, graph, wrap};
use std::sync::Arc;

/// Everything the backward pass reads.
#[derive(Clone, Debug)]
struct SequenceState {
    spec: Arc<RecurrentSpec>,
    resets: Arc<[bool]>,
    x: Values,
    params: Values,
    state_shape: [usize; 2],
    saved: Arc<Pooled>,
}

fn job<'a>(spec: &'a RecurrentSpec, x: &Values, resets: &'a [bool]) -> Job<'a> {
    let shape = x.shape();
    assert_eq!(shape[2], spec.inputs, "the input rows do not fit the network");
    Job { spec, steps: shape[0], rows: shape[1], resets }
}

#[derive(Debug)]
struct SequenceBackward;

impl Backward<Flex, 3> for SequenceBackward {
    type State = SequenceState;

    fn backward(self, ops: Ops<SequenceState, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [x_node, params_node, state_node] = ops.parents;
        let grad_out = Values::new(grads.consume::<Flex>(&ops.node));
        let SequenceState { spec, resets, x, params, state_shape, saved } = ops.state;
        // A parent that is not tracked asks for no work.
        let mut grad_x = x_node.as_ref().map(|_| buffers::take(x.len()));
        let mut grad_params = params_node.as_ref().map(|_| buffers::take(params.len()));
        let mut grad_state = state_node.as_ref().map(|_| buffers::take(state_shape.iter().product()));
        let trace = Trace { x: &x, params: &params, saved: &saved, grad_out: &grad_out };
        let (dp, dx, ds) = (grad_params.as_deref_mut(), grad_x.as_deref_mut(), grad_state.as_deref_mut());
        passes::backward(job(&spec, &x, &resets), trace, dp, dx, ds);
        if let (Some(node), Some(grad)) = (x_node, grad_x) {
            grads.register::<Flex>(node.id, wrap(grad, x.shape()));
        }
        if let (Some(node), Some(grad)) = (params_node, grad_params) {
            grads.register::<Flex>(node.id, wrap(grad, params.shape()));
        }
        if let (Some(node), Some(grad)) = (state_node, grad_state) {
            grads.register::<Flex>(node.id, wrap(grad, &state_shape));
        }
        x.recycle();
        grad_out.recycle();
    }
}

/// The outputs `[steps, rows, hidden]` as one node, and the final state outside the graph.
pub fn recurrent(
    spec: Arc<RecurrentSpec>,
    x: Tensor<3>,
    params: Tensor<2>,
    resets: &[bool],
    state: Tensor<2>,
) -> (GraphTensor, Vec<f32>) {
    let ((x, x_node), (params, params_node)) = (graph(x).into_parts(), graph(params).into_parts());
    let (state, state_node) = graph(state).into_parts();
    let (x, params, state) = (Values::new(x), Values::new(params), Values::new(state));
    let job = job(&spec, &x, resets);

    let mut last = state.to_vec();
    let mut saved = Pooled::new(job.saved_len());
    let mut out = buffers::take(job.steps * job.rows * spec.hidden);
    passes::forward(job, &x, &params, &mut last, &mut saved, &mut out);
    let out = wrap(out, &[job.steps, job.rows, spec.hidden]);
    let nodes = [x_node, params_node, state_node];
    let tensor = match SequenceBackward.prepare::<NoCheckpointing>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prep) => {
            let state_shape = [job.rows, spec.state_width()];
            let (spec, resets) = (spec.clone(), Arc::from(resets));
            prep.finish(SequenceState { spec, resets, x, params, state_shape, saved: Arc::new(saved) }, out)
        }
        OpsKind::UnTracked(prep) => prep.finish(out),
    };
    (tensor, last)
}
