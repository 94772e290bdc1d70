//! Recognising two views of the same image among those of others.

use super::augment::RandomShift;
use super::critic::Critic;
use crate::agent::{Diverged, UpdateContext};
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::ObsEncoder;
use crate::parts::tracked::Trainable;
use crate::parts::trunk::Span;
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{OptimizerConfig, Params, fused_loss};
use rand::RngExt;

/// Similarity of a query and a key is `query' W key`, with a learned matrix W.
pub struct Contrast {
    matrix: Params,
    group: ParamGroup,
    width: usize,
}

/// Loss with its gradients by the queries and by W.
struct Contrasted {
    loss: f32,
    by_query: Vec<f32>,
    by_matrix: Vec<f32>,
}

impl Contrast {
    /// The task trains `encoder` and the critics' trunk, as one network that ends in queries and keys, and W.
    pub fn new(encoder: &mut ObsEncoder, critic: &mut Critic, adam: &OptimizerConfig, rng: &mut Rng) -> Self {
        let width = critic.trunk.width();
        let mut matrix = Self::matrix(width, rng);
        let params = encoder.params().into_iter().chain(critic.trunk.params()).chain([&mut matrix]);
        let group = ParamGroup::new(adam, &params.collect::<Vec<_>>(), f32::INFINITY);
        Self { matrix, group, width }
    }

    fn matrix(width: usize, rng: &mut Rng) -> Params {
        Params::from_vec(1, width * width, (0..width * width).map(|_| rng.random::<f32>()).collect())
    }

