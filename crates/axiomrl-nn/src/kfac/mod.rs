//! Kronecker-factored curvature of a network: the natural gradient, layer by layer.
//!
//! A layer's parameters, weights and below them the biases, are a matrix of inputs (and a 1) by outputs. Its curvature is taken
//! to be `A ⊗ S`, with A the mean of `ā āᵀ` over its inputs and S that of `g gᵀ` over the gradients at its linear outputs, each of
//! a row's own term. Both are running averages; their eigenvectors turn a gradient so that it can be divided, number by number.
//!
//! A convolution is such a layer at every position of its output: ā is the patch under the kernel. A position is taken to have
//! nothing to do with another one, so the curvature is the sum of theirs: A the mean over images and positions, S the mean over
//! images of sums over positions.

mod captured;
mod eigen;

use crate::conv::ConvSpec;
use crate::kernels::matmul::{Left, product, product_transposed};
use crate::mlp::MlpSpec;
pub use captured::Captured;
use eigen::symmetric_eigen;
use std::ops::Range;

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

    /// Takes in a sum of `x xᵀ`, divided by `count`, as a `share` of what is there. The sum is over the rows that are shown.
    fn count(&mut self, share: f32, count: usize, rows: impl FnOnce(&mut dyn FnMut(&[f32]))) {
        let n = self.n;
        let mut fresh = vec![0.0; n * n];
        rows(&mut |x| product(&mut fresh, n, n, x.len() / n, Left::Transposed(x), x, true));
        let scale = share / count as f32;
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

/// One layer's curvature.
#[derive(Clone, Debug)]
struct Layer {
    /// Where its weights and biases lie: one matrix of inputs and a 1, by outputs.
    at: Range<usize>,
    /// That of its inputs, then that of its outputs.
    factors: [Factor; 2],
}

/// The curvature of one network.
#[derive(Clone, Debug)]
pub struct Kfac {
    layers: Vec<Layer>,
    /// Batches taken in.
    pub count: u64,
}

impl Kfac {
    /// For stacks of convolutions, one beside the other, and the layers that follow them: parameters and what is captured come in
    /// this order. None of them may have norms; a layer's inputs and outputs must be fewer than [`WIDEST_FACTOR`].
    pub fn new(stacks: &[&ConvSpec], layers: &MlpSpec) -> Self {
        let mut kfac = Self { layers: Vec::new(), count: 0 };
        for conv in stacks.iter().flat_map(|stack| stack.convolutions()) {
            kfac.push(conv.window.patch_len(), conv.outputs);
        }
        layers.layers().for_each(|layer| kfac.push(layer.inputs, layer.outputs));
        kfac
    }

    fn push(&mut self, inputs: usize, outputs: usize) {
        let from = self.layers.last().map_or(0, |before| before.at.end);
        let factors = [Factor::new(inputs + 1), Factor::new(outputs)];
        self.layers.push(Layer { at: from..from + (inputs + 1) * outputs, factors });
    }

    /// Number of parameters.
    pub fn param_count(&self) -> usize {
        self.layers.last().map_or(0, |last| last.at.end)
    }

    /// Takes in what a batch showed: the first one as it is, later ones as a `share`.
    pub fn observe(&mut self, captured: &[Captured], share: f32) {
        assert_eq!(self.layers.len(), captured.len(), "something of every layer");
        let share = if self.count == 0 { 1.0 } else { share };
        for (Layer { factors: [inputs, outputs], .. }, layer) in self.layers.iter_mut().zip(captured) {
            let rows = layer.gradients.len() / outputs.n;
            let width = inputs.n - 1;
            inputs.count(share, rows, |add| layer.each_block(width, add));
            outputs.count(share, rows / layer.positions(), |add| add(&layer.gradients));
        }
        self.count += 1;
    }

    /// Finds the eigenvectors of the averages as they are now.
    pub fn refresh(&mut self) {
        self.layers.iter_mut().flat_map(|layer| &mut layer.factors).for_each(Factor::refresh);
    }

    /// `(A ⊗ S + damping)⁻¹` times a gradient: turned into the eigenvectors, divided, turned back.
    pub fn precondition(&self, gradient: &[f32], damping: f32) -> Vec<f32> {
        let mut natural = vec![0.0; gradient.len()];
        for Layer { at, factors: [a, s] } in &self.layers {
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
            product_transposed(&mut natural[at.clone()], rows, columns, columns, &half, &s.vectors, false);
        }
        natural
    }

    /// `Σ ⟨Δ, A Δ S⟩` over the layers: twice the divergence that a step is expected to make, as the averages have it.
    pub fn quadratic(&self, step: &[f32]) -> f64 {
        let mut sum = 0.0;
        for Layer { at, factors: [a, s] } in &self.layers {
            let step = &step[at.clone()];
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
        let factors = || self.layers.iter().flat_map(|layer| &layer.factors);
        let values = || factors().flat_map(|factor| &factor.values).copied().filter(|&x| x > 0.0);
        let (smallest, largest) = (values().fold(f32::INFINITY, f32::min), values().fold(0.0, f32::max));
        if largest > 0.0 { largest / smallest } else { 1.0 }
    }

    /// The averages and their eigenvectors by name, for files.
    pub fn buffers_mut(&mut self) -> Vec<(String, &mut [f32])> {
        let mut buffers = Vec::new();
        for (index, layer) in self.layers.iter_mut().enumerate() {
            for (factor, side) in layer.factors.iter_mut().zip(["a", "s"]) {
                buffers.push((format!("{index}.{side}.mean"), &mut factor.mean[..]));
                buffers.push((format!("{index}.{side}.values"), &mut factor.values[..]));
                buffers.push((format!("{index}.{side}.vectors"), &mut factor.vectors[..]));
            }
        }
        buffers
    }
}

#[cfg(test)]
mod tests;
