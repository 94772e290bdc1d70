//! A step of the policy, then steps of the value.

use super::ReinforceConfig;
use crate::agent::{LearnError, Learned, Setup, UpdateContext};
use crate::parts::checks::BuildError;
use crate::parts::descend::ParamGroup;
use crate::policy_gradient::learner::{PolicyLearner, PolicyShape, PolicyUpdate, PolicyValue};
use crate::policy_gradient::minibatch::{Minibatch, PlayedSequences};
use crate::policy_gradient::pg_loss::PgReport;
use crate::policy_gradient::shared::{explained_variance, log_gradient};
use crate::regimes::Played;
use crate::state::{StateError, StateIo};
use axiomrl_core::Rollout;
use axiomrl_core::gae::gae;
use axiomrl_nn::{AdamConfig, OptimizerConfig};
use rand::seq::SliceRandom;

#[cfg(test)]
mod tests;

/// The learner of REINFORCE.
pub type ReinforceLearner = PolicyLearner<ReinforceUpdate>;

/// An optimiser for the policy, another one for the value.
pub struct ReinforceUpdate {
    config: ReinforceConfig,
    policy_group: ParamGroup,
    value_group: ParamGroup,
    batch: Minibatch,
    /// Steps on this rollout so far: the first one is the policy's.
    steps: usize,
}

impl ReinforceLearner {
    pub fn new(config: ReinforceConfig, setup: &Setup) -> Result<Self, BuildError> {
        let shape = PolicyShape::new(config.vision, &config.hidden_sizes, config.activation, config.log_std_init)
            .remembering(config.memory, config.recurrent_hidden_size, &config.head_sizes);
        let mut policy = PolicyValue::new(&shape, setup)?;
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let policy_group = ParamGroup::new(&adam, &policy.net.policy_params(&mut policy.log_std), config.max_grad_norm);
        let value_group = ParamGroup::new(&adam, &policy.net.value_params(), config.max_grad_norm);
        let rule = ReinforceUpdate { config, policy_group, value_group, batch: Minibatch::default(), steps: 0 };
        Ok(Self { policy, rule })
    }
}

impl ReinforceUpdate {
    /// One step down -mean A log pi - c_e * mean entropy.
    fn improve(&mut self, policy: &mut PolicyValue, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let (config, fraction) = (&self.config, context.fraction());
        let (rate, entropy_weight) = (config.learning_rate.at(fraction) as f32, config.ent_coef.at(fraction) as f32);
        if config.shuffle_advantages {
            self.batch.advantage.shuffle(context.rng);
        }
        let (batch, distribution, mut report) = (&self.batch, &policy.distribution, PgReport::default());
        let deviations = policy.log_std.as_slice().to_vec();
        let (group, log_std) = (&mut self.policy_group, &mut policy.log_std);
        let seen = (batch.sequences(), &batch.state[..]);
        let norm = policy.net.descend_policy(group, log_std, seen, (rate, context.number()), |head| {
            let (found, gradient) = batch.policy_gradient(distribution, head, &deviations, entropy_weight);
            report = found;
            (found.policy_loss - entropy_weight * found.entropy, gradient.head, gradient.log_std)
        })?;
        log_gradient(context.metrics, &report, norm);
        context.metrics.set("learning_rate", f64::from(rate));
        context.metrics.add("approx_kl", self.divergence(policy));
        Ok(())
    }

    /// How far the step went: mean of (r - 1) - log r over the rollout, with the ratio r of new to old probability.
    fn divergence(&self, policy: &mut PolicyValue) -> f32 {
        let batch = &self.batch;
        let PolicyValue { distribution, net, log_std, head, .. } = policy;
        net.infer(batch.sequences(), &mut batch.state.clone(), head, None);
        let heads = batch.pick(head, distribution.head_width());
        let rows = heads.chunks_exact(distribution.head_width());
        let actions = batch.action.chunks_exact(distribution.action_width());
        let distances = rows.zip(actions).enumerate().map(|(row, (head, action))| {
            let now = distribution.log_prob(head, log_std.as_slice(), batch.mask(row), action);
            let log_ratio = now - batch.log_prob[row];
            log_ratio.exp() - 1.0 - log_ratio
        });
        distances.sum::<f32>() / batch.len() as f32
    }

    /// One step down mean (V - G)^2.
    fn fit(
        &mut self,
        policy: &mut PolicyValue,
        rollout: &Rollout,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), LearnError> {
        let schedule = self.config.value_learning_rate.as_ref().unwrap_or(&self.config.learning_rate);
        let rate = schedule.at(context.fraction()) as f32;
        let batch = &self.batch;
        let targets = batch.column(&whole_returns(rollout, self.config.gamma));
        let (seen, mut value_loss) = ((batch.sequences(), &batch.state[..]), 0.0);
        policy.net.descend_value(&mut self.value_group, seen, (rate, context.number()), |values| {
            let (loss, by_values) = batch.value_error(values, &targets);
            value_loss = loss;
            (loss, by_values)
        })?;
        context.metrics.add("value_loss", value_loss);
        Ok(())
    }
}

/// The discounted return from each step, bootstrapped where the rollout or the clock cuts it off: whatever `gae_lambda` is.
fn whole_returns(rollout: &Rollout, gamma: f32) -> Vec<f32> {
    let rows = rollout.filled * rollout.lanes;
    let (mut advantage, mut returns) = (vec![0.0; rows], vec![0.0; rows]);
    gae(&rollout.segment(), &rollout.value[..rows], gamma, 1.0, &mut advantage, &mut returns);
    returns
}

impl PolicyUpdate for ReinforceUpdate {
    fn step(&mut self, policy: &mut PolicyValue, played: Played<'_>, context: &mut UpdateContext<'_>) -> Learned<bool> {
        let sequences = PlayedSequences::new(played, policy.net.state_width());
        let all = sequences.numbers();
        if all.is_empty() {
            return Ok(true);
        }
        self.batch.gather(&sequences, &all, true);
        // The policy first: its advantages are those of the value that was there when it played.
        match self.steps {
            0 => self.improve(policy, context)?,
            _ => self.fit(policy, played.rollout, context)?,
        }
        self.steps += 1;
        let done = self.steps > self.config.value_steps;
        if done {
            self.steps = 0;
            let steps = played.rollout.filled * played.rollout.lanes;
            context.metrics.add("explained_variance", explained_variance(played.rollout, steps));
            policy.log_deviation(context.metrics);
        }
        Ok(done)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.policy_group.visit_state("policy", io)?;
        self.value_group.visit_state("value", io)?;
        io.value("steps", &mut self.steps)
    }
}
