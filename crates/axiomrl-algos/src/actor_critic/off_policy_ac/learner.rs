//! The update: critics, then (when due) actor and temperature, then the slow copies.

mod acting;

use super::actor::{Actor, ActorTask};
use super::anchor::{Anchor, hold_targets};
use super::augment::{RandomShift, Viewed};
use super::choices::{CriticOutput, UpdateOrder};
use super::conservative::Proposals;
use super::contrast::Contrast;
use super::critic::{Ahead, Critic, CriticStep, Predicted};
use super::recorded::{Recorded, column};
use super::settings::AcConfig;
use super::window::Window;
use crate::agent::{Clock, Diverged, LearnError, Learned, Setup, UpdateContext};
use crate::config::Problem;
use crate::parts::input::ObsEncoder;
use crate::parts::noise::ActionNoise;
use crate::parts::squashed_actor::{ActorKind, Drawn, Jitter};
use crate::parts::temperature::{Temperature, TemperatureSetting};
use crate::parts::torso::MemoryKind;
use crate::parts::tracked::soft_update;
use crate::policy::{ActContext, ActInput, Memory};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Batch, NEXT_ACTION, RETURN_TO_GO};
use axiomrl_nn::Init;
use std::borrow::Cow;

/// A categorical critic with more probability than this on its two ends cannot see what lies beyond.
const SATURATED: f32 = 0.2;

/// Updates after which a critic has a view of its own: a fresh one spreads its probability evenly.
const SETTLED: u64 = 500;

pub struct AcLearner {
    config: AcConfig,
    /// Trained by the critics; the actor takes what it gives as it is.
    encoder: ObsEncoder,
    /// Its slow copy, where there is one.
    slow_encoder: Option<ObsEncoder>,
    shift: RandomShift,
    actor: Actor,
    critic: Critic,
    contrast: Option<Contrast>,
    temperature: Temperature,
    anchor: Anchor,
    /// Whether recorded transitions are learned from.
    recorded: bool,
    noise: ActionNoise,
    drawn: Drawn,
    /// The policy's last hidden layer, and the noise that is added to its actions.
    hidden: Vec<f32>,
    exploration: Vec<f32>,
}

/// The memories of both networks after the burn-in.
struct States {
    actor: Vec<f32>,
    critic: Vec<f32>,
}

impl AcLearner {
    pub fn new(config: AcConfig, setup: &Setup) -> Result<Self, Problem> {
        let actions = setup.action_width();
        let mut rng = setup.rng("init");
        let relu = Init::Orthogonal { hidden_gain: std::f32::consts::SQRT_2, output_gain: 1.0 };
        let mut encoder = ObsEncoder::new(setup.observation_space(), config.vision, &relu, &mut rng)?;
        let features = config.features(encoder.sees_images());
        // Which network draws its weights first is history; results depend on it.
        let (actor, mut critic) = if features.is_some() {
            let critic = Critic::new(&config, &mut encoder, features, actions, &mut rng);
            (Actor::new(&config, encoder.width(), features, actions, &mut rng), critic)
        } else {
            let actor = Actor::new(&config, encoder.width(), features, actions, &mut rng);
            (actor, Critic::new(&config, &mut encoder, features, actions, &mut rng))
        };
        // Without convolutions there is nothing that a contrastive task could teach to look.
        let contrast = (config.contrastive && encoder.sees_images())
            .then(|| Contrast::new(&mut encoder, &mut critic, &config.adam(), &mut rng));
        critic.compares = config.learns_from_data();
        let target_entropy = config.target_entropy.unwrap_or(-config.target_entropy_ratio * actions as f32);
        let setting = config.ent_coef.unwrap_or(TemperatureSetting::Fixed(0.0));
        let horizon = config.exploration_horizon;
        Ok(Self {
            slow_encoder: config.encoder_tau.map(|_| encoder.clone()),
            encoder,
            shift: RandomShift::new(setup.observation_space(), config.shift),
            actor,
            critic,
            contrast,
            temperature: Temperature::new(setting, config.ent_coef_init, target_entropy).on(config.ent_coef_loss),
            anchor: Anchor::new(&config),
            recorded: config.learns_from_data(),
            noise: ActionNoise::new(config.exploration, setup.num_envs, actions, horizon, &mut setup.rng("noise")),
            drawn: Drawn::default(),
            hidden: Vec::new(),
            exploration: Vec::new(),
            config,
        })
    }

