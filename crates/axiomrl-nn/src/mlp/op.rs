//! A whole network ensemble as one node of the autodiff graph.

use super::MlpSpec;
use super::passes::{self, Input, Job, Trace};
use crate::buffers::{self, Pooled};
use crate::burn;
use crate::burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use crate::burn::backend::autodiff::grads::Gradients;
use crate::burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use crate::burn::backend::flex::FlexTensor;
use crate::burn::backend::tensor::FloatTensor;
use crate::burn::backend::{Autodiff, Dispatch, Flex, backend_extension};
use crate::burn::tensor::Tensor;
use crate::tensors::{Values, wrap};
use std::sync::Arc;

/// What a call needs beside its tensors.
#[derive(Clone, Debug)]
pub struct MlpCall {
    pub spec: Arc<MlpSpec>,
    pub dropout_seed: Option<u64>,
}

/// The backends that can evaluate a network.
#[backend_extension(Autodiff, Flex)]
pub trait MlpBackend: burn::backend::Backend {
    /// `x` `[rows, in]` or `[members, rows, in]`, `params` `[members, parameters]`; result `[members, rows, out]`.
    fn mlp(x: FloatTensor<Self>, params: FloatTensor<Self>, call: MlpCall) -> FloatTensor<Self>;
}

/// Evaluates a network through Burn's dispatch.
pub fn mlp<const D: usize>(x: Tensor<D>, params: Tensor<2>, call: MlpCall) -> Tensor<3> {
    Tensor::from_dispatch(<Dispatch as MlpBackend>::mlp(x.into_dispatch(), params.into_dispatch(), call))
}

/// Geometry of a call, read off its tensors.
fn job<'a>(call: &'a MlpCall, x: &Values, params: &Values) -> Job<'a> {
    let shape = x.shape();
    let (rows, inputs) = (shape[shape.len() - 2], shape[shape.len() - 1]);
    let members = params.shape()[0];
    assert_eq!(inputs, call.spec.inputs, "the input rows do not fit the network");
    assert!(shape.len() == 2 || shape[0] == members, "the input must have one block per member");
    Job { spec: &call.spec, members, rows, dropout_seed: call.dropout_seed }
}

fn input<'a>(x: &'a Values) -> Input<'a> {
    if x.shape().len() == 2 { Input::Shared(x) } else { Input::PerMember(x) }
}

/// Forward pass; the saved activations are complete only when `for_backward`.
fn run(call: &MlpCall, x: &Values, params: &Values, for_backward: bool) -> (FlexTensor, Pooled) {
    let job = job(call, x, params);
    let mut saved = Pooled::new(job.members * passes::saved_len(job.spec, job.rows, for_backward));
    let mut out = buffers::take(job.members * job.rows * job.spec.outputs);
    passes::forward(job, input(x), params, &mut saved, &mut out);
    (wrap(out, &[job.members, job.rows, job.spec.outputs]), saved)
}

impl MlpBackend for Flex {
    fn mlp(x: FlexTensor, params: FlexTensor, call: MlpCall) -> FlexTensor {
        run(&call, &Values::new(x), &Values::new(params), false).0
    }
}

/// Everything the backward pass reads.
#[derive(Clone, Debug)]
struct MlpState {
    call: MlpCall,
    x: Values,
    params: Values,
    out: Values,
    saved: Arc<Pooled>,
}

#[derive(Debug)]
struct MlpBackward;

impl Backward<Flex, 2> for MlpBackward {
    type State = MlpState;

    fn backward(self, ops: Ops<MlpState, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [x_node, params_node] = ops.parents;
        let grad_out = Values::new(grads.consume::<Flex>(&ops.node));
        let MlpState { call, x, params, out, saved } = ops.state;
        // A parent that is not tracked asks for no work.
        let mut grad_params = params_node.as_ref().map(|_| buffers::take(params.len()));
        let mut grad_x = x_node.as_ref().map(|_| buffers::take(x.len()));
        let trace = Trace { params: &params, saved: &saved, out: &out, grad_out: &grad_out };
        passes::backward(job(&call, &x, &params), input(&x), trace, grad_params.as_deref_mut(), grad_x.as_deref_mut());
        if let (Some(node), Some(grad)) = (x_node, grad_x) {
            grads.register::<Flex>(node.id, wrap(grad, x.shape()));
        }
        if let (Some(node), Some(grad)) = (params_node, grad_params) {
            grads.register::<Flex>(node.id, wrap(grad, params.shape()));
        }
        x.recycle();
        out.recycle();
        grad_out.recycle();
    }
}

impl<C: CheckpointStrategy> MlpBackend for Autodiff<Flex, C> {
    fn mlp(x: FloatTensor<Self>, params: FloatTensor<Self>, call: MlpCall) -> FloatTensor<Self> {
        let ((x, x_node), (params, params_node)) = (x.into_parts(), params.into_parts());
        let (x, params) = (Values::new(x), Values::new(params));
        match MlpBackward.prepare::<C>([x_node, params_node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let (out, saved) = run(&call, &x, &params, true);
                let state = MlpState { call, x, params, out: Values::new(out.clone()), saved: Arc::new(saved) };
                prep.finish(state, out)
            }
            OpsKind::UnTracked(prep) => prep.finish(run(&call, &x, &params, false).0),
        }
    }
}
