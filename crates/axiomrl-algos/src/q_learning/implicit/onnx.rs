//! What an implicit network says as nodes of a graph: IQN's fractions are even ones where nothing is left to chance, so that
//! what it makes of them are constants; FQF's follow from the observation.

use super::{Fractions, ImplicitNet, cosine_features, even_fractions};
use crate::export::{Graph, NoGraph, Shown, Value};
use crate::q_learning::outcomes::Spoken;

pub fn spoken(
    net: &ImplicitNet,
    proposal: Option<&Fractions>,
    count: usize,
    graph: &mut Graph,
    shown: Shown,
) -> Result<Spoken, NoGraph> {
    let width = net.features();
    let (mut features, memory) = net.torso.onnx(graph, shown, shown.memory)?;
    if let Some(layers) = &net.layers {
        features = layers.onnx(graph, features);
    }
    // [rows, fractions, width], and how much each fraction counts
    let (embedded, share) = match proposal {
        Some(proposal) => {
            let (middles, shares) = proposal.onnx(graph, features);
            let between = graph.ints(&[1], &[1]);
            (embed(net, graph, middles), Some(graph.node("Unsqueeze", &[shares, between], &[])))
        }
        None => {
            let (mut cosines, mut embedded) = (Vec::new(), Vec::new());
            cosine_features(&even_fractions(count), net.cosines, &mut cosines);
            net.embedding.infer(&cosines, count, &mut embedded);
            (graph.floats(&[1, count, width], &embedded), None)
        }
    };
    let apart = graph.reshape(features, &[-1, 1, width as i64]);
    let joint = graph.mul(apart, embedded);
    let returns = net.head.onnx(graph, joint);
    let values = graph.transpose(returns, &[0, 2, 1]);
    Ok(Spoken { values, actions: net.actions, width: count, share, memory })
}

/// What the network makes of fractions `[rows, count]`.
fn embed(net: &ImplicitNet, graph: &mut Graph, fractions: Value) -> Value {
    let steps: Vec<f32> = (1..=net.cosines).map(|i| std::f32::consts::PI * i as f32).collect();
    let last = graph.ints(&[1], &[-1]);
    let apart = graph.node("Unsqueeze", &[fractions, last], &[]);
    let steps = graph.floats(&[steps.len()], &steps);
    let angles = graph.mul(apart, steps);
    let cosines = graph.node("Cos", &[angles], &[]);
    net.embedding.onnx(graph, cosines)
}
