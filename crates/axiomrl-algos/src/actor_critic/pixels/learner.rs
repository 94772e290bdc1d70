//! The update: critics with the encoder, the contrastive task, the actor, then the slow copies.

use super::augment::RandomShift;
use super::contrast::Contrast;
use super::nets::{Actor, CRITICS, Critics};
use super::settings::{PixelActor, PixelConfig};
use crate::agent::{Clock, Diverged, LearnError, Setup, UpdateContext, finite};
use crate::parts::checks::BuildError;
use crate::parts::descend::{ParamGroup, slices};
use crate::parts::input::ObsEncoder;
use crate::parts::noise::fill_normal;
use crate::parts::temperature::{Temperature, TemperatureSetting};
use crate::parts::tracked::Trainable;
use crate::policy::{self, ActInput, Memory, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_core::random::normal;
use axiomrl_envs::{ObsBuf, Rng};
use axiomrl_nn::{
    AdamConfig, Init, LogStdBounds, OptimizerConfig, Tensor, fused_loss, gradients, gradients_of, tanh_gaussian,
    tanh_gaussian_sample, values,
};

const LOG_STD: LogStdBounds = LogStdBounds::Clamp(-10.0, 2.0);

pub struct PixelLearner {
    config: PixelConfig,
    shift: RandomShift,
    actions: usize,
    sight: ObsEncoder,
    /// The slow copy, where there is one.
    target_sight: Option<ObsEncoder>,
    critics: Critics,
    target_critics: Critics,
    critic_group: ParamGroup,
    actor: Actor,
    actor_group: ParamGroup,
    temperature: Temperature,
    contrast: Option<(Contrast, ParamGroup)>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    head: Vec<f32>,
    noise: Vec<f32>,
    action: Vec<f32>,
    log_prob: Vec<f32>,
    q: Vec<f32>,
    targets: Vec<f32>,
}

impl PixelLearner {
    pub fn new(config: PixelConfig, setup: &Setup) -> Result<Self, BuildError> {
        let actions = setup.action_width();
        let mut rng = setup.rng("init");
        let relu = Init::Orthogonal { hidden_gain: std::f32::consts::SQRT_2, output_gain: 1.0 };
        let mut sight = ObsEncoder::new(setup.observation_space(), config.vision, &relu, &mut rng)?;
        let (features, hidden) = (config.feature_dim, &config.hidden_sizes[..]);
        let mut critics = Critics::new(sight.width(), features, hidden, actions, &mut rng);
        let gaussian = config.actor == PixelActor::TanhGaussian;
        let outputs = if gaussian { 2 * actions } else { actions };
        let mut actor = Actor::new(sight.width(), features, hidden, outputs, !gaussian, &mut rng);
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let seen: Vec<_> = sight.params().into_iter().chain(critics.params()).collect();
        let critic_group = ParamGroup::new(&adam, &seen, f32::INFINITY);
        // Without convolutions there is nothing that a contrastive task could teach to look.
        let contrast = (config.contrastive && sight.sees_images()).then(|| {
            let encoder: Vec<_> = sight.params().into_iter().chain([&mut critics.trunk.params]).collect();
            let group = ParamGroup::new(&adam, &encoder, f32::INFINITY);
            (Contrast::new(features, &adam, &mut rng), group)
        });
        let actor_group = ParamGroup::new(&adam, &actor.params(), f32::INFINITY);
        let setting = config.ent_coef.unwrap_or(TemperatureSetting::Fixed(0.0));
        let target_entropy = config.target_entropy.unwrap_or(-(actions as f32));
        Ok(Self {
            shift: RandomShift::new(setup.observation_space(), config.shift),
            actions,
            target_sight: config.encoder_tau.map(|_| sight.clone()),
            target_critics: critics.clone(),
            sight,
            critics,
            critic_group,
            actor,
            actor_group,
            temperature: Temperature::new(setting, config.ent_coef_init, target_entropy),
            contrast,
            config,
            scratch: Scratch::default(),
        })
    }

    fn std(&self, clock: Clock) -> f32 {
        self.config.exploration_noise.at(clock.fraction()) as f32
    }

    /// Mean actions for what was seen, in `scratch.action`.
    fn mean(&mut self, seen: &[f32], rows: usize) {
        let s = &mut self.scratch;
        self.actor.infer(seen, rows, &mut s.head);
        s.action.clear();
        match self.config.actor {
            PixelActor::ScheduledNoise => s.action.extend_from_slice(&s.head),
            PixelActor::TanhGaussian => {
                for head in s.head.chunks_exact(2 * self.actions) {
                    s.action.extend(head[..self.actions].iter().map(|mean| mean.tanh()));
                }
            }
        }
    }

    /// Drawn actions with their log-probabilities (0 with scheduled noise), in `scratch`. `clip` bounds scheduled noise.
    fn draw(&mut self, seen: &[f32], rows: usize, std: f32, clip: f32, rng: &mut Rng) {
        if self.config.actor == PixelActor::ScheduledNoise {
            self.mean(seen, rows);
            self.scratch.log_prob = vec![0.0; rows];
            add_clipped(&mut self.scratch.action, std, clip, rng);
            return;
        }
        let s = &mut self.scratch;
        self.actor.infer(seen, rows, &mut s.head);
        fill_normal(&mut s.noise, rows * self.actions, rng);
        s.action.resize(rows * self.actions, 0.0);
        s.log_prob.resize(rows, 0.0);
        tanh_gaussian_sample(&s.head, &s.noise, LOG_STD, &mut s.action, &mut s.log_prob);
    }

    /// What the critics should say, averaged over the views of the next observation, in `scratch.targets`.
    fn make_targets(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) {
        let (rows, views) = (batch.rows, self.config.target_views);
        let std = self.std(context.clock);
        let mut targets = std::mem::take(&mut self.scratch.targets);
        targets.clear();
        targets.extend(batch.reward.iter().map(|reward| self.config.reward_scale * reward));
        for _ in 0..views {
            let view = self.shift.apply(batch.next_obs(), context.rng);
            let seen = self.sight.infer(view.as_ref());
            self.draw(&seen, rows, std, self.config.noise_clip, context.rng);
            let looked = self.target_sight.as_ref().map(|sight| sight.infer(view.as_ref()));
            let s = &mut self.scratch;
            self.target_critics.lower(looked.as_ref().unwrap_or(&seen), &s.action, rows, &mut s.q);
            let alpha = self.temperature.value();
            for (row, target) in targets.iter_mut().enumerate() {
                *target += batch.discount[row] * (s.q[row] - alpha * s.log_prob[row]) / views as f32;
            }
        }
        self.scratch.targets = targets;
    }

    /// One step on critics and encoder; gives what the encoder saw in the first view, for the actor.
    fn update_critics(
        &mut self,
        rate: f32,
        batch: &Batch,
        context: &mut UpdateContext<'_>,
        errors: &mut Vec<f32>,
    ) -> Result<Vec<f32>, Diverged> {
        let (rows, views) = (batch.rows, self.config.prediction_views);
        let all = rows * views;
        let mut obs = self.shift.apply(batch.obs(), context.rng);
        for _ in 1..views {
            append(&mut obs, self.shift.apply(batch.obs(), context.rng));
        }
        let (seen, looked_with) = self.sight.forward(obs.as_ref());
        let first_view = values(&seen)[..rows * self.sight.width()].to_vec();
        let (out, own) = self.critics.forward(seen, &batch.action.repeat(views), all);
        let (mut loss, mut q_mean) = (0.0, 0.0);
        let targets = &self.scratch.targets;
        let share = 1.0 / all as f32;
        errors.resize(rows, 0.0);
        let node = fused_loss([out], |[out]| {
            let mut gradient = vec![0.0; out.len()];
            for (at, (q, slope)) in out.iter().zip(&mut gradient).enumerate() {
                let row = at % rows;
                let (error, weight) = (q - targets[row], share * batch.weight[row]);
                loss += weight * error * error;
                q_mean += share * q / CRITICS as f32;
                *slope = 2.0 * weight * error;
                errors[row] += error.abs() / (CRITICS * views) as f32;
            }
            (loss, [gradient])
        });
        finite("the critic loss", loss, context.number())?;
        let params: Vec<Tensor<2>> = looked_with.into_iter().chain(own).collect();
        let found = gradients_of(node, &params);
        drop(params);
        let mut learned: Vec<_> = self.sight.params().into_iter().chain(self.critics.params()).collect();
        let norm = self.critic_group.step(&mut learned, &slices(&found), rate);
        finite("the gradient of critics and encoder", norm, context.number())?;
        context.metrics.add("critic_loss", loss);
        context.metrics.add("q_value_mean", q_mean);
        context.metrics.add("target_q_mean", targets.iter().sum::<f32>() / rows as f32);
        context.metrics.add("critic_grad_norm", norm);
        Ok(first_view)
    }

    /// One step on encoder and trunk: which of the slow copy's views belongs to which of ours?
    fn update_contrast(&mut self, rate: f32, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), Diverged> {
        let Some((contrast, group)) = &mut self.contrast else { return Ok(()) };
        let rows = batch.rows;
        let query_view = self.shift.apply(batch.obs(), context.rng);
        let key_view = self.shift.apply(batch.obs(), context.rng);
        let slow = self.target_sight.as_ref().unwrap_or(&self.sight).infer(key_view.as_ref());
        let mut keys = Vec::new();
        self.target_critics.trunk.infer(&slow, rows, &mut keys);
        let (seen, looked_with) = self.sight.forward(query_view.as_ref());
        let trunk = self.critics.trunk.params.tracked();
        let queries = self.critics.compress(seen, trunk.clone(), rows);
        let mut found = None;
        let node = fused_loss([queries], |[queries]| {
            let result = contrast.loss(queries, &keys);
            let pair = (result.loss, [result.by_query.clone()]);
            found = Some(result);
            pair
        });
        let Some(found) = found else { return Ok(()) };
        finite("the contrastive loss", found.loss, context.number())?;
        let params: Vec<Tensor<2>> = looked_with.into_iter().chain([trunk]).collect();
        let slopes = gradients_of(node, &params);
        drop(params);
        let mut learned: Vec<_> = self.sight.params().into_iter().chain([&mut self.critics.trunk.params]).collect();
        let norm = group.step(&mut learned, &slices(&slopes), rate);
        finite("the gradient of the contrastive loss", norm, context.number())?;
        contrast.step(&found, rate);
        context.metrics.add("contrastive_loss", found.loss);
        Ok(())
    }

    fn update_actor(
        &mut self,
        seen: &[f32],
        rate: f32,
        rows: usize,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), Diverged> {
        let d = self.actions;
        let gaussian = self.config.actor == PixelActor::TanhGaussian;
        let (head, params) = self.actor.forward(seen, rows);
        let (out, width) = if gaussian {
            fill_normal(&mut self.scratch.noise, rows * d, context.rng);
            (tanh_gaussian(head, &self.scratch.noise, LOG_STD), d + 1)
        } else {
            (head, d)
        };
        let drawn = values(&out);
        let mut action: Vec<f32> = drawn.chunks_exact(width).flat_map(|row| &row[..d]).copied().collect();
        if !gaussian {
            // The bounds let the gradient through: it is that of the mean.
            add_clipped(&mut action, self.std(context.clock), self.config.noise_clip, context.rng);
        }
        let opinion = self.critics.opinion(seen, &action, rows);
        let share = 1.0 / rows as f32;
        let alpha = self.temperature.value();
        let log_prob = if gaussian { share * drawn.chunks_exact(width).map(|row| row[d]).sum::<f32>() } else { 0.0 };
        let loss = alpha * log_prob - opinion.value_mean;
        finite("the actor loss", loss, context.number())?;
        let node = fused_loss([out], |[out]| {
            let mut gradient = vec![share * alpha; out.len()];
            for (gradient, by_action) in gradient.chunks_exact_mut(width).zip(opinion.by_action.chunks_exact(d)) {
                gradient.iter_mut().zip(by_action).for_each(|(g, by_action)| *g = -share * by_action);
            }
            (loss, [gradient])
        });
        let found = gradients(node, [&params[0], &params[1]]);
        drop(params);
        let norm = self.actor_group.step(&mut self.actor.params(), &slices(&found), rate);
        finite("the gradient of the actor", norm, context.number())?;
        context.metrics.add("actor_loss", loss);
        context.metrics.add("actor_grad_norm", norm);
        if gaussian {
            self.temperature.update(log_prob, rate);
            context.metrics.add("entropy", -log_prob);
            context.metrics.add("ent_coef", alpha);
        }
        Ok(())
    }

    fn follow(&mut self) {
        let (tau, encoder_tau) = (self.config.tau, self.config.encoder_tau);
        self.target_critics.heads.params.polyak_from(&self.critics.heads.params, tau);
        // The trunk is the last layer of the encoder where that has a copy.
        self.target_critics.trunk.params.polyak_from(&self.critics.trunk.params, encoder_tau.unwrap_or(tau));
        if let (Some(target), Some(tau)) = (&mut self.target_sight, encoder_tau) {
            for (target, online) in target.params().into_iter().zip(self.sight.params()) {
                target.polyak_from(online, tau);
            }
        }
    }
}

/// Adds normal noise of size `std`, within `clip`, and keeps actions within their bounds.
fn add_clipped(actions: &mut [f32], std: f32, clip: f32, rng: &mut Rng) {
    for action in actions {
        *action = (*action + (std * normal(rng)).clamp(-clip, clip)).clamp(-1.0, 1.0);
    }
}

/// The rows of `more` after those of `to`.
fn append(to: &mut ObsBuf, more: ObsBuf) {
    to.floats.extend(more.floats);
    to.bytes.extend(more.bytes);
}

impl policy::Actor for PixelLearner {
    fn act(
        &mut self,
        input: ActInput<'_>,
        _memory: &mut Memory,
        mode: Mode,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        let seen = self.sight.infer(input.obs);
        if mode == Mode::Best || self.config.actor == PixelActor::ScheduledNoise {
            self.mean(&seen, input.rows());
        } else {
            self.draw(&seen, input.rows(), 0.0, 0.0, rng);
        }
        actions.copy_from_slice(&self.scratch.action);
        Ok(())
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.sight.visit_state("encoder", io)?;
        self.actor.visit_state(io)
    }
}

impl ReplayLearner for PixelLearner {
    fn explore(
        &mut self,
        input: ActInput<'_>,
        _memory: &mut Memory,
        clock: Clock,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError> {
        let seen = self.sight.infer(input.obs);
        let std = self.std(clock);
        self.draw(&seen, input.rows(), std, f32::INFINITY, rng);
        actions.copy_from_slice(&self.scratch.action);
        Ok(())
    }

    fn update(
        &mut self,
        batch: &Batch,
        context: &mut UpdateContext<'_>,
        errors: &mut Vec<f32>,
    ) -> Result<(), LearnError> {
        let rate = self.config.learning_rate.at(context.fraction()) as f32;
        self.make_targets(batch, context);
        let seen = self.update_critics(rate, batch, context, errors)?;
        self.update_contrast(rate, batch, context)?;
        if context.number().is_multiple_of(self.config.policy_delay) {
            self.update_actor(&seen, rate, batch.rows, context)?;
            self.follow();
        }
        context.metrics.set("learning_rate", f64::from(rate));
        if self.config.actor == PixelActor::ScheduledNoise {
            context.metrics.set("exploration_std", f64::from(self.std(context.clock)));
        }
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let (seen, rows) = (self.sight.infer(input.obs), input.rows());
        self.mean(&seen, rows);
        let mut q = std::mem::take(&mut self.scratch.q);
        self.critics.lower(&seen, &self.scratch.action, rows, &mut q);
        values.iter_mut().zip(&q).for_each(|(value, q)| *value = q / self.config.reward_scale);
        self.scratch.q = q;
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if let Some(target) = &mut self.target_sight {
            target.visit_state("encoder_target", io)?;
        }
        self.critics.visit_state("critic", io)?;
        self.target_critics.visit_state("critic_target", io)?;
        self.critic_group.visit_state("critic", io)?;
        self.actor_group.visit_state("actor", io)?;
        if let Some((contrast, group)) = &mut self.contrast {
            contrast.visit_state(io)?;
            group.visit_state("contrast.encoder", io)?;
        }
        self.temperature.visit_state(io)
    }
}

#[cfg(test)]
mod tests;
