//! The update of action model, critics, actor and the weight of their distance.

use super::super::action_vae::{ActionVae, vae_settings};
use super::super::candidates::{choose_best, choose_best_onnx};
use super::super::twin_critic::{Ascent, TwinCritic, ascend, scores};
use super::BearConfig;
use super::dual::Dual;
use super::gaussian::{by_outputs, draw, draw_onnx};
use super::mmd::Mmd;
use crate::agent::{Diverged, LearnError, Setup, UpdateContext};
use crate::config::Problem;
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::descend::ParamGroup;
use crate::parts::input::ObsEncoder;
use crate::parts::noise::fill_normal;
use crate::parts::tracked::{Tracked, Trainable};
use crate::policy::{ActContext, ActInput, Actor, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_core::random::normal;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::{AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig};

/// Largest noise of the draws that the actor learns from.
const NOISE_CLIP: f32 = 0.5;

/// The learner of BEAR.
pub struct BearLearner {
    config: BearConfig,
    d: usize,
    vae: ActionVae,
    actor: Tracked<Mlp>,
    actor_group: ParamGroup,
    /// With the encoder that everybody looks through.
    critic: TwinCritic,
    dual: Dual,
    /// What the candidates for the best action are drawn with: always the same, so that it is a function of the observation.
    noise: Vec<f32>,
}

/// The loss of the actor and its two parts, means over the rows, with the derivative by its outputs.
struct ActorLoss {
    value: f32,
    q: f32,
    mmd: f32,
    by_outputs: Vec<f32>,
}

impl BearLearner {
    pub fn new(config: BearConfig, setup: &Setup) -> Result<Self, Problem> {
        let (d, mut rng) = (setup.action_width(), setup.rng("init"));
        let encoder = ObsEncoder::new(setup.observation_space(), config.vision, &Init::pytorch(), &mut rng)?;
        let (seen, hidden, activation) = (encoder.width(), &config.hidden_sizes, config.activation);
        let vae = ActionVae::new(&vae_settings!(config), seen, d, &mut rng);
        let mut actor = Mlp::new(MlpSpec::new(seen, hidden, 2 * d, activation), 1, &Init::pytorch(), &mut rng);
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let mut noise = Vec::new();
        fill_normal(&mut noise, config.act_samples * d, &mut setup.rng("latents"));
        Ok(Self {
            vae,
            actor_group: ParamGroup::new(&adam, &actor.params(), f32::INFINITY),
            actor: Tracked::new(actor),
            critic: TwinCritic::new(encoder, d, hidden, activation, &mut rng),
            dual: Dual::new(config.mmd_threshold),
            noise,
            d,
            config,
        })
    }

    /// y = R + D * max_j [lambda * min_i + (1 - lambda) * max_i] Q'_i(s', a_j),  a_j ~ pi'(s').
    fn targets(&self, batch: &Batch, rng: &mut Rng) -> Vec<f32> {
        let each = self.config.target_samples;
        let (mut outputs, mut noise) = (Vec::new(), Vec::new());
        let seen = self.critic.net.target.encoder.infer(batch.next_obs());
        self.actor.target.infer(&seen, batch.rows, &mut outputs);
        fill_normal(&mut noise, batch.rows * each * self.d, rng);
        let candidates = draw(&outputs, &noise, self.d, each).action;
        self.critic.targets(batch, &seen, &candidates, each, self.config.target_lambda)
    }

    /// mean [-min_i mean_j Q_i(s, a_j) + alpha * MMD(s)] of outputs of the actor, its draws made with `noise` and `recorded` those
    /// of the action model before their tanh; only the second part while the actor is `warming_up`.
    fn actor_loss(
        &self,
        outputs: &[f32],
        seen: &[f32],
        noise: &[f32],
        recorded: &[f32],
        alpha: f32,
        warming_up: bool,
    ) -> ActorLoss {
        let (d, each) = (self.d, self.config.mmd_samples);
        let rows = outputs.len() / (2 * d);
        let share = 1.0 / rows as f32;
        let drawn = draw(outputs, noise, d, each);
        let Ascent { value: q, by_action } = ascend(&self.critic.net.online.layers, seen, &drawn.action, rows, each);
        let climb = if warming_up { 0.0 } else { 1.0 };
        let mut by_raw: Vec<f32> =
            by_action.iter().zip(&drawn.action).map(|(by, a)| -climb * by * (1.0 - a * a)).collect();
        let distance = Mmd { kernel: self.config.mmd_kernel, sigma: self.config.mmd_sigma };
        let mut mmd = 0.0;
        let samples = drawn.raw.chunks_exact(each * d).zip(recorded.chunks_exact(each * d));
        for ((x, y), by_raw) in samples.zip(by_raw.chunks_exact_mut(each * d)) {
            mmd += share * distance.distance(x, y, d, alpha * share, by_raw);
        }
        let by_outputs = by_outputs(outputs, noise, &by_raw, d, each);
        ActorLoss { value: alpha * mmd - climb * q, q, mmd, by_outputs }
    }

    /// One step of the actor. Gives the mean distance to the action model.
    fn update_actor(
        &mut self,
        seen: &[f32],
        rows: usize,
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Result<f32, Diverged> {
        let each = self.config.mmd_samples;
        let noise = clipped_noise(rows * each * self.d, context.rng);
        let latents = self.vae.draw_latents(rows * each, context.rng);
        let recorded = self.vae.decode_raw(seen, &latents, each);
        let (alpha, warming_up) = (self.dual.weight(), context.fraction() < self.config.warm_start_fraction);
        let pass = self.actor.online.pass(seen, rows, None);
        let ActorLoss { value, q, mmd, by_outputs } =
            self.actor_loss(pass.outputs(), seen, &noise, &recorded, alpha, warming_up);
        let gradient = [pass.params_gradient(&by_outputs)];
        drop(pass);
        let (params, number) = (&mut self.actor.online.params(), context.number());
        let group = &mut self.actor_group;
        let norm = group.descend_along("the actor", value, &gradient, params, rate, number, |_| Vec::new())?;
        context.metrics.add("actor_loss", value);
        context.metrics.add("actor_grad_norm", norm);
        context.metrics.add("q_policy_mean", q);
        context.metrics.add("mmd", mmd);
        context.metrics.add("mmd_weight", alpha);
        Ok(mmd)
    }

    /// argmax of Q_1 over draws of the policy; calls `take(row, action, value)`. Noise is drawn where there is something to draw
    /// with.
    fn choose(&self, obs: ObsRef<'_>, rng: Option<&mut Rng>, take: impl FnMut(usize, &[f32], f32)) {
        let (rows, each) = (obs.rows, self.config.act_samples);
        let mut noise = Vec::new();
        match rng {
            Some(rng) => fill_normal(&mut noise, rows * each * self.d, rng),
            None => noise = self.noise.repeat(rows),
        }
        let mut outputs = Vec::new();
        let seen = self.critic.net.online.encoder.infer(obs);
        self.actor.online.infer(&seen, rows, &mut outputs);
        let candidates = draw(&outputs, &noise, self.d, each).action;
        let q = scores(&self.critic.first(), &seen, &candidates, rows, each);
        choose_best(&q, &candidates, each, take);
    }
}

/// The noise of the draws that the actor learns from.
fn clipped_noise(count: usize, rng: &mut Rng) -> Vec<f32> {
    (0..count).map(|_| normal(rng).clamp(-NOISE_CLIP, NOISE_CLIP)).collect()
}

impl Actor for BearLearner {
    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { mode, rng, .. } = context;
        let d = self.d;
        self.choose(input.obs, (mode == Mode::Sample).then_some(rng), |row, action, _| {
            actions[row * d..(row + 1) * d].copy_from_slice(action);
        });
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let (seen, each) = (self.critic.net.online.encoder.onnx(graph, shown)?, self.config.act_samples);
        let outputs = self.actor.online.onnx(graph, seen);
        let candidates = draw_onnx(graph, outputs, &self.noise, self.d, each);
        let seen = graph.repeat(seen, each, self.critic.net.online.encoder.width());
        Ok(Answer::of(choose_best_onnx(graph, &self.critic.first(), seen, candidates, each)))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.critic.visit_policy(io)?;
        io.network("actor", &mut self.actor.online)?;
        io.floats("noise", &mut self.noise)
    }
}

impl ReplayLearner for BearLearner {
    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let rate = self.config.learning_rate.at(context.fraction()) as f32;
        let dual_rate = self.config.dual_learning_rate.at(context.fraction()) as f32;

        // action model: mean (decode(s, z) - a)^2 + kl_weight * KL(z | s, a),  z = mu(s, a) + sigma(s, a) * noise
        let seen = self.critic.net.online.encoder.infer(batch.obs());
        self.vae.fit(&seen, &batch.action, rate, context)?;
        // y = R + D * max_j [lambda * min_i + (1 - lambda) * max_i] Q'_i(s', a_j),  a_j ~ pi'(s')
        let targets = self.targets(batch, context.rng);
        // critics and encoder: sum_i mean (Q_i(s, a) - y)^2
        let seen = self.critic.fit(batch, &targets, rate, context)?;
        // actor: mean [-min_i mean_j Q_i(s, a_j) + alpha * MMD(a_j ~ pi(s), decode(s, z_j))]
        let mmd = self.update_actor(&seen, batch.rows, rate, context)?;
        // alpha: -alpha * (mean MMD - threshold)
        self.dual.update(mmd, dual_rate, context.number())?;
        // Q' += tau * (Q - Q'),  pi' += tau * (pi - pi')
        self.critic.net.soft_update(self.config.tau);
        self.actor.soft_update(self.config.tau);

        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        self.choose(input.obs, None, |row, _, value| values[row] = value);
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.critic.visit_state(io)?;
        self.vae.visit_policy(io)?;
        self.vae.visit_state(io)?;
        io.network("actor_target", &mut self.actor.target)?;
        self.actor_group.visit_state("actor", io)?;
        self.dual.visit_state(io)
    }
}

#[cfg(test)]
mod tests;
