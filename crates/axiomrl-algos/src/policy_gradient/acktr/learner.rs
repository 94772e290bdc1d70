//! A natural step of policy and value on each rollout.

use super::AcktrConfig;
use super::natural::{Direction, Natural, Pass, add, step_along, trust_scale};
use crate::agent::{Learned, Setup, UpdateContext, finite};
use crate::parts::checks::BuildError;
use crate::policy_gradient::learner::{PolicyLearner, PolicyShape, PolicyUpdate, PolicyValue};
use crate::policy_gradient::minibatch::{Minibatch, PlayedSequences};
use crate::policy_gradient::shared::{explained_variance, log_gradient, without_signal};
use crate::regimes::Played;
use crate::state::{StateError, StateIo};
use axiomrl_nn::Distribution;
use rand_distr::{Distribution as _, StandardNormal};

#[cfg(test)]
mod tests;

/// The learner of ACKTR.
pub type AcktrLearner = PolicyLearner<AcktrUpdate>;

/// Curvature and momentum of both networks.
pub struct AcktrUpdate {
    config: AcktrConfig,
    policy: Natural,
    value: Natural,
    /// Momentum of the log standard deviations.
    log_std_velocity: Vec<f32>,
    batch: Minibatch,
}

impl AcktrLearner {
    pub fn new(config: AcktrConfig, setup: &Setup) -> Result<Self, BuildError> {
        let shape = PolicyShape::new(config.vision, &config.hidden_sizes, config.activation, config.log_std_init);
        let policy = PolicyValue::new(&shape, setup)?;
        let [actor, critic] = policy.net.apart().map(|(encoder, layers)| Natural::new(encoder, layers));
        let rule = AcktrUpdate {
            policy: actor,
            value: critic,
            log_std_velocity: vec![0.0; policy.log_std.as_slice().len()],
            batch: Minibatch::default(),
            config,
        };
        Ok(Self { policy, rule })
    }
}

/// The gradient of log pi of each step's action by its head, each row its own.
fn log_prob_slopes(family: &Distribution, head: &[f32], log_std: &[f32], batch: &Minibatch) -> Vec<f32> {
    let (width, actions) = (family.head_width(), family.action_width());
    let (mut slopes, mut unused) = (vec![0.0; head.len()], vec![0.0; log_std.len()]);
    for (row, (head, slope)) in head.chunks_exact(width).zip(slopes.chunks_exact_mut(width)).enumerate() {
        let action = &batch.action[row * actions..(row + 1) * actions];
        family.d_log_prob(head, log_std, batch.mask(row), action, 1.0, slope, &mut unused);
    }
    slopes
}

