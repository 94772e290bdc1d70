//! What a network makes of observations before its heads: an encoder of each one, layers, and perhaps a memory over time.

use crate::config::Problem;
use crate::export::{Graph, NoGraph, Shown, Value};
use crate::parts::input::{ObsEncoder, Vision};
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, Space};
use axiomrl_nn::{Activation, CellKind, Init, Mlp, MlpSpec, Params, Recurrent, RecurrentSpec, Tensor, leaf};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Sequences of observations, time-major.
#[derive(Clone, Copy)]
pub struct Sequences<'a> {
    pub steps: usize,
    pub rows: usize,
    /// `steps * rows` observations
    pub obs: ObsRef<'a>,
    /// `steps * rows`: whether the memory is emptied before this observation; not looked at without a memory
    pub resets: &'a [bool],
}

impl<'a> Sequences<'a> {
    /// Sequences of one observation each, which follow what is remembered.
    pub fn single(obs: ObsRef<'a>, resets: &'a [bool]) -> Self {
        Self { steps: 1, rows: obs.rows, obs, resets }
    }

    /// Times `from..to`.
    pub fn part(&self, from: usize, to: usize) -> Self {
        let range = from * self.rows..to * self.rows;
        let resets = self.resets.get(range.clone()).unwrap_or_default();
        Self { steps: to - from, rows: self.rows, obs: self.obs.range(range), resets }
    }
}

/// What remembers, as written in a run file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// Nothing: every observation is acted on by itself.
    #[default]
    None,
    /// A long short-term memory.
    Lstm,
    /// A gated recurrent unit: smaller, and often as good.
    Gru,
}

impl MemoryKind {
    pub fn cell(self) -> Option<CellKind> {
        match self {
            Self::None => None,
            Self::Lstm => Some(CellKind::Lstm),
            Self::Gru => Some(CellKind::Gru),
        }
    }
}

/// The shape of a torso.
pub struct TorsoSpec<'a> {
    pub observations: &'a Space,
    pub vision: Vision,
    /// Widths of the layers after the encoder of observations; without any its output is passed on as it is.
    pub layers: &'a [usize],
    pub activation: Activation,
    /// Kind and width of the memory, if there is one.
    pub memory: Option<(CellKind, usize)>,
}

#[derive(Clone)]
pub struct Torso {
    pub input: ObsEncoder,
    layers: Option<Mlp>,
    core: Option<Recurrent>,
}

impl Torso {
    pub fn new(spec: &TorsoSpec<'_>, init: &Init, rng: &mut ChaCha8Rng) -> Result<Self, Problem> {
        let input = ObsEncoder::new(spec.observations, spec.vision, init, rng)?;
        let layers = spec.layers.split_last().map(|(&last, before)| {
            let shape = MlpSpec::new(input.width(), before, last, spec.activation);
            Mlp::new(shape.with_output_activation(spec.activation), 1, init, rng)
        });
        let width = spec.layers.last().copied().unwrap_or(input.width());
        let core = spec.memory.map(|(cell, hidden)| Recurrent::new(RecurrentSpec::new(cell, width, hidden), rng));
        Ok(Self { input, layers, core })
    }

    /// Numbers of a row of memory; 0 without one.
    pub fn state_width(&self) -> usize {
        self.core.as_ref().map_or(0, |core| core.spec.state_width())
    }

    /// Numbers of a row of features.
    pub fn features(&self) -> usize {
        match (&self.core, &self.layers) {
            (Some(core), _) => core.spec.hidden,
            (None, Some(layers)) => layers.spec.outputs,
            (None, None) => self.input.width(),
        }
    }

    /// Whether there is anything in it that learns.
    pub fn learns(&self) -> bool {
        self.core.is_some() || self.layers.is_some() || self.input.sees_images()
    }

    /// Features of every time and row, without a graph. `state` is the memory before, and then the one after.
    pub fn infer<'a>(&self, sequences: Sequences<'a>, state: &mut [f32]) -> Cow<'a, [f32]> {
        let Sequences { steps, rows, obs, resets } = sequences;
        let mut seen = self.input.infer(obs);
        if let Some(layers) = &self.layers {
            let mut out = Vec::new();
            layers.infer(&seen, steps * rows, &mut out);
            seen = Cow::Owned(out);
        }
        if let Some(core) = &self.core {
            let mut out = Vec::new();
            core.infer(&seen, steps, rows, resets, state, &mut out);
            seen = Cow::Owned(out);
        }
        seen
    }

    /// Features of one observation more, and the memory after it, as nodes of a graph. `state` is the memory before.
    pub fn onnx(
        &self,
        graph: &mut Graph,
        shown: Shown,
        state: Option<Value>,
    ) -> Result<(Value, Option<Value>), NoGraph> {
        let mut seen = self.input.onnx(graph, shown)?;
        if let Some(layers) = &self.layers {
            seen = layers.onnx(graph, seen);
        }
        Ok(match (&self.core, state) {
            (Some(core), Some(state)) => {
                let (seen, state) = core.onnx(graph, seen, state);
                (seen, Some(state))
            }
            _ => (seen, None),
        })
    }

    /// Features `[steps * rows, features]` as a node of the graph, with the parameters they came from.
    pub fn forward(&self, sequences: Sequences<'_>, state: &[f32]) -> (Tensor<2>, Vec<Tensor<2>>) {
        let Sequences { steps, rows, obs, resets } = sequences;
        let (mut seen, mut params) = self.input.forward(obs);
        if let Some(layers) = &self.layers {
            let own = layers.params.tracked();
            seen = layers.forward(seen, own.clone(), None).reshape([steps * rows, layers.spec.outputs]);
            params.push(own);
        }
        if let Some(core) = &self.core {
            let own = core.params.tracked();
            let state = leaf(state, [rows, self.state_width()]);
            let over_time = seen.reshape([steps, rows, core.spec.inputs]);
            seen = core.forward(over_time, own.clone(), resets, state).reshape([steps * rows, core.spec.hidden]);
            params.push(own);
        }
        (seen, params)
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.input.visit_state(name, io)?;
        if let Some(layers) = &mut self.layers {
            io.network(&format!("{name}.encoder"), layers)?;
        }
        if let Some(core) = &mut self.core {
            io.network(&format!("{name}.recurrent"), core)?;
        }
        Ok(())
    }
}

impl Trainable for Torso {
    /// In the order of [`Torso::forward`].
    fn params(&mut self) -> Vec<&mut Params> {
        let layers = self.layers.iter_mut().map(|net| &mut net.params);
        let core = self.core.iter_mut().map(|net| &mut net.params);
        self.input.params().into_iter().chain(layers).chain(core).collect()
    }
}
