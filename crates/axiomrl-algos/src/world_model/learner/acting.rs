//! Acting: the state of the model and the last action are what is remembered.

use super::WorldModelLearner;
use crate::agent::{LearnError, Learned};
use crate::export::{Answer, Element, Graph, NoGraph, Shown};
use crate::policy::{ActContext, ActInput, Actor, Imagines, Memory, Mode, Picture};
use crate::state::{StateError, StateIo};
use crate::world_model::actor::Drawn;
use axiomrl_core::random::normal;
use axiomrl_envs::{ObsRef, Rng};
use axiomrl_nn::Latent;
use std::ops::Range;

impl WorldModelLearner {
    /// Numbers that are remembered: a state, and the action that was done in it.
    fn remembered(&self) -> usize {
        self.model.features() + self.reading.law.width()
    }

    /// The state after seeing what is shown: memory moves on, and the states come back side by side.
    fn see(&self, input: ActInput<'_>, memory: &mut Memory, rng: &mut Rng) -> Vec<f32> {
        let (rows, width, features) = (input.rows(), self.remembered(), self.model.features());
        let tokens = self.model.senses.infer(input.obs);
        let (mut states, mut actions) = (Vec::with_capacity(rows * features), Vec::new());
        for row in memory.state.chunks_exact(width) {
            states.extend_from_slice(&row[..features]);
            actions.extend_from_slice(&row[features..]);
        }
        let noise = self.reading.latent.draw_noise(rows, rng);
        // Memories were emptied where an episode begins: there is nothing to be masked.
        self.model.rssm.step(rows, &tokens, &actions, &vec![false; rows], &noise, &mut states);
        for (row, state) in memory.state.chunks_exact_mut(width).zip(states.chunks_exact(features)) {
            row[..features].copy_from_slice(state);
        }
        states
    }

    /// What was done is remembered beside the state that it was done in.
    fn remember_actions(&self, memory: &mut Memory, envs: Range<usize>, actions: &[f32]) {
        let (width, features, law) = (self.remembered(), self.model.features(), self.reading.law);
        let stored = law.action_width();
        for env in envs {
            let place = &mut memory.state[env * width + features..(env + 1) * width];
            law.encode(&actions[env * stored..(env + 1) * stored], place);
        }
    }

    /// What observations are worth as the first of an episode, with the middle one of all states that could be drawn.
    pub(super) fn first_values(&self, input: ActInput<'_>) -> Vec<f32> {
        let (rows, latent) = (input.rows(), self.reading.latent);
        let middle = if matches!(latent, Latent::Categorical { .. }) { 0.5 } else { 0.0 };
        let (noise, actions) = (vec![middle; rows * latent.noise()], vec![0.0; rows * self.reading.law.width()]);
        let mut states = vec![0.0; rows * self.model.features()];
        let tokens = self.model.senses.infer(input.obs);
        self.model.rssm.step(rows, &tokens, &actions, &vec![true; rows], &noise, &mut states);
        self.behaviour.critic.online.means(&states, rows)
    }
}

impl Actor for WorldModelLearner {
    fn memory_width(&self) -> usize {
        self.remembered()
    }

    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { memory, mode, rng } = context;
        let (rows, law) = (input.rows(), self.reading.law);
        let states = self.see(input, memory, rng);
        let (mut outputs, mut drawn) = (Vec::new(), Drawn::default());
        self.behaviour.actor.net.infer(&states, rows, &mut outputs);
        match mode {
            Mode::Sample => law.sample(&outputs, rng, &mut drawn),
            Mode::Best => {
                drawn.encoded.resize(rows * law.width(), 0.0);
                law.mode(&outputs, &mut drawn.encoded);
            }
        }
        law.decode(&drawn.encoded, actions);
        self.remember_actions(memory, 0..rows, actions);
        Ok(())
    }

    /// Chance may have overruled the choice.
    fn feedback(&mut self, memory: &mut Memory, envs: Range<usize>, actions: &[f32], _rewards: &[f32]) {
        self.remember_actions(memory, envs, actions);
    }

    fn imagination(&self) -> Option<&dyn Imagines> {
        Some(self)
    }

    /// What the model draws its state by goes in as `noise`: numbers that the policy, too, draws anew at every step.
    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let (all, features, law) = (self.remembered(), self.model.features(), self.reading.law);
        let memory = shown.memory.ok_or_else(|| NoGraph::because("it has no memory"))?;
        let noise = graph.input("noise", Element::Float, &[self.reading.latent.noise()]);
        let tokens = self.model.senses.onnx(graph, shown)?;
        let (state, done) = (graph.columns(memory, 0..features, all), graph.columns(memory, features..all, all));
        let state = self.model.rssm.onnx(graph, state, done, tokens, noise);
        let outputs = self.behaviour.actor.net.onnx(graph, state);
        let (action, encoded) = law.onnx(graph, outputs);
        let memory = graph.concat(&[state, encoded]);
        Ok(Answer::of(action).remembering(Some(memory)))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.model.visit_policy(io)?;
        io.network("actor", &mut self.behaviour.actor.net)
    }
}

impl WorldModelLearner {
    /// Exploring actions: drawn from the policy, with noise on those that are learned through the model.
    pub(super) fn explored(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Learned {
        let ActContext { memory, mode, rng } = context;
        self.act(input, ActContext::new(memory, mode, rng), actions)?;
        if self.adds_noise {
            let noise = self.config.exploration_noise;
            actions.iter_mut().for_each(|a| *a = (*a + noise * normal(rng)).clamp(-1.0, 1.0));
        }
        Ok(())
    }
}

impl Imagines for WorldModelLearner {
    fn believed(&self, memory: &[f32]) -> Option<Picture> {
        let reconstruction = &self.model.reconstruction;
        reconstruction.picture(reconstruction.decode(&memory[..self.model.features()], 1))
    }

    fn shown(&self, obs: ObsRef<'_>) -> Option<Picture> {
        let reconstruction = &self.model.reconstruction;
        reconstruction.picture(reconstruction.truth(obs))
    }

    fn foresee(&self, memory: &mut Memory, rng: &mut Rng) {
        let (width, features) = (self.remembered(), self.model.features());
        let noise = self.reading.latent.draw_noise(memory.starts.len(), rng);
        let rows = noise.chunks_exact(self.reading.latent.noise());
        for (row, noise) in memory.state.chunks_exact_mut(width).zip(rows) {
            let mut imagined = self.model.rssm.imagine(&row[..features], 1);
            imagined.step(&row[features..], noise);
            let state = imagined.features().to_vec();
            row[..features].copy_from_slice(&state);
        }
    }
}
