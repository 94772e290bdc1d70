//! Kronecker-factored curvature of a multi-layer perceptron: the natural gradient, layer by layer.
//!
//! A layer's parameters, weights and below them the biases, are a matrix of inputs (and a 1) by outputs. Its curvature is taken
//! to be `A ⊗ S`, with A the mean of `ā āᵀ` over its inputs and S that of `g gᵀ` over the gradients at its linear outputs, each of
//! a row's own term. Both are running averages; their eigenvectors turn a gradient so that it can be divided, number by number.

mod eigen;

use crate::kernels::matmul::{Left, product, product_transposed};
use crate::mlp::{Captured, Layer, MlpSpec};
use eigen::symmetric_eigen;
use std::sync::Arc;

/// The widest factor whose eigenvectors are found in reasonable time.
pub const WIDEST_FACTOR: usize = 513;

/// Eigenvalues below this are rounding.
const NEGLIGIBLE: f64 = 1e-6;

/// A running average `[n, n]`, and its eigenvectors when they were last looked for.
#[derive(Clone, Debug)]
struct Factor {
    n: usize,
    mean: Vec<f32>,
    values: Vec<f32>,
    vectors: Vec<f32>,
}

impl Factor {
    fn new(n: usize) -> Self {
        Self { n, mean: vec![0.0; n * n], values: vec![0.0; n], vectors: vec![0.0; n * n] }
    }

    /// Takes in the mean of `x xᵀ` over rows, as a `share` of what is there.
    fn count(&mut self, x: &[f32], share: f32) {
        let (n, rows) = (self.n, x.len() / self.n);
        let mut fresh = vec![0.0; n * n];
        product(&mut fresh, n, n, rows, Left::Transposed(x), x, false);
        let scale = share / rows as f32;
        self.mean.iter_mut().zip(fresh).for_each(|(mean, fresh)| *mean = (1.0 - share).mul_add(*mean, scale * fresh));
    }

    fn refresh(&mut self) {
        let n = self.n;
        // Rounding may have left the two halves a last digit apart.
        let half = |i: usize, j: usize| f64::from(self.mean[i * n + j]) + f64::from(self.mean[j * n + i]);
        let matrix: Vec<f64> = (0..n * n).map(|k| 0.5 * half(k / n, k % n)).collect();
        let found = symmetric_eigen(&matrix, n);
        let kept = found.values.iter().map(|&value| if value < NEGLIGIBLE { 0.0 } else { value as f32 });
        self.values = kept.collect();
        self.vectors = found.vectors.into_iter().map(|x| x as f32).collect();
    }
}

/// The curvature of one network.
#[derive(Clone, Debug)]
pub struct Kfac {
    spec: Arc<MlpSpec>,
    /// For each layer that of its inputs, then that of its outputs.
    factors: Vec<[Factor; 2]>,
    /// Batches taken in.
    pub count: u64,
}

impl Kfac {
    /// For a network without LayerNorm, of layers no wider than [`WIDEST_FACTOR`] allows; see [`Kfac::check`].
    pub fn new(spec: Arc<MlpSpec>) -> Self {
        let factors = spec.layers().map(|layer| [Factor::new(layer.inputs + 1), Factor::new(layer.outputs)]).collect();
        Self { spec, factors, count: 0 }
    }

    /// The first width that is too large, if any.
    pub fn check(spec: &MlpSpec) -> Result<(), usize> {
        let widths = spec.layers().flat_map(|layer| [layer.inputs, layer.outputs]);
        widths.into_iter().find(|&width| width >= WIDEST_FACTOR).map_or(Ok(()), Err)
    }

    /// Takes in what a batch showed: the first one as it is, later ones as a `share`.
    pub fn observe(&mut self, captured: &[Captured], share: f32) {
        let share = if self.count == 0 { 1.0 } else { share };
        for ([inputs, outputs], layer) in self.factors.iter_mut().zip(captured) {
            inputs.count(&with_ones(&layer.inputs, inputs.n - 1), share);
            outputs.count(&layer.gradients, share);
        }
        self.count += 1;
    }

