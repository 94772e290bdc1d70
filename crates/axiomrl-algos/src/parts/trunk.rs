//! What actor and critics each make of what the encoder saw, before their own layers: nothing, a compression to a few numbers,
//! or layers with a memory over time.

use crate::export::{Graph, Value};
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::{Activation, CellKind, Init, Mlp, MlpSpec, Params, Recurrent, RecurrentSpec, Tensor, leaf};
use std::borrow::Cow;

/// The extent of rows over time, time-major, and where the memory is emptied before a row.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    pub steps: usize,
    pub rows: usize,
    /// `steps * rows`; not looked at without a memory
    pub resets: &'a [bool],
}

impl Span<'_> {
    /// Rows that do not know of each other.
    pub fn single(rows: usize) -> Self {
        Self { steps: 1, rows, resets: &[] }
    }

    /// All rows of all times.
    pub fn total(&self) -> usize {
        self.steps * self.rows
    }
}

/// Layers and a memory after them.
pub struct MemorySpec<'a> {
    pub layers: &'a [usize],
    pub activation: Activation,
    pub cell: CellKind,
    pub hidden: usize,
}

#[derive(Clone)]
pub struct Trunk {
    compress: Option<Mlp>,
    layers: Option<Mlp>,
    core: Option<Recurrent>,
    width: usize,
}

/// How networks begin that a trunk compresses for.
pub fn orthogonal() -> Init {
    Init::Orthogonal { hidden_gain: 1.0, output_gain: 1.0 }
}

impl Trunk {
    /// `seen` is how many numbers come in, `features` to how many they are compressed, if at all.
    pub fn new(
        seen: usize,
        features: Option<usize>,
        memory: Option<&MemorySpec<'_>>,
        init: &Init,
        rng: &mut Rng,
    ) -> Self {
        let mut width = seen;
        let compress = features.map(|features| {
            // Linear, LayerNorm, tanh: the features' scale cannot run away.
            let spec = MlpSpec::new(width, &[], features, Activation::Identity).with_output_layer_norm();
            width = features;
            Mlp::new(spec.with_output_activation(Activation::Tanh), 1, &orthogonal(), rng)
        });
        let layers = memory.and_then(|memory| memory.layers.split_last().map(|split| (memory, split)));
        let layers = layers.map(|(memory, (&last, before))| {
            let spec = MlpSpec::new(width, before, last, memory.activation);
            width = last;
            Mlp::new(spec.with_output_activation(memory.activation), 1, init, rng)
        });
        let core = memory.map(|memory| {
            let spec = RecurrentSpec::new(memory.cell, width, memory.hidden);
            width = memory.hidden;
            Recurrent::new(spec, rng)
        });
        Self { compress, layers, core, width }
    }

    /// Numbers per row of features.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Numbers of a row of memory; 0 without one.
    pub fn state_width(&self) -> usize {
        self.core.as_ref().map_or(0, |core| core.spec.state_width())
    }

    /// Whether what was seen is passed on as it is.
    pub fn is_empty(&self) -> bool {
        self.compress.is_none() && self.layers.is_none() && self.core.is_none()
    }

    /// Without a graph. `state` is the memory before, and then the one after.
    pub fn infer<'a>(&self, seen: &'a [f32], span: Span<'_>, state: &mut [f32]) -> Cow<'a, [f32]> {
        let mut features = Cow::Borrowed(seen);
        for net in self.compress.iter().chain(&self.layers) {
            let mut out = Vec::new();
            net.infer(&features, span.total(), &mut out);
            features = Cow::Owned(out);
        }
        if let Some(core) = &self.core {
            let mut out = Vec::new();
            core.infer(&features, span.steps, span.rows, span.resets, state, &mut out);
            features = Cow::Owned(out);
        }
        features
    }

    /// Features of one row more, and the memory after it, as nodes of a graph. `state` is the memory before.
    pub fn onnx(&self, graph: &mut Graph, seen: Value, state: Option<Value>) -> (Value, Option<Value>) {
        let features = self.compress.iter().chain(&self.layers).fold(seen, |seen, net| net.onnx(graph, seen));
        match (&self.core, state) {
            (Some(core), Some(state)) => {
                let (features, state) = core.onnx(graph, features, state);
                (features, Some(state))
            }
            _ => (features, None),
        }
    }

    /// Features `[rows, width]` as a node of the graph, with the parameters they came from.
    pub fn forward(&self, seen: Tensor<2>, span: Span<'_>, state: &[f32]) -> (Tensor<2>, Vec<Tensor<2>>) {
        let (mut features, mut params) = (seen, Vec::new());
        for net in self.compress.iter().chain(&self.layers) {
            let own = net.params.tracked();
            features = net.forward(features, own.clone(), None).reshape([span.total(), net.spec.outputs]);
            params.push(own);
        }
        if let Some(core) = &self.core {
            let own = core.params.tracked();
            let over_time = features.reshape([span.steps, span.rows, core.spec.inputs]);
            let state = leaf(state, [span.rows, core.spec.state_width()]);
            features =
                core.forward(over_time, own.clone(), span.resets, state).reshape([span.total(), core.spec.hidden]);
            params.push(own);
        }
        (features, params)
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if let Some(net) = &mut self.compress {
            io.network(&format!("{name}.trunk"), net)?;
        }
        if let Some(net) = &mut self.layers {
            io.network(&format!("{name}.layers"), net)?;
        }
        if let Some(core) = &mut self.core {
            io.network(&format!("{name}.recurrent"), core)?;
        }
        Ok(())
    }
}

impl Trainable for Trunk {
    /// In the order of [`Trunk::forward`].
    fn params(&mut self) -> Vec<&mut Params> {
        let nets = self.compress.iter_mut().chain(&mut self.layers).map(|net| &mut net.params);
        nets.chain(self.core.iter_mut().map(|core| &mut core.params)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::stream;
    use axiomrl_nn::values;

    #[test]
    fn features_with_and_without_a_graph_are_the_same_whatever_the_parts() {
        let memory = MemorySpec { layers: &[5], activation: Activation::Relu, cell: CellKind::Gru, hidden: 4 };
        for (features, memory) in [(None, None), (Some(3), None), (None, Some(&memory)), (Some(3), Some(&memory))] {
            let mut trunk = Trunk::new(2, features, memory, &Init::pytorch(), &mut stream(1, "init"));
            let seen: Vec<f32> = (0..12).map(|i| 0.3 * i as f32 - 1.0).collect();
            let span = Span { steps: 3, rows: 2, resets: &[false, false, true, false, false, false] };
            let state = vec![0.2; 2 * trunk.state_width()];
            let mut after = state.clone();
            let found = trunk.infer(&seen, span, &mut after).into_owned();
            assert_eq!(found.len(), 6 * trunk.width());
            let (node, params) = trunk.forward(leaf(&seen, [6, 2]), span, &state);
            for (a, b) in values(&node).iter().zip(&found) {
                assert!((a - b).abs() < 1e-6);
            }
            assert_eq!(params.len(), trunk.params().len());
            assert_eq!(trunk.is_empty(), params.is_empty());
            assert_eq!(after != state, memory.is_some());
        }
    }
}