    fn remembers(&self) -> bool {
        self.config.memory != MemoryKind::None
    }

    /// The noise of a policy with scheduled noise, as updates see it.
    fn jitter(&self, clock: Clock) -> Jitter {
        let std = self.config.exploration_noise.at(clock.fraction()) as f32;
        Jitter { std, clip: self.config.target_noise_clip }
    }

    /// a' ~ pi(s') and -alpha * log pi(a'|s') for each view of what follows, and the first view itself.
    fn next_actions<'a>(
        &mut self,
        window: &Window<'a>,
        context: &mut UpdateContext<'_>,
    ) -> Result<(Vec<Ahead<'a>>, Viewed<'a>), LearnError> {
        let (held, samples) = (self.config.critic_bc_weight, self.config.target_samples);
        let next_action = if held > 0.0 { Some(column(window.batch, NEXT_ACTION)?) } else { None };
        let alpha = if self.config.entropy_backup { self.temperature.value() } else { 0.0 };
        let jitter = self.jitter(context.clock);
        let (obs, _) = window.ahead();
        let mut first = None;
        let ahead = (0..self.config.target_views).map(|_| {
            let view = self.shift.view(obs, context.rng);
            let seen = see(&self.encoder, &view);
            self.actor.sample_next(&seen, window, samples, jitter, context.rng, &mut self.drawn);
            let seen = self.slow_encoder.as_ref().map_or(seen, |slow| see(slow, &view));
            first.get_or_insert(view);
            let mut bonus: Vec<f32> = self.drawn.log_prob.iter().map(|log_prob| -alpha * log_prob).collect();
            if let Some(next_action) = next_action {
                hold_targets(&mut bonus, &self.drawn.action, next_action, held);
            }
            Ahead { seen, action: self.drawn.action.clone(), bonus }
        });
        let ahead = ahead.collect();
        Ok((ahead, first.unwrap_or(Viewed::AsIs(obs))))
    }

    /// Actions that were not recorded, for critics that are held to value recorded ones.
    fn propose(
        &mut self,
        window: &Window<'_>,
        context: &mut UpdateContext<'_>,
    ) -> Result<Option<Proposals>, LearnError> {
        let AcConfig { cql_alpha, cql_calibrated, num_cql_samples: samples, reward_scale, .. } = self.config;
        if cql_alpha == 0.0 {
            return Ok(None);
        }
        let entries = window.entries();
        let mut proposals = Proposals::random(entries, samples, self.actor.head.width, context.rng);
        for (kind, obs) in [(1, window.now().0), (2, window.ahead().0)] {
            let seen = self.encoder.infer(obs);
            self.actor.sample_many(&seen, entries, samples, context.rng, &mut self.drawn);
            proposals.put(kind, &self.drawn);
        }
        if cql_calibrated {
            let earned = column(window.batch, RETURN_TO_GO)?;
            proposals.earned = Some(earned.iter().map(|earned| reward_scale * earned).collect());
        }
        Ok(Some(proposals))
    }

    /// What both networks remember when the first entry comes.
    fn burn_in(&self, window: &Window<'_>) -> States {
        let (actor, critic) = (self.actor.state_width(), self.critic.trunk.state_width());
        let mut states = States { actor: window.memory(0, actor), critic: window.memory(actor, critic) };
        if let Some((obs, span)) = window.before() {
            let seen = self.encoder.infer(obs);
            self.actor.features(&seen, span, &mut states.actor);
            self.critic.trunk.infer(&seen, span, &mut states.critic);
        }
        states
    }

    fn update_critics(
        &mut self,
        window: Window<'_>,
        state: &[f32],
        (ahead, next): (&[Ahead<'_>], &Viewed<'_>),
        reward: &[f32],
        proposals: Option<&Proposals>,
        context: &mut UpdateContext<'_>,
    ) -> Result<Vec<f32>, Diverged> {
        let views = self.config.prediction_views;
        let (obs, _) = window.now();
        let mut view = self.shift.view(obs, context.rng);
        for _ in 1..views {
            view = view.followed_by(&self.shift.view(obs, context.rng));
        }
        if self.critic.in_one_batch() {
            view = view.followed_by(next);
        }
        let predicted = Predicted { obs: view.as_ref(), views, window, state, reward, proposals };
        let rate = self.config.rate(self.config.critic_learning_rate.as_ref(), context.fraction());
        let encoder = &mut self.encoder;
        let mut step =
            self.critic.step(encoder, &predicted, ahead, rate, context.number(), context.rng, &mut context.errors)?;
        let seen = std::mem::take(&mut step.seen);
        self.report_critics(&step, context);
        Ok(seen)
    }

    fn report_critics(&self, step: &CriticStep, context: &mut UpdateContext<'_>) {
        context.metrics.add("critic_loss", step.loss);
        context.metrics.add("q_value_mean", step.value_mean);
        context.metrics.add("q_max", step.value_max);
        context.metrics.add("target_q_mean", step.target_mean);
        context.metrics.add("critic_grad_norm", step.grad_norm);
        if self.recorded {
            context.metrics.add("td_error", step.error);
            context.metrics.add("q_data_mean", step.value_mean);
        }
        if let Some((gap, weight)) = step.gap {
            context.metrics.add("conservative_gap", gap);
            context.metrics.add("conservative_weight", weight);
        }
        if let Some(agreement) = step.agreement {
            context.metrics.add("diversity", agreement);
        }
        if self.config.critic_output == CriticOutput::Categorical {
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
    }

    /// The contrastive task, where there is one.
    fn update_contrast(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), Diverged> {
        let Some(contrast) = &mut self.contrast else { return Ok(()) };
        let rate = self.config.rate(self.config.critic_learning_rate.as_ref(), context.fraction());
        let (encoder, slow) = (&mut self.encoder, self.slow_encoder.as_ref());
        let loss = contrast.step(batch.obs(), &self.shift, encoder, slow, &mut self.critic, rate, context)?;
        context.metrics.add("contrastive_loss", loss);
        Ok(())
    }

    /// One step of the actor, then one of the temperature.
    fn improve_policy(
        &mut self,
        seen: &[f32],
        window: &Window<'_>,
        states: &mut States,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), Diverged> {
        // actor: mean (alpha * log pi(a|s) - min_i Q_i(s, a)),  a ~ pi(s)
        let log_prob = self.update_actor(seen, window, states, context)?;
        // temperature: -log alpha * (mean log pi(a|s) + target_entropy)
        self.update_temperature(log_prob, context);
        Ok(())
    }

    /// Gives the mean log-probability of the actions that were drawn.
    fn update_actor(
        &mut self,
        seen: &[f32],
        window: &Window<'_>,
        states: &mut States,
        context: &mut UpdateContext<'_>,
    ) -> Result<f32, Diverged> {
        let alpha = self.temperature.value();
        let jitter = self.jitter(context.clock);
        let seed = self.critic.dropout_seed(context.rng);
        let (critic, config, anchor) = (&self.critic, &self.config, &self.anchor);
        let rate = config.rate(config.actor_learning_rate.as_ref(), context.fraction());
        let features = critic.trunk.infer(seen, window.now().1, &mut states.critic);
        let imitated = (context.number() <= config.bc_warmup).then(|| window.action());
        let task = ActorTask { alpha, jitter, rate, imitated };
        let (mut policy_mean, mut distance) = (0.0, 0.0);
        let step = self.actor.step(seen, window, &states.actor, task, context, |action| {
            let (reducer, max_norm) = (config.actor_reducer, config.max_action_grad_norm);
            let mut judged = critic.judge(&features, action, window, reducer, max_norm, seed);
            policy_mean = judged.mean;
            // + weight * |a - recorded|^2, and Q by its mean size
            distance = anchor.apply(&mut judged.by, judged.size, action, window.action(), window.counted);
            judged.by
        })?;
        if self.recorded {
            context.metrics.add("q_policy_mean", policy_mean);
        }
        if self.anchor.holds() {
            context.metrics.add("bc_loss", distance);
        }
        context.metrics.add("actor_loss", step.loss);
        context.metrics.add("actor_grad_norm", step.grad_norm);
        context.metrics.set("learning_rate", f64::from(rate));
        Ok(step.log_prob_mean)
    }

    fn update_temperature(&mut self, log_prob_mean: f32, context: &mut UpdateContext<'_>) {
        if self.actor.head.is_gaussian() {
            context.metrics.add("entropy", -log_prob_mean);
            context.metrics.add("ent_coef", self.temperature.value());
            let rate = self.config.rate(self.config.ent_coef_learning_rate.as_ref(), context.fraction());
            self.temperature.update(log_prob_mean, rate);
        }
    }

    fn soft_update(&mut self) {
        let AcConfig { tau, encoder_tau, .. } = self.config;
        self.critic.soft_update(tau, encoder_tau);
        self.actor.soft_update(tau);
        if let (Some(slow), Some(tau)) = (&mut self.slow_encoder, encoder_tau) {
            soft_update(slow, &mut self.encoder, tau);
        }
    }
}

/// What an encoder sees in a view.
fn see<'a>(encoder: &ObsEncoder, view: &Viewed<'a>) -> Cow<'a, [f32]> {
    match view {
        Viewed::AsIs(obs) => encoder.infer(*obs),
        Viewed::Shifted(obs) => Cow::Owned(encoder.infer(obs.as_ref()).into_owned()),
    }
}

