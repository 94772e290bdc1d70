//! The update of critics, actor and temperature.

use super::DiscreteSacConfig;
use super::choices::Choices;
use crate::agent::{Diverged, LearnError, Setup, UpdateContext, finite};
use crate::parts::actions::argmax;
use crate::parts::input::Flatten;
use crate::parts::temperature::Temperature;
use crate::policy::{ActInput, Actor, Memory, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::Rng;
use axiomrl_nn::{
    AdamConfig, Grad, Init, Mlp, MlpSpec, Optimizer, OptimizerConfig, fused_loss, global_norm, gradients, leaf,
};

/// The learner of discrete SAC.
pub struct DiscreteSacLearner {
    config: DiscreteSacConfig,
    encoder: Flatten,
    actions: usize,
    actor: Mlp,
    /// Both critics: a network with two members.
    critic: Mlp,
    critic_target: Mlp,
    actor_optimizer: Optimizer,
    critic_optimizer: Optimizer,
    temperature: Temperature,
    logits: Vec<f32>,
    q: Vec<f32>,
    targets: Vec<f32>,
}

impl DiscreteSacLearner {
    pub fn new(config: DiscreteSacConfig, actions: usize, setup: &Setup) -> Self {
        let encoder = Flatten::new(setup.observation_space());
        let mut rng = setup.rng("init");
        let spec = || MlpSpec::new(encoder.width(), &config.hidden_sizes, actions, config.activation);
        let actor = Mlp::new(spec(), 1, &Init::pytorch(), &mut rng);
        let critic = Mlp::new(spec(), 2, &Init::pytorch(), &mut rng);
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        Self {
            actor_optimizer: Optimizer::new(&adam, actor.params.as_slice().len()),
            critic_optimizer: Optimizer::new(&adam, critic.params.as_slice().len()),
            // The target follows a schedule; it is added at each update.
            temperature: Temperature::new(config.ent_coef, config.ent_coef_init, 0.0),
            critic_target: critic.clone(),
            config,
            encoder,
            actions,
            actor,
            critic,
            logits: Vec::new(),
            q: Vec::new(),
            targets: Vec::new(),
        }
    }

    fn mask<'a>(&self, masks: &'a [bool], row: usize) -> &'a [bool] {
        if masks.is_empty() { &[] } else { &masks[row * self.actions..(row + 1) * self.actions] }
    }

    fn choices(&self, logits: &[f32], masks: &[bool], row: usize) -> Choices {
        Choices::new(&logits[row * self.actions..(row + 1) * self.actions], self.mask(masks, row))
    }

    /// The lower of both critics' opinions, out of `[2, rows, actions]`.
    fn lower(&self, q: &[f32], rows: usize, row: usize, action: usize) -> f32 {
        let at = row * self.actions + action;
        q[at].min(q[rows * self.actions + at])
    }

    /// y = R + D * sum_a pi'(a) * (min_i Q'_i(s', a) - alpha * log pi'(a)).
    fn compute_targets(&mut self, batch: &Batch) {
        let next_obs = self.encoder.encode(batch.next_obs());
        self.actor.infer(&next_obs, batch.rows, &mut self.logits);
        self.critic_target.infer(&next_obs, batch.rows, &mut self.q);
        let alpha = self.temperature.value();
        let mut targets = std::mem::take(&mut self.targets);
        targets.clear();
        targets.extend((0..batch.rows).map(|row| {
            let next = self.choices(&self.logits, batch.next_masks(), row);
            let value = next.expect(|a| self.lower(&self.q, batch.rows, row, a) - alpha * next.log[a]);
            batch.reward[row] + batch.discount[row] * value
        }));
        self.targets = targets;
    }

    fn update_critics(
        &mut self,
        obs: &[f32],
        rate: f32,
        batch: &Batch,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), Diverged> {
        let (rows, actions, targets) = (batch.rows, self.actions, &self.targets);
        let share = 1.0 / rows as f32;
        let (mut loss_value, mut q_mean) = (0.0, 0.0);
        let params = self.critic.params.tracked();
        let q = self.critic.forward(leaf(obs, [rows, self.encoder.width()]), params.clone(), None);
        let loss = fused_loss([q], |[q]| {
            let mut gradient = vec![0.0; q.len()];
            for member in 0..2 {
                for (row, target) in targets.iter().enumerate() {
                    let at = (member * rows + row) * actions + batch.action[row] as usize;
                    let error = q[at] - target;
                    loss_value += 0.5 * share * error * error;
                    q_mean += 0.5 * share * q[at];
                    gradient[at] = share * error;
                }
            }
            (loss_value, [gradient])
        });
        finite("the critic loss", loss_value, context.number())?;
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        let norm = checked_norm("the gradient of the critics", &gradient, context.number())?;
        self.critic_optimizer.step(&mut self.critic.params, &gradient, rate, 1.0);
        context.metrics.add("critic_loss", loss_value);
        context.metrics.add("q_value_mean", q_mean);
        context.metrics.add("target_q_mean", share * targets.iter().sum::<f32>());
        context.metrics.add("critic_grad_norm", norm);
        Ok(())
    }

    fn update_actor(
        &mut self,
        obs: &[f32],
        rate: f32,
        batch: &Batch,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), Diverged> {
        let (rows, actions) = (batch.rows, self.actions);
        let mut q = std::mem::take(&mut self.q);
        self.critic.infer(obs, rows, &mut q);
        let alpha = self.temperature.value();
        let share = 1.0 / rows as f32;
        let (mut loss_value, mut entropy) = (0.0, 0.0);
        let params = self.actor.params.tracked();
        let logits = self.actor.forward(leaf(obs, [rows, self.encoder.width()]), params.clone(), None);
        let loss = fused_loss([logits], |[logits]| {
            let mut gradient = vec![0.0; logits.len()];
            for (row, gradient) in gradient.chunks_exact_mut(actions).enumerate() {
                let now = self.choices(logits, batch.masks(), row);
                let cost = |a: usize| alpha * now.log[a] - self.lower(&q, rows, row, a);
                let expected = now.expect(cost);
                // The derivative of sum_a pi(a) cost(a) by a logit, through pi and through its logarithm.
                for (a, gradient) in gradient.iter_mut().enumerate() {
                    *gradient = share * now.probability[a] * (cost(a) - expected);
                }
                loss_value += share * expected;
                entropy -= share * now.expect(|a| now.log[a]);
            }
            (loss_value, [gradient])
        });
        finite("the actor loss", loss_value, context.number())?;
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        self.q = q;
        let norm = checked_norm("the gradient of the actor", &gradient, context.number())?;
        self.actor_optimizer.step(&mut self.actor.params, &gradient, rate, 1.0);
        let ratio = self.config.target_entropy_ratio.at(context.fraction()) as f32;
        self.temperature.update(ratio * (actions as f32).ln() - entropy, rate);
        context.metrics.add("actor_loss", loss_value);
        context.metrics.add("entropy", entropy);
        context.metrics.add("ent_coef", alpha);
        context.metrics.add("actor_grad_norm", norm);
        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    /// Draws from the policy, or takes the likeliest choice where there is nothing to draw with.
    fn choose(&mut self, input: ActInput<'_>, mut rng: Option<&mut Rng>, actions: &mut [f32]) {
        let mut logits = std::mem::take(&mut self.logits);
        self.actor.infer(&self.encoder.encode(input.obs), input.rows(), &mut logits);
        for (row, action) in actions.iter_mut().enumerate() {
            let choices = self.choices(&logits, input.masks, row);
            let likeliest = argmax(&choices.probability, self.mask(input.masks, row));
            *action = match &mut rng {
                Some(rng) => choices.draw(likeliest, rng),
                None => likeliest,
            } as f32;
        }
        self.logits = logits;
    }
}

