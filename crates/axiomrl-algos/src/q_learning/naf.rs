//! # NAF: normalised advantage functions
//!
//! **What it does.** Q-learning for continuous actions. The network gives a value, a best action and how steeply the
//! value falls away from it; the maximum over actions is then known without searching, and no actor is trained.
//!
//! **When to use it.** Low-dimensional continuous actions where the best action is one region, not two. One network
//! makes it the simplest method here.
//!
//! **The update.** With the heads V(s), mu(s) = tanh(.) and a lower triangle L(s) with a positive diagonal:
//! ```text
//! Q(s, a) = V(s) - 1/2 * |L(s)^T (a - mu(s))|^2
//! y       = R + D * V'(s')
//! loss    = mean (Q(s, a) - y)^2 / 2
//! ```
//! V' comes from a slowly moving copy of the network.
//!
//! **Details that matter.**
//! - Q has its maximum V at mu, which tanh keeps inside the action range.
//! - The precision L L^T is never formed. Its diagonal is `exp` of a cut number, or `softplus`, and the gradient is cut
//!   to `max_grad_norm`: one steep row would otherwise drown all others.
//! - `exploration: precision` draws noise that is small where Q is sharp (mu + c * L^-T z); the other kinds add noise of
//!   a fixed size. What is stored is the action after clipping.
//! - Termination and time limits are told apart.
//! - Images are looked at by convolutions (`vision`), numbers beside them pass as they are. They are a part of the network: the
//!   same loss trains them, and V' looks with a slow copy.
//!
//! **What is left out.** The model-based rollouts of the second half of the publication.
//!
//! **Reference.** Gu and others, Continuous deep Q-learning with model-based acceleration, 2016.

mod head;

use crate::agent::{Clock, LearnError, Learned, Setup, UpdateContext};
use crate::config::{Idle, Problem, settings};
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::checks::BuildError;
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::{ObsEncoder, Vision};
use crate::parts::noise::{ActionNoise, Exploration, add_noise};
use crate::parts::seeing::SeeingNet;
use crate::parts::tracked::{Tracked, Trainable};
use crate::policy::{ActContext, ActInput, Actor};
use crate::regimes::{Learner, ReplayLearner, replay_settings};
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Batch, Schedule};
use axiomrl_envs::ObsRef;
use axiomrl_nn::{Activation, AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig, fused_loss};
pub use head::Diagonal;
use head::NafHead;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Noise that NAF explores with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NafExploration {
    /// Independent noise at each step.
    Gaussian,
    /// Noise that drifts back to zero, started afresh in each episode.
    OrnsteinUhlenbeck,
    /// Pink noise: slow movements as strong as fast ones.
    Colored,
    /// Independent noise with the learned covariance.
    Precision,
}

settings! {
    /// Settings of NAF.
    pub struct NafConfig {
        ..learning_rate,
        ..replay,
        ..network,
        ..action_noise,
        /// How much of the network the target network takes over per update.
        #[garde(range(min = 0.0, max = 1.0))]
        pub tau: f32,
        /// Factor on rewards before they are learned from.
        #[garde(range(min = 1e-6, max = 1e6))]
        pub reward_scale: f32,
        /// Largest global norm of a gradient.
        #[garde(range(min = 0.0))]
        pub max_grad_norm: f32,
        /// Noise added to the best action while collecting.
        pub exploration: NafExploration,
        /// What keeps the diagonal of the triangle positive.
        pub diagonal: Diagonal,
    }
}

impl Default for NafConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(1e-3),
            buffer_capacity: 100_000,
            batch_size: 128,
            learning_starts: 1000,
            train_frequency: 1,
            gradient_steps: 1,
            tau: 0.005,
            gamma: 0.99,
            n_step: 1,
            reward_scale: 1.0,
            max_grad_norm: 10.0,
            exploration: NafExploration::OrnsteinUhlenbeck,
            exploration_noise: Schedule::Constant(0.2),
            exploration_horizon: 1000,
            diagonal: Diagonal::Exp,
            vision: Vision::Auto,
            hidden_sizes: vec![256, 256],
            activation: Activation::Relu,
        }
    }
}

pub struct Naf;

impl Algorithm for Naf {
    type Config = NafConfig;

    fn check(config: &NafConfig) -> Result<(), Problem> {
        replay_settings!(config).map(drop)
    }

