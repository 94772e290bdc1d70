//! The value network.

use super::fitted::{Fitted, OutputLoss, Stride};
use super::imitator::mean;
use super::settings::RegressionConfig;
use super::value_loss::ValueFit;
use crate::agent::{Diverged, Setup, UpdateContext};
use crate::config::Problem;
use crate::parts::input::ObsEncoder;
use crate::parts::seeing::SeeingNet;
use crate::state::{StateError, StateIo};
use axiomrl_core::Metrics;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{Mlp, MlpSpec};

pub struct ValueNet {
    fitted: Fitted,
}

/// What an update of the value reports.
pub struct ValueStep {
    /// What the observations were worth before the step.
    pub values: Vec<f32>,
    pub loss: f32,
    pub clipped: f32,
    pub grad_norm: f32,
}

impl ValueStep {
    pub fn report(&self, metrics: &mut Metrics) {
        metrics.add("value_loss", self.loss);
        metrics.add("value_mean", mean(&self.values));
        metrics.add("value_grad_norm", self.grad_norm);
    }
}

impl ValueNet {
    pub fn new(config: &RegressionConfig, setup: &Setup, rng: &mut Rng) -> Result<Self, Problem> {
        let init = config.init();
        let encoder = ObsEncoder::new(setup.observation_space(), config.vision, &init, rng)?;
        let mut spec = MlpSpec::new(encoder.width(), &config.hidden_sizes, 1, config.activation);
        spec.layer_norm = config.value_layer_norm;
        let net = SeeingNet { layers: Mlp::new(spec, 1, &init, rng), encoder };
        Ok(Self { fitted: Fitted::new(net, None) })
    }

    /// What the network gives for each observation.
    pub fn values(&self, obs: ObsRef<'_>) -> Vec<f32> {
        self.fitted.net.infer(obs, &[])
    }

    /// Floating-point operations for one observation, convolutions not counted, and whether there are some.
    pub fn cost(&self) -> (usize, bool) {
        (self.fitted.net.layers.spec.flops(1), self.fitted.net.encoder.sees_images())
    }

    /// One step down the loss that `fit` finds in the values of these observations.
    pub fn step(
        &mut self,
        obs: ObsRef<'_>,
        rate: f32,
        context: &UpdateContext<'_>,
        fit: impl FnOnce(&[f32]) -> ValueFit,
    ) -> Result<ValueStep, Diverged> {
        let stride = Stride { rate, update: context.number(), dropout_seed: None };
        let mut step = ValueStep { values: Vec::new(), loss: 0.0, clipped: 0.0, grad_norm: 0.0 };
        step.grad_norm = self.fitted.step("the value", (obs, &[]), None, stride, |values| {
            let found = fit(values);
            step.values.extend_from_slice(values);
            (step.loss, step.clipped) = (found.loss, found.clipped);
            OutputLoss { value: found.loss, gradient: found.by_value, direct: Vec::new() }
        })?;
        Ok(step)
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.fitted.visit_net("value", io)?;
        self.fitted.visit_optimizer("value", io)
    }
}
