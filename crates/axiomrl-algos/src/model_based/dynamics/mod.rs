//! An ensemble of networks that predict, as Gaussians, what an action does: the reward, and how the observation changes.
//!
//! One part for all algorithms that learn a model. `Dynamics` is the networks and what they say; `fit` how they learn, in pieces
//! between any two of which a run may stop; `early_stop` when that is enough; `scaler` the units that networks work in.

mod early_stop;
mod fit;
mod rows;
mod scaler;
#[cfg(test)]
mod tests;

pub use early_stop::Patience;
pub use fit::{FitReport, FitSettings};
pub use rows::{RawRows, generator};
pub use scaler::moments;

use crate::parts::descend::ParamGroup;
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::losses::bounded_log_var;
use axiomrl_nn::{Activation, AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig, Params};
use fit::Fit;
use scaler::Scaler;

/// Bounds of the log-variances at the start.
const BOUNDS: (f32, f32) = (0.5, -10.0);

/// What an ensemble is made of.
#[derive(Clone, Debug)]
pub struct DynamicsSettings {
    pub members: usize,
    /// Members that are asked for predictions: those with the lowest error on rows held out.
    pub elites: usize,
    pub hidden: Vec<usize>,
    /// Whether the reward is predicted, too, as the first of all outputs.
    pub with_reward: bool,
    /// Whether targets are brought to unit scale at each fit, as inputs are in any case.
    pub standardize_targets: bool,
    /// Whether the bounds of the log-variances are learned with the weights.
    pub learned_bounds: bool,
    /// Of the first, the second, all further hidden layers, and the output.
    pub weight_decay: Vec<f32>,
    /// Largest norm of a member's gradient.
    pub max_grad_norm: Option<f32>,
    pub fit: FitSettings,
}

/// A row for each prediction, in the units of the environment.
#[derive(Clone, Debug, Default)]
pub struct Prediction {
    pub mean: Vec<f32>,
    pub std: Vec<f32>,
}

pub struct Dynamics {
    settings: DynamicsSettings,
    obs_width: usize,
    net: Mlp,
    /// `[2, outputs]`: the highest log-variance of each output, shared by all members, and the lowest.
    bounds: Params,
    scaler: Scaler,
    elites: Vec<usize>,
    optimizers: ParamGroup,
    fit: Fit,
}

impl Dynamics {
    pub fn new(settings: DynamicsSettings, obs_width: usize, action_width: usize, seed: u64, rng: &mut Rng) -> Self {
        let (inputs, outputs) = (obs_width + action_width, obs_width + usize::from(settings.with_reward));
        let spec = MlpSpec::new(inputs, &settings.hidden, 2 * outputs, Activation::Silu);
        let mut net = Mlp::new(spec, settings.members, &Init::HalfTruncatedNormal, rng);
        let mut bounds = Params::from_vec(2, outputs, [vec![BOUNDS.0; outputs], vec![BOUNDS.1; outputs]].concat());
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        // Members are clipped one by one, before the optimiser sees their gradients.
        let learned: &[&mut Params] =
            if settings.learned_bounds { &[&mut net.params, &mut bounds] } else { &[&mut net.params] };
        let optimizers = ParamGroup::new(&adam, learned, f32::INFINITY);
        Self {
            obs_width,
            net,
            bounds,
            scaler: Scaler::identity(inputs, outputs),
            elites: (0..settings.elites).collect(),
            optimizers,
            fit: Fit::new(settings.members, seed),
            settings,
        }
    }

    /// Floating-point operations of one member's prediction of one row.
    pub fn flops(&self) -> usize {
        self.net.spec.flops(1)
    }

    pub fn members(&self) -> usize {
        self.settings.members
    }

    /// Numbers that are predicted for each row.
    pub fn outputs(&self) -> usize {
        self.bounds.per_member()
    }

    pub fn with_reward(&self) -> bool {
        self.settings.with_reward
    }

    /// The members that are asked for predictions.
    pub fn elites(&self) -> &[usize] {
        &self.elites
    }

