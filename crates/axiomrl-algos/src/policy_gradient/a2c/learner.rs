//! One step on each rollout.

use super::A2cConfig;
use crate::agent::{Learned, Setup, UpdateContext};
use crate::parts::checks::BuildError;
use crate::parts::descend::ParamGroup;
use crate::policy_gradient::learner::{PolicyLearner, PolicyShape, PolicyUpdate, PolicyValue};
use crate::policy_gradient::minibatch::{Minibatch, PlayedSequences};
use crate::policy_gradient::pg_loss::PgReport;
use crate::policy_gradient::shared::{explained_variance, log_gradient, without_signal};
use crate::regimes::Played;
use crate::state::{StateError, StateIo};

#[cfg(test)]
mod tests;

/// The learner of A2C.
pub type A2cLearner = PolicyLearner<A2cUpdate>;

/// One step down the loss of policy and value on all of a rollout.
pub struct A2cUpdate {
    config: A2cConfig,
    group: ParamGroup,
    batch: Minibatch,
}

impl A2cLearner {
    pub fn new(config: A2cConfig, setup: &Setup) -> Result<Self, BuildError> {
        let shape = PolicyShape::new(config.vision, &config.hidden_sizes, config.activation, config.log_std_init)
            .remembering(config.memory, config.recurrent_hidden_size, &config.head_sizes);
        let shape = PolicyShape { shared: config.shared, streams: config.streams(), ..shape };
        let mut policy = PolicyValue::new(&shape, setup)?;
        let group = ParamGroup::new(&config.optimizer.config(), &policy.params(), config.max_grad_norm);
        Ok(Self { policy, rule: A2cUpdate { config, group, batch: Minibatch::default() } })
    }
}

impl PolicyUpdate for A2cUpdate {
    fn step(&mut self, policy: &mut PolicyValue, played: Played<'_>, context: &mut UpdateContext<'_>) -> Learned<bool> {
        let (config, fraction) = (&self.config, context.fraction());
        let (rate, entropy_weight) = (config.learning_rate.at(fraction) as f32, config.ent_coef.at(fraction) as f32);
        let sequences = PlayedSequences::new(played, policy.net.state_width());
        let all = sequences.numbers();
        if all.is_empty() {
            return Ok(true);
        }
        self.batch.gather(&sequences, &all, config.normalize_advantage);
        if config.shuffle_advantages {
            without_signal(&mut self.batch.advantage, context.rng);
        }

        // loss = -mean A log pi + c_v * mean (V - G)^2 - c_e * mean entropy
        let (batch, distribution) = (&self.batch, &policy.distribution);
        let (mut report, mut value_loss) = (PgReport::default(), 0.0);
        let deviations = policy.log_std.as_slice().to_vec();
        let (group, log_std, seen) = (&mut self.group, &mut policy.log_std, (batch.sequences(), &batch.state[..]));
        let norm = policy.net.descend(group, log_std, seen, (rate, context.number()), |head, values| {
            let (found, gradient) = batch.policy_gradient(distribution, head, &deviations, entropy_weight);
            let (error, mut by_values) = batch.value_error(values, &batch.returns);
            by_values.iter_mut().for_each(|slope| *slope *= config.vf_coef);
            (report, value_loss) = (found, error);
            let loss = found.policy_loss + config.vf_coef * error - entropy_weight * found.entropy;
            (loss, [gradient.head, by_values], gradient.log_std)
        })?;

        log_gradient(context.metrics, &report, norm);
        context.metrics.add("value_loss", value_loss);
        context.metrics.set("learning_rate", f64::from(rate));
        let steps = played.rollout.filled * played.rollout.lanes;
        context.metrics.add("explained_variance", explained_variance(played.rollout, steps));
        policy.log_deviation(context.metrics);
        Ok(true)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.group.visit_state("policy_and_value", io)
    }
}
