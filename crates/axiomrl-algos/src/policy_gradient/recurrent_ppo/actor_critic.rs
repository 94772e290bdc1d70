//! A policy and a value function that remember, apart or together.

use crate::parts::torso::{Sequences, Torso};
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_nn::{Grad, Mlp, Params, fused_loss, gradients_of};

/// With one torso both heads read the same memory; with two, each has its own, and a row of memory is the policy's part
/// followed by that of the value.
pub struct ActorCritic {
    torso: Torso,
    value_torso: Option<Torso>,
    policy: Mlp,
    value: Mlp,
    features: Vec<f32>,
}

impl ActorCritic {
    pub fn new(torso: Torso, value_torso: Option<Torso>, policy: Mlp, value: Mlp) -> Self {
        Self { torso, value_torso, policy, value, features: Vec::new() }
    }

    pub fn state_width(&self) -> usize {
        self.torso.state_width() + self.value_torso.as_ref().map_or(0, Torso::state_width)
    }

    /// Heads of the policy and values for every time and row; `state` moves on.
    pub fn infer(&mut self, sequences: Sequences<'_>, state: &mut [f32], head: &mut Vec<f32>, values: &mut Vec<f32>) {
        let (count, width) = (sequences.steps * sequences.rows, self.state_width());
        let mut own = columns(state, width, 0..self.torso.state_width());
        self.features = self.torso.infer(sequences, &mut own).into_owned();
        self.policy.infer(&self.features, count, head);
        put_columns(state, width, 0..self.torso.state_width(), &own);
        if let Some(torso) = &mut self.value_torso {
            let place = self.torso.state_width()..width;
            let mut own = columns(state, width, place.clone());
            self.features = torso.infer(sequences, &mut own).into_owned();
            put_columns(state, width, place, &own);
        }
        self.value.infer(&self.features, count, values);
    }

    /// Gradients of a loss of heads and values, one for each of [`ActorCritic::params`].
    pub fn gradients(
        &self,
        sequences: Sequences<'_>,
        state: &[f32],
        loss: impl FnOnce(&[f32], &[f32]) -> (f32, [Vec<f32>; 2]),
    ) -> Vec<Grad> {
        let (width, split) = (self.state_width(), self.torso.state_width());
        let (features, mut params) = self.torso.forward(sequences, &columns(state, width, 0..split));
        let for_value = match &self.value_torso {
            Some(torso) => {
                let (own, own_params) = torso.forward(sequences, &columns(state, width, split..width));
                params.extend(own_params);
                own
            }
            None => features.clone(),
        };
        let heads = [self.policy.params.tracked(), self.value.params.tracked()];
        let head = self.policy.forward(features, heads[0].clone(), None);
        let values = self.value.forward(for_value, heads[1].clone(), None);
        params.extend(heads);
        gradients_of(fused_loss([head, values], |[head, values]| loss(head, values)), &params)
    }

    /// All that is learned.
    pub fn params(&mut self) -> Vec<&mut Params> {
        let torsos = std::iter::once(&mut self.torso).chain(&mut self.value_torso).flat_map(Torso::params);
        torsos.chain([&mut self.policy.params, &mut self.value.params]).collect()
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.torso.visit_state("policy", io)?;
        if let Some(torso) = &mut self.value_torso {
            torso.visit_state("value", io)?;
        }
        io.network("policy.head", &mut self.policy)?;
        io.network("value.head", &mut self.value)
    }
}

/// Columns `range` of rows that are `width` wide.
fn columns(rows: &[f32], width: usize, range: std::ops::Range<usize>) -> Vec<f32> {
    rows.chunks_exact(width).flat_map(|row| &row[range.clone()]).copied().collect()
}

/// Writes them back.
fn put_columns(rows: &mut [f32], width: usize, range: std::ops::Range<usize>, columns: &[f32]) {
    for (row, own) in rows.chunks_exact_mut(width).zip(columns.chunks_exact(range.len())) {
        row[range.clone()].copy_from_slice(own);
    }
}
