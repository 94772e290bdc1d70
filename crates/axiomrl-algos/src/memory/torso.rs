//! The part of a network that remembers: an encoder of each observation, then a recurrent cell over time.

use crate::state::{StateError, StateIo};
use axiomrl_core::TensorData;
use axiomrl_nn::{
    Activation, CellKind, Grad, Init, Mlp, MlpSpec, Params, Recurrent, RecurrentSpec, Tensor, gradients, leaf,
};
use rand_chacha::ChaCha8Rng;

/// Sequences of observations, time-major.
#[derive(Clone, Copy)]
pub struct Sequences<'a> {
    pub steps: usize,
    pub rows: usize,
    /// `steps * rows` encoded observations
    pub input: &'a [f32],
    /// `steps * rows`: whether the memory is emptied before this observation
    pub resets: &'a [bool],
}

impl<'a> Sequences<'a> {
    /// Times `from..to`.
    pub fn part(&self, from: usize, to: usize) -> Self {
        let width = self.input.len() / (self.steps * self.rows);
        Self {
            steps: to - from,
            rows: self.rows,
            input: &self.input[from * self.rows * width..to * self.rows * width],
            resets: &self.resets[from * self.rows..to * self.rows],
        }
    }
}

/// The shape of a torso.
pub struct TorsoSpec<'a> {
    pub inputs: usize,
    /// Widths of the encoder's layers; without any the cell sees the observation itself.
    pub encoder: &'a [usize],
    pub activation: Activation,
    pub cell: CellKind,
    pub hidden: usize,
}

#[derive(Clone)]
pub struct Torso {
    encoder: Option<Mlp>,
    core: Recurrent,
    encoded: Vec<f32>,
}

impl Torso {
    pub fn new(spec: &TorsoSpec<'_>, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        let encoder = spec.encoder.split_last().map(|(&last, before)| {
            let shape = MlpSpec::new(spec.inputs, before, last, spec.activation);
            Mlp::new(shape.with_output_activation(spec.activation), 1, init, rng)
        });
        let width = spec.encoder.last().copied().unwrap_or(spec.inputs);
        let core = Recurrent::new(RecurrentSpec::new(spec.cell, width, spec.hidden), rng);
        Self { encoder, core, encoded: Vec::new() }
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
        let Sequences { steps, rows, input, resets } = sequences;
        let seen = match &self.encoder {
            Some(encoder) => {
                encoder.infer(input, steps * rows, &mut self.encoded);
                &self.encoded
            }
            None => input,
        };
        self.core.infer(seen, steps, rows, resets, state, out);
    }

    /// Features `[steps * rows, hidden]` as a node of the graph, with the parameters they came from.
    pub fn forward(&self, sequences: Sequences<'_>, state: &[f32]) -> (Tensor<2>, Vec<Tensor<2>>) {
        let Sequences { steps, rows, input, resets } = sequences;
        let mut params = Vec::new();
        let width = self.core.spec.inputs;
        let seen: Tensor<3> = match &self.encoder {
            Some(encoder) => {
                params.push(encoder.params.tracked());
                let input = leaf(input, [steps * rows, encoder.spec.inputs]);
                encoder.forward(input, params[0].clone(), None).reshape([steps, rows, width])
            }
            None => leaf(input, [steps, rows, width]),
        };
        let core = self.core.params.tracked();
        let state = leaf(state, [rows, self.state_width()]);
        let features = self.core.forward(seen, core.clone(), resets, state);
        params.push(core);
        (features.reshape([steps * rows, self.features()]), params)
    }

    /// All that is learned, in the order of [`Torso::forward`].
    pub fn params(&mut self) -> Vec<&mut Params> {
        self.encoder.iter_mut().map(|net| &mut net.params).chain([&mut self.core.params]).collect()
    }

    pub fn exchange(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if let Some(encoder) = &mut self.encoder {
            io.mlp(&format!("{name}.encoder"), encoder)?;
        }
        let name = format!("{name}.recurrent");
        match io {
            StateIo::Save(to) => {
                self.core.export(&name, &mut |key, shape, values| {
                    to.model.insert(key, TensorData { shape, values });
                });
                Ok(())
            }
            StateIo::Load(from) | StateIo::LoadModel(from) => self
                .core
                .import(&name, &mut |key| from.model.get(key).map(|t| (t.shape.clone(), t.values.clone())))
                .map_err(|e| StateError::Misfit { name, problem: e.to_string() }),
        }
    }
}

/// Gradients of any small number of parameter tensors.
pub fn gradients_of(loss: Tensor<1>, params: &[Tensor<2>]) -> Vec<Grad> {
    match params {
        [a, b] => gradients(loss, [a, b]).into(),
        [a, b, c] => gradients(loss, [a, b, c]).into(),
        [a, b, c, d] => gradients(loss, [a, b, c, d]).into(),
        [a, b, c, d, e] => gradients(loss, [a, b, c, d, e]).into(),
        [a, b, c, d, e, f] => gradients(loss, [a, b, c, d, e, f]).into(),
        _ => unreachable!("a recurrent network has two to six tensors of parameters"),
    }
}
