//! LaProp: gradients are brought to scale before momentum is taken, after a clip for each tensor (AGC).

use super::own_values;
use crate::kernels::dispatch::simd;
use crate::kernels::vector::sum_of_squares;
use crate::params::Params;
use crate::threads::join;
use serde::{Deserialize, Serialize};

/// Settings of [`LaProp`]; the defaults are DreamerV3's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LaPropConfig {
    /// Decay of the momentum.
    pub beta1: f32,
    /// Decay of the squared gradient's running mean.
    pub beta2: f32,
    /// Added to the denominator.
    pub eps: f32,
    /// A tensor's gradient is at most this share of the tensor's own norm; infinity clips nothing.
    pub agc: f32,
    /// The norm that a smaller tensor counts as.
    pub agc_floor: f32,
}

impl Default for LaPropConfig {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, eps: 1e-20, agc: 0.3, agc_floor: 1e-3 }
    }
}

/// LaProp on a flat buffer of several tensors.
#[derive(Clone, Debug)]
pub struct LaProp {
    /// Updates done so far.
    pub step: u64,
    config: LaPropConfig,
    /// Lengths of one member's tensors.
    tensors: Vec<usize>,
    momentum: Vec<f32>,
    square: Vec<f32>,
}

/// Above this many parameters two threads share the pass; elements are independent, so the result is the same.
const SPLIT_LEN: usize = 60_000;

impl LaProp {
    /// For `len` parameters: one member or more, each of tensors of the lengths `tensors`.
    ///
    /// # Panics
    /// When the lengths do not add up: a mistake in the calling code.
    pub fn new(len: usize, tensors: &[usize], config: LaPropConfig) -> Self {
        let member = tensors.iter().sum::<usize>();
        assert!(len == 0 || (member > 0 && len.is_multiple_of(member)), "the tensors are not those of the parameters");
        Self { step: 0, config, tensors: tensors.to_vec(), momentum: vec![0.0; len], square: vec![0.0; len] }
    }

    /// One update with `grad`.
    pub fn step(&mut self, params: &mut Params, grad: &[f32], lr: f32) {
        self.step_scaled(params, grad, lr, 1.0);
    }

    /// One update with `scale · grad`.
    ///
    /// # Panics
    /// When the lengths disagree: a mistake in the calling code.
    pub fn step_scaled(&mut self, params: &mut Params, grad: &[f32], lr: f32, scale: f32) {
        let values = own_values(params, grad, self.square.len());
        self.step += 1;
        let LaPropConfig { beta1, beta2, eps, .. } = self.config;
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(self.step as f64);
        let update = Update {
            beta1,
            beta2,
            eps,
            correction: (1.0 / correction(beta2)) as f32,
            rate: (f64::from(lr) / correction(beta1)) as f32,
        };
        let mut first = 0;
        // Members one after another, each tensor by tensor.
        for &count in self.tensors.iter().cycle() {
            if first >= values.len() {
                break;
            }
            let all = first..first + count;
            first += count;
            let scale = scale * self.clip(&values[all.clone()], &grad[all.clone()], scale);
            let (values, grad) = (&mut values[all.clone()], &grad[all.clone()]);
            let (momentum, square) = (&mut self.momentum[all.clone()], &mut self.square[all]);
            if count < SPLIT_LEN {
                laprop_pass(values, grad, momentum, square, scale, update);
                continue;
            }
            let half = count / 2;
            let ((v1, v2), (g1, g2)) = (values.split_at_mut(half), grad.split_at(half));
            let ((m1, m2), (s1, s2)) = (momentum.split_at_mut(half), square.split_at_mut(half));
            join(|| laprop_pass(v1, g1, m1, s1, scale, update), || laprop_pass(v2, g2, m2, s2, scale, update));
        }
    }

    /// The factor that brings a tensor's gradient down to its share of the tensor's norm.
    fn clip(&self, values: &[f32], grad: &[f32], scale: f32) -> f32 {
        let LaPropConfig { agc, agc_floor, .. } = self.config;
        if agc == f32::INFINITY {
            return 1.0;
        }
        let norm = f64::from(scale.abs()) * sum_of_squares(grad).sqrt();
        let bound = f64::from(agc) * sum_of_squares(values).sqrt().max(f64::from(agc_floor));
        if norm > bound { (bound / norm) as f32 } else { 1.0 }
    }

    /// The state vectors by name.
    pub(super) fn buffers(&self) -> Vec<(&'static str, &[f32])> {
        vec![("momentum", &self.momentum), ("square", &self.square)]
    }

    pub(super) fn buffers_mut(&mut self) -> Vec<(&'static str, &mut [f32])> {
        vec![("momentum", &mut self.momentum), ("square", &mut self.square)]
    }
}

/// The constants of one update.
#[derive(Clone, Copy)]
struct Update {
    beta1: f32,
    beta2: f32,
    eps: f32,
    correction: f32,
    rate: f32,
}

/// Momentum below this is as good as zero; left alone it would shrink into subnormal numbers, which are slow. The mean square is
/// not cut: it is divided by, and a small one belongs to a small gradient.
const NEGLIGIBLE: f32 = 1e-30;

simd! {
    fn laprop_pass(
        params: &mut [f32],
        grad: &[f32],
        momentum: &mut [f32],
        square: &mut [f32],
        scale: f32,
        update: Update,
    ) {
        let Update { beta1, beta2, eps, correction, rate } = update;
        for (((p, g), m), v) in params.iter_mut().zip(grad).zip(momentum).zip(square) {
            let g = scale * *g;
            let squared = g * g;
            *v = beta2.mul_add(*v - squared, squared);
            let scaled = g / ((*v * correction).sqrt() + eps);
            let next = beta1.mul_add(*m - scaled, scaled);
            *m = if next.abs() < NEGLIGIBLE { 0.0 } else { next };
            *p -= rate * *m;
        }
    }
}
