//! # Discrete SAC: soft actor-critic for a choice of actions
//!
//! **What it does.** SAC where the policy is a distribution over a few choices. Every expectation over actions is summed
//! exactly, so nothing is sampled in the update.
//!
//! **When to use it.** Discrete actions, when a stochastic policy that explores by itself is wanted and every step counts.
//!
//! **The update.** With pi' the current policy at s' and slowly moving critics Q'_i:
//! ```text
//! y        = R + D * sum_a pi'(a) * (min_i Q'_i(s', a) - alpha * log pi'(a))
//! critics:   sum_i mean (Q_i(s, a) - y)^2 / 2
//! actor:     mean sum_a pi(a) * (alpha * log pi(a) - min_i Q_i(s, a))
//! alpha:     -log alpha * mean (sum_a pi(a) log pi(a) + target_entropy)
//! ```
//!
//! **Details that matter.**
//! - The target entropy is `target_entropy_ratio` times that of uniform choice. Tasks that need precise actions want it
//!   low, or falling: the ratio is a schedule.
//! - Both critics are one ensemble network with one output per action.
//! - Forbidden choices (action masks) have probability 0 in acting and in all sums.
//!
//! **What is left out.** Image observations.
//!
//! **Reference.** Christodoulou, Soft actor-critic for discrete action settings, 2019.

use crate::agent::{Agent, Diverged, Progress, Setup, finite};
use crate::config::layer_widths;
use crate::parts::actions::argmax;
use crate::parts::checks::BuildError;
use crate::parts::encode::Encoder;
use crate::parts::temperature::{Temperature, TemperatureSetting};
use crate::regimes::{OffPolicy, ReplayLearner, ReplaySettings, Update};
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use axiomrl_core::Schedule;
use axiomrl_core::random::uniform;
use axiomrl_envs::{ObsRef, Rng, Space};
use axiomrl_nn::{
    Activation, AdamConfig, Grad, Init, Mlp, MlpSpec, Optimizer, OptimizerConfig, fused_loss, global_norm, gradients,
    leaf,
};
use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of discrete SAC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct DiscreteSacConfig {
    /// Step size of Adam, for actor, critics and temperature.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub learning_rate: Schedule,
    /// Transitions kept.
    #[garde(range(min = 1, max = 100_000_000))]
    pub buffer_capacity: usize,
    /// Transitions per update.
    #[garde(range(min = 1, max = 65_536))]
    pub batch_size: usize,
    /// Random steps before the first update.
    pub learning_starts: u64,
    /// Environment steps between bursts of updates.
    #[garde(range(min = 1))]
    pub train_frequency: u64,
    /// Updates in a burst; -1 makes as many as steps were taken.
    #[garde(range(min = -1, max = 100_000))]
    pub gradient_steps: i64,
    /// How much of the critics the target critics take over per update.
    #[garde(range(min = 0.0, max = 1.0))]
    pub tau: f32,
    /// Discount per step.
    #[garde(range(min = 0.0, max = 1.0))]
    pub gamma: f32,
    /// Rewards summed before bootstrapping.
    #[garde(range(min = 1, max = 1000))]
    pub n_step: usize,
    /// Weight of the entropy: `auto`, or a number that stays fixed.
    pub ent_coef: TemperatureSetting,
    /// Temperature at the start when it is adapted.
    #[garde(range(min = 1e-8, max = 1000.0))]
    pub ent_coef_init: f32,
    /// Entropy to aim for, as a part of that of uniform choice, over the run.
    #[garde(custom(Schedule::range_ok(0.0, 1.0)))]
    pub target_entropy_ratio: Schedule,
    /// Widths of the hidden layers of actor and critics.
    #[garde(custom(layer_widths))]
    pub hidden_sizes: Vec<usize>,
    /// Non-linearity of the hidden layers.
    #[schemars(with = "String")]
    pub activation: Activation,
}