    /// Finds the eigenvectors of the averages as they are now.
    pub fn refresh(&mut self) {
        self.factors.iter_mut().flatten().for_each(Factor::refresh);
    }

    /// `(A ⊗ S + damping)⁻¹` times a gradient: turned into the eigenvectors, divided, turned back.
    pub fn precondition(&self, gradient: &[f32], damping: f32) -> Vec<f32> {
        let mut natural = vec![0.0; gradient.len()];
        for (layer, [a, s]) in self.spec.layers().zip(&self.factors) {
            let at = place(&layer);
            let (rows, columns) = (a.n, s.n);
            let (mut half, mut turned) = (vec![0.0; rows * columns], vec![0.0; rows * columns]);
            // Q_Aᵀ G Q_S
            product(&mut half, rows, columns, rows, Left::Transposed(&a.vectors), &gradient[at.clone()], false);
            product(&mut turned, rows, columns, columns, Left::Rows(&half), &s.vectors, false);
            for (row, by_input) in turned.chunks_exact_mut(columns).zip(&a.values) {
                row.iter_mut().zip(&s.values).for_each(|(g, by_output)| *g /= by_input * by_output + damping);
            }
            // Q_A · Q_Sᵀ
            product(&mut half, rows, columns, rows, Left::Rows(&a.vectors), &turned, false);
            product_transposed(&mut natural[at], rows, columns, columns, &half, &s.vectors, false);
        }
        natural
    }

    /// `Σ ⟨Δ, A Δ S⟩` over the layers: twice the divergence that a step is expected to make, as the averages have it.
    pub fn quadratic(&self, step: &[f32]) -> f64 {
        let mut sum = 0.0;
        for (layer, [a, s]) in self.spec.layers().zip(&self.factors) {
            let step = &step[place(&layer)];
            let (rows, columns) = (a.n, s.n);
            let (mut half, mut whole) = (vec![0.0; rows * columns], vec![0.0; rows * columns]);
            product(&mut half, rows, columns, rows, Left::Rows(&a.mean), step, false);
            product(&mut whole, rows, columns, columns, Left::Rows(&half), &s.mean, false);
            sum += step.iter().zip(&whole).map(|(d, w)| f64::from(*d) * f64::from(*w)).sum::<f64>();
        }
        sum
    }

    /// The largest eigenvalue over the smallest one that is not rounding, of all factors.
    pub fn condition(&self) -> f32 {
        let values = || self.factors.iter().flatten().flat_map(|factor| &factor.values).copied().filter(|&x| x > 0.0);
        let (smallest, largest) = (values().fold(f32::INFINITY, f32::min), values().fold(0.0, f32::max));
        if largest > 0.0 { largest / smallest } else { 1.0 }
    }

    /// The averages and their eigenvectors by name, for files.
    pub fn buffers_mut(&mut self) -> Vec<(String, &mut [f32])> {
        let mut buffers = Vec::new();
        for (layer, pair) in self.factors.iter_mut().enumerate() {
            for (factor, side) in pair.iter_mut().zip(["a", "s"]) {
                buffers.push((format!("{layer}.{side}.mean"), &mut factor.mean[..]));
                buffers.push((format!("{layer}.{side}.values"), &mut factor.values[..]));
                buffers.push((format!("{layer}.{side}.vectors"), &mut factor.vectors[..]));
            }
        }
        buffers
    }
}

/// Where a layer's weights and biases lie: one matrix of inputs and a 1, by outputs.
fn place(layer: &Layer) -> std::ops::Range<usize> {
    layer.offset..layer.offset + layer.len()
}

/// Rows with a 1 behind them, for the bias.
fn with_ones(rows: &[f32], width: usize) -> Vec<f32> {
    rows.chunks_exact(width).flat_map(|row| row.iter().copied().chain([1.0])).collect()
}

#[cfg(test)]
mod tests;
