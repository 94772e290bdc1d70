//! The update: critics, then (when due) actor and temperature, then the slow copies.

use super::actor::{Actor, Drawn};
use super::critic::{Critic, Transitions};
use super::settings::{AcConfig, ActorKind, TargetAction};
use crate::agent::{Diverged, Progress, Setup};
use crate::parts::encode::Encoder;
use crate::parts::noise::{ActionNoise, Exploration, add_noise};
use crate::parts::temperature::{Temperature, TemperatureSetting};
use crate::regimes::{ReplayLearner, Update};
use crate::state::{StateError, StateIo};
use axiomrl_core::random::normal;
use axiomrl_envs::{ObsRef, Rng};

/// A categorical critic with more probability than this on its two ends cannot see what lies beyond.
const SATURATED: f32 = 0.2;

/// Updates after which a critic has a view of its own: a fresh one spreads its probability evenly.
const SETTLED: u64 = 500;

pub struct AcLearner {
    config: AcConfig,
    encoder: Encoder,
    actions: usize,
    actor: Actor,
    critic: Critic,
    temperature: Temperature,
    noise: ActionNoise,
    drawn: Drawn,
    /// Observation and action side by side, at both ends of the transition.
    joint: Vec<f32>,
    next_joint: Vec<f32>,
    bonus: Vec<f32>,
    reward: Vec<f32>,
    /// The policy's last hidden layer, and the noise that is added to its actions.
    features: Vec<f32>,
    exploration: Vec<f32>,
}

impl AcLearner {
    pub fn new(config: AcConfig, setup: &Setup) -> Self {
        let encoder = Encoder::new(&setup.observation_space);
        let actions = setup.action_width();
        let mut rng = setup.rng("init");
        let actor = Actor::new(&config, encoder.width(), actions, &mut rng);
        let critic = Critic::new(&config, encoder.width() + actions, &mut rng);
        let target_entropy = config.target_entropy.unwrap_or(-(actions as f32));
        let setting = config.ent_coef.unwrap_or(TemperatureSetting::Fixed(0.0));
        let temperature = Temperature::new(setting, config.ent_coef_init, target_entropy);
        let horizon = config.exploration_horizon;
        let noise = ActionNoise::new(config.exploration, setup.num_envs, actions, horizon, &mut setup.rng("noise"));
        Self {
            config,
            encoder,
            actions,
            actor,
            critic,
            temperature,
            noise,
            drawn: Drawn::default(),
            joint: Vec::new(),
            next_joint: Vec::new(),
            bonus: Vec::new(),
            reward: Vec::new(),
            features: Vec::new(),
            exploration: Vec::new(),
        }
    }

    /// The next action as the targets see it, and the entropy bonus that goes with it.
    fn look_ahead(&mut self, next_obs: &[f32], rows: usize, rng: &mut Rng) {
        match self.config.target_action {
            TargetAction::OnlineActor => self.actor.sample(next_obs, rows, rng, &mut self.drawn),
            TargetAction::TargetActor => self.actor.sample_target(next_obs, rows, rng, &mut self.drawn),
            TargetAction::TargetActorSmoothed => {
                self.actor.sample_target(next_obs, rows, rng, &mut self.drawn);
                let (std, clip) = (self.config.target_noise, self.config.target_noise_clip);
                for action in &mut self.drawn.action {
                    *action = (*action + (std * normal(rng)).clamp(-clip, clip)).clamp(-1.0, 1.0);
                }
            }
        }
        join_columns(next_obs, &self.drawn.action, rows, &mut self.next_joint);
        let alpha = if self.config.entropy_backup { self.temperature.value() } else { 0.0 };
        self.bonus.clear();
        self.bonus.extend(self.drawn.log_prob.iter().map(|log_prob| -alpha * log_prob));
    }

    fn update_critics(&mut self, obs: &[f32], update: &mut Update<'_>) -> Result<(), Diverged> {
        let batch = update.batch;
        join_columns(obs, &batch.action, batch.rows, &mut self.joint);
        self.reward.clear();
        self.reward.extend(batch.reward.iter().map(|reward| self.config.reward_scale * reward));
        let transitions = Transitions {
            rows: batch.rows,
            joint: &self.joint,
            next_joint: &self.next_joint,
            bonus: &self.bonus,
            reward: &self.reward,
            discount: &batch.discount,
            weight: &batch.weight,
        };
        let rate = self.config.critic_learning_rate.as_ref().unwrap_or(&self.config.learning_rate);
        let rate = rate.at(update.progress.fraction()) as f32;
        let clip = self.config.max_grad_norm;
        let step = self.critic.fit(&transitions, rate, clip, update.number, update.rng, update.errors)?;
        update.metrics.add("critic_loss", step.loss);
        update.metrics.add("q_value_mean", step.value_mean);
        update.metrics.add("q_max", step.value_max);
        update.metrics.add("target_q_mean", step.target_mean);
        update.metrics.add("critic_grad_norm", step.grad_norm);
        if self.config.critic_output == super::settings::CriticOutput::Categorical {
            update.metrics.add("edge_mass", step.edge_mass);
            let saturated = step.edge_mass > SATURATED && update.number > SETTLED;
            update.metrics.add("support_saturated", if saturated { 1.0 } else { 0.0 });
            if saturated {
                update.metrics.note(
                    "much of the critic's probability lies on the ends of its support (edge_mass): returns may lie beyond; \
                     widen v_min and v_max, or lower reward_scale",
                );
            }
        }
        Ok(())
    }

