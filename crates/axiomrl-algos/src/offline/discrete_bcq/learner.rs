//! The update of values and imitation.

use super::DiscreteBcqConfig;
use super::imitation::{known, loss};
use crate::agent::{Diverged, LearnError, Setup, UpdateContext};
use crate::config::Problem;
use crate::export::{Answer, Graph, NoGraph, Shown, allowed};
use crate::parts::actions::argmax;
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::ObsEncoder;
use crate::parts::seeing::SeeingNet;
use crate::parts::tracked::{Tracked, Trainable};
use crate::policy::{ActContext, ActInput, Actor};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_core::value_functions::{huber, huber_grad};
use axiomrl_envs::ObsRef;
use axiomrl_nn::{AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig, Params, fused_loss};

/// The learner of discrete BCQ.
pub struct DiscreteBcqLearner {
    config: DiscreteBcqConfig,
    actions: usize,
    /// Values, and the encoder that the imitation looks through as well.
    q: Tracked<SeeingNet>,
    /// Logits of what was done.
    imitation: Mlp,
    /// Encoder, values and imitation together.
    group: ParamGroup,
}

/// What is done in a row, and what that is worth by the values that chose it.
struct Choice {
    action: usize,
    value: f32,
    /// Part of the choices that the record knows.
    known: f32,
}

/// The parts of a loss, means over the rows.
#[derive(Default)]
struct Parts {
    critic: f32,
    imitation: f32,
    penalty: f32,
    /// What is thought of what was done, and of what would be done.
    q_data: f32,
    q_policy: f32,
    error: f32,
}

impl DiscreteBcqLearner {
    pub fn new(config: DiscreteBcqConfig, actions: usize, setup: &Setup) -> Result<Self, Problem> {
        let (mut rng, init) = (setup.rng("init"), Init::pytorch());
        let encoder = ObsEncoder::new(setup.observation_space(), config.vision, &init, &mut rng)?;
        let mut network = || {
            let spec = MlpSpec::new(encoder.width(), &config.hidden_sizes, actions, config.activation);
            Mlp::new(spec, 1, &init, &mut rng)
        };
        let (layers, mut imitation) = (network(), network());
        let mut q = SeeingNet { encoder, layers };
        let learned: Vec<&mut Params> = q.params().into_iter().chain([&mut imitation.params]).collect();
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let group = ParamGroup::new(&adam, &learned, config.max_grad_norm.unwrap_or(f32::INFINITY));
        Ok(Self { q: Tracked::new(q), config, actions, imitation, group })
    }

    /// argmax of Q over the choices that the record knows, in each row.
    fn choose(&self, obs: ObsRef<'_>, masks: &[bool]) -> Vec<Choice> {
        let (mut q, mut logits) = (Vec::new(), Vec::new());
        let seen = self.q.online.encoder.infer(obs);
        self.q.online.layers.infer(&seen, obs.rows, &mut q);
        self.imitation.infer(&seen, obs.rows, &mut logits);
        let rows = q.chunks_exact(self.actions).zip(logits.chunks_exact(self.actions));
        rows.enumerate().map(|(row, (q, logits))| self.choose_in(q, logits, self.mask(masks, row))).collect()
    }

    fn choose_in(&self, q: &[f32], logits: &[f32], mask: &[bool]) -> Choice {
        let known = known(logits, mask, self.config.threshold);
        let action = argmax(q, &known);
        let count = known.iter().filter(|known| **known).count();
        Choice { action, value: q[action], known: count as f32 / self.actions as f32 }
    }