fn checked_norm(what: &str, gradient: &Grad, number: u64) -> Result<f32, Diverged> {
    finite(what, global_norm(&[gradient]), number)
}

impl Actor for DiscreteSacLearner {
    fn act(
        &mut self,
        input: ActInput<'_>,
        _memory: &mut Memory,
        mode: Mode,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        self.choose(input, (mode == Mode::Sample).then_some(rng), actions);
        Ok(())
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("actor", &mut self.actor)
    }
}

impl ReplayLearner for DiscreteSacLearner {
    fn update(
        &mut self,
        batch: &Batch,
        context: &mut UpdateContext<'_>,
        _errors: &mut Vec<f32>,
    ) -> Result<(), LearnError> {
        self.compute_targets(batch);
        let obs = self.encoder.encode(batch.obs());
        let rate = self.config.learning_rate.at(context.fraction()) as f32;
        self.update_critics(&obs, rate, batch, context)?;
        self.update_actor(&obs, rate, batch, context)?;
        self.critic_target.params.polyak_from(&self.critic.params, self.config.tau);
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let rows = input.rows();
        let mut actions = vec![0.0; rows];
        self.choose(input, None, &mut actions);
        let mut q = std::mem::take(&mut self.q);
        self.critic.infer(&self.encoder.encode(input.obs), rows, &mut q);
        for (row, value) in values.iter_mut().enumerate() {
            *value = self.lower(&q, rows, row, actions[row] as usize);
        }
        self.q = q;
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("critic", &mut self.critic)?;
        io.network("critic_target", &mut self.critic_target)?;
        io.optimizer("actor", &mut self.actor_optimizer)?;
        io.optimizer("critic", &mut self.critic_optimizer)?;
        self.temperature.visit_state(io)
    }
}
