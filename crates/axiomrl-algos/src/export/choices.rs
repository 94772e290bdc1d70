//! The best action of what a network says about every choice.

use super::Answer;
use axiomrl_nn::Distribution;
use axiomrl_onnx::{Element, Graph, Value};

/// Numbers of which those of choices that are not allowed are lower than all others.
pub fn allowed(graph: &mut Graph, values: Value, mask: Option<Value>) -> Value {
    let Some(mask) = mask else { return values };
    let never = graph.scalar(f32::NEG_INFINITY);
    graph.choose(mask, values, never)
}

/// The mode of a distribution whose rows of numbers are `head`.
pub fn best(graph: &mut Graph, distribution: &Distribution, head: Value, mask: Option<Value>) -> Answer {
    let action = match distribution {
        Distribution::DiagGaussian { .. } => return Answer::of(head),
        Distribution::Categorical { .. } => {
            let open = allowed(graph, head, mask);
            graph.argmax(open)
        }
        Distribution::MultiCategorical { nvec } => {
            let (open, all, mut at) = (allowed(graph, head, mask), nvec.iter().sum(), 0);
            let mut chosen = Vec::with_capacity(nvec.len());
            for &n in nvec {
                let part = graph.columns(open, at..at + n, all);
                let best = graph.argmax(part);
                chosen.push(graph.reshape(best, &[-1, 1]));
                at += n;
            }
            graph.concat(&chosen)
        }
        Distribution::Bernoulli { .. } => {
            let half = graph.scalar(0.0);
            let likely = graph.greater(head, half);
            graph.cast(likely, Element::Int)
        }
    };
    Answer { action, memory: None, grounds: Some(("logits", head, distribution.head_width())) }
}
