//! Stochastic gradient descent with optional momentum.

use super::own_values;
use crate::kernels::dispatch::simd;
use crate::params::Params;
use serde::{Deserialize, Serialize};

/// Settings of [`Sgd`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SgdConfig {
    /// Momentum on the gradient; 0 switches it off.
    pub momentum: f32,
    /// L2 penalty added to the gradient.
    pub weight_decay: f32,
}

/// SGD on a flat buffer.
#[derive(Clone, Debug)]
pub struct Sgd {
    /// Updates done so far.
    pub step: u64,
    config: SgdConfig,
    velocity: Vec<f32>,
}

impl Sgd {
    /// For `len` parameters.
    pub fn new(len: usize, config: SgdConfig) -> Self {
        Self { step: 0, config, velocity: vec![0.0; len] }
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
        let values = own_values(params, grad, self.velocity.len());
        self.step += 1;
        pass(values, grad, &mut self.velocity, self.config, lr, scale);
    }

    /// The state vectors by name.
    pub(super) fn buffers(&self) -> Vec<(&'static str, &[f32])> {
        vec![("velocity", &self.velocity)]
    }

    pub(super) fn buffers_mut(&mut self) -> Vec<(&'static str, &mut [f32])> {
        vec![("velocity", &mut self.velocity)]
    }
}

simd! {
    fn pass(params: &mut [f32], grad: &[f32], velocity: &mut [f32], config: SgdConfig, lr: f32, scale: f32) {
        for ((p, g), velocity) in params.iter_mut().zip(grad).zip(velocity) {
            let g = config.weight_decay.mul_add(*p, scale * *g);
            *velocity = config.momentum.mul_add(*velocity, g);
            *p -= lr * *velocity;
        }
    }
}