    /// Rows of observation and action as networks take them.
    pub fn inputs(&self, obs: &[f32], action: &[f32], inputs: &mut Vec<f32>) {
        let width = self.obs_width;
        let actions = self.net.spec.inputs - width;
        inputs.clear();
        for (obs, action) in obs.chunks_exact(width).zip(action.chunks_exact(actions)) {
            inputs.extend_from_slice(obs);
            inputs.extend_from_slice(action);
        }
        self.scaler.scale_inputs(inputs);
    }

    /// What `member` says of rows that are laid out for networks ([`Dynamics::inputs`]); the rows are appended.
    fn predict_with(&self, member: usize, inputs: &[f32], rows: usize, prediction: &mut Prediction) {
        let per_member = self.net.params.per_member();
        let own = self.net.params.as_slice()[member * per_member..(member + 1) * per_member].to_vec();
        let net = Mlp { spec: self.net.spec.clone(), params: Params::from_vec(1, per_member, own) };
        let mut out = Vec::new();
        net.infer(inputs, rows, &mut out);
        self.interpret(&out, prediction);
    }

    /// What the member chosen for each row says of it. Rows are asked in groups, one forward pass for each member: a random one for
    /// each row costs what one does.
    pub fn predict(&self, inputs: &[f32], chosen: &[usize], prediction: &mut Prediction) {
        let (width, outputs) = (self.net.spec.inputs, self.outputs());
        prediction.mean.resize(chosen.len() * outputs, 0.0);
        prediction.std.resize(chosen.len() * outputs, 0.0);
        let mut grouped = Vec::new();
        for member in 0..self.members() {
            let rows: Vec<usize> = (0..chosen.len()).filter(|&row| chosen[row] == member).collect();
            if rows.is_empty() {
                continue;
            }
            grouped.clear();
            rows.iter().for_each(|row| grouped.extend_from_slice(&inputs[row * width..(row + 1) * width]));
            let mut own = Prediction::default();
            self.predict_with(member, &grouped, rows.len(), &mut own);
            for (at, row) in rows.into_iter().enumerate() {
                let (from, to) = (at * outputs..(at + 1) * outputs, row * outputs..(row + 1) * outputs);
                prediction.mean[to.clone()].copy_from_slice(&own.mean[from.clone()]);
                prediction.std[to].copy_from_slice(&own.std[from]);
            }
        }
    }

    /// What every member says of rows: `[members, rows, outputs]`. The rows may be the same for all, or each member's own.
    pub fn predict_all(&self, inputs: &[f32], rows: usize, prediction: &mut Prediction) {
        let mut out = Vec::new();
        self.net.infer(inputs, rows, &mut out);
        prediction.mean.clear();
        prediction.std.clear();
        self.interpret(&out, prediction);
    }

    /// Means and deviations in the units of the environment, appended.
    fn interpret(&self, outputs: &[f32], prediction: &mut Prediction) {
        let d = self.outputs();
        let (max, min) = self.bounds.as_slice().split_at(d);
        prediction.mean.reserve(outputs.len() / 2);
        prediction.std.reserve(outputs.len() / 2);
        for row in outputs.chunks_exact(2 * d) {
            for i in 0..d {
                let (shift, scale) = self.scaler.target(i);
                prediction.mean.push(row[i].mul_add(scale, shift));
                // The deviation is the root of the variance.
                let log_var = bounded_log_var(row[d + i], max[i], min[i]);
                prediction.std.push(scale * axiomrl_nn::math::exp(0.5 * log_var));
            }
        }
    }

    /// What acting by the model needs: networks, bounds, units and elites.
    pub fn visit_model(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("model", &mut self.net)?;
        io.params("model_bounds", &mut self.bounds)?;
        self.scaler.visit_state(io)?;
        let needed = self.elites.len();
        io.value("model_elites", &mut self.elites)?;
        let sound = self.elites.len() == needed && self.elites.iter().all(|&elite| elite < self.settings.members);
        if sound { Ok(()) } else { Err(StateError::other_moment("model_elites")) }
    }

    /// What learning on needs besides.
    pub fn visit_learning(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.optimizers.visit_state("model_optimizer", io)?;
        self.fit.visit_state(self.net.params.as_slice().len(), io)
    }
}