    /// One step on encoder, trunk and W: which of the slow copies' views belongs to which of ours? Gives the loss.
    pub fn step(
        &mut self,
        obs: ObsRef<'_>,
        shift: &RandomShift,
        encoder: &mut ObsEncoder,
        slow_encoder: Option<&ObsEncoder>,
        critic: &mut Critic,
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Result<f32, Diverged> {
        let span = Span::single(obs.rows);
        let query_view = shift.apply(obs, context.rng);
        let key_view = shift.apply(obs, context.rng);
        let slow = slow_encoder.unwrap_or(&*encoder).infer(key_view.as_ref());
        let keys = critic.target_trunk().infer(&slow, span, &mut []);
        let (seen, mut tracked) = encoder.forward(query_view.as_ref());
        let (queries, own) = critic.trunk.forward(seen, span, &[]);
        tracked.extend(own);
        let mut found = Contrasted { loss: 0.0, by_query: Vec::new(), by_matrix: Vec::new() };
        let node = fused_loss([queries], |[queries]| {
            found = self.loss(queries, &keys);
            (found.loss, [std::mem::take(&mut found.by_query)])
        });
        let mut params: Vec<&mut Params> =
            encoder.params().into_iter().chain(critic.trunk.params()).chain([&mut self.matrix]).collect();
        let loss = Loss { node, value: found.loss, tracked };
        // W is no part of the graph: its gradient was found with the loss.
        let by_matrix = |_: &[&[f32]]| vec![found.by_matrix];
        self.group.descend_with("the contrastive task", loss, &mut params, rate, context.number(), by_matrix)?;
        Ok(found.loss)
    }

    /// Cross-entropy of telling, for each query, the key with its own row number.
    fn loss(&self, queries: &[f32], keys: &[f32]) -> Contrasted {
        let (width, rows) = (self.width, queries.len() / self.width);
        // Keys as the matrix shows them to queries: row j is W k_j.
        let shown = shown_by(self.matrix.as_slice(), keys, width);
        let mut found = Contrasted { loss: 0.0, by_query: vec![0.0; queries.len()], by_matrix: Vec::new() };
        // By each similarity: what the softmax gives too much, divided by the rows.
        let mut by_similarity = vec![0.0; rows * rows];
        for (i, query) in queries.chunks_exact(width).enumerate() {
            let row = &mut by_similarity[i * rows..(i + 1) * rows];
            for (similarity, shown) in row.iter_mut().zip(shown.chunks_exact(width)) {
                *similarity = dot(query, shown);
            }
            let largest = row.iter().copied().fold(f32::MIN, f32::max);
            let own = row[i] - largest;
            row.iter_mut().for_each(|s| *s = (*s - largest).exp());
            let total: f32 = row.iter().sum();
            found.loss += (total.ln() - own) / rows as f32;
            row.iter_mut().for_each(|s| *s /= total * rows as f32);
            row[i] -= 1.0 / rows as f32;
            let by_query = &mut found.by_query[i * width..(i + 1) * width];
            for (weight, shown) in row.iter().zip(shown.chunks_exact(width)) {
                by_query.iter_mut().zip(shown).for_each(|(g, s)| *g += weight * s);
            }
        }
        // dW = sum_ij g_ij q_i k_j'.
        let mut by_matrix = vec![0.0; width * width];
        for (i, query) in queries.chunks_exact(width).enumerate() {
            let mut mixed = vec![0.0; width];
            for (weight, key) in by_similarity[i * rows..(i + 1) * rows].iter().zip(keys.chunks_exact(width)) {
                mixed.iter_mut().zip(key).for_each(|(m, k)| *m += weight * k);
            }
            for (row, q) in by_matrix.chunks_exact_mut(width).zip(query) {
                row.iter_mut().zip(&mixed).for_each(|(g, m)| *g += q * m);
            }
        }
        found.by_matrix = by_matrix;
        found
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.params("contrast.matrix", &mut self.matrix)?;
        self.group.visit_state("contrast", io)
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `W k` for every row k of `keys`.
fn shown_by(matrix: &[f32], keys: &[f32], width: usize) -> Vec<f32> {
    keys.chunks_exact(width).flat_map(|key| matrix.chunks_exact(width).map(|line| dot(line, key))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::stream;
    use axiomrl_nn::AdamConfig;

    fn of(matrix: Params) -> Contrast {
        let mut matrix = matrix;
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let group = ParamGroup::new(&adam, &[&mut matrix], f32::INFINITY);
        Contrast { width: matrix.as_slice().len().isqrt(), matrix, group }
    }

    fn contrast(width: usize) -> Contrast {
        of(Contrast::matrix(width, &mut stream(1, "contrast")))
    }

    #[test]
    fn equal_keys_cannot_be_told_apart() {
        let found = contrast(2).loss(&[0.3, 0.4, -0.2, 0.9, 0.5, 0.5], &[0.1, 0.7].repeat(3));
        assert!((found.loss - 3f32.ln()).abs() < 1e-6, "{}", found.loss);
    }

    #[test]
    fn gradients_by_finite_differences() {
        let contrast = contrast(3);
        let mut rng = stream(2, "contrast");
        let queries: Vec<f32> = (0..12).map(|_| rng.random_range(-1.0..1.0)).collect();
        let keys: Vec<f32> = (0..12).map(|_| rng.random_range(-1.0..1.0)).collect();
        let found = contrast.loss(&queries, &keys);
        let slope = |up: f32, down: f32| (up - down) / 2e-2;
        for i in 0..queries.len() {
            let at = |step: f32| {
                let mut moved = queries.clone();
                moved[i] += step;
                contrast.loss(&moved, &keys).loss
            };
            assert!((slope(at(1e-2), at(-1e-2)) - found.by_query[i]).abs() < 1e-3, "query {i}");
        }
        for i in 0..9 {
            let at = |step: f32| {
                let mut values = contrast.matrix.as_slice().to_vec();
                values[i] += step;
                of(Params::from_vec(1, 9, values)).loss(&queries, &keys).loss
            };
            assert!((slope(at(1e-2), at(-1e-2)) - found.by_matrix[i]).abs() < 1e-3, "matrix {i}");
        }
    }
}