impl Default for DiscreteSacConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(3e-4),
            buffer_capacity: 100_000,
            batch_size: 64,
            learning_starts: 1000,
            train_frequency: 1,
            gradient_steps: 1,
            tau: 0.005,
            gamma: 0.99,
            n_step: 1,
            ent_coef: TemperatureSetting::Auto,
            ent_coef_init: 1.0,
            target_entropy_ratio: Schedule::Constant(0.5),
            hidden_sizes: vec![128, 128],
            activation: Activation::Relu,
        }
    }
}

pub struct DiscreteSac;

impl Algorithm for DiscreteSac {
    type Config = DiscreteSacConfig;

    fn build(config: DiscreteSacConfig, setup: &Setup) -> Result<Box<dyn Agent>, BuildError> {
        let Space::Discrete { n: actions } = setup.action_space else {
            return Err(BuildError::Setting("discrete SAC acts in Discrete spaces".to_owned()));
        };
        if config.n_step > config.buffer_capacity {
            let (n, capacity) = (config.n_step, config.buffer_capacity);
            let message = format!("`n_step` {n} is longer than `buffer_capacity` {capacity}; make the buffer larger");
            return Err(BuildError::Setting(message));
        }
        let settings = ReplaySettings {
            capacity: config.buffer_capacity,
            batch_size: config.batch_size,
            learning_starts: config.learning_starts,
            train_frequency: config.train_frequency,
            gradient_steps: u64::try_from(config.gradient_steps).ok(),
            n_step: config.n_step,
            gamma: config.gamma,
            priority: None,
            priority_beta: Schedule::Constant(1.0),
            hindsight: None,
        };
        Ok(Box::new(OffPolicy::new(DiscreteSacLearner::new(config, actions, setup), settings, setup)))
    }
}

/// The learner of discrete SAC.
struct DiscreteSacLearner {
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

/// A policy over a few choices, in one row.
struct Choices {
    probability: Vec<f32>,
    log: Vec<f32>,
}

impl Choices {
    fn new(logits: &[f32], mask: &[bool]) -> Self {
        let allowed = |i: usize| mask.is_empty() || mask[i];
        let logit = |i: usize| if allowed(i) { logits[i] } else { f32::NEG_INFINITY };
        let largest = (0..logits.len()).map(logit).fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = (0..logits.len()).map(|i| (logit(i) - largest).exp()).sum();
        let log: Vec<f32> = (0..logits.len())
            // A forbidden choice has no part in any sum: its logarithm only has to be a number.
            .map(|i| if allowed(i) { logits[i] - largest - sum.ln() } else { 0.0 })
            .collect();
        let probability = (0..logits.len()).map(|i| if allowed(i) { log[i].exp() } else { 0.0 }).collect();
        Self { probability, log }
    }

    fn expect(&self, of: impl Fn(usize) -> f32) -> f32 {
        self.probability.iter().enumerate().map(|(i, p)| p * of(i)).sum()
    }
}

impl DiscreteSacLearner {
    fn new(config: DiscreteSacConfig, actions: usize, setup: &Setup) -> Self {
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
            *action = if deterministic { likeliest } else { draw(&choices, likeliest, rng) } as f32;
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

/// A choice in proportion to its probability; `fallback` if rounding leaves the draw beyond the last.
fn draw(choices: &Choices, fallback: usize, rng: &mut Rng) -> usize {
    let mut rest = uniform(rng) as f32;
    for (choice, p) in choices.probability.iter().enumerate() {
        rest -= p;
        if rest < 0.0 {
            return choice;
        }
    }
    fallback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_choices_have_no_part() {
        let choices = Choices::new(&[1.0, 9.0, 1.0], &[true, false, true]);
        assert_eq!(choices.probability, [0.5, 0.0, 0.5]);
        assert!((choices.expect(|a| [2.0, 1000.0, 4.0][a]) - 3.0).abs() < 1e-6);
        assert!((choices.expect(|a| -choices.log[a]) - 2f32.ln()).abs() < 1e-6);
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let choices = Choices::new(&[0.0, 3f32.ln()], &[]);
        let mut rng = axiomrl_core::stream(1, "test");
        let ones = (0..4000).filter(|_| draw(&choices, 0, &mut rng) == 1).count();
        assert!((2880..3120).contains(&ones), "{ones}");
    }
}
