//! Optimisers on flat buffers: one pass over the parameters, in place.

mod adam;
mod laprop;
mod norm;
mod rmsprop;
mod sgd;

pub use adam::{Adam, AdamConfig};
pub use laprop::{LaProp, LaPropConfig};
pub use norm::{clip_scale, global_norm};
pub use rmsprop::{RmsProp, RmsPropConfig};
pub use sgd::{Sgd, SgdConfig};

use crate::error::NnError;
use crate::params::Params;
use serde::{Deserialize, Serialize};

/// Which optimiser, with its settings; the learning rate comes with each step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerConfig {
    /// Adam, or AdamW with a weight decay.
    Adam(AdamConfig),
    /// RMSProp.
    RmsProp(RmsPropConfig),
    /// Stochastic gradient descent.
    Sgd(SgdConfig),
    /// LaProp with a clip for each tensor.
    LaProp(LaPropConfig),
}

/// Any of the optimisers.
#[derive(Clone, Debug)]
pub enum Optimizer {
    /// See [`Adam`].
    Adam(Adam),
    /// See [`RmsProp`].
    RmsProp(RmsProp),
    /// See [`Sgd`].
    Sgd(Sgd),
    /// See [`LaProp`].
    LaProp(LaProp),
}

impl Optimizer {
    /// An optimiser for `len` parameters, which are one tensor.
    pub fn new(config: &OptimizerConfig, len: usize) -> Self {
        Self::for_tensors(config, len, &[len])
    }

    /// An optimiser for `len` parameters that consist of tensors of the lengths `tensors`, or of several members that each do.
    /// Only [`LaProp`] looks at tensors one by one.
    pub fn for_tensors(config: &OptimizerConfig, len: usize, tensors: &[usize]) -> Self {
        match *config {
            OptimizerConfig::LaProp(config) => Optimizer::LaProp(LaProp::new(len, tensors, config)),
            OptimizerConfig::Adam(config) => Optimizer::Adam(Adam::new(len, config)),
            OptimizerConfig::RmsProp(config) => Optimizer::RmsProp(RmsProp::new(len, config)),
            OptimizerConfig::Sgd(config) => Optimizer::Sgd(Sgd::new(len, config)),
        }
    }

    /// One update with `scale · grad`; gradient clipping (see [`clip_scale`]) needs no pass of its own.
    pub fn step(&mut self, params: &mut Params, grad: &[f32], lr: f32, scale: f32) {
        match self {
            Optimizer::Adam(o) => o.step_scaled(params, grad, lr, scale),
            Optimizer::RmsProp(o) => o.step_scaled(params, grad, lr, scale),
            Optimizer::Sgd(o) => o.step_scaled(params, grad, lr, scale),
            Optimizer::LaProp(o) => o.step_scaled(params, grad, lr, scale),
        }
    }

    /// Updates done so far.
    pub fn step_count(&self) -> u64 {
        match self {
            Optimizer::Adam(o) => o.step,
            Optimizer::RmsProp(o) => o.step,
            Optimizer::Sgd(o) => o.step,
            Optimizer::LaProp(o) => o.step,
        }
    }

    /// Sets the number of updates done, when loading.
    pub fn set_step_count(&mut self, step: u64) {
        match self {
            Optimizer::Adam(o) => o.step = step,
            Optimizer::RmsProp(o) => o.step = step,
            Optimizer::Sgd(o) => o.step = step,
            Optimizer::LaProp(o) => o.step = step,
        }
    }

    /// The named state vectors, for files; all have the parameters' layout.
    pub fn buffers(&self) -> Vec<(&'static str, &[f32])> {
        match self {
            Optimizer::Adam(o) => o.buffers(),
            Optimizer::RmsProp(o) => o.buffers(),
            Optimizer::Sgd(o) => o.buffers(),
            Optimizer::LaProp(o) => o.buffers(),
        }
    }

    /// As [`buffers`](Self::buffers), for loading.
    pub fn buffers_mut(&mut self) -> Vec<(&'static str, &mut [f32])> {
        match self {
            Optimizer::Adam(o) => o.buffers_mut(),
            Optimizer::RmsProp(o) => o.buffers_mut(),
            Optimizer::Sgd(o) => o.buffers_mut(),
            Optimizer::LaProp(o) => o.buffers_mut(),
        }
    }
}

/// The parameters of an optimiser for `len` of them.
///
/// # Panics
/// When there are more or fewer, or `grad` is not theirs: a mistake in the calling code.
fn own_values<'a>(params: &'a mut Params, grad: &[f32], len: usize) -> &'a mut [f32] {
    let values = params.make_mut();
    assert!(values.len() == len && grad.len() == len, "the optimiser belongs to other parameters");
    values
}

/// Moments of another size belong to another network.
fn check_len(expected: usize, found: usize) -> Result<(), NnError> {
    if expected == found { Ok(()) } else { Err(NnError::WrongMomentLength { expected, found }) }
}
