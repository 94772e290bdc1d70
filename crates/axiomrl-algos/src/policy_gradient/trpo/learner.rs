//! A step of the policy within its region, then passes of the value over the rollout.

use super::TrpoConfig;
use super::natural::{Curvature, Solution, conjugate_gradients, dot};
use super::search::{Tried, full_step, line_search};
use crate::agent::{LearnError, Learned, Setup, UpdateContext, finite};
use crate::parts::checks::BuildError;
use crate::parts::descend::ParamGroup;
use crate::policy_gradient::learner::{PolicyLearner, PolicyShape, PolicyUpdate, PolicyValue};
use crate::policy_gradient::minibatch::{Minibatch, PlayedSequences};
use crate::policy_gradient::passes::Passes;
use crate::policy_gradient::shared::explained_variance;
use crate::regimes::Played;
use crate::state::{StateError, StateIo};
use axiomrl_nn::{AdamConfig, OptimizerConfig};
use rand::seq::SliceRandom;

#[cfg(test)]
mod tests;

/// The learner of TRPO.
pub type TrpoLearner = PolicyLearner<TrpoUpdate>;

/// Natural steps of the policy, Adam for the value.
pub struct TrpoUpdate {
    config: TrpoConfig,
    value_group: ParamGroup,
    batch: Minibatch,
    passes: Passes,
    /// Whether the policy has had its step on this rollout.
    improved: bool,
    /// Steps of a whole rollout.
    steps: usize,
    /// Go the other way, which must get nowhere.
    #[cfg(test)]
    reversed: bool,
}

impl TrpoLearner {
    pub fn new(config: TrpoConfig, setup: &Setup) -> Result<Self, BuildError> {
        let shape = PolicyShape::new(config.vision, &config.hidden_sizes, config.activation, config.log_std_init);
        let mut policy = PolicyValue::new(&shape, setup)?;
        let adam = OptimizerConfig::Adam(AdamConfig { eps: 1e-5, ..AdamConfig::default() });
        let rule = TrpoUpdate {
            value_group: ParamGroup::new(&adam, &policy.net.value_params(), f32::INFINITY),
            batch: Minibatch::default(),
            passes: Passes::default(),
            improved: false,
            steps: config.num_steps * setup.num_envs,
            #[cfg(test)]
            reversed: false,
            config,
        };
        Ok(Self { policy, rule })
    }
}

/// The parameters of a policy as one vector: those of the network, then the log standard deviations.
fn parameters(policy: &mut PolicyValue) -> Vec<f32> {
    let params = policy.net.policy_params(&mut policy.log_std);
    params.iter().flat_map(|params| params.as_slice()).copied().collect()
}

fn set_parameters(policy: &mut PolicyValue, values: &[f32]) {
    let mut rest = values;
    for params in policy.net.policy_params(&mut policy.log_std) {
        let (own, others) = rest.split_at(params.as_slice().len());
        params.make_mut().copy_from_slice(own);
        rest = others;
    }
}

/// The policy that played, on every step of its rollout.
struct Old {
    heads: Vec<f32>,
    log_std: Vec<f32>,
}

impl TrpoUpdate {
    /// One step of the policy.
    fn improve(&mut self, policy: &mut PolicyValue, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let config = &self.config;
        let entropy_weight = config.ent_coef.at(context.fraction()) as f32;
        if config.shuffle_advantages {
            self.batch.advantage.shuffle(context.rng);
        }
        let batch = &self.batch;

        // g = gradient of mean r A + c_e * mean entropy, where r is 1
        let (x, count) = (policy.net.input(batch.sequences()), batch.len());
        let pass = policy.net.policy_mlp().pass(&x, count, None);
        let (family, log_std) = (&policy.distribution, policy.log_std.as_slice().to_vec());
        let (report, gradient) = batch.policy_gradient(family, pass.outputs(), &log_std, entropy_weight);
        let mut g = [&pass.params_gradient(&gradient.head)[..], &gradient.log_std].concat();
        g.iter_mut().for_each(|g| *g = -*g);
        let norm = finite("the gradient of the policy", dot(&g, &g).sqrt() as f32, context.number())?;
        let old = Old { heads: pass.outputs().to_vec(), log_std };
        drop(pass);

        // x = F^-1 g, and the longest step along it
        let Sample { x: seen, masks, rows } = self.sample(&x, context);
        let (step, residual) = {
            let pass = policy.net.policy_mlp().pass(&seen, rows, None);
            let (distribution, log_std) = (&policy.distribution, &old.log_std[..]);
            let curvature = Curvature { pass, rows, distribution, log_std, masks: &masks, damping: config.cg_damping };
            let Solution { x, residual } = conjugate_gradients(&g, config.cg_iterations, |v| curvature.product(v));
            (full_step(&x, &curvature.product(&x), config.max_kl), residual)
        };
        #[cfg(test)]
        let step = step.map(|step| step.into_iter().map(|s| if self.reversed { -s } else { s }).collect::<Vec<f32>>());

        // policy += 0.8^k * s
        let from = parameters(policy);
        let taken = step.as_ref().and_then(|step| self.search(policy, &old, &from, step, entropy_weight));
        if taken.is_none() {
            set_parameters(policy, &from);
        }
        let (fraction, Tried { kl, gain }) = taken.unwrap_or((0.0, Tried { kl: 0.0, gain: 0.0 }));
        let step = step.unwrap_or_default();
        let metrics = &mut *context.metrics;
        metrics.add("policy_gradient_loss", report.policy_loss);
        metrics.add("entropy", report.entropy);
        metrics.add("grad_norm", norm);
        metrics.add("kl", kl as f32);
        metrics.add("surrogate_improvement", gain as f32);
        metrics.add("expected_improvement", dot(&g, &step) as f32);
        metrics.add("line_search_success", if taken.is_some() { 1.0 } else { 0.0 });
        metrics.add("step_fraction", fraction);
        metrics.add("step_norm", fraction * dot(&step, &step).sqrt() as f32);
        metrics.add("cg_residual", residual as f32);
        Ok(())
    }