impl PolicyUpdate for AcktrUpdate {
    fn step(&mut self, policy: &mut PolicyValue, played: Played<'_>, context: &mut UpdateContext<'_>) -> Learned<bool> {
        let (config, fraction) = (&self.config, context.fraction());
        let (rate, entropy_weight) = (config.learning_rate.at(fraction) as f32, config.ent_coef.at(fraction) as f32);
        let sequences = PlayedSequences::new(played, 0);
        let all = sequences.numbers();
        if all.is_empty() {
            return Ok(true);
        }
        self.batch.gather(&sequences, &all, false);
        if config.shuffle_advantages {
            without_signal(&mut self.batch.advantage, context.rng);
        }
        let (batch, family, log_std) = (&self.batch, &policy.distribution, policy.log_std.as_slice().to_vec());
        let (obs, rows, [actor, critic]) = (batch.sequences().obs, batch.len(), policy.net.apart());
        let looks = [actor.0.pass(obs), critic.0.pass(obs)];
        let (acted, valued) = (Pass::new(&looks[0], actor.1, rows), Pass::new(&looks[1], critic.1, rows));

        // The curvature: of log pi for the policy, of a draw around what it says for the value.
        let slopes = log_prob_slopes(family, acted.outputs(), &log_std, batch);
        let noise: Vec<f32> = (0..rows).map(|_| StandardNormal.sample(context.rng)).map(|e: f32| 2.0 * e).collect();
        self.policy.kfac.observe(&acted.captures(&slopes), config.factor_share);
        self.value.kfac.observe(&valued.captures(&noise), config.factor_share);
        if (self.policy.kfac.count - 1).is_multiple_of(config.inverse_every) {
            self.policy.kfac.refresh();
            self.value.kfac.refresh();
        }

        // The gradient of -mean A log pi + c_v * mean (V - G)^2 - c_e * mean entropy, and what curvature makes of it
        let (report, by_head) = batch.policy_gradient(family, acted.outputs(), &log_std, entropy_weight);
        let (value_loss, mut by_values) = batch.value_error(valued.outputs(), &batch.returns);
        by_values.iter_mut().for_each(|slope| *slope *= config.vf_coef);
        let loss = report.policy_loss + config.vf_coef * value_loss - entropy_weight * report.entropy;
        finite("the loss of policy and value", loss, context.number())?;
        let direction = |gradient: Vec<f32>, natural: &Natural| Direction {
            natural: natural.kfac.precondition(&gradient, config.damping),
            gradient,
        };
        let of_policy = direction(acted.params_gradient(&by_head.head), &self.policy);
        let of_value = direction(valued.params_gradient(&by_values), &self.value);
        // A log standard deviation has information 2.
        let natural = by_head.log_std.iter().map(|g| g / (2.0 + config.damping)).collect();
        let of_log_std = Direction { gradient: by_head.log_std, natural };
        let old_heads = acted.outputs().to_vec();
        drop((acted, valued));
        drop(looks);

        // One scale for all, then momentum
        let product = of_policy.product() + of_value.product() + of_log_std.product();
        finite("the gradient of policy and value", product as f32, context.number())?;
        let (scale, momentum) = (trust_scale(config.trust_region, rate, product), config.momentum);
        let step = step_along(&mut self.policy.velocity, &of_policy.natural, scale, rate, momentum);
        let value_step = step_along(&mut self.value.velocity, &of_value.natural, scale, rate, momentum);
        let log_std_step = step_along(&mut self.log_std_velocity, &of_log_std.natural, scale, rate, momentum);
        add(policy.net.policy_params(&mut policy.log_std), &[&step[..], &log_std_step].concat());
        add(policy.net.value_params(), &value_step);

        // What the step was expected to come to, and what it came to
        let by_log_std: f64 = log_std_step.iter().map(|s| 2.0 * f64::from(*s).powi(2)).sum();
        let predicted = 0.5 * (self.policy.kfac.quadratic(&step) + by_log_std);
        let measured = divergence(policy, &old_heads, &log_std, batch);
        let norm =
            [&of_policy, &of_value, &of_log_std].map(|d| d.gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>());
        let metrics = &mut *context.metrics;
        log_gradient(metrics, &report, norm.iter().sum::<f64>().sqrt() as f32);
        metrics.add("value_loss", value_loss);
        metrics.add("trust_scale", scale);
        metrics.add("predicted_kl", predicted as f32);
        metrics.add("measured_kl", measured as f32);
        metrics.add("factor_condition", self.policy.kfac.condition());
        metrics.set("learning_rate", f64::from(rate));
        let steps = played.rollout.filled * played.rollout.lanes;
        metrics.add("explained_variance", explained_variance(played.rollout, steps));
        policy.log_deviation(metrics);
        Ok(true)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.policy.visit_state("kfac.policy", io)?;
        self.value.visit_state("kfac.value", io)?;
        io.floats("kfac.log_std.velocity", &mut self.log_std_velocity)
    }
}

/// The mean divergence of the policy as it is now from the one with these heads.
fn divergence(policy: &mut PolicyValue, old_heads: &[f32], old_log_std: &[f32], batch: &Minibatch) -> f64 {
    let PolicyValue { distribution, net, log_std, head, .. } = policy;
    net.infer(batch.sequences(), &mut [], head, None);
    let width = distribution.head_width();
    let rows = old_heads.chunks_exact(width).zip(head.chunks_exact(width));
    let distances = rows.enumerate().map(|(row, (old, new))| {
        f64::from(distribution.kl(old, old_log_std, new, log_std.as_slice(), batch.mask(row)))
    });
    distances.sum::<f64>() / batch.len() as f64
}
