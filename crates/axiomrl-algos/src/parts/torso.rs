//! The part of a network that remembers: an encoder of each observation, then a recurrent cell over time.

use crate::config::Problem;
use crate::parts::sight::{Sight, Vision};
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, Space};
use axiomrl_nn::{Activation, CellKind, Init, Mlp, MlpSpec, Params, Recurrent, RecurrentSpec, Tensor, leaf};
use rand_chacha::ChaCha8Rng;

/// Sequences of observations, time-major.
#[derive(Clone, Copy)]
pub struct Sequences<'a> {
    pub steps: usize,
    pub rows: usize,
    /// `steps * rows` observations
    pub obs: ObsRef<'a>,
    /// `steps * rows`: whether the memory is emptied before this observation
    pub resets: &'a [bool],
}

impl<'a> Sequences<'a> {
    /// Times `from..to`.
    pub fn part(&self, from: usize, to: usize) -> Self {
        let range = from * self.rows..to * self.rows;
        Self { steps: to - from, rows: self.rows, obs: self.obs.range(range.clone()), resets: &self.resets[range] }
    }
}

/// The shape of a torso.
pub struct TorsoSpec<'a> {
    pub observations: &'a Space,
    pub vision: Vision,
    /// Widths of the layers before the cell; without any it sees the observation itself.
    pub encoder: &'a [usize],
    pub activation: Activation,
    pub cell: CellKind,
    pub hidden: usize,
}

#[derive(Clone)]
pub struct Torso {
    sight: Sight,
    encoder: Option<Mlp>,
    core: Recurrent,
    encoded: Vec<f32>,
}

impl Torso {
    pub fn new(spec: &TorsoSpec<'_>, init: &Init, rng: &mut ChaCha8Rng) -> Result<Self, Problem> {
        let sight = Sight::new(spec.observations, spec.vision, init, rng)?;
        let encoder = spec.encoder.split_last().map(|(&last, before)| {
            let shape = MlpSpec::new(sight.width(), before, last, spec.activation);
            Mlp::new(shape.with_output_activation(spec.activation), 1, init, rng)
        });
        let width = spec.encoder.last().copied().unwrap_or(sight.width());
        let core = Recurrent::new(RecurrentSpec::new(spec.cell, width, spec.hidden), rng);
        Ok(Self { sight, encoder, core, encoded: Vec::new() })
    }

    /// Numbers of a row of memory.
    pub fn state_width(&self) -> usize {
        self.core.spec.state_width()
    }

    /// Numbers of a row of features.
    pub fn features(&self) -> usize {
        self.core.spec.hidden
    }

    /// Features of every time and row, without a graph. `state` is the memory before, and then the one after.
    pub fn infer(&mut self, sequences: Sequences<'_>, state: &mut [f32], out: &mut Vec<f32>) {
        let Sequences { steps, rows, obs, resets } = sequences;
        let looked = self.sight.infer(obs);
        let seen = match &self.encoder {
            Some(encoder) => {
                encoder.infer(&looked, steps * rows, &mut self.encoded);
                &self.encoded[..]
            }
            None => &*looked,
        };
        self.core.infer(seen, steps, rows, resets, state, out);
    }

    /// Features `[steps * rows, hidden]` as a node of the graph, with the parameters they came from.
    pub fn forward(&self, sequences: Sequences<'_>, state: &[f32]) -> (Tensor<2>, Vec<Tensor<2>>) {
        let Sequences { steps, rows, obs, resets } = sequences;
        let (looked, mut params) = self.sight.forward(obs);
        let width = self.core.spec.inputs;
        let seen: Tensor<3> = match &self.encoder {
            Some(encoder) => {
                let own = encoder.params.tracked();
                params.push(own.clone());
                encoder.forward(looked, own, None).reshape([steps, rows, width])
            }
            None => looked.reshape([steps, rows, width]),
        };
        let core = self.core.params.tracked();
        let state = leaf(state, [rows, self.state_width()]);
        let features = self.core.forward(seen, core.clone(), resets, state);
        params.push(core);
        (features.reshape([steps * rows, self.features()]), params)
    }

    /// All that is learned, in the order of [`Torso::forward`].
    pub fn params(&mut self) -> Vec<&mut Params> {
        let layers = self.encoder.iter_mut().map(|net| &mut net.params);
        self.sight.params().into_iter().chain(layers).chain([&mut self.core.params]).collect()
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.sight.visit_state(name, io)?;
        if let Some(encoder) = &mut self.encoder {
            io.network(&format!("{name}.encoder"), encoder)?;
        }
        io.network(&format!("{name}.recurrent"), &mut self.core)
    }
}
