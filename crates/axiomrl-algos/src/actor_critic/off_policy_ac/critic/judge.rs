//! What the critics make of actions, held fixed themselves.

use super::super::choices::ActorReducer;
use super::super::window::Window;
use super::Critic;
use crate::parts::columns::join_columns;
use crate::parts::squashed_actor::ActionGradient;
use crate::parts::trunk::Span;
use axiomrl_nn::{Mlp, Params, clip_scale};
use std::borrow::Cow;

/// What the critics make of actions.
pub struct Judged {
    pub by: ActionGradient,
    /// Mean size of the value.
    pub size: f32,
    /// Mean over all critics that were asked, where that is compared with recorded actions.
    pub mean: f32,
}

impl Critic {
    /// dQ/da: what the critics make of actions in what was seen, held fixed themselves. The derivative of a row is cut to norm
    /// `max_norm`.
    pub fn judge(
        &self,
        features: &[f32],
        action: &[f32],
        window: &Window<'_>,
        reducer: ActorReducer,
        max_norm: Option<f32>,
        dropout_seed: Option<u64>,
    ) -> Judged {
        let net = match reducer {
            ActorReducer::First if self.members > 1 => Cow::Owned(first_member(self.net.evaluation())),
            _ => Cow::Borrowed(self.net.evaluation()),
        };
        let (rows, counted) = (window.entries(), window.counted);
        let (inputs, outputs, members) = (net.spec.inputs, self.head.outputs(), net.params.members());
        let mut joint = Vec::with_capacity(rows * inputs);
        join_columns(features, action, rows, &mut joint);
        let pass = net.pass(&joint, rows, dropout_seed);
        let (out, mut value_sum, mut size_sum, mut all_sum) = (pass.outputs(), 0.0, 0.0, 0.0);
        let mut gradient = vec![0.0; out.len()];
        let at = |member: usize, row: usize| (member * rows + row) * outputs;
        let mut scratch = vec![0.0; outputs];
        for row in (0..rows).filter(|&row| counted.valid[row]) {
            let mut mean_of = |member: usize| self.head.mean(&out[at(member, row)..][..outputs], &mut scratch);
            let (from, to, k) = match reducer {
                ActorReducer::First => (0, 1, 1.0),
                ActorReducer::Mean => (0, members, 1.0 / members as f32),
                ActorReducer::Min => {
                    let lowest = (1..members).fold((0, mean_of(0)), |best, member| {
                        let mean = mean_of(member);
                        if mean < best.1 { (member, mean) } else { best }
                    });
                    (lowest.0, lowest.0 + 1, 1.0)
                }
            };
            if self.compares {
                all_sum += (0..members).map(mean_of).sum::<f32>() / members as f32;
            }
            let mut value = 0.0;
            for member in from..to {
                let at = at(member, row);
                let place = &mut gradient[at..at + outputs];
                let part = k * self.head.d_mean(&out[at..at + outputs], k, place);
                value_sum += part;
                value += part;
            }
            size_sum += value.abs();
        }
        let gradient = pass.input_gradient(&gradient);
        let mut by_action = Vec::with_capacity(action.len());
        for row in gradient.chunks_exact(inputs) {
            let row = &row[inputs - action.len() / rows..];
            let norm = row.iter().map(|g| g * g).sum::<f32>().sqrt();
            let scale = max_norm.map_or(1.0, |max| clip_scale(norm, max));
            by_action.extend(row.iter().map(|g| scale * g));
        }
        let by = ActionGradient { value_mean: value_sum / counted.count as f32, by_action };
        Judged { by, size: size_sum / counted.count as f32, mean: all_sum / counted.count as f32 }
    }

    /// The value of each row: the lowest if targets are made of it, else the mean.
    pub fn values(&mut self, seen: &[f32], action: &[f32], rows: usize, values: &mut [f32]) {
        let mut state = vec![0.0; rows * self.trunk.state_width()];
        let starts = vec![true; rows];
        let span = Span { steps: 1, rows, resets: &starts };
        join_columns(&self.trunk.infer(seen, span, &mut state), action, rows, &mut self.joint);
        self.net.evaluation().infer(&self.joint, rows, &mut self.out);
        let outputs = self.head.outputs();
        let mut scratch = vec![0.0; outputs];
        for (row, value) in values.iter_mut().enumerate() {
            let means = (0..self.members).map(|member| {
                let at = (member * rows + row) * outputs;
                self.head.mean(&self.out[at..at + outputs], &mut scratch)
            });
            *value = if self.pessimistic {
                means.fold(f32::INFINITY, f32::min)
            } else {
                means.sum::<f32>() / self.members as f32
            };
        }
    }
}

/// A network of the first member alone: the others need not be evaluated.
fn first_member(ensemble: &Mlp) -> Mlp {
    let len = ensemble.params.per_member();
    let params = Params::from_vec(1, len, ensemble.params.as_slice()[..len].to_vec());
    Mlp { spec: ensemble.spec.clone(), params }
}
