//! The half that all of these methods share: a policy that imitates, and how much each action counts.

use super::policy::RegressionPolicy;
use super::settings::RegressionConfig;
use super::weight::Weighing;
use crate::agent::{Diverged, Learned, Setup, UpdateContext};
use crate::config::Problem;
use crate::policy::ActInput;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::{ObsRef, Rng};

/// Who says how good recorded actions are, with the networks that it takes.
pub trait Judge: Send {
    /// One update of its own networks and of the policy.
    fn update(&mut self, batch: &Batch, imitator: &mut Imitator, context: &mut UpdateContext<'_>) -> Learned;

    /// What each observation is worth; `best` are the policy's best actions there.
    fn values(&self, obs: ObsRef<'_>, best: &[f32]) -> Vec<f32>;

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

pub struct Imitator {
    pub config: RegressionConfig,
    pub policy: RegressionPolicy,
    weighing: Weighing,
}

impl Imitator {
    pub fn new(config: RegressionConfig, setup: &Setup, rng: &mut Rng) -> Result<Self, Problem> {
        let policy = RegressionPolicy::new(&config, setup, rng)?;
        Ok(Self { weighing: Weighing::new(&config), policy, config })
    }

    /// The policy's best actions.
    pub fn best(&self, input: ActInput<'_>) -> Vec<f32> {
        let mut actions = vec![0.0; input.rows() * self.policy.action_width()];
        self.policy.best(input, &mut actions);
        actions
    }

    /// Every action of the batch is imitated, all alike.
    pub fn imitate(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), Diverged> {
        self.step(batch, &vec![1.0; batch.rows], context)
    }

    /// Every action of the batch is imitated as much as its advantage makes it count.
    pub fn learn(
        &mut self,
        batch: &Batch,
        advantages: &[f32],
        context: &mut UpdateContext<'_>,
    ) -> Result<(), Diverged> {
        let weights = self.weighing.weights(advantages);
        context.metrics.add("advantage_mean", mean(advantages));
        context.metrics.add("weight_mean", mean(&weights));
        context.metrics.add("weight_max", weights.iter().fold(f32::NEG_INFINITY, |most, weight| most.max(*weight)));
        self.step(batch, &weights, context)
    }

    fn step(&mut self, batch: &Batch, weights: &[f32], context: &mut UpdateContext<'_>) -> Result<(), Diverged> {
        let rate = self.config.actor_rate(context.fraction());
        let step = self.policy.step(batch, weights, rate, context)?;
        context.metrics.add("actor_loss", step.loss);
        context.metrics.add("actor_grad_norm", step.grad_norm);
        if let Some(log_likelihood) = step.log_likelihood {
            context.metrics.add("log_likelihood", log_likelihood);
        }
        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    /// What only learning needs.
    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.policy.visit_state(io)?;
        self.weighing.visit_state(io)
    }
}

pub fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len() as f32
}

/// y = R + D * (what comes next is worth)
pub fn targets(batch: &Batch, next: &[f32]) -> Vec<f32> {
    let future = batch.discount.iter().zip(next).map(|(discount, value)| discount * value);
    batch.reward.iter().zip(future).map(|(reward, future)| reward + future).collect()
}

/// How much better each is than usual.
pub fn differences(worth: &[f32], usual: &[f32]) -> Vec<f32> {
    worth.iter().zip(usual).map(|(worth, usual)| worth - usual).collect()
}