    /// Moves the policy to the first fraction of the step that keeps within the region and gains something; gives that fraction and
    /// what it came to. Where there is none the policy is left wherever it was tried last.
    fn search(
        &self,
        policy: &mut PolicyValue,
        old: &Old,
        from: &[f32],
        step: &[f32],
        entropy_weight: f32,
    ) -> Option<(f32, Tried)> {
        let (_, before) = self.measure(policy, old, entropy_weight);
        let mut try_at = |fraction: f32| {
            let there: Vec<f32> = from.iter().zip(step).map(|(from, step)| from + fraction * step).collect();
            set_parameters(policy, &there);
            let (kl, objective) = self.measure(policy, old, entropy_weight);
            Tried { kl, gain: objective - before }
        };
        let TrpoConfig { line_search_steps, line_search_shrink, max_kl, .. } = self.config;
        if line_search_steps == 0 {
            return Some((1.0, try_at(1.0)));
        }
        line_search(line_search_steps, line_search_shrink, max_kl, try_at)
    }

    /// How far the policy is from the old one, and what the objective mean r A + c_e * mean entropy is, on all steps.
    fn measure(&self, policy: &mut PolicyValue, old: &Old, entropy_weight: f32) -> (f64, f64) {
        let (batch, PolicyValue { distribution, net, log_std, head, .. }) = (&self.batch, policy);
        net.infer(batch.sequences(), &mut [], head, None);
        let (width, log_std) = (distribution.head_width(), log_std.as_slice());
        let rows = head.chunks_exact(width).zip(old.heads.chunks_exact(width));
        let (mut kl, mut objective) = (0.0, 0.0);
        for (row, (now, before)) in rows.enumerate() {
            let (mask, width) = (batch.mask(row), distribution.action_width());
            let action = &batch.action[row * width..(row + 1) * width];
            let ratio = (distribution.log_prob(now, log_std, mask, action) - batch.log_prob[row]).exp();
            kl += f64::from(distribution.kl(before, &old.log_std, now, log_std, mask));
            objective += f64::from(ratio * batch.advantage[row]);
            objective += f64::from(entropy_weight * distribution.entropy(now, log_std, mask));
        }
        (kl / batch.len() as f64, objective / batch.len() as f64)
    }

    /// The steps that the curvature is measured on: all, or some at random. A stride would always pick the same environments.
    fn sample(&self, x: &[f32], context: &mut UpdateContext<'_>) -> Sample {
        let (batch, count) = (&self.batch, self.batch.len());
        let rows = ((count as f32 * self.config.curvature_share).ceil() as usize).clamp(1, count);
        if rows == count {
            return Sample { x: x.to_vec(), masks: batch.masks.clone(), rows };
        }
        let mut order: Vec<usize> = (0..count).collect();
        let (chosen, _) = order.partial_shuffle(context.rng, rows);
        chosen.sort_unstable();
        let width = x.len() / count;
        Sample {
            x: chosen.iter().flat_map(|&row| &x[row * width..(row + 1) * width]).copied().collect(),
            masks: chosen.iter().flat_map(|&row| batch.mask(row)).copied().collect(),
            rows,
        }
    }

    /// One step down mean (V - G)^2 on a minibatch.
    fn fit(
        &mut self,
        policy: &mut PolicyValue,
        sequences: &PlayedSequences<'_>,
        context: &mut UpdateContext<'_>,
    ) -> Result<bool, LearnError> {
        let config = &self.config;
        let rate = config.learning_rate.at(context.fraction()) as f32;
        let chosen = self.passes.next(config.minibatch_size, context.rng, || sequences.numbers());
        self.batch.gather(sequences, &self.passes.order()[chosen], false);
        let (batch, mut value_loss) = (&self.batch, 0.0);
        let (seen, at) = ((batch.sequences(), &[][..]), (rate, context.number()));
        policy.net.descend_value(&mut self.value_group, seen, at, |values| {
            let (loss, by_values) = batch.value_error(values, &batch.returns);
            value_loss = loss;
            (loss, by_values)
        })?;
        context.metrics.add("value_loss", value_loss);
        context.metrics.set("learning_rate", f64::from(rate));
        Ok(self.passes.stepped(0.0, config.update_epochs, None))
    }
}

/// What the curvature is measured on.
struct Sample {
    x: Vec<f32>,
    masks: Vec<bool>,
    rows: usize,
}

impl PolicyUpdate for TrpoUpdate {
    fn step(&mut self, policy: &mut PolicyValue, played: Played<'_>, context: &mut UpdateContext<'_>) -> Learned<bool> {
        let sequences = PlayedSequences::new(played, 0);
        if !self.improved {
            let all = sequences.numbers();
            if all.is_empty() {
                return Ok(true);
            }
            self.batch.gather(&sequences, &all, true);
            self.improve(policy, context)?;
            self.improved = true;
            return Ok(false);
        }
        let done = self.fit(policy, &sequences, context)?;
        if done {
            self.improved = false;
            let steps = played.rollout.filled * played.rollout.lanes;
            context.metrics.add("explained_variance", explained_variance(played.rollout, steps));
            policy.log_deviation(context.metrics);
        }
        Ok(done)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.value_group.visit_state("value", io)?;
        io.value("improved", &mut self.improved)?;
        self.passes.visit_state(self.steps, io)
    }
}
