//! A model over a window in the autodiff graph: one backward pass, whose three outputs are nodes of their own.
//!
//! A node of Burn's graph has one output. So the model itself is a node without numbers, and each of its outputs a child of it
//! that leaves its gradient in a shared place; the model's own turn comes when all of them had theirs.

use super::plan::Plan;
use super::sequence::{self, ChunkTrace, Job, Results, Upstream};
use super::spec::RssmSpec;
use super::{Observed, Window};
use crate::buffers;
use crate::burn::backend::Flex;
use crate::burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use crate::burn::backend::autodiff::grads::Gradients;
use crate::burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use crate::burn::tensor::Tensor;
use crate::tensors::{GraphTensor, Values, graph, into_graph, wrap};
use std::fmt;
use std::sync::{Arc, Mutex};

/// The outputs' gradients, as far as they have come.
type Slots = Arc<Mutex<[Option<Values>; 3]>>;

/// Everything the backward pass reads.
#[derive(Clone)]
struct State {
    spec: Arc<RssmSpec>,
    plan: Arc<Plan>,
    window: Arc<Owned>,
    tokens: Values,
    params: Values,
    traces: Arc<Vec<ChunkTrace>>,
    slots: Slots,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// A window that the graph keeps; where it started is in the traces.
struct Owned {
    steps: usize,
    rows: usize,
    actions: Vec<f32>,
    is_first: Vec<bool>,
    noise: Vec<f32>,
    start: Vec<f32>,
}

impl Owned {
    fn of(window: Window<'_>) -> Self {
        Self {
            steps: window.steps,
            rows: window.rows,
            actions: window.actions.to_vec(),
            is_first: window.is_first.to_vec(),
            noise: window.noise.to_vec(),
            start: window.start.to_vec(),
        }
    }

    fn window(&self) -> Window<'_> {
        let Self { steps, rows, actions, is_first, noise, start } = self;
        Window { steps: *steps, rows: *rows, actions, is_first, noise, start }
    }
}

#[derive(Debug)]
struct ModelBackward;

impl Backward<Flex, 2> for ModelBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [tokens_node, params_node] = ops.parents;
        grads.consume::<Flex>(&ops.node);
        let State { spec, plan, window, tokens, params, traces, slots } = ops.state;
        let slots = std::mem::take(&mut *slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        let [features, posterior, prior] = slots.each_ref().map(|slot| slot.as_deref().unwrap_or(&[]));
        // A parent that is not tracked asks for no work.
        let mut grad_tokens = tokens_node.as_ref().map(|_| buffers::take(tokens.len()));
        let mut grad_params = params_node.as_ref().map(|_| buffers::take(params.len()));
        let upstream = Upstream { features, posterior, prior };
        let (dp, dt) = (grad_params.as_deref_mut(), grad_tokens.as_deref_mut());
        sequence::backward(Job::new(&spec, &plan, window.window()), &tokens, &params, &traces, upstream, dp, dt);
        if let (Some(node), Some(grad)) = (tokens_node, grad_tokens) {
            grads.register::<Flex>(node.id, wrap(grad, tokens.shape()));
        }
        if let (Some(node), Some(grad)) = (params_node, grad_params) {
            grads.register::<Flex>(node.id, wrap(grad, params.shape()));
        }
        slots.into_iter().flatten().for_each(Values::recycle);
    }
}

#[derive(Debug)]
struct OutputBackward;

impl Backward<Flex, 1> for OutputBackward {
    type State = (usize, Slots);

    fn backward(self, ops: Ops<(usize, Slots), 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [Some(model)] = ops.parents else { return };
        let grad = Values::new(grads.consume::<Flex>(&ops.node));
        let (index, slots) = ops.state;
        slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[index] = Some(grad);
        // The model is told that there is something for it.
        grads.register::<Flex>(model.id, wrap(vec![0.0], &[1]));
    }
}

/// See [`Rssm::observe`](super::Rssm::observe).
pub fn observe(spec: Arc<RssmSpec>, tokens: Tensor<2>, params: Tensor<2>, window: Window<'_>) -> Observed {
    let ((tokens, tokens_node), (params, params_node)) = (graph(tokens).into_parts(), graph(params).into_parts());
    let (tokens, params, plan) = (Values::new(tokens), Values::new(params), Arc::new(spec.plan()));
    let total = window.steps * window.rows;
    let widths = [spec.features(), spec.latent.stats(), spec.latent.stats()];
    let [mut features, mut posterior, mut prior] = widths.map(|width| buffers::take(total * width));
    let results = Results { features: &mut features, posterior: &mut posterior, prior: &mut prior };
    let traces = sequence::forward(Job::new(&spec, &plan, window), &tokens, &params, results);

    let slots: Slots = Arc::default();
    let nothing = wrap(vec![0.0], &[1]);
    let model = match ModelBackward.prepare::<NoCheckpointing>([tokens_node, params_node]).compute_bound().stateful() {
        OpsKind::Tracked(prep) => {
            let (window, traces, slots) = (Arc::new(Owned::of(window)), Arc::new(traces), slots.clone());
            prep.finish(State { spec, plan, window, tokens, params, traces, slots }, nothing)
        }
        OpsKind::UnTracked(prep) => prep.finish(nothing),
    };
    let output = |index: usize, values: Vec<f32>| -> Tensor<2> {
        let out = wrap(values, &[total, widths[index]]);
        let node: GraphTensor = model.clone();
        let (_, node) = node.into_parts();
        into_graph(match OutputBackward.prepare::<NoCheckpointing>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((index, slots.clone()), out),
            OpsKind::UnTracked(prep) => prep.finish(out),
        })
    };
    Observed { features: output(0, features), posterior: output(1, posterior), prior: output(2, prior) }
}
