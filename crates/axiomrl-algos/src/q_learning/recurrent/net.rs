//! Values of all actions, from what is remembered.

use crate::parts::torso::{Sequences, Torso};
use crate::parts::tracked::Trainable;
use crate::q_learning::direct::DirectNet;
use crate::q_learning::outcomes::Outcomes;
use crate::state::{StateError, StateIo};
use axiomrl_nn::{Grad, Params, fused_loss, gradients_of};

/// A torso and a head of one or two streams.
#[derive(Clone)]
pub struct QNet {
    torso: Torso,
    head: DirectNet,
    features: Vec<f32>,
    outcomes: Outcomes,
}

impl QNet {
    pub fn new(torso: Torso, head: DirectNet) -> Self {
        Self { torso, head, features: Vec::new(), outcomes: Outcomes::default() }
    }

    pub fn state_width(&self) -> usize {
        self.torso.state_width()
    }

    /// Values `[time][row][action]` without a graph; `state` moves on.
    pub fn infer(&mut self, sequences: Sequences<'_>, state: &mut [f32], q: &mut Vec<f32>) {
        self.features = self.torso.infer(sequences, state).into_owned();
        let rows = sequences.steps * sequences.rows;
        self.head.infer(&self.features, rows, false, &mut self.outcomes);
        q.clone_from(&self.outcomes.values);
    }

    /// Only moves the memory on.
    pub fn remember(&mut self, sequences: Sequences<'_>, state: &mut [f32]) {
        self.features = self.torso.infer(sequences, state).into_owned();
    }

    /// Gradients of a loss of the values `[time][row][action]`, one for each of [`QNet::params`].
    pub fn gradients(
        &self,
        sequences: Sequences<'_>,
        state: &[f32],
        loss: impl FnOnce(&[f32]) -> (f32, Vec<f32>),
    ) -> Vec<Grad> {
        let (features, mut params) = self.torso.forward(sequences, state);
        let (streams, of_head) = self.head.forward(features);
        params.extend(of_head);
        let node = match <[_; 2]>::try_from(streams) {
            Ok(both) => fused_loss(both, |both| {
                let (value, gradient) = loss(&self.head.join(both));
                (value, self.head.split(gradient))
            }),
            Err(mut single) => {
                let stream = single.pop().unwrap_or_else(|| unreachable!("a head has one or two streams"));
                fused_loss([stream], |[q]| {
                    let (value, gradient) = loss(q);
                    (value, [gradient])
                })
            }
        };
        gradients_of(node, &params)
    }

    /// All that is learned.
    pub fn params(&mut self) -> Vec<&mut Params> {
        self.torso.params().into_iter().chain(self.head.params()).collect()
    }

    /// Moves towards `online`.
    pub fn follow(&mut self, online: &mut QNet, tau: f32) {
        for (target, online) in self.params().into_iter().zip(online.params()) {
            target.polyak_from(online, tau);
        }
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.torso.visit_state(name, io)?;
        self.head.visit_state(name, io)
    }
}
