//! Adam and AdamW.

use super::{check_len, own_values};
use crate::error::NnError;
use crate::kernels::dispatch::simd;
use crate::params::Params;
use crate::threads::join;
use serde::{Deserialize, Serialize};

/// Above this many parameters two threads share the pass; elements are independent, so the result is the same.
const SPLIT_LEN: usize = 60_000;

/// Settings of [`Adam`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// Decay of the gradient's running mean.
    pub beta1: f32,
    /// Decay of the squared gradient's running mean.
    pub beta2: f32,
    /// Added to the denominator.
    pub eps: f32,
    /// Decoupled weight decay (AdamW).
    pub weight_decay: f32,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 }
    }
}

/// Adam on a flat buffer.
#[derive(Clone, Debug)]
pub struct Adam {
    /// Updates done so far.
    pub step: u64,
    config: AdamConfig,
    m: Vec<f32>,
    v: Vec<f32>,
}

impl Adam {
    /// For `len` parameters.
    pub fn new(len: usize, config: AdamConfig) -> Self {
        Self { step: 0, config, m: vec![0.0; len], v: vec![0.0; len] }
    }

    /// One update with `grad`.
    pub fn step(&mut self, params: &mut Params, grad: &[f32], lr: f32) {
        self.step_scaled(params, grad, lr, 1.0);
    }

    /// One update with `scale · grad`.
    ///
    /// # Panics
    /// When `grad` or `params` have another length than this optimiser: a mistake in the calling code.
    pub fn step_scaled(&mut self, params: &mut Params, grad: &[f32], lr: f32, scale: f32) {
        let values = own_values(params, grad, self.m.len());
        self.step += 1;
        let AdamConfig { beta1, beta2, eps, weight_decay } = self.config;
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(self.step as f64);
        let root = correction(beta2).sqrt();
        // m/(1−β1ᵗ) / (√(v/(1−β2ᵗ)) + ε), with both corrections folded into two constants.
        let update = Update {
            scale,
            beta1,
            beta2,
            rate: (f64::from(lr) * root / correction(beta1)) as f32,
            eps: (f64::from(eps) * root) as f32,
            keep: 1.0 - lr * weight_decay,
        };
        if values.len() < SPLIT_LEN {
            return adam_pass(values, grad, &mut self.m, &mut self.v, update);
        }
        let half = values.len() / 2;
        let (p1, p2) = values.split_at_mut(half);
        let (g1, g2) = grad.split_at(half);
        let (m1, m2) = self.m.split_at_mut(half);
        let (v1, v2) = self.v.split_at_mut(half);
        join(|| adam_pass(p1, g1, m1, v1, update), || adam_pass(p2, g2, m2, v2, update));
    }

    /// First and second moments, in the parameters' layout.
    pub fn moments(&self) -> (&[f32], &[f32]) {
        (&self.m, &self.v)
    }

    /// Restores saved moments; on an error nothing is changed.
    pub fn set_moments(&mut self, step: u64, m: Vec<f32>, v: Vec<f32>) -> Result<(), NnError> {
        check_len(self.m.len(), m.len())?;
        check_len(self.v.len(), v.len())?;
        (self.step, self.m, self.v) = (step, m, v);
        Ok(())
    }

    /// The state vectors by name.
    pub(super) fn buffers(&self) -> Vec<(&'static str, &[f32])> {
        vec![("m", &self.m), ("v", &self.v)]
    }

    pub(super) fn buffers_mut(&mut self) -> Vec<(&'static str, &mut [f32])> {
        vec![("m", &mut self.m), ("v", &mut self.v)]
    }
}

/// The constants of one update.
#[derive(Clone, Copy)]
struct Update {
    scale: f32,
    beta1: f32,
    beta2: f32,
    rate: f32,
    eps: f32,
    keep: f32,
}

/// Moments below this are as good as zero. Left alone, those of a dead unit shrink into subnormal numbers, stay there by
/// rounding, and slow down every later pass.
const NEGLIGIBLE: f32 = 1e-30;

#[inline(always)]
fn flush(x: f32) -> f32 {
    if x.abs() < NEGLIGIBLE { 0.0 } else { x }
}

simd! {
    fn adam_pass(params: &mut [f32], grad: &[f32], m: &mut [f32], v: &mut [f32], update: Update) {
        let Update { scale, beta1, beta2, rate, eps, keep } = update;
        for (((p, g), m), v) in params.iter_mut().zip(grad).zip(m).zip(v) {
            let g = scale * *g;
            *m = flush(beta1.mul_add(*m - g, g));
            let squared = flush(g * g);
            *v = flush(beta2.mul_add(*v - squared, squared));
            *p = keep * *p - rate * *m / (v.sqrt() + eps);
        }
    }
}
