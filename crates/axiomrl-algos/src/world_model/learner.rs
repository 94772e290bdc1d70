//! The learner of Dreamer and DreamerV3.

mod acting;

use super::actor::ActionLaw;
use super::behaviour::Behaviour;
use super::model::WorldModel;
use super::open_loop::open_loop_error;
use super::recipe::Recipe;
use super::sequence::Reading;
use super::settings::WorldModelConfig;
use super::steps::Steps;
use crate::agent::{LearnError, Learned, Setup, UpdateContext, finite};
use crate::config::Problem;
use crate::parts::checks::BuildError;
use crate::policy::{ActContext, ActInput};
use crate::regimes::{ModelStates, SequenceLearner};
use crate::state::{StateError, StateIo};
use axiomrl_core::{LatentSpec, SequenceBatch};
use axiomrl_nn::{Latent, gradients_of, values};

/// Updates between two looks at how well the model foresees.
const OPEN_LOOP_INTERVAL: u64 = 10;

pub struct WorldModelLearner {
    config: WorldModelConfig,
    reading: Reading,
    model: WorldModel,
    behaviour: Behaviour,
    steps: Steps,
    /// Whether actions are explored by noise: Box actions that are learned through the model.
    adds_noise: bool,
}

impl WorldModelLearner {
    pub fn new(config: WorldModelConfig, setup: &Setup) -> Result<Self, BuildError> {
        let recipe = Recipe::new(&config, setup)
            .ok_or_else(|| Problem::new(&["size"], "set `size`, or all of the sizes that it stands for".to_owned()))?;
        let law = ActionLaw::new(setup.action_space(), recipe.dynamics, config.unimix);
        let rng = &mut setup.rng("init");
        let model = WorldModel::new(&config, &recipe, law.width(), setup, rng)?;
        let behaviour = Behaviour::new(&config, &recipe, law, model.features(), rng);
        let reading = Reading {
            law,
            latent: recipe.latent,
            deter: recipe.dims.deter,
            context: config.stored_latents,
            reward_scale: config.reward_scale,
            reward_tanh: config.reward_tanh,
        };
        let adds_noise = matches!(law, ActionLaw::TanhNormal { .. });
        let steps = Steps::new(&config, &model, &behaviour);
        Ok(Self { config, reading, model, behaviour, steps, adds_noise })
    }

    /// The slow critic follows: after the first update, and then every so many.
    fn follow(&mut self, number: u64) {
        let (fraction, interval) = (self.config.slow_critic_fraction, self.config.slow_critic_interval);
        if number == 1 || number.is_multiple_of(interval) {
            match fraction {
                1.0 => self.behaviour.critic.copy(),
                _ => self.behaviour.critic.soft_update(fraction),
            }
        }
    }

    /// The states of all rows, for the store.
    fn keep(&self, features: &[f32], states: &mut ModelStates) {
        (states.deter, states.classes) = (Vec::new(), Vec::new());
        for state in features.chunks_exact(self.model.features()) {
            let (deter, latent) = state.split_at(self.reading.deter);
            states.deter.extend_from_slice(deter);
            chosen(self.reading.latent, latent, &mut states.classes);
        }
    }
}

/// The choices of a categorical state are added to `classes`.
fn chosen(latent: Latent, one_hot: &[f32], classes: &mut Vec<u8>) {
    if let Latent::Categorical { classes: n, .. } = latent {
        classes.extend(one_hot.chunks_exact(n).map(|group| group.iter().position(|&x| x > 0.5).unwrap_or(0) as u8));
    }
}

impl SequenceLearner for WorldModelLearner {
    fn latents(&self) -> LatentSpec {
        match self.reading.latent {
            Latent::Categorical { groups, .. } if self.reading.context => {
                LatentSpec { deter: self.reading.deter, groups }
            }
            _ => LatentSpec::default(),
        }
    }

    fn recall(&self, memory: &[f32], state: &mut ModelStates) {
        state.deter.clear();
        state.classes.clear();
        state.deter.extend_from_slice(&memory[..self.reading.deter]);
        chosen(self.reading.latent, &memory[self.reading.deter..self.model.features()], &mut state.classes);
    }

    fn explore(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        self.explored(input, context, actions)
    }

    fn update(&mut self, batch: &SequenceBatch, context: &mut UpdateContext<'_>, states: &mut ModelStates) -> Learned {
        let (number, fraction) = (context.number(), context.fraction());
        let (rng, metrics) = (&mut *context.rng, &mut *context.metrics);
        let sequence = self.reading.read(batch);
        let mut tracked = Vec::new();

        // The model on what was lived: reconstruction, reward, continue, divergence.
        let noise = self.reading.latent.draw_noise(sequence.steps * sequence.rows, rng);
        let seen = self.model.observe(&sequence, &noise, &mut tracked, metrics);
        let features = values(&seen.features);

        let (actor, critic) =
            (self.behaviour.actor.net.params.tracked(), self.behaviour.critic.online.net.params.tracked());

        // Imagination from the last rows of every window.
        let rows = sequence.rows * self.config.imagination_last.unwrap_or(sequence.steps).min(sequence.steps);
        let from = sequence.reward.len() - rows;
        let starts = &features[from * self.model.features()..];
        let terminal = &sequence.terminal[from..];
        let imagined = self.behaviour.imagine(&self.model, starts, terminal, critic.clone(), rng, metrics);

        // Actor and critic on what was imagined; the critic on what was lived.
        let acting = self.behaviour.actor_loss(&imagined, actor.clone(), metrics);
        let judging = self.behaviour.critic_loss(&imagined, metrics);
        let replayed =
            self.behaviour.replay_critic_loss(&imagined, &sequence, seen.features.clone(), critic.clone(), metrics);
        tracked.extend([actor, critic]);

        // One way back for all of them: what was imagined is not connected to the model.
        for (whose, value) in
            [("the world model", seen.value), ("the actor", acting.value), ("the critic", judging.value)]
        {
            finite(&format!("the loss of {whose}"), value, number)?;
        }
        let mut loss = seen.loss + acting.node + judging.node;
        if let Some(replayed) = replayed {
            finite("the loss of the critic on replayed rows", replayed.value, number)?;
            loss = loss + replayed.node;
        }
        let gradients = gradients_of(loss, &tracked);
        drop((tracked, imagined));
        if number.is_multiple_of(OPEN_LOOP_INTERVAL)
            && let Some(error) = open_loop_error(&self.model, &sequence, &features, rng)
        {
            metrics.add("open_loop_error", error);
        }
        if self.reading.context {
            self.keep(&features, states);
        }
        drop((features, seen.features));
        self.steps.take(&self.config, &mut self.model, &mut self.behaviour, &gradients, number, fraction, metrics)?;
        self.follow(number);
        Ok(())
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        values.copy_from_slice(&self.first_values(input));
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.model.visit_state(io)?;
        self.behaviour.visit_state(io)?;
        self.steps.visit_state(io)
    }
}

#[cfg(test)]
mod tests;
