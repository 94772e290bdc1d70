//! For tests: critics that say what they are told, and what they know.

use super::Critic;
use crate::parts::columns::join_columns;
use crate::parts::tracked::Trainable;

impl Critic {
    fn edit(&mut self, edit: impl Fn(usize, &mut [f32])) {
        let (len, target) = (self.net.evaluation().params.per_member(), &mut self.target);
        let copy = target.iter_mut().map(|(_, net)| &mut net.params);
        for params in self.net.params().into_iter().chain(copy) {
            params.make_mut().chunks_exact_mut(len).enumerate().for_each(|(member, params)| edit(member, params));
        }
    }

    /// Makes each member give one number, whatever it sees.
    pub fn say(&mut self, numbers: &[f32]) {
        let last = self.net.evaluation().spec.hidden.last().copied().unwrap_or(0);
        self.edit(|member, params| {
            let len = params.len();
            params[len - 1 - last..len - 1].fill(0.0);
            params[len - 1] = numbers[member];
        });
    }

    /// Gives every critic the same strong opinion: scales its last weights up.
    pub fn tilt(&mut self, by: f32) {
        let last = self.net.evaluation().spec.hidden.last().copied().unwrap_or(0);
        self.edit(|_, params| {
            let len = params.len();
            params[len - 1 - last..len - 1].iter_mut().enumerate().for_each(|(at, w)| *w += by * (at % 3) as f32);
        });
    }

    /// Moves all weights of one member.
    pub fn shift(&mut self, which: usize, by: f32) {
        self.edit(|member, params| {
            if member == which {
                params.iter_mut().for_each(|w| *w += by);
            }
        });
    }

    /// The most that critics with LayerNorm before their last layer can say: the root of its width, times the length of its
    /// weights, and the bias.
    pub fn bound(&self) -> f32 {
        let net = self.net.evaluation();
        let last = net.spec.hidden.last().copied().unwrap_or(0);
        let of = |params: &[f32]| {
            let (weights, bias) = params[params.len() - 1 - last..].split_at(last);
            (last as f32).sqrt() * weights.iter().map(|w| w * w).sum::<f32>().sqrt() + bias[0].abs()
        };
        net.params.as_slice().chunks_exact(net.params.per_member()).map(of).fold(0.0, f32::max)
    }

    /// What every critic says, `[members, rows]`.
    pub fn all_values(&mut self, seen: &[f32], action: &[f32], rows: usize) -> Vec<f32> {
        join_columns(seen, action, rows, &mut self.joint);
        let mut out = Vec::new();
        self.net.evaluation().infer(&self.joint, rows, &mut out);
        out
    }

    /// The parameters of each member's slow copy.
    pub fn targets_of_members(&self) -> Vec<Vec<f32>> {
        let (_, net) = self.target.as_ref().unwrap();
        net.params.as_slice().chunks_exact(net.params.per_member()).map(<[f32]>::to_vec).collect()
    }
}
