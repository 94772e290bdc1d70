//! The discriminator of GAIL: one network over observation and action.

use super::GailConfig;
use super::penalty::GradientPenalty;
use crate::agent::{Learned, UpdateContext};
use crate::imitation::adversarial::{Discriminator, Rows, Verdict, logistic_loss, softplus};
use crate::parts::descend::ParamGroup;
use crate::state::{StateError, StateIo};
use axiomrl_envs::Rng;
use axiomrl_nn::{Activation, AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// What a step is paid, given the discriminator's number f, which is high for the expert's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewardForm {
    /// softplus(f), which is never below 0: it favours going on.
    #[default]
    Softplus,
    /// -softplus(-f), which is never above 0: it favours ending.
    LogD,
    /// f itself, which favours neither.
    Logit,
}

impl RewardForm {
    pub fn of(self, f: f32) -> f32 {
        match self {
            Self::Softplus => softplus(f),
            Self::LogD => -softplus(-f),
            Self::Logit => f,
        }
    }
}

pub struct GailDiscriminator {
    net: Mlp,
    group: ParamGroup,
    form: RewardForm,
    entropy_coef: f32,
    penalty: GradientPenalty,
}

impl GailDiscriminator {
    pub fn new(config: &GailConfig, penalty: GradientPenalty, inputs: usize, rng: &mut Rng) -> Self {
        let spec = MlpSpec::new(inputs, &config.discriminator_hidden_sizes, 1, Activation::Tanh);
        // The last layer begins at zero: nobody is suspected yet, and every step is paid alike.
        let init = Init::Orthogonal { hidden_gain: std::f32::consts::SQRT_2, output_gain: 0.0 };
        let mut net = Mlp::new(spec, 1, &init, rng);
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let group = ParamGroup::new(&adam, &[&mut net.params], f32::INFINITY);
        Self { net, group, form: config.reward_form, entropy_coef: config.discriminator_entropy_coef, penalty }
    }
}

impl GailDiscriminator {
    /// `loss = mean_E softplus(−f) + mean_π softplus(f) − c_H (mean_E H + mean_π H) + penalty`, given the outputs of the expert's
    /// rows, of the policy's and of the points at which the slope is measured; adds its gradient to `by_f`.
    fn loss(&self, f: &[f32], expert: usize, policy: usize, by_f: &mut [f32]) -> (Verdict, f32) {
        let ((f_expert, rest), (by_expert, by_rest)) = (f.split_at(expert), by_f.split_at_mut(expert));
        let ((f_policy, f_points), (by_policy, by_points)) = (rest.split_at(policy), by_rest.split_at_mut(policy));
        let verdict = logistic_loss(f_expert, f_policy, self.entropy_coef, by_expert, by_policy);
        (verdict, self.penalty.of(f_points, self.net.spec.inputs, by_points))
    }
}

impl Discriminator for GailDiscriminator {
    fn step(&mut self, expert: &Rows, policy: &Rows, rate: f32, context: &mut UpdateContext<'_>) -> Learned<Verdict> {
        // One pass over all: the expert's rows, the policy's, and the points at which the slope is measured.
        let width = self.net.spec.inputs;
        let mut x = [&expert.x[..], &policy.x[..]].concat();
        self.penalty.place(&expert.x, &policy.x, width, context.rng, &mut x);
        let pass = self.net.pass(&x, x.len() / width, None);
        let mut by_f = vec![0.0; pass.outputs().len()];
        let (verdict, penalty) = self.loss(pass.outputs(), expert.count, policy.count, &mut by_f);
        let gradients = [pass.params_gradient(&by_f)];
        drop(pass);
        let (whose, params) = ("the discriminator", &mut [&mut self.net.params]);
        let value = verdict.loss + penalty;
        self.group.descend_along(whose, value, &gradients, params, rate, context.number(), |_| Vec::new())?;
        if self.penalty.weight > 0.0 {
            context.metrics.add("discriminator_penalty", penalty);
        }
        Ok(verdict)
    }

    fn rewards(&self, rows: &Rows) -> Vec<f32> {
        self.reward_function(&rows.x, rows.count)
    }

    fn reward_function(&self, x: &[f32], rows: usize) -> Vec<f32> {
        let mut f = Vec::new();
        self.net.infer(x, rows, &mut f);
        f.into_iter().map(|f| self.form.of(f)).collect()
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("net", &mut self.net)?;
        self.group.visit_state("adam", io)
    }
}
