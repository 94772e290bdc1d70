//! How the learner acts: by its mean, by draws from the policy, or with noise on top.

use super::AcLearner;
use crate::agent::{Clock, LearnError};
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::noise::{Exploration, add_noise};
use crate::parts::squashed_actor::Jitter;
use crate::parts::trunk::Span;
use crate::policy::{ActContext, ActInput, Actor, Memory, Mode};
use crate::state::{StateError, StateIo};
use std::borrow::Cow;

impl AcLearner {
    /// What the policy makes of what was seen, and of what it remembers, one observation further. A row of memory is the actor's,
    /// followed by the critics', which is kept only for sequences that begin with it.
    pub(super) fn advance<'a>(&self, seen: &'a [f32], rows: usize, memory: &mut Memory) -> Cow<'a, [f32]> {
        let (own, all) = (self.actor.state_width(), memory.width());
        let span = Span { steps: 1, rows, resets: &memory.starts };
        if own == all {
            return self.actor.features(seen, span, &mut memory.state);
        }
        let column = |from: usize, to: usize| -> Vec<f32> {
            memory.state.chunks_exact(all).flat_map(|row| &row[from..to]).copied().collect()
        };
        let (mut actor, mut critic) = (column(0, own), column(own, all));
        let features = self.actor.features(seen, span, &mut actor);
        self.critic.trunk.infer(seen, span, &mut critic);
        for (row, to) in memory.state.chunks_exact_mut(all).enumerate() {
            to[..own].copy_from_slice(&actor[row * own..(row + 1) * own]);
            to[own..].copy_from_slice(&critic[row * (all - own)..(row + 1) * (all - own)]);
        }
        features
    }

    /// Actions with what the settings add to them while collecting.
    pub(super) fn explore_from(
        &mut self,
        input: ActInput<'_>,
        clock: Clock,
        context: ActContext<'_>,
        actions: &mut [f32],
    ) {
        let ActContext { memory, rng, .. } = context;
        let (seen, rows) = (self.encoder.infer(input.obs), input.rows());
        let features = self.advance(&seen, rows, memory);
        let std = self.config.exploration_noise.at(clock.fraction()) as f32;
        let gaussian_policy = self.actor.head.is_gaussian();
        if self.config.exploration == Exploration::StateDependent {
            self.actor.last_hidden(&features, rows, &mut self.hidden);
        }
        if self.config.exploration != Exploration::Policy {
            self.noise.draw(&self.hidden, actions.len(), rng, &mut self.exploration);
        }
        match self.config.exploration {
            Exploration::Colored | Exploration::StateDependent if gaussian_policy => {
                // The noise takes the place of the policy's own, so that its size stays what the policy wants.
                let noise = self.exploration.iter().map(|noise| std * noise);
                self.actor.sample_with(&features, rows, noise, &mut self.drawn);
                actions.copy_from_slice(&self.drawn.action);
                return;
            }
            _ if gaussian_policy => {
                self.actor.sample(&features, rows, Jitter { std: 0.0, clip: 0.0 }, rng, &mut self.drawn);
            }
            _ => self.actor.mean(&features, rows, &mut self.drawn),
        }
        actions.copy_from_slice(&self.drawn.action);
        if self.config.exploration != Exploration::Policy {
            add_noise(actions, &self.exploration, std);
        }
    }
}

impl Actor for AcLearner {
    fn memory_width(&self) -> usize {
        let critic = if self.config.stored_state { self.critic.trunk.state_width() } else { 0 };
        self.actor.state_width() + critic
    }

    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { memory, mode, rng } = context;
        let (seen, rows) = (self.encoder.infer(input.obs), input.rows());
        let features = self.advance(&seen, rows, memory);
        if mode == Mode::Sample && self.actor.head.is_gaussian() {
            self.actor.sample(&features, rows, Jitter { std: 0.0, clip: 0.0 }, rng, &mut self.drawn);
        } else {
            self.actor.mean(&features, rows, &mut self.drawn);
        }
        actions.copy_from_slice(&self.drawn.action);
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        let (own, all) = (self.actor.state_width(), self.memory_width());
        let seen = self.encoder.onnx(graph, shown)?;
        let state = shown.memory.map(|state| graph.columns(state, 0..own, all));
        let (action, mut memory) = self.actor.onnx(graph, seen, state);
        if let (Some(actor), Some(state), true) = (memory, shown.memory, all > own) {
            // What critics remember is of use to those who learn alone: it stays as it is.
            let critic = graph.columns(state, own..all, all);
            memory = Some(graph.concat(&[actor, critic]));
        }
        Ok(Answer::of(action).remembering(memory))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.encoder.visit_state("encoder", io)?;
        self.actor.visit_policy(io)
    }
}
