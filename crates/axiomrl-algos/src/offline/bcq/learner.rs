//! The update of action model, critics and perturbation.

use super::super::action_vae::{ActionVae, vae_settings};
use super::super::candidates::{choose_best, choose_best_onnx};
use super::super::twin_critic::{TwinCritic, ascend, scores};
use super::BcqConfig;
use super::perturbation::Perturbation;
use crate::agent::{Diverged, LearnError, Setup, UpdateContext};
use crate::config::Problem;
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::input::ObsEncoder;
use crate::policy::{ActContext, ActInput, Actor, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::Init;

/// The learner of BCQ.
pub struct BcqLearner {
    config: BcqConfig,
    d: usize,
    vae: ActionVae,
    perturbation: Perturbation,
    /// With the encoder that everybody looks through.
    critic: TwinCritic,
    /// What the candidates for the best action are decoded from: always the same, so that it is a function of the observation.
    latents: Vec<f32>,
}

impl BcqLearner {
    pub fn new(config: BcqConfig, setup: &Setup) -> Result<Self, Problem> {
        let (d, mut rng) = (setup.action_width(), setup.rng("init"));
        let encoder = ObsEncoder::new(setup.observation_space(), config.vision, &Init::pytorch(), &mut rng)?;
        let (seen, hidden, activation) = (encoder.width(), &config.hidden_sizes, config.activation);
        let vae = ActionVae::new(&vae_settings!(config), seen, d, &mut rng);
        Ok(Self {
            perturbation: Perturbation::new(seen, d, hidden, activation, config.perturbation, &mut rng),
            critic: TwinCritic::new(encoder, d, hidden, activation, &mut rng),
            latents: vae.draw_latents(config.act_samples, &mut setup.rng("latents")),
            vae,
            d,
            config,
        })
    }

    /// y = R + D * max_j [lambda * min_i + (1 - lambda) * max_i] Q'_i(s', xi'(s', a_j)),  a_j = decode(s', z_j).
    fn targets(&self, batch: &Batch, rng: &mut Rng) -> Vec<f32> {
        let each = self.config.target_samples;
        let latents = self.vae.draw_latents(batch.rows * each, rng);
        // The action model has no slow copy: it looks through the encoder that it learns with.
        let decoded = self.vae.decode(&self.critic.net.online.encoder.infer(batch.next_obs()), &latents, each);
        let seen = self.critic.net.target.encoder.infer(batch.next_obs());
        let candidates = self.perturbation.target(&seen, &decoded, each);
        self.critic.targets(batch, &seen, &candidates, each, self.config.target_lambda)
    }

    /// One step of the perturbation on -mean Q_1(s, xi(s, decode(s, z))).
    fn update_perturbation(
        &mut self,
        seen: &[f32],
        rows: usize,
        rate: f32,
        context: &mut UpdateContext<'_>,
    ) -> Result<(), Diverged> {
        let latents = self.vae.draw_latents(rows, context.rng);
        let decoded = self.vae.decode(seen, &latents, 1);
        let first = self.critic.first();
        let climb = |corrected: &[f32]| ascend(&first, seen, corrected, rows, 1);
        let value = self.perturbation.fit(seen, &decoded, rate, context, climb)?;
        context.metrics.add("actor_loss", -value);
        context.metrics.add("q_policy_mean", value);
        Ok(())
    }

    /// argmax of Q_1 over corrected decodes; calls `take(row, action, value)`. Latents are drawn where there is something to draw
    /// with.
    fn choose(&self, obs: ObsRef<'_>, rng: Option<&mut Rng>, take: impl FnMut(usize, &[f32], f32)) {
        let (rows, each) = (obs.rows, self.config.act_samples);
        let latents = match rng {
            Some(rng) => self.vae.draw_latents(rows * each, rng),
            None => self.latents.repeat(rows),
        };
        let seen = self.critic.net.online.encoder.infer(obs);
        let decoded = self.vae.decode(&seen, &latents, each);
        let candidates = self.perturbation.online(&seen, &decoded, each);
        let q = scores(&self.critic.first(), &seen, &candidates, rows, each);
        choose_best(&q, &candidates, each, take);
    }
}

impl Actor for BcqLearner {
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
        let seen = graph.repeat(seen, each, self.critic.net.online.encoder.width());
        let decoded = self.vae.onnx(graph, seen, &self.latents, each);
        let candidates = self.perturbation.onnx(graph, seen, decoded);
        Ok(Answer::of(choose_best_onnx(graph, &self.critic.first(), seen, candidates, each)))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.critic.visit_policy(io)?;
        self.vae.visit_policy(io)?;
        self.perturbation.visit_policy(io)?;
        io.floats("latents", &mut self.latents)
    }
}

impl ReplayLearner for BcqLearner {
    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let rate = self.config.learning_rate.at(context.fraction()) as f32;

        // action model: mean (decode(s, z) - a)^2 + kl_weight * KL(z | s, a),  z = mu(s, a) + sigma(s, a) * noise
        let seen = self.critic.net.online.encoder.infer(batch.obs());
        self.vae.fit(&seen, &batch.action, rate, context)?;
        // y = R + D * max_j [lambda * min_i + (1 - lambda) * max_i] Q'_i(s', xi'(s', a_j)),  a_j = decode(s', z_j)
        let targets = self.targets(batch, context.rng);
        // critics and encoder: sum_i mean (Q_i(s, a) - y)^2
        let seen = self.critic.fit(batch, &targets, rate, context)?;
        // perturbation: -mean Q_1(s, xi(s, decode(s, z)))
        self.update_perturbation(&seen, batch.rows, rate, context)?;
        // Q' += tau * (Q - Q'),  xi' += tau * (xi - xi')
        self.critic.net.soft_update(self.config.tau);
        self.perturbation.net.soft_update(self.config.tau);

        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        self.choose(input.obs, None, |row, _, value| values[row] = value);
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.critic.visit_state(io)?;
        self.vae.visit_state(io)?;
        self.perturbation.visit_state(io)
    }
}

#[cfg(test)]
mod tests;
