//! Recognising two views of the same image among those of others.

use crate::parts::descend::ParamGroup;
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::{OptimizerConfig, Params};
use rand::RngExt;

/// Similarity of a query and a key is `query' W key`, with a learned matrix W.
pub struct Contrast {
    matrix: Params,
    group: ParamGroup,
    width: usize,
}

/// Loss with its gradients by the queries and by W.
pub struct Contrasted {
    pub loss: f32,
    pub by_query: Vec<f32>,
    by_matrix: Vec<f32>,
}

impl Contrast {
    pub fn new(width: usize, optimizer: &OptimizerConfig, rng: &mut Rng) -> Self {
        let values = (0..width * width).map(|_| rng.random::<f32>()).collect();
        let mut matrix = Params::from_vec(1, width * width, values);
        let group = ParamGroup::new(optimizer, &[&mut matrix], f32::INFINITY);
        Self { matrix, group, width }
    }

    /// Cross-entropy of telling, for each query, the key with its own row number.
    pub fn loss(&self, queries: &[f32], keys: &[f32]) -> Contrasted {
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

    /// One step on the matrix.
    pub fn step(&mut self, found: &Contrasted, rate: f32) {
        self.group.step(&mut [&mut self.matrix], &[&found.by_matrix], rate);
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

    fn contrast(width: usize) -> Contrast {
        Contrast::new(width, &OptimizerConfig::Adam(AdamConfig::default()), &mut stream(1, "contrast"))
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
                let moved = Contrast { matrix: Params::from_vec(1, 9, values), ..self::contrast(3) };
                moved.loss(&queries, &keys).loss
            };
            assert!((slope(at(1e-2), at(-1e-2)) - found.by_matrix[i]).abs() < 1e-3, "matrix {i}");
        }
    }
}
