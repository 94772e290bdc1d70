//! Critics that also value what the policy would do: AWAC and CRR.

use super::critics::{Asked, Critics};
use super::imitator::{Imitator, Judge, mean, targets};
use super::settings::{AdvantageKind, RegressionConfig};
use crate::agent::{Learned, Setup, UpdateContext};
use crate::config::Problem;
use crate::policy::ActInput;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::{ObsRef, Rng};

pub struct ByPolicy {
    pub critics: Critics,
}

/// How much better than the policy's own the recorded actions are.
pub struct Advantages {
    pub values: Vec<f32>,
    /// What the policy's actions are worth, on average.
    pub of_policy: f32,
}

impl ByPolicy {
    pub fn new(config: &RegressionConfig, setup: &Setup, rng: &mut Rng) -> Result<Self, Problem> {
        Ok(Self { critics: Critics::new(config, setup, rng)? })
    }

    /// A = min_i Q_i(s, a) - mean_j min_i Q_i(s, a_j), or the largest in the place of the mean; a_j drawn from the policy at s.
    pub fn advantages(&self, batch: &Batch, imitator: &Imitator, rng: &mut Rng) -> Advantages {
        let (rows, samples) = (batch.rows, imitator.config.n_action_samples);
        let mut actions = batch.action.clone();
        actions.resize((samples + 1) * batch.action.len(), 0.0);
        let input = ActInput { obs: batch.obs(), masks: batch.masks() };
        imitator.policy.sample(input, rng, &mut actions[batch.action.len()..]);
        let q = self.critics.lowest(Asked::Online, batch.obs(), &actions);
        let (recorded, drawn) = q.split_at(rows);
        let usual = |row: usize| {
            let of_row = drawn[row..].iter().step_by(rows);
            match imitator.config.advantage {
                AdvantageKind::PolicyMax => of_row.fold(f32::NEG_INFINITY, |most, q| most.max(*q)),
                _ => of_row.sum::<f32>() / samples as f32,
            }
        };
        let values = recorded.iter().enumerate().map(|(row, q)| q - usual(row)).collect();
        Advantages { values, of_policy: mean(drawn) }
    }
}

impl Judge for ByPolicy {
    fn update(&mut self, batch: &Batch, imitator: &mut Imitator, context: &mut UpdateContext<'_>) -> Learned {
        let (rate, number) = (imitator.config.rate(context.fraction()), context.number());
        // y = R + D * min_i Q'_i(s', a'), a' ~ pi(s') or its slow copy
        let mut next = vec![0.0; batch.action.len()];
        let input = ActInput { obs: batch.next_obs(), masks: batch.next_masks() };
        imitator.policy.sample_for_target(input, context.rng, &mut next);
        let targets = targets(batch, &self.critics.lowest(Asked::Target, batch.next_obs(), &next));
        // A = min_i Q_i(s, a) - mean_j min_i Q_i(s, a_j), a_j ~ pi(s), by the critics before or after their step
        let before = imitator.config.advantage_before_update.then(|| self.advantages(batch, imitator, context.rng));
        // critics: sum_i mean (Q_i(s, a) - y)^2
        let step = self.critics.step(batch, &targets, rate, context)?;
        step.report(context.metrics);
        let advantages = before.unwrap_or_else(|| self.advantages(batch, imitator, context.rng));
        context.metrics.add("q_policy_mean", advantages.of_policy);
        // policy: -mean w(A) * log pi(a|s)
        imitator.learn(batch, &advantages.values, context)?;
        // Q' += tau * (Q - Q'), and the policy's copy, if there is one
        if number.is_multiple_of(imitator.config.target_update_interval) {
            self.critics.soft_update(imitator.config.tau);
            imitator.policy.soft_update(imitator.config.tau);
        }
        Ok(())
    }

    fn values(&self, obs: ObsRef<'_>, best: &[f32]) -> Vec<f32> {
        self.critics.lowest(Asked::Online, obs, best)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.critics.visit_state(io)
    }
}
