//! Parameters that are stepped together.

use crate::state::{StateError, StateIo};
use axiomrl_nn::{Grad, Optimizer, OptimizerConfig, Params, clip_scale, global_norm};

/// Gradients as plain slices.
pub fn slices(gradients: &[Grad]) -> Vec<&[f32]> {
    gradients.iter().map(|g| &g[..]).collect()
}

/// One optimiser for each tensor of parameters, the gradient of all clipped as one.
pub struct ParamGroup {
    optimizers: Vec<Optimizer>,
    max_norm: f32,
}

impl ParamGroup {
    pub fn new(config: &OptimizerConfig, params: &[&mut Params], max_norm: f32) -> Self {
        let optimizers = params.iter().map(|p| Optimizer::new(config, p.as_slice().len())).collect();
        Self { optimizers, max_norm }
    }

    /// One step. Gives the norm of the gradient; if that is not finite, nothing is changed.
    pub fn step(&mut self, params: &mut [&mut Params], gradients: &[&[f32]], rate: f32) -> f32 {
        let norm = global_norm(gradients);
        if norm.is_finite() {
            let scale = clip_scale(norm, self.max_norm);
            for ((optimizer, params), gradient) in self.optimizers.iter_mut().zip(params).zip(gradients) {
                optimizer.step(params, gradient, rate, scale);
            }
        }
        norm
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        for (i, optimizer) in self.optimizers.iter_mut().enumerate() {
            io.optimizer(&format!("{name}.{i}"), optimizer)?;
        }
        Ok(())
    }
}
