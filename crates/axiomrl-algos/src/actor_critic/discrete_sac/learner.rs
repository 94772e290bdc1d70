//! The update of critics, actor and temperature.

use super::DiscreteSacConfig;
use super::choices::Choices;
use crate::agent::{Diverged, Progress, Setup, finite};
use crate::parts::actions::argmax;
use crate::parts::encode::Encoder;
use crate::parts::temperature::Temperature;
use crate::regimes::{ReplayLearner, Update};
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{
    AdamConfig, Grad, Init, Mlp, MlpSpec, Optimizer, OptimizerConfig, fused_loss, global_norm, gradients, leaf,
};

/// The learner of discrete SAC.
pub struct DiscreteSacLearner {
    config: DiscreteSacConfig,
    encoder: Encoder,
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
        let encoder = Encoder::new(&setup.observation_space);
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
    fn compute_targets(&mut self, update: &Update<'_>) {
        let batch = update.batch;
        let next_obs = self.encoder.encode(batch.next_obs.as_ref());
        self.actor.infer(&next_obs, batch.rows, &mut self.logits);
        self.critic_target.infer(&next_obs, batch.rows, &mut self.q);
        let alpha = self.temperature.value();
        let mut targets = std::mem::take(&mut self.targets);
        targets.clear();
        targets.extend((0..batch.rows).map(|row| {
            let next = self.choices(&self.logits, &batch.next_mask, row);
            let value = next.expect(|a| self.lower(&self.q, batch.rows, row, a) - alpha * next.log[a]);
            batch.reward[row] + batch.discount[row] * value
        }));
        self.targets = targets;
    }

    fn update_critics(&mut self, obs: &[f32], update: &mut Update<'_>, rate: f32) -> Result<(), Diverged> {
        let batch = update.batch;
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
        finite("the critic loss", loss_value, update.number)?;
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        let norm = checked_norm("the gradient of the critics", &gradient, update.number)?;
        self.critic_optimizer.step(&mut self.critic.params, &gradient, rate, 1.0);
        update.metrics.add("critic_loss", loss_value);
        update.metrics.add("q_value_mean", q_mean);
        update.metrics.add("target_q_mean", share * targets.iter().sum::<f32>());
        update.metrics.add("critic_grad_norm", norm);
        Ok(())
    }

    fn update_actor(&mut self, obs: &[f32], update: &mut Update<'_>, rate: f32) -> Result<(), Diverged> {
        let (rows, actions) = (update.batch.rows, self.actions);
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
                let now = self.choices(logits, &update.batch.mask, row);
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
        finite("the actor loss", loss_value, update.number)?;
        let [gradient] = gradients(loss, [&params]);
        drop(params);
        self.q = q;
        let norm = checked_norm("the gradient of the actor", &gradient, update.number)?;
        self.actor_optimizer.step(&mut self.actor.params, &gradient, rate, 1.0);
        let ratio = self.config.target_entropy_ratio.at(update.progress.fraction()) as f32;
        self.temperature.update(ratio * (actions as f32).ln() - entropy, rate);
        update.metrics.add("actor_loss", loss_value);
        update.metrics.add("entropy", entropy);
        update.metrics.add("ent_coef", alpha);
        update.metrics.add("actor_grad_norm", norm);
        update.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }
}

fn checked_norm(what: &str, gradient: &Grad, number: u64) -> Result<f32, Diverged> {
    finite(what, global_norm(&[gradient]), number)
}

impl ReplayLearner for DiscreteSacLearner {
    fn explore(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        _progress: Progress,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        self.predict(obs, masks, rows, false, rng, actions);
    }

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        deterministic: bool,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        let mut logits = std::mem::take(&mut self.logits);
        self.actor.infer(&self.encoder.encode(obs), rows, &mut logits);
        for (row, action) in actions.iter_mut().enumerate() {
            let choices = self.choices(&logits, masks, row);
            let likeliest = argmax(&choices.probability, self.mask(masks, row));
            *action = if deterministic { likeliest } else { choices.draw(likeliest, rng) } as f32;
        }
        self.logits = logits;
    }

    fn values(&mut self, obs: ObsRef<'_>, masks: &[bool], rows: usize, values: &mut [f32]) {
        let mut actions = vec![0.0; rows];
        // The deterministic action draws nothing.
        self.predict(obs, masks, rows, true, &mut axiomrl_core::stream(0, "unused"), &mut actions);
        let mut q = std::mem::take(&mut self.q);
        self.critic.infer(&self.encoder.encode(obs), rows, &mut q);
        for (row, value) in values.iter_mut().enumerate() {
            *value = self.lower(&q, rows, row, actions[row] as usize);
        }
        self.q = q;
    }

    fn update(&mut self, mut update: Update<'_>) -> Result<(), Diverged> {
        self.compute_targets(&update);
        let obs = self.encoder.encode(update.batch.obs.as_ref());
        let rate = self.config.learning_rate.at(update.progress.fraction()) as f32;
        self.update_critics(&obs, &mut update, rate)?;
        self.update_actor(&obs, &mut update, rate)?;
        self.critic_target.params.polyak_from(&self.critic.params, self.config.tau);
        Ok(())
    }

    fn metric_names(&self) -> &'static [&'static str] {
        &[
            "critic_loss",
            "actor_loss",
            "q_value_mean",
            "target_q_mean",
            "entropy",
            "ent_coef",
            "critic_grad_norm",
            "actor_grad_norm",
            "learning_rate",
        ]
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.network("actor", &mut self.actor)?;
        io.network("critic", &mut self.critic)?;
        io.network("critic_target", &mut self.critic_target)?;
        io.optimizer("actor", &mut self.actor_optimizer)?;
        io.optimizer("critic", &mut self.critic_optimizer)?;
        self.temperature.exchange(io)
    }
}
