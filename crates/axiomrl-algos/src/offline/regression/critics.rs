//! The critics: an ensemble that looks for itself, and its slow copy.

use super::fitted::{Fitted, OutputLoss, Stride, follow, side_by_side, visit_net};
use super::settings::RegressionConfig;
use crate::agent::{Diverged, Setup, UpdateContext};
use crate::config::Problem;
use crate::parts::input::ObsEncoder;
use crate::parts::seeing::SeeingNet;
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_core::value_functions::{huber, huber_grad};
use axiomrl_core::{Batch, Metrics};
use axiomrl_envs::{ObsRef, Rng, Space};
use axiomrl_nn::{Mlp, MlpSpec};

pub struct Critics {
    online: Fitted,
    target: SeeingNet,
    members: usize,
    /// Choices of a Discrete space, each with an output of its own; otherwise actions stand beside what is seen.
    choices: Option<usize>,
    coef: f32,
    /// Where errors begin to count linearly.
    kappa: f32,
}

/// Which critics are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Online,
    Target,
}

/// What an update of the critics reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct CriticStep {
    pub loss: f32,
    /// The mean of Q at the recorded actions, before the step.
    pub q_mean: f32,
    /// The mean distance of Q from its target.
    pub td_error: f32,
    pub grad_norm: f32,
}

impl CriticStep {
    pub fn report(&self, metrics: &mut Metrics) {
        metrics.add("critic_loss", self.loss);
        metrics.add("q_data_mean", self.q_mean);
        metrics.add("td_error", self.td_error);
        metrics.add("critic_grad_norm", self.grad_norm);
    }
}

impl Critics {
    pub fn new(config: &RegressionConfig, setup: &Setup, rng: &mut Rng) -> Result<Self, Problem> {
        let (init, members) = (config.init(), config.n_critics);
        let choices = match setup.action_space() {
            Space::Discrete { n } => Some(*n),
            _ => None,
        };
        let encoder = ObsEncoder::new(setup.observation_space(), config.vision, &init, rng)?;
        let inputs = encoder.width() + choices.map_or(setup.action_width(), |_| 0);
        let spec = MlpSpec::new(inputs, &config.hidden_sizes, choices.unwrap_or(1), config.activation);
        let net = SeeingNet { layers: Mlp::new(spec, members, &init, rng), encoder };
        Ok(Self {
            target: net.clone(),
            online: Fitted::new(net, None),
            members,
            choices,
            coef: config.critic_loss_coef,
            kappa: config.critic_huber.unwrap_or(f32::INFINITY),
        })
    }

    /// min_i Q_i(s, a) of each row. With more actions than observations, the rows of actions go round the observations.
    pub fn lowest(&self, asked: Asked, obs: ObsRef<'_>, actions: &[f32]) -> Vec<f32> {
        let net = match asked {
            Asked::Online => &self.online.net,
            Asked::Target => &self.target,
        };
        let (seen, rows) = (net.encoder.infer(obs), obs.rows);
        let (mut joint, mut out) = (Vec::new(), Vec::new());
        let Some(choices) = self.choices else {
            let width = net.layers.spec.inputs - net.encoder.width();
            let rounds = actions.len() / (rows * width);
            let tiled = if rounds > 1 { seen.repeat(rounds) } else { Vec::new() };
            let seen = if rounds > 1 { &tiled[..] } else { &seen[..] };
            net.layers.infer(side_by_side(seen, actions, rows * rounds, &mut joint), rows * rounds, &mut out);
            return lowest_of(&out, self.members, actions.len() / width, |row| row);
        };
        net.layers.infer(&seen, rows, &mut out);
        let at = |row: usize| (row % rows) * choices + actions[row] as usize;
        lowest_of(&out, self.members, actions.len(), at)
    }

    /// Q_i(s, a) of every critic, one after the other.
    #[cfg(test)]
    pub fn all(&self, asked: Asked, obs: ObsRef<'_>, actions: &[f32]) -> Vec<f32> {
        let net = if asked == Asked::Online { &self.online.net } else { &self.target };
        let Some(choices) = self.choices else { return net.infer(obs, actions) };
        let out = net.infer(obs, &[]);
        (0..self.members * obs.rows).map(|at| out[at * choices + actions[at % obs.rows] as usize]).collect()
    }

    /// One step down coef * sum_i mean huber(Q_i(s, a) - y), where huber of a small error is half its square.
    pub fn step(
        &mut self,
        batch: &Batch,
        targets: &[f32],
        rate: f32,
        context: &UpdateContext<'_>,
    ) -> Result<CriticStep, Diverged> {
        let Self { online, members, choices, coef, kappa, .. } = self;
        let (rows, members, mut step) = (batch.rows, *members, CriticStep::default());
        let stride = Stride { rate, update: context.number(), dropout_seed: None };
        let beside = if choices.is_some() { &[][..] } else { &batch.action };
        let (share, each) = (1.0 / rows as f32, 1.0 / (rows * members) as f32);
        step.grad_norm = online.step("the critics", (batch.obs(), beside), None, stride, |out| {
            let mut gradient = vec![0.0; out.len()];
            for at_row in 0..members * rows {
                let row = at_row % rows;
                let at = choices.map_or(at_row, |n| at_row * n + batch.action[row] as usize);
                let error = out[at] - targets[row];
                step.loss += *coef * share * huber(error, *kappa);
                step.q_mean += each * out[at];
                step.td_error += each * error.abs();
                gradient[at] = *coef * share * huber_grad(error, *kappa);
            }
            OutputLoss { value: step.loss, gradient, direct: Vec::new() }
        })?;
        Ok(step)
    }

    /// Moves the slow copy.
    pub fn soft_update(&mut self, tau: f32) {
        follow(self.target.params(), self.online.net.params(), tau);
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.online.visit_net("critic", io)?;
        visit_net(&mut self.target, "critic_target", io)?;
        self.online.visit_optimizer("critic", io)
    }
}

/// The lowest that the members of an ensemble give for each of `rows`, whose output of each member is at `at(row)`.
fn lowest_of(out: &[f32], members: usize, rows: usize, at: impl Fn(usize) -> usize) -> Vec<f32> {
    let each = out.len() / members;
    (0..rows).map(|row| (1..members).fold(out[at(row)], |low, member| low.min(out[member * each + at(row)]))).collect()
}
