//! The discriminator of AIRL: a reward and a potential.

use super::AirlConfig;
use crate::agent::{Learned, UpdateContext};
use crate::imitation::adversarial::{Discriminator, Rows, Verdict, logistic_loss};
use crate::parts::descend::ParamGroup;
use crate::state::{StateError, StateIo};
use axiomrl_core::Metrics;
use axiomrl_envs::Rng;
use axiomrl_nn::{Activation, AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig, Pooled};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// An expert's action at the bounds can be arbitrarily unlikely.
const LEAST_LOG_PROB: f32 = -20.0;

/// What a step is paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AirlRewardForm {
    /// Reward and potential: f.
    #[default]
    F,
    /// f less the logarithm of how likely the policy was to act so: the publication's.
    FMinusLogProb,
    /// The reward alone.
    G,
}

/// `f = g(s, a) + γ (1 − terminated) h(s') − h(s)`, number by number.
pub fn shaped(g: f32, h: f32, next_h: f32, gamma: f32, goes_on: f32) -> f32 {
    g + gamma * goes_on * next_h - h
}

/// What tells expert and policy apart: f against how likely the policy was to do it anyway.
fn logit(f: f32, log_prob: f32) -> f32 {
    f - log_prob.max(LEAST_LOG_PROB)
}

pub struct ShapedReward {
    g: Mlp,
    h: Mlp,
    group: ParamGroup,
    gamma: f32,
    form: AirlRewardForm,
    obs_width: usize,
}

impl ShapedReward {
    pub fn new(config: &AirlConfig, inputs: usize, obs_width: usize, rng: &mut Rng) -> Self {
        // Last layers that begin at zero: every step is worth the same until something was learned.
        let init = Init::Orthogonal { hidden_gain: std::f32::consts::SQRT_2, output_gain: 0.0 };
        let mut net =
            |inputs, hidden: &[usize]| Mlp::new(MlpSpec::new(inputs, hidden, 1, Activation::Relu), 1, &init, rng);
        let mut g = net(if config.state_only { obs_width } else { inputs }, &config.reward_hidden_sizes);
        let mut h = net(obs_width, &config.potential_hidden_sizes);
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let group = ParamGroup::new(&adam, &[&mut g.params, &mut h.params], f32::INFINITY);
        Self { g, h, group, gamma: config.gamma, form: config.reward_form, obs_width }
    }

    /// The first columns of rows: the observation.
    fn observations(&self, x: &[f32], rows: usize) -> Vec<f32> {
        let width = x.len() / rows.max(1);
        x.chunks_exact(width).flat_map(|row| &row[..self.obs_width]).copied().collect()
    }

    /// What g takes of rows.
    fn inputs_of_g(&self, x: &[f32], rows: usize) -> Vec<f32> {
        if self.g.spec.inputs == self.obs_width { self.observations(x, rows) } else { x.to_vec() }
    }

    /// f of rows, given the reward of each and the potential of all observations followed by that of all that came of them.
    fn combine(&self, g: &[f32], h: &[f32], goes_on: &[f32]) -> Vec<f32> {
        let (h, next) = h.split_at(g.len());
        (0..g.len()).map(|row| shaped(g[row], h[row], next[row], self.gamma, goes_on[row])).collect()
    }

    /// The loss, and its gradients by the parameters of g and of h.
    fn gradients(&self, expert: &Rows, policy: &Rows) -> (Verdict, [Pooled; 2]) {
        let rows = expert.count + policy.count;
        let both = |a: &[f32], b: &[f32]| [a, b].concat();
        let (x, goes_on) = (both(&expert.x, &policy.x), both(&expert.goes_on, &policy.goes_on));
        let seen = self.inputs_of_g(&x, rows);
        let potentials = [self.observations(&x, rows), both(&expert.next, &policy.next)].concat();
        let (g, h) = (self.g.pass(&seen, rows, None), self.h.pass(&potentials, 2 * rows, None));

        // logit = g + gamma (1 - terminated) h(s') - h(s) - log pi, whose last term has no gradient
        let f = self.combine(g.outputs(), h.outputs(), &goes_on);
        let log_probs = expert.log_prob.iter().chain(&policy.log_prob);
        let logits: Vec<f32> = f.iter().zip(log_probs).map(|(&f, &log_prob)| logit(f, log_prob)).collect();

        // loss = mean_E softplus(-logit) + mean_pi softplus(logit)
        let mut by_f = vec![0.0; rows];
        let (by_expert, by_policy) = by_f.split_at_mut(expert.count);
        let (of_expert, of_policy) = logits.split_at(expert.count);
        let verdict = logistic_loss(of_expert, of_policy, 0.0, by_expert, by_policy);
        let by_next = by_f.iter().zip(&goes_on).map(|(by, goes_on)| self.gamma * goes_on * by);
        let by_h: Vec<f32> = by_f.iter().map(|by| -by).chain(by_next).collect();
        (verdict, [g.params_gradient(&by_f), h.params_gradient(&by_h)])
    }
}

impl Discriminator for ShapedReward {
    fn sees_outcomes(&self) -> bool {
        true
    }

    fn step(&mut self, expert: &Rows, policy: &Rows, rate: f32, context: &mut UpdateContext<'_>) -> Learned<Verdict> {
        let (verdict, gradients) = self.gradients(expert, policy);
        let params = &mut [&mut self.g.params, &mut self.h.params];
        let (whose, update) = ("the discriminator", context.number());
        self.group.descend_along(whose, verdict.loss, &gradients, params, rate, update, |_| Vec::new())?;
        Ok(verdict)
    }

    fn rewards(&self, rows: &Rows) -> Vec<f32> {
        let g = self.reward_function(&rows.x, rows.count);
        if self.form == AirlRewardForm::G {
            return g;
        }
        let mut potentials = self.observations(&rows.x, rows.count);
        potentials.extend_from_slice(&rows.next);
        let mut h = Vec::new();
        self.h.infer(&potentials, 2 * rows.count, &mut h);
        let f = self.combine(&g, &h, &rows.goes_on);
        match self.form {
            AirlRewardForm::FMinusLogProb => f.iter().zip(&rows.log_prob).map(|(&f, &p)| logit(f, p)).collect(),
            _ => f,
        }
    }

    fn reward_function(&self, x: &[f32], rows: usize) -> Vec<f32> {
        let mut g = Vec::new();
        self.g.infer(&self.inputs_of_g(x, rows), rows, &mut g);
        g
    }

    fn report(&self, rows: &Rows, metrics: &mut Metrics) {
        let g = self.reward_function(&rows.x, rows.count);
        let mean = g.iter().map(|&g| f64::from(g)).sum::<f64>() / g.len().max(1) as f64;
        metrics.add("learned_reward_mean", mean as f32);
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("reward", &mut self.g)?;
        io.network("potential", &mut self.h)?;
        self.group.visit_state("adam", io)
    }
}