impl ReplayLearner for AcLearner {
    fn explore(&mut self, input: ActInput<'_>, clock: Clock, context: ActContext<'_>, actions: &mut [f32]) -> Learned {
        self.explore_from(input, clock, context, actions);
        Ok(())
    }

    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let recorded =
            if self.recorded { Some(Recorded::of(batch, self.config.critic_bc_weight > 0.0)?) } else { None };
        let window = Window::new(batch, self.remembers(), self.config.burn_in).of_recorded(recorded.as_ref());
        let reward: Vec<f32> = window.column(&batch.reward).iter().map(|r| self.config.reward_scale * r).collect();
        let mut states = self.burn_in(&window);
        // a' ~ pi(s'),  y = R + D * (min_i Q'_i(s', a') - alpha * log pi(a'|s'))
        let (ahead, next) = self.next_actions(&window, context)?;
        self.critic.compute_targets(&ahead, &window, self.actor.state_width(), &reward, context.rng);
        let proposals = self.propose(&window, context)?;
        let on_time = context.number().is_multiple_of(self.config.policy_delay);
        let due = if self.config.actor_once_per_block { context.closes_burst } else { on_time };
        let together = self.config.update_order == UpdateOrder::Together;
        if due && together {
            let seen = self.encoder.infer(window.now().0).into_owned();
            self.improve_policy(&seen, &window, &mut states, context)?;
        }
        // critics and encoder: sum_i mean (Q_i(s, a) - y)^2 / 2
        let (next, others) = ((&ahead[..], &next), proposals.as_ref());
        let seen = self.update_critics(window, &states.critic, next, &reward, others, context)?;
        // encoder: mean -log softmax_j(f(s_i) W f'(s_j))_i
        self.update_contrast(batch, context)?;
        if due && !together {
            self.improve_policy(&seen, &window, &mut states, context)?;
        }
        if on_time {
            // targets: theta' += tau * (theta - theta')
            self.soft_update();
        }
        if self.config.actor == ActorKind::ScheduledNoise {
            context.metrics.set("exploration_std", f64::from(self.jitter(context.clock).std));
        }
        Ok(())
    }

    fn episode_ended(&mut self, env: usize) {
        self.noise.episode_ended(env);
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let (seen, rows) = (self.encoder.infer(input.obs), input.rows());
        let features = self.advance(&seen, rows, &mut Memory::new(rows, self.actor.state_width()));
        self.actor.mean(&features, rows, &mut self.drawn);
        self.critic.values(&seen, &self.drawn.action, rows, values);
        values.iter_mut().for_each(|value| *value /= self.config.reward_scale);
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if let Some(slow) = &mut self.slow_encoder {
            slow.visit_state("encoder_target", io)?;
        }
        self.actor.visit_state(io)?;
        self.critic.visit_state(io)?;
        if let Some(contrast) = &mut self.contrast {
            contrast.visit_state(io)?;
        }
        self.temperature.visit_state(io)?;
        self.noise.visit_state(io)
    }
}

#[cfg(test)]
mod tests;