    fn update_actor(&mut self, obs: &[f32], update: &mut Update<'_>) -> Result<(), Diverged> {
        let (rows, actions) = (update.batch.rows, self.actions);
        let rate = self.config.actor_learning_rate.as_ref().unwrap_or(&self.config.learning_rate);
        let rate = rate.at(update.progress.fraction()) as f32;
        let alpha = self.temperature.value();
        let seed = self.critic.dropout_seed(update.rng);
        let (critic, joint, config) = (&self.critic, &mut self.joint, &self.config);
        let clip = config.max_grad_norm;
        let step = self.actor.improve(obs, rows, alpha, rate, clip, update.number, update.rng, |drawn| {
            join_columns(obs, drawn, rows, joint);
            critic.opinion(joint, rows, actions, config.actor_reducer, config.max_action_grad_norm, seed)
        })?;
        update.metrics.add("actor_loss", step.loss);
        update.metrics.add("actor_grad_norm", step.grad_norm);
        update.metrics.set("learning_rate", f64::from(rate));
        if self.config.actor == ActorKind::TanhGaussian {
            self.temperature.update(step.log_prob_mean, rate);
            update.metrics.add("entropy", -step.log_prob_mean);
            update.metrics.add("ent_coef", alpha);
        }
        Ok(())
    }
}

/// Rows of `a` followed by rows of `b`.
fn join_columns(a: &[f32], b: &[f32], rows: usize, into: &mut Vec<f32>) {
    let (wa, wb) = (a.len() / rows, b.len() / rows);
    into.clear();
    for row in 0..rows {
        into.extend_from_slice(&a[row * wa..(row + 1) * wa]);
        into.extend_from_slice(&b[row * wb..(row + 1) * wb]);
    }
}

impl ReplayLearner for AcLearner {
    fn explore(
        &mut self,
        obs: ObsRef<'_>,
        _masks: &[bool],
        rows: usize,
        progress: Progress,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        let obs = self.encoder.encode(obs);
        let std = self.config.exploration_noise.at(progress.fraction()) as f32;
        let gaussian_policy = self.config.actor == ActorKind::TanhGaussian;
        if self.config.exploration == Exploration::StateDependent {
            self.actor.features(&obs, rows, &mut self.features);
        }
        if self.config.exploration != Exploration::Policy {
            self.noise.draw(&self.features, actions.len(), rng, &mut self.exploration);
        }
        match self.config.exploration {
            Exploration::Colored | Exploration::StateDependent if gaussian_policy => {
                // The noise takes the place of the policy's own, so that its size stays what the policy wants.
                let noise = self.exploration.iter().map(|noise| std * noise);
                self.actor.sample_with(&obs, rows, noise, &mut self.drawn);
                actions.copy_from_slice(&self.drawn.action);
                return;
            }
            _ if gaussian_policy => self.actor.sample(&obs, rows, rng, &mut self.drawn),
            _ => self.actor.mean(&obs, rows, &mut self.drawn),
        }
        actions.copy_from_slice(&self.drawn.action);
        if self.config.exploration != Exploration::Policy {
            add_noise(actions, &self.exploration, std);
        }
    }

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        _masks: &[bool],
        rows: usize,
        deterministic: bool,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        let obs = self.encoder.encode(obs);
        if deterministic || self.config.actor == ActorKind::Deterministic {
            self.actor.mean(&obs, rows, &mut self.drawn);
        } else {
            self.actor.sample(&obs, rows, rng, &mut self.drawn);
        }
        actions.copy_from_slice(&self.drawn.action);
    }

    fn values(&mut self, obs: ObsRef<'_>, _masks: &[bool], rows: usize, values: &mut [f32]) {
        let obs = self.encoder.encode(obs);
        self.actor.mean(&obs, rows, &mut self.drawn);
        join_columns(&obs, &self.drawn.action, rows, &mut self.joint);
        self.critic.values(&self.joint, rows, values);
        values.iter_mut().for_each(|value| *value /= self.config.reward_scale);
    }

    fn update(&mut self, mut update: Update<'_>) -> Result<(), Diverged> {
        let next_obs = self.encoder.encode(update.batch.next_obs.as_ref());
        self.look_ahead(&next_obs, update.batch.rows, update.rng);
        let obs = self.encoder.encode(update.batch.obs.as_ref());
        self.update_critics(&obs, &mut update)?;
        let on_time = update.number.is_multiple_of(self.config.policy_delay);
        if if self.config.actor_once_per_block { update.closes_burst } else { on_time } {
            self.update_actor(&obs, &mut update)?;
        }
        if on_time {
            self.critic.follow(self.config.tau);
            self.actor.follow(self.config.tau);
        }
        Ok(())
    }

    fn episode_ended(&mut self, env: usize) {
        self.noise.episode_ended(env);
    }

    fn metric_names(&self) -> &'static [&'static str] {
        &[
            "critic_loss",
            "actor_loss",
            "q_value_mean",
            "q_max",
            "target_q_mean",
            "edge_mass",
            "support_saturated",
            "entropy",
            "ent_coef",
            "critic_grad_norm",
            "actor_grad_norm",
            "learning_rate",
        ]
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.actor.exchange(io)?;
        self.critic.exchange(io)?;
        self.temperature.exchange(io)?;
        self.noise.exchange(io)
    }
}
