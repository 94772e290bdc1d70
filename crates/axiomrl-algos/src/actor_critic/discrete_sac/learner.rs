//! The update of critics, actor and temperature.

use super::DiscreteSacConfig;
use super::choices::Choices;
use crate::agent::{Diverged, LearnError, Setup, UpdateContext};
use crate::config::Problem;
use crate::export::{Answer, Graph, NoGraph, Shown, best};
use crate::parts::actions::argmax;
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::ObsEncoder;
use crate::parts::seeing::{Critic, SeeingNet, ValueLoss};
use crate::parts::temperature::Temperature;
use crate::parts::tracked::Trainable;
use crate::policy::{ActContext, ActInput, Actor, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_nn::{AdamConfig, Distribution, Init, Mlp, MlpSpec, OptimizerConfig, fused_loss, leaf};

/// The learner of discrete SAC.
pub struct DiscreteSacLearner {
    config: DiscreteSacConfig,
    actions: usize,
    actor: Mlp,
    /// Both critics, a network with two members, and the encoder that the actor looks through as well.
    critic: Critic,
    actor_group: ParamGroup,
    temperature: Temperature,
}

impl DiscreteSacLearner {
    pub fn new(config: DiscreteSacConfig, actions: usize, setup: &Setup) -> Result<Self, Problem> {
        let (mut rng, init) = (setup.rng("init"), Init::pytorch());
        let encoder = ObsEncoder::new(setup.observation_space(), config.vision, &init, &mut rng)?;
        let spec = || MlpSpec::new(encoder.width(), &config.hidden_sizes, actions, config.activation);
        let mut actor = Mlp::new(spec(), 1, &init, &mut rng);
        let layers = Mlp::new(spec(), 2, &init, &mut rng);
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        Ok(Self {
            actor_group: ParamGroup::new(&adam, &actor.params(), f32::INFINITY),
            critic: Critic::new(SeeingNet { encoder, layers }, &adam, f32::INFINITY),
            // The target follows a schedule; it is added at each update.
            temperature: Temperature::new(config.ent_coef, config.ent_coef_init, 0.0),
            config,
            actions,
            actor,
        })
    }

    /// The policy in one row.
    fn choices(&self, logits: &[f32], masks: &[bool], row: usize) -> Choices {
        let of_row = row * self.actions..(row + 1) * self.actions;
        Choices::new(&logits[of_row.clone()], masks.get(of_row).unwrap_or_default())
    }

    /// The policies of all rows, at what the encoder sees.
    fn policy(&self, seen: &[f32], masks: &[bool]) -> Vec<Choices> {
        let (rows, mut logits) = (seen.len() / self.critic.net.online.encoder.width(), Vec::new());
        self.actor.infer(seen, rows, &mut logits);
        (0..rows).map(|row| self.choices(&logits, masks, row)).collect()
    }

    /// The lower of both critics' opinions, out of `[2, rows, actions]`.
    fn lower(&self, q: &[f32], row: usize, action: usize) -> f32 {
        let at = row * self.actions + action;
        q[at].min(q[q.len() / 2 + at])
    }

    /// y = R + D * sum_a pi'(a) * (min_i Q'_i(s', a) - alpha * log pi'(a)).
    fn targets(&self, batch: &Batch) -> Vec<f32> {
        let policy = self.policy(&self.critic.net.online.encoder.infer(batch.next_obs()), batch.next_masks());
        let q = self.critic.net.target.infer(batch.next_obs(), &[]);
        let alpha = self.temperature.value();
        let value = |(row, next): (usize, &Choices)| next.soft_value(|a| self.lower(&q, row, a), alpha);
        let values = policy.iter().enumerate().map(value);
        values.zip(&batch.reward).zip(&batch.discount).map(|((v, reward), discount)| reward + discount * v).collect()
    }

    /// One step of critics and encoder on sum_i mean (Q_i(s, a) - y)^2 / 2. Gives what the encoder saw before it.
    fn update_critics(
        &mut self,
        batch: &Batch,
        targets: &[f32],
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Result<Vec<f32>, Diverged> {
        let (rows, actions, share) = (batch.rows, self.actions, 1.0 / batch.rows as f32);
        self.critic.fit((batch.obs(), &[]), targets, rate, context, |q| {
            let mut loss = ValueLoss { gradient: vec![0.0; q.len()], ..ValueLoss::default() };
            for at_row in 0..2 * rows {
                let row = at_row % rows;
                let at = at_row * actions + batch.action[row] as usize;
                let error = q[at] - targets[row];
                loss.value += 0.5 * share * error * error;
                loss.q_mean += 0.5 * share * q[at];
                loss.gradient[at] = share * error;
            }
            loss
        })
    }

    /// One step of the actor on mean sum_a pi(a) * (alpha * log pi(a) - min_i Q_i(s, a)). Gives the mean entropy.
    fn update_actor(
        &mut self,
        seen: &[f32],
        batch: &Batch,
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Result<f32, Diverged> {
        let (rows, share, alpha) = (batch.rows, 1.0 / batch.rows as f32, self.temperature.value());
        let mut q = Vec::new();
        self.critic.net.online.layers.infer(seen, rows, &mut q);
        let (mut value, mut entropy) = (0.0, 0.0);
        let tracked = self.actor.params.tracked();
        let logits = self.actor.forward(leaf(seen, [rows, seen.len() / rows]), tracked.clone(), None);
        let node = fused_loss([logits], |[logits]| {
            let mut gradient = vec![0.0; logits.len()];
            for (row, gradient) in gradient.chunks_exact_mut(self.actions).enumerate() {
                let policy = self.choices(logits, batch.masks(), row);
                value += share * policy.actor_loss(|a| self.lower(&q, row, a), alpha, share, gradient);
                entropy -= share * policy.expect(|a| policy.log[a]);
            }
            (value, [gradient])
        });
        let loss = Loss { node, value, tracked: vec![tracked] };
        let norm = self.actor_group.descend("the actor", loss, &mut self.actor.params(), rate, context.number())?;
        context.metrics.add("actor_loss", value);
        context.metrics.add("entropy", entropy);
        context.metrics.add("ent_coef", alpha);
        context.metrics.add("actor_grad_norm", norm);
        Ok(entropy)
    }

    /// The likeliest choice of each row, and the policy it is from.
    fn likeliest<'a>(&self, input: ActInput<'a>) -> impl Iterator<Item = (Choices, usize)> + use<'a> {
        let policy = self.policy(&self.critic.net.online.encoder.infer(input.obs), input.masks);
        policy.into_iter().enumerate().map(move |(row, choices)| {
            let best = argmax(&choices.probability, input.mask(row));
            (choices, best)
        })
    }
}

/// The mean over rows of the largest entropy that a policy over the allowed actions can have: what cannot be reached must not
/// be asked for, or the temperature would grow for ever.
fn largest_entropy(masks: &[bool], rows: usize, actions: usize) -> f32 {
    if masks.is_empty() {
        return (actions as f32).ln();
    }
    let allowed = masks.chunks_exact(actions).map(|mask| mask.iter().filter(|allowed| **allowed).count().max(1));
    allowed.map(|count| (count as f32).ln()).sum::<f32>() / rows as f32
}

impl Actor for DiscreteSacLearner {
    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { mode, rng, .. } = context;
        for (action, (choices, best)) in actions.iter_mut().zip(self.likeliest(input)) {
            *action = if mode == Mode::Best { best } else { choices.draw(best, rng) } as f32;
        }
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let seen = self.critic.net.online.encoder.onnx(graph, shown)?;
        let logits = self.actor.onnx(graph, seen);
        Ok(best(graph, &Distribution::Categorical { n: self.actions }, logits, shown.mask))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.critic.net.online.encoder.visit_state("encoder", io)?;
        io.network("actor", &mut self.actor)
    }
}

