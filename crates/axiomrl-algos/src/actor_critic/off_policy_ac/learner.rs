//! The update: critics, then (when due) actor and temperature, then the slow copies.

use super::actor::{Actor, Drawn};
use super::critic::{Critic, Transitions};
use super::settings::{AcConfig, ActorKind, TargetAction};
use crate::agent::{Clock, Diverged, LearnError, Setup, UpdateContext};
use crate::parts::columns::join_columns;
use crate::parts::input::Flatten;
use crate::parts::noise::{ActionNoise, Exploration, add_noise};
use crate::parts::temperature::{Temperature, TemperatureSetting};
use crate::policy::{self, ActInput, Memory, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_core::random::normal;
use axiomrl_envs::Rng;

/// A categorical critic with more probability than this on its two ends cannot see what lies beyond.
const SATURATED: f32 = 0.2;

/// Updates after which a critic has a view of its own: a fresh one spreads its probability evenly.
const SETTLED: u64 = 500;

pub struct AcLearner {
    config: AcConfig,
    encoder: Flatten,
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
        let encoder = Flatten::new(setup.observation_space());
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

    fn update_critics(
        &mut self,
        obs: &[f32],
        batch: &Batch,
        context: &mut UpdateContext<'_>,
        errors: &mut Vec<f32>,
    ) -> Result<(), Diverged> {
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
        let rate = rate.at(context.fraction()) as f32;
        let clip = self.config.max_grad_norm;
        let step = self.critic.fit(&transitions, rate, clip, context.number(), context.rng, errors)?;
        context.metrics.add("critic_loss", step.loss);
        context.metrics.add("q_value_mean", step.value_mean);
        context.metrics.add("q_max", step.value_max);
        context.metrics.add("target_q_mean", step.target_mean);
        context.metrics.add("critic_grad_norm", step.grad_norm);
        if self.config.critic_output == super::settings::CriticOutput::Categorical {
            context.metrics.add("edge_mass", step.edge_mass);
            let saturated = step.edge_mass > SATURATED && context.number() > SETTLED;
            context.metrics.add("support_saturated", if saturated { 1.0 } else { 0.0 });
            if saturated {
                context.metrics.note(
                    "much of the critic's probability lies on the ends of its support (edge_mass): returns may lie beyond; \
                     widen v_min and v_max, or lower reward_scale",
                );
            }
        }
        Ok(())
    }

    fn update_actor(&mut self, obs: &[f32], rows: usize, context: &mut UpdateContext<'_>) -> Result<(), Diverged> {
        let actions = self.actions;
        let rate = self.config.actor_learning_rate.as_ref().unwrap_or(&self.config.learning_rate);
        let rate = rate.at(context.fraction()) as f32;
        let alpha = self.temperature.value();
        let seed = self.critic.dropout_seed(context.rng);
        let (critic, joint, config) = (&self.critic, &mut self.joint, &self.config);
        let clip = config.max_grad_norm;
        let step = self.actor.improve(obs, rows, alpha, rate, clip, context.number(), context.rng, |drawn| {
            join_columns(obs, drawn, rows, joint);
            critic.opinion(joint, rows, actions, config.actor_reducer, config.max_action_grad_norm, seed)
        })?;
        context.metrics.add("actor_loss", step.loss);
        context.metrics.add("actor_grad_norm", step.grad_norm);
        context.metrics.set("learning_rate", f64::from(rate));
        if self.config.actor == ActorKind::TanhGaussian {
            self.temperature.update(step.log_prob_mean, rate);
            context.metrics.add("entropy", -step.log_prob_mean);
            context.metrics.add("ent_coef", alpha);
        }
        Ok(())
    }
}

impl policy::Actor for AcLearner {
    fn act(
        &mut self,
        input: ActInput<'_>,
        _memory: &mut Memory,
        mode: Mode,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        let (obs, rows) = (self.encoder.encode(input.obs), input.rows());
        if mode == Mode::Best || self.config.actor == ActorKind::Deterministic {
            self.actor.mean(&obs, rows, &mut self.drawn);
        } else {
            self.actor.sample(&obs, rows, rng, &mut self.drawn);
        }
        actions.copy_from_slice(&self.drawn.action);
        Ok(())
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.actor.visit_policy(io)
    }
}

impl ReplayLearner for AcLearner {
    fn explore(
        &mut self,
        input: ActInput<'_>,
        _memory: &mut Memory,
        clock: Clock,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        let (obs, rows) = (self.encoder.encode(input.obs), input.rows());
        let std = self.config.exploration_noise.at(clock.fraction()) as f32;
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
                return Ok(());
            }
            _ if gaussian_policy => self.actor.sample(&obs, rows, rng, &mut self.drawn),
            _ => self.actor.mean(&obs, rows, &mut self.drawn),
        }
        actions.copy_from_slice(&self.drawn.action);
        if self.config.exploration != Exploration::Policy {
            add_noise(actions, &self.exploration, std);
        }
        Ok(())
    }

    fn update(
        &mut self,
        batch: &Batch,
        context: &mut UpdateContext<'_>,
        errors: &mut Vec<f32>,
    ) -> Result<(), LearnError> {
        let next_obs = self.encoder.encode(batch.next_obs());
        self.look_ahead(&next_obs, batch.rows, context.rng);
        let obs = self.encoder.encode(batch.obs());
        self.update_critics(&obs, batch, context, errors)?;
        let on_time = context.number().is_multiple_of(self.config.policy_delay);
        if if self.config.actor_once_per_block { context.closes_burst } else { on_time } {
            self.update_actor(&obs, batch.rows, context)?;
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

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let (obs, rows) = (self.encoder.encode(input.obs), input.rows());
        self.actor.mean(&obs, rows, &mut self.drawn);
        join_columns(&obs, &self.drawn.action, rows, &mut self.joint);
        self.critic.values(&self.joint, rows, values);
        values.iter_mut().for_each(|value| *value /= self.config.reward_scale);
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.actor.visit_state(io)?;
        self.critic.visit_state(io)?;
        self.temperature.visit_state(io)?;
        self.noise.visit_state(io)
    }
}