    fn check_setup(config: &NafConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn idle(config: &NafConfig) -> Vec<Idle> {
        vec![Idle {
            now: config.exploration != NafExploration::Colored,
            keys: &["exploration_horizon"],
            switch: Some("exploration"),
            why: "only coloured noise has a slowest movement; set `exploration: colored`",
        }]
    }

    fn build(config: NafConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = replay_settings!(config)?;
        Ok(Learner::OffPolicy(Box::new(NafLearner::new(config, setup)?), settings))
    }
}

/// The learner of NAF.
struct NafLearner {
    config: NafConfig,
    head: NafHead,
    q: Tracked<SeeingNet>,
    group: ParamGroup,
    noise: ActionNoise,
    drawn: Vec<f32>,
}

impl NafLearner {
    fn new(config: NafConfig, setup: &Setup) -> Result<Self, Problem> {
        let head = NafHead { d: setup.action_width(), diagonal: config.diagonal };
        // A small last layer: the first actions are near the middle and the first precision near 1.
        let (mut rng, init) = (setup.rng("init"), Init::Xavier { output_scale: 0.1 });
        let encoder = ObsEncoder::new(setup.observation_space(), config.vision, &Init::pytorch(), &mut rng)?;
        let spec = MlpSpec::new(encoder.width(), &config.hidden_sizes, head.outputs(), config.activation);
        let mut net = SeeingNet { layers: Mlp::new(spec, 1, &init, &mut rng), encoder };
        let adam = OptimizerConfig::Adam(AdamConfig::default());
        let process = match config.exploration {
            NafExploration::Gaussian | NafExploration::Precision => Exploration::Gaussian,
            NafExploration::OrnsteinUhlenbeck => Exploration::OrnsteinUhlenbeck,
            NafExploration::Colored => Exploration::Colored,
        };
        let horizon = config.exploration_horizon;
        Ok(Self {
            group: ParamGroup::new(&adam, &net.params(), config.max_grad_norm),
            q: Tracked::new(net),
            noise: ActionNoise::new(process, setup.num_envs, head.d, horizon, &mut setup.rng("noise")),
            config,
            head,
            drawn: Vec::new(),
        })
    }

    /// Writes the best actions; gives the output rows that they are from.
    fn best_actions(&self, obs: ObsRef<'_>, actions: &mut [f32]) -> Vec<f32> {
        let out = self.q.online.infer(obs, &[]);
        let outputs = out.chunks_exact(self.head.outputs());
        outputs.zip(actions.chunks_exact_mut(self.head.d)).for_each(|(out, action)| self.head.best_action(out, action));
        out
    }

    /// y = R + D * V'(s').
    fn targets(&self, batch: &Batch) -> Vec<f32> {
        let next = self.q.target.infer(batch.next_obs(), &[]);
        let values = next.iter().step_by(self.head.outputs());
        let returns = batch.reward.iter().zip(&batch.discount).zip(values);
        returns.map(|((reward, discount), v)| self.config.reward_scale * reward + discount * v).collect()
    }
}

impl Actor for NafLearner {
    fn act(&mut self, input: ActInput<'_>, _context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        self.best_actions(input.obs, actions);
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let out = self.q.online.onnx(graph, shown)?;
        // As in `NafHead::best_action`.
        let mean = graph.columns(out, 1..1 + self.head.d, self.head.outputs());
        Ok(Answer::of(graph.tanh(mean)))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.q.online.encoder.visit_state("q", io)?;
        io.network("q", &mut self.q.online.layers)
    }
}

impl ReplayLearner for NafLearner {
    fn explore(&mut self, input: ActInput<'_>, clock: Clock, context: ActContext<'_>, actions: &mut [f32]) -> Learned {
        let ActContext { rng, .. } = context;
        let out = self.best_actions(input.obs, actions);
        self.noise.draw(&[], actions.len(), rng, &mut self.drawn);
        if self.config.exploration == NafExploration::Precision {
            let outputs = out.chunks_exact(self.head.outputs());
            for (z, out) in self.drawn.chunks_exact_mut(self.head.d).zip(outputs) {
                self.head.shape_noise(out, z);
            }
        }
        add_noise(actions, &self.drawn, self.config.exploration_noise.at(clock.fraction()) as f32);
        Ok(())
    }

    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let rate = self.config.learning_rate.at(context.fraction()) as f32;
        let (head, share) = (self.head, 1.0 / batch.rows as f32);
        let (mut value, mut q_mean) = (0.0, 0.0);

        // y = R + D * V'(s')
        let targets = self.targets(batch);
        let forward = self.q.online.forward(batch.obs(), &[]);
        let node = fused_loss([forward.out], |[out]| {
            let mut gradient = vec![0.0; out.len()];
            let places = gradient.chunks_exact_mut(head.outputs());
            for (row, (place, out)) in places.zip(out.chunks_exact(head.outputs())).enumerate() {
                // Q(s, a) = V(s) - 1/2 * |L(s)^T (a - mu(s))|^2
                let q = head.q_value(out, &batch.action[row * head.d..(row + 1) * head.d], place);
                // loss = mean (Q(s, a) - y)^2 / 2
                let error = q - targets[row];
                place.iter_mut().for_each(|g| *g *= share * error);
                value += 0.5 * share * error * error;
                q_mean += share * q;
            }
            (value, [gradient])
        });
        let loss = Loss { node, value, tracked: forward.tracked };
        let norm = self.group.descend("the network", loss, &mut self.q.online.params(), rate, context.number())?;
        // Q' += tau * (Q - Q')
        self.q.soft_update(self.config.tau);

        context.metrics.add("loss", value);
        context.metrics.add("q_value_mean", q_mean);
        context.metrics.add("target_q_mean", share * targets.iter().sum::<f32>());
        context.metrics.add("grad_norm", norm);
        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    fn episode_ended(&mut self, env: usize) {
        self.noise.episode_ended(env);
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let out = self.q.online.infer(input.obs, &[]);
        for (value, out) in values.iter_mut().zip(out.chunks_exact(self.head.outputs())) {
            *value = out[0] / self.config.reward_scale;
        }
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.q.target.encoder.visit_state("q_target", io)?;
        io.network("q_target", &mut self.q.target.layers)?;
        self.group.visit_state("q", io)?;
        self.noise.visit_state(io)
    }
}

#[cfg(test)]
mod tests;
