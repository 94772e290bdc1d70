//! RMSProp, in PyTorch's and TensorFlow's flavours.

use super::own_values;
use crate::kernels::dispatch::simd;
use crate::params::Params;
use serde::{Deserialize, Serialize};

/// Settings of [`RmsProp`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RmsPropConfig {
    /// Decay of the squared gradient's running mean.
    pub alpha: f32,
    /// Keeps the denominator away from zero.
    pub eps: f32,
    /// √(v + eps) as TensorFlow does, instead of √v + eps.
    pub eps_inside_sqrt: bool,
    /// Subtract the squared running mean of the gradient.
    pub centred: bool,
    /// Momentum on the scaled gradient; 0 switches it off.
    pub momentum: f32,
    /// The squared gradient's running mean at the start: 1 in TensorFlow, which makes the first steps small.
    pub initial_square: f32,
}

impl Default for RmsPropConfig {
    fn default() -> Self {
        Self { alpha: 0.99, eps: 1e-8, eps_inside_sqrt: false, centred: false, momentum: 0.0, initial_square: 0.0 }
    }
}

/// RMSProp on a flat buffer.
#[derive(Clone, Debug)]
pub struct RmsProp {
    /// Updates done so far.
    pub step: u64,
    config: RmsPropConfig,
    square: Vec<f32>,
    mean: Vec<f32>,
    velocity: Vec<f32>,
}

impl RmsProp {
    /// For `len` parameters.
    pub fn new(len: usize, config: RmsPropConfig) -> Self {
        let zeros = || vec![0.0; len];
        Self { step: 0, config, square: vec![config.initial_square; len], mean: zeros(), velocity: zeros() }
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
        pass(values, grad, &mut self.square, &mut self.mean, &mut self.velocity, self.config, lr, scale);
    }

    /// The state vectors by name.
    pub(super) fn buffers(&self) -> Vec<(&'static str, &[f32])> {
        vec![("square", &self.square), ("mean", &self.mean), ("velocity", &self.velocity)]
    }

    pub(super) fn buffers_mut(&mut self) -> Vec<(&'static str, &mut [f32])> {
        vec![("square", &mut self.square), ("mean", &mut self.mean), ("velocity", &mut self.velocity)]
    }
}

simd! {
    fn pass(
        params: &mut [f32],
        grad: &[f32],
        square: &mut [f32],
        mean: &mut [f32],
        velocity: &mut [f32],
        config: RmsPropConfig,
        lr: f32,
        scale: f32,
    ) {
        let RmsPropConfig { alpha, eps, eps_inside_sqrt, centred, momentum, .. } = config;
        let vectors = square.iter_mut().zip(mean).zip(velocity);
        for ((p, g), ((square, mean), velocity)) in params.iter_mut().zip(grad).zip(vectors) {
            let g = scale * *g;
            *square = alpha.mul_add(*square - g * g, g * g);
            *mean = alpha.mul_add(*mean - g, g);
            let variance = if centred { (*square - *mean * *mean).max(0.0) } else { *square };
            let inside = if eps_inside_sqrt { (variance + eps).sqrt() } else { variance.sqrt() + eps };
            *velocity = momentum.mul_add(*velocity, g / inside);
            *p -= lr * *velocity;
        }
    }
}
