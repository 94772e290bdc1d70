//! Passes of minibatches over a rollout.

use super::PpoConfig;
use crate::agent::{Learned, Setup, UpdateContext};
use crate::parts::checks::BuildError;
use crate::parts::descend::ParamGroup;
use crate::policy_gradient::learner::{PolicyLearner, PolicyShape, PolicyUpdate, PolicyValue};
use crate::policy_gradient::minibatch::{Minibatch, PlayedSequences};
use crate::policy_gradient::passes::Passes;
use crate::policy_gradient::ppo_loss::PpoReport;
use crate::policy_gradient::shared::{explained_variance, log_step};
use crate::regimes::Played;
use crate::state::{StateError, StateIo};
use axiomrl_nn::{AdamConfig, OptimizerConfig};

#[cfg(test)]
mod tests;

/// The learner of PPO.
pub type PpoLearner = PolicyLearner<PpoUpdate>;

/// Steps of Adam down the clipped objective.
pub struct PpoUpdate {
    config: PpoConfig,
    group: ParamGroup,
    minibatch: Minibatch,
    passes: Passes,
    /// Sequences of a whole rollout.
    sequences: usize,
}

impl PpoLearner {
    pub fn new(config: PpoConfig, setup: &Setup) -> Result<Self, BuildError> {
        let shape = PolicyShape::new(config.vision, &config.hidden_sizes, config.activation, config.log_std_init)
            .remembering(config.memory, config.recurrent_hidden_size, &config.head_sizes);
        let shape = PolicyShape { shared: config.shared, streams: config.streams(), ..shape };
        let mut policy = PolicyValue::new(&shape, setup)?;
        let adam = OptimizerConfig::Adam(AdamConfig { eps: 1e-5, ..AdamConfig::default() });
        let group = ParamGroup::new(&adam, &policy.params(), config.max_grad_norm);
        let rollout = config.rollout();
        let sequences = rollout.num_steps.div_ceil(rollout.sequence_length) * setup.num_envs;
        let (minibatch, passes) = (Minibatch::default(), Passes::default());
        Ok(Self { policy, rule: PpoUpdate { config, group, minibatch, passes, sequences } })
    }
}

impl PolicyUpdate for PpoUpdate {
    fn step(&mut self, policy: &mut PolicyValue, played: Played<'_>, context: &mut UpdateContext<'_>) -> Learned<bool> {
        let (config, fraction) = (&self.config, context.fraction());
        let (rate, terms) = (config.learning_rate.at(fraction) as f32, config.terms(fraction));

        // A shuffled minibatch of whole sequences; without a memory these are single steps.
        let sequences = PlayedSequences::new(played, policy.net.state_width());
        let size = sequences.in_steps(config.minibatch_size);
        let chosen = self.passes.next(size, context.rng, || sequences.numbers());
        self.minibatch.gather(&sequences, &self.passes.order()[chosen], config.normalize_advantage);

        // loss = -mean min(r A, clip(r, 1 - c, 1 + c) A) + c_v * mean 1/2 (V - G)^2 - c_e * mean entropy
        let (batch, distribution, mut report) = (&self.minibatch, &policy.distribution, PpoReport::default());
        let deviations = policy.log_std.as_slice().to_vec();
        let (group, log_std, seen) = (&mut self.group, &mut policy.log_std, (batch.sequences(), &batch.state[..]));
        // One step of Adam down the gradient of all, clipped as one.
        let norm = policy.net.descend(group, log_std, seen, (rate, context.number()), |head, values| {
            let (found, gradient) = batch.loss(distribution, head, values, &deviations, terms);
            report = found;
            (found.loss, [gradient.head, gradient.value], gradient.log_std)
        })?;

        log_step(context.metrics, &report, norm);
        let done = self.passes.stepped(report.approx_kl, config.update_epochs, config.target_kl);
        if done {
            let steps = played.rollout.filled * played.rollout.lanes;
            context.metrics.set("learning_rate", f64::from(rate));
            context.metrics.set("clip_range", f64::from(terms.clip));
            context.metrics.add("explained_variance", explained_variance(played.rollout, steps));
            policy.log_deviation(context.metrics);
        }
        Ok(done)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.group.visit_state("policy_and_value", io)?;
        self.passes.visit_state(self.sequences, io)
    }
}
