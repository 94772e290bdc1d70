//! # Toy Q-learning
//!
//! **What it does.** Learns the value of every action by one step of temporal difference, without a target network.
//!
//! **When to use it.** Never: it shows how short an algorithm can be. `dqn` is the real one.
//!
//! **The update.** For a batch of transitions with reward R and discount D:
//! ```text
//! y    = R + D * max_b Q(s', b)
//! loss = mean (Q(s, a) - y)^2 / 2
//! ```
//!
//! **Details that matter.**
//! - A share `epsilon` of the actions is random, from the first step to the last.
//! - Only allowed actions are taken and valued.
//!
//! **What is left out.** A target network, and all that came after it.
//!
//! **Reference.** Watkins, Learning from delayed rewards, 1989.

use crate::agent::{Clock, LearnError, Learned, Setup, UpdateContext};
use crate::config::{Problem, settings};
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::actions::{argmax, random_choice};
use crate::parts::checks::BuildError;
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::{ObsEncoder, Vision};
use crate::parts::seeing::SeeingNet;
use crate::parts::tracked::Trainable;
use crate::policy::{ActContext, ActInput, Actor, Mode};
use crate::regimes::{Learner, ReplayLearner, replay_settings};
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use axiomrl_core::random::uniform;
use axiomrl_core::{Batch, Schedule};
use axiomrl_nn::{Activation, AdamConfig, Init, Mlp, MlpSpec, OptimizerConfig, fused_loss};

settings! {
    /// Settings of toy Q-learning.
    pub struct ToyQConfig {
        ..learning_rate,
        ..replay,
        ..network,
        /// Share of random actions.
        #[garde(range(min = 0.0, max = 1.0))]
        pub epsilon: f32,
    }
}

impl Default for ToyQConfig {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::Constant(1e-3),
            buffer_capacity: 10_000,
            batch_size: 64,
            learning_starts: 1000,
            train_frequency: 1,
            gradient_steps: 1,
            gamma: 0.98,
            n_step: 1,
            vision: Vision::Auto,
            hidden_sizes: vec![64, 64],
            activation: Activation::Relu,
            epsilon: 0.1,
        }
    }
}

pub struct ToyQ;

impl Algorithm for ToyQ {
    type Config = ToyQConfig;

    fn check(config: &ToyQConfig) -> Result<(), Problem> {
        replay_settings!(config).map(drop)
    }

    fn check_setup(config: &ToyQConfig, setup: &Setup) -> Result<(), Problem> {
        config.vision.check(setup.observation_space())
    }

    fn build(config: ToyQConfig, setup: &Setup) -> Result<Learner, BuildError> {
        let settings = replay_settings!(config)?;
        Ok(Learner::OffPolicy(Box::new(ToyQLearner::new(config, setup)?), settings))
    }
}

struct ToyQLearner {
    config: ToyQConfig,
    choices: usize,
    q: SeeingNet,
    group: ParamGroup,
}

impl ToyQLearner {
    fn new(config: ToyQConfig, setup: &Setup) -> Result<Self, Problem> {
        let (mut rng, init) = (setup.rng("init"), Init::pytorch());
        let encoder = ObsEncoder::new(setup.observation_space(), config.vision, &init, &mut rng)?;
        let choices = setup.spaces.action.mask_width();
        let spec = MlpSpec::new(encoder.width(), &config.hidden_sizes, choices, config.activation);
        let mut q = SeeingNet { layers: Mlp::new(spec, 1, &init, &mut rng), encoder };
        let group = ParamGroup::new(&OptimizerConfig::Adam(AdamConfig::default()), &q.params(), f32::INFINITY);
        Ok(Self { config, choices, q, group })
    }

    /// The best allowed action of each row, and its value.
    fn best(&self, input: ActInput<'_>) -> Vec<(usize, f32)> {
        let values = self.q.infer(input.obs, &[]);
        let rows = values.chunks_exact(self.choices).enumerate();
        rows.map(|(row, q)| (argmax(q, input.mask(row)), q))
            .map(|(action, q)| (action, q[action]))
            .collect()
    }
}

impl Actor for ToyQLearner {
    fn act(&mut self, input: ActInput<'_>, _context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        actions.iter_mut().zip(self.best(input)).for_each(|(action, (best, _))| *action = best as f32);
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let _ = (graph, shown);
        Err(NoGraph::because("it is a toy"))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.q.encoder.visit_state("q", io)?;
        io.network("q", &mut self.q.layers)
    }
}

impl ReplayLearner for ToyQLearner {
    fn explore(&mut self, input: ActInput<'_>, _clock: Clock, context: ActContext<'_>, actions: &mut [f32]) -> Learned {
        let ActContext { memory, rng, .. } = context;
        self.act(input, ActContext::new(memory, Mode::Best, rng), actions)?;
        for (row, action) in actions.iter_mut().enumerate() {
            if uniform(rng) < f64::from(self.config.epsilon) {
                *action = random_choice(self.choices, input.mask(row), rng) as f32;
            }
        }
        Ok(())
    }

    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        // y = R + D * max_b Q(s', b)
        let next = self.best(ActInput { obs: batch.next_obs(), masks: batch.next_masks() });
        let returns = batch.reward.iter().zip(&batch.discount).zip(next);
        let targets: Vec<f32> = returns.map(|((reward, discount), (_, value))| reward + discount * value).collect();

        // loss = mean (Q(s, a) - y)^2 / 2
        let (choices, share, mut value) = (self.choices, 1.0 / batch.rows as f32, 0.0);
        let forward = self.q.forward(batch.obs(), &[]);
        let node = fused_loss([forward.out], |[out]| {
            let mut gradient = vec![0.0; out.len()];
            for (row, target) in targets.iter().enumerate() {
                let at = row * choices + batch.action[row] as usize;
                gradient[at] = share * (out[at] - target);
                value += 0.5 * share * (out[at] - target).powi(2);
                context.errors.push((out[at] - target).abs());
            }
            (value, [gradient])
        });
        let rate = self.config.learning_rate.at(context.fraction()) as f32;
        let loss = Loss { node, value, tracked: forward.tracked };
        self.group.descend("the network", loss, &mut self.q.params(), rate, context.number())?;
        context.metrics.add("loss", value);
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        values.iter_mut().zip(self.best(input)).for_each(|(value, (_, best))| *value = best);
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.group.visit_state("q", io)
    }
}