    /// The choices that are possible in a row; empty for all.
    fn mask<'a>(&self, masks: &'a [bool], row: usize) -> &'a [bool] {
        masks.get(row * self.actions..(row + 1) * self.actions).unwrap_or_default()
    }

    /// y = R + D * Q'(s', argmax_{a known at s'} Q(s', a)).
    fn targets(&self, batch: &Batch, context: &mut UpdateContext<'_>) -> Vec<f32> {
        let next = self.choose(batch.next_obs(), batch.next_masks());
        let q = self.q.target.infer(batch.next_obs(), &[]);
        let share = 1.0 / batch.rows as f32;
        context.metrics.add("allowed_share", share * next.iter().map(|choice| choice.known).sum::<f32>());
        let values = next.iter().zip(q.chunks_exact(self.actions)).map(|(choice, q)| q[choice.action]);
        let returns = batch.reward.iter().zip(&batch.discount).zip(values);
        returns.map(|((reward, discount), value)| reward + discount * value).collect()
    }

    /// The loss of values and logits, and its derivative by both.
    fn loss(&self, batch: &Batch, targets: &[f32], q: &[f32], logits: &[f32]) -> (Parts, [Vec<f32>; 2]) {
        let (n, share, weight) = (self.actions, 1.0 / batch.rows as f32, self.config.logit_penalty);
        let (mut parts, mut by_q, mut by_logits) = (Parts::default(), vec![0.0; q.len()], vec![0.0; logits.len()]);
        for (row, target) in targets.iter().enumerate() {
            let (of_row, chosen) = (row * n..(row + 1) * n, batch.action[row] as usize);
            let (mask, q, logits) = (self.mask(batch.masks(), row), &q[of_row.clone()], &logits[of_row.clone()]);
            let error = q[chosen] - target;
            by_q[row * n + chosen] = share * huber_grad(error, 1.0);
            let (cross_entropy, square) = loss(logits, mask, chosen, weight, share, &mut by_logits[of_row]);
            parts.critic += share * huber(error, 1.0);
            parts.imitation += share * cross_entropy;
            parts.penalty += share * weight * square;
            parts.q_data += share * q[chosen];
            parts.q_policy += share * self.choose_in(q, logits, mask).value;
            parts.error += share * error.abs();
        }
        (parts, [by_q, by_logits])
    }

    /// One step of encoder, values and imitation on
    /// mean [Huber(Q(s, a) - y) - log p(a | s) + logit_penalty * mean_a logit(a)^2].
    fn descend(
        &mut self,
        batch: &Batch,
        targets: &[f32],
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), Diverged> {
        let (seen, mut tracked) = self.q.online.encoder.forward(batch.obs());
        let own = [self.q.online.layers.params.tracked(), self.imitation.params.tracked()];
        tracked.extend(own.clone());
        let [for_q, for_imitation] = own;
        let q = self.q.online.layers.forward(seen.clone(), for_q, None);
        let logits = self.imitation.forward(seen, for_imitation, None);
        let (mut parts, mut value) = (Parts::default(), 0.0);
        let node = fused_loss([q, logits], |[q, logits]| {
            let (found, gradients) = self.loss(batch, targets, q, logits);
            value = found.critic + found.imitation + found.penalty;
            parts = found;
            (value, gradients)
        });
        let mut learned: Vec<&mut Params> =
            self.q.online.params().into_iter().chain([&mut self.imitation.params]).collect();
        let loss = Loss { node, value, tracked };
        let norm = self.group.descend("values and imitation", loss, &mut learned, rate, context.number())?;
        context.metrics.add("loss", value);
        context.metrics.add("grad_norm", norm);
        context.metrics.add("critic_loss", parts.critic);
        context.metrics.add("imitation_loss", parts.imitation);
        context.metrics.add("q_data_mean", parts.q_data);
        context.metrics.add("q_policy_mean", parts.q_policy);
        context.metrics.add("target_q_mean", targets.iter().sum::<f32>() / batch.rows as f32);
        context.metrics.add("td_error", parts.error);
        Ok(())
    }
}

impl Actor for DiscreteBcqLearner {
    fn act(&mut self, input: ActInput<'_>, _context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        for (action, choice) in actions.iter_mut().zip(self.choose(input.obs, input.masks)) {
            *action = choice.action as f32;
        }
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let seen = self.q.online.encoder.onnx(graph, shown)?;
        let (q, logits) = (self.q.online.layers.onnx(graph, seen), self.imitation.onnx(graph, seen));
        // As in `known`: a choice counts by its probability over that of the likeliest one.
        let possible = allowed(graph, logits, shown.mask);
        let largest = graph.max(possible, -1);
        let below = graph.sub(possible, largest);
        let (share, threshold) = (graph.exp(below), graph.scalar(self.config.threshold));
        let known = graph.greater(share, threshold);
        let open = allowed(graph, q, Some(known));
        Ok(Answer { action: graph.argmax(open), memory: None, grounds: Some(("q", q, self.actions)) })
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.q.online.encoder.visit_state("encoder", io)?;
        io.network("q", &mut self.q.online.layers)?;
        io.network("imitation", &mut self.imitation)
    }
}

impl ReplayLearner for DiscreteBcqLearner {
    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let rate = self.config.learning_rate.at(context.fraction()) as f32;

        // y = R + D * Q'(s', argmax_{a known at s'} Q(s', a)),  known: p(a | s') > threshold * max p(. | s')
        let targets = self.targets(batch, context);
        // encoder, values, imitation: mean [Huber(Q(s, a) - y) - log p(a | s) + logit_penalty * mean_a logit(a)^2]
        self.descend(batch, &targets, rate, context)?;
        // Q' += tau * (Q - Q')
        if context.number().is_multiple_of(self.config.target_update_interval) {
            self.q.soft_update(self.config.tau);
        }

        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let chosen = self.choose(input.obs, input.masks);
        values.iter_mut().zip(chosen).for_each(|(value, choice)| *value = choice.value);
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("q_target", &mut self.q.target.layers)?;
        self.q.target.encoder.visit_state("encoder_target", io)?;
        self.group.visit_state("q", io)
    }
}

#[cfg(test)]
mod tests;
