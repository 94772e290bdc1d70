//! The natural gradient: curvature without second derivatives, and conjugate gradients.

use axiomrl_nn::{Distribution, MlpPass};

/// The curvature of the mean divergence from a policy, at that policy: `F = (1/B) Σ Jᵀ M J`, with J how a step's outputs move with
/// the parameters and M the information of its distribution, plus a damping in every direction. Which way round the divergence
/// is taken makes no difference there.
pub struct Curvature<'a> {
    pub pass: MlpPass<'a>,
    pub rows: usize,
    pub distribution: &'a Distribution,
    pub log_std: &'a [f32],
    /// Allowed actions of every row; empty without masks.
    pub masks: &'a [bool],
    pub damping: f32,
}

/// What a product with the curvature gives: `H v`, and `v·H v`.
pub struct Product {
    pub vector: Vec<f32>,
    pub quadratic: f64,
}

impl Curvature<'_> {
    /// `(F + damping) v`, where `v` moves the parameters of the network and then the log standard deviations.
    pub fn product(&self, v: &[f32]) -> Product {
        let (along, deviations) = v.split_at(v.len() - self.log_std.len());
        // ż = J v, then u = M ż / B, and v·F v on the way.
        let moved = self.pass.tangent(along);
        let (width, masks) = (self.distribution.head_width(), self.masks.len() / self.rows);
        let mut by_outputs = vec![0.0; moved.len()];
        let (share, mut quadratic) = (1.0 / self.rows as f32, 0.0);
        let rows = moved.chunks_exact(width).zip(by_outputs.chunks_exact_mut(width));
        for (row, ((moved, out), head)) in rows.zip(self.pass.outputs().chunks_exact(width)).enumerate() {
            let mask = &self.masks[row * masks..(row + 1) * masks];
            self.distribution.fisher_product(head, self.log_std, mask, moved, out);
            out.iter_mut().for_each(|u| *u *= share);
            quadratic += dot(moved, out);
        }
        // Jᵀ u. A log standard deviation that all steps share has information 2, whatever they are.
        let mut vector = self.pass.params_gradient(&by_outputs).to_vec();
        vector.extend(deviations.iter().map(|v| 2.0 * v));
        vector.iter_mut().zip(v).for_each(|(product, v)| *product += self.damping * v);
        quadratic += 2.0 * dot(deviations, deviations) + f64::from(self.damping) * dot(v, v);
        Product { vector, quadratic }
    }
}

/// What conjugate gradients came to.
pub struct Solution {
    pub x: Vec<f32>,
    /// The squared length of what is left of `g`.
    pub residual: f64,
}

/// Below this squared length nothing is left to solve.
const SOLVED: f64 = 1e-10;

/// Solves `H x = g` from 0 with at most so many products; where `H` is not positive, as far as it came.
pub fn conjugate_gradients(g: &[f32], iterations: usize, mut product: impl FnMut(&[f32]) -> Product) -> Solution {
    let (mut x, mut r, mut p) = (vec![0.0; g.len()], g.to_vec(), g.to_vec());
    let mut residual = dot(g, g);
    for _ in 0..iterations {
        if residual < SOLVED {
            break;
        }
        let Product { vector, quadratic } = product(&p);
        if quadratic.is_nan() || quadratic <= 0.0 || quadratic.is_infinite() {
            break;
        }
        let alpha = (residual / quadratic) as f32;
        x.iter_mut().zip(&p).for_each(|(x, p)| *x += alpha * p);
        r.iter_mut().zip(&vector).for_each(|(r, hp)| *r -= alpha * hp);
        let before = std::mem::replace(&mut residual, dot(&r, &r));
        let beta = (residual / before) as f32;
        p.iter_mut().zip(&r).for_each(|(p, r)| *p = r + beta * *p);
    }
    Solution { x, residual }
}

/// In one order, in f64.
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[cfg(test)]
mod tests;