impl ReplayLearner for DiscreteSacLearner {
    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let rate = self.config.learning_rate.at(context.fraction()) as f32;
        let ratio = self.config.target_entropy_ratio.at(context.fraction()) as f32;
        let target_entropy = ratio * largest_entropy(batch.masks(), batch.rows, self.actions);

        // y = R + D * sum_a pi'(a) * (min_i Q'_i(s', a) - alpha * log pi'(a))
        let targets = self.targets(batch);
        // critics and encoder: sum_i mean (Q_i(s, a) - y)^2 / 2
        let seen = self.update_critics(batch, &targets, rate, context)?;
        // actor: mean sum_a pi(a) * (alpha * log pi(a) - min_i Q_i(s, a))
        let entropy = self.update_actor(&seen, batch, rate, context)?;
        // alpha: -log alpha * mean (sum_a pi(a) log pi(a) + target_entropy)
        self.temperature.update(target_entropy - entropy, rate);
        // Q' += tau * (Q - Q')
        self.critic.net.soft_update(self.config.tau);

        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let q = self.critic.net.online.infer(input.obs, &[]);
        for (row, (value, (_, best))) in values.iter_mut().zip(self.likeliest(input)).enumerate() {
            *value = self.lower(&q, row, best);
        }
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.actor_group.visit_state("actor", io)?;
        self.critic.visit_state(io)?;
        self.temperature.visit_state(io)
    }
}

#[cfg(test)]
mod tests;
