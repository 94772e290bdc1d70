//! The learner of the decision transformer.

use super::DecisionTransformerConfig;
use super::history::{History, Steps};
use super::model::Model;
use super::windows::{RETURN_TO_GO, TIMESTEP, Windows};
use crate::agent::{LearnError, Setup, UpdateContext};
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::actions::argmax;
use crate::parts::checks::BuildError;
use crate::parts::descend::ParamGroup;
use crate::parts::input::Flatten;
use crate::parts::tracked::Trainable;
use crate::policy::{ActContext, ActInput, Actor, Memory, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Batch, BatchSource, SampleOptions};
use axiomrl_envs::{ObsRef, Space};
use axiomrl_nn::{Activation, AdamConfig, Distribution, OptimizerConfig};
use rand::Rng as _;
use std::ops::Range;

/// What the largest recorded return becomes where no scale is set.
const LARGEST: f32 = 5.0;

/// What actions are.
#[derive(Clone, Copy, Debug)]
pub enum Actions {
    /// One of so many choices.
    Choice(usize),
    /// So many numbers in [−1, 1].
    Numbers(usize),
}

impl Actions {
    /// Numbers that an action has as an input of the network, and as its output.
    fn width(self) -> usize {
        match self {
            Self::Choice(n) | Self::Numbers(n) => n,
        }
    }

    /// Actions as inputs: choices one-hot.
    fn encode(self, actions: &[f32]) -> Vec<f32> {
        match self {
            Self::Numbers(_) => actions.to_vec(),
            Self::Choice(n) => {
                let mut rows = vec![0.0; actions.len() * n];
                rows.chunks_exact_mut(n).zip(actions).for_each(|(row, &choice)| row[choice as usize] = 1.0);
                rows
            }
        }
    }

    /// How far the outputs are from `actions`, on the mean over steps (and numbers), with its gradient.
    pub fn loss(self, outputs: &[f32], actions: &[f32]) -> (f32, Vec<f32>) {
        let mut gradient = vec![0.0; outputs.len()];
        let mut value = 0.0f64;
        match self {
            // mean (y - a)^2
            Self::Numbers(_) => {
                let share = 1.0 / outputs.len() as f32;
                for ((g, y), a) in gradient.iter_mut().zip(outputs).zip(actions) {
                    value += f64::from(share * (y - a) * (y - a));
                    *g = 2.0 * share * (y - a);
                }
            }
            // -mean log softmax(y)[a]
            Self::Choice(n) => {
                let (choice, share) = (Distribution::Categorical { n }, 1.0 / actions.len() as f32);
                let rows = outputs.chunks_exact(n).zip(gradient.chunks_exact_mut(n));
                for ((y, g), a) in rows.zip(actions.chunks_exact(1)) {
                    value -= f64::from(share * choice.log_prob(y, &[], &[], a));
                    choice.d_log_prob(y, &[], &[], a, -share, g, &mut []);
                }
            }
        }
        (value as f32, gradient)
    }
}

pub struct DecisionTransformerLearner {
    config: DecisionTransformerConfig,
    actions: Actions,
    flatten: Flatten,
    model: Model,
    group: ParamGroup,
    history: History,
    warm_up: u64,
    /// What is learned from; a policy that only acts has none.
    windows: Option<Windows>,
}

impl DecisionTransformerLearner {
    pub fn new(config: DecisionTransformerConfig, setup: &Setup) -> Result<Self, BuildError> {
        let (actions, output) = match setup.action_space() {
            Space::Discrete { n } => (Actions::Choice(*n), Activation::Identity),
            other => (Actions::Numbers(other.width()), Activation::Tanh),
        };
        let flatten = Flatten::new(setup.observation_space());
        let widths = [flatten.width(), actions.width(), actions.width()];
        let mut model = Model::new(&config, widths, output, &mut setup.rng("init"));
        let adam = AdamConfig { weight_decay: config.weight_decay, ..AdamConfig::default() };
        let windows = setup.prior.clone().map(|data| Windows::new(data, config.context_length));
        let (best, largest) = windows.as_ref().map_or((0.0, 0.0), Windows::extremes);
        let fitted = if largest > 0.0 { largest / LARGEST } else { 1.0 };
        Ok(Self {
            group: ParamGroup::new(&OptimizerConfig::Adam(adam), &model.params(), config.max_grad_norm),
            history: History {
                context: config.context_length,
                obs: setup.spaces.obs().widths.floats,
                action: setup.action_width(),
                target: config.target_return.unwrap_or(best),
                scale: config.return_scale.unwrap_or(fitted),
            },
            warm_up: config.warm_up(setup.total),
            actions,
            flatten,
            model,
            windows,
            config,
        })
    }

    /// What a network takes in the place of steps as they were stored.
    fn encode(&self, steps: &mut Steps) {
        let obs = ObsRef::of_floats(steps.times.len(), &steps.obs);
        steps.obs = self.flatten.encode(obs).into_owned();
        steps.actions = self.actions.encode(&steps.actions);
    }

    /// The steps of a batch, window after window, and what was done in them.
    fn steps(&self, batch: &Batch) -> (Steps, Vec<f32>) {
        let (obs, action) = (self.history.obs, self.history.action);
        let column = |name| batch.extra(name).unwrap_or_default();
        let (returns, times) = (column(RETURN_TO_GO), column(TIMESTEP));
        let mut steps = Steps::default();
        for row in 0..batch.rows {
            let places = (0..batch.steps).map(|step| step * batch.rows + row).filter(|&at| batch.valid[at]);
            let before = steps.times.len();
            for at in places {
                steps.returns.push(returns[at] / self.history.scale);
                steps.obs.extend_from_slice(&batch.obs.floats[at * obs..(at + 1) * obs]);
                steps.actions.extend_from_slice(&batch.action[at * action..(at + 1) * action]);
                steps.times.push(times[at] as usize);
            }
            steps.lengths.push(steps.times.len() - before);
        }
        let done = steps.actions.clone();
        self.encode(&mut steps);
        (steps, done)
    }

    /// The part of the steps in which the likeliest choice is the one that was made.
    fn accuracy(&self, outputs: &[f32], done: &[f32]) -> Option<f32> {
        let Actions::Choice(n) = self.actions else { return None };
        let hits = outputs.chunks_exact(n).zip(done).filter(|(y, a)| argmax(y, &[]) == **a as usize).count();
        Some(hits as f32 / done.len() as f32)
    }
}

impl Actor for DecisionTransformerLearner {
    fn memory_width(&self) -> usize {
        self.history.width()
    }

    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { memory, mode, rng } = context;
        let mut steps = Steps::default();
        for (row, remembered) in memory.state.chunks_exact_mut(self.history.width()).enumerate() {
            self.history.see(remembered, input.obs.row(row).floats);
            self.history.recall(remembered, &mut steps);
        }
        self.encode(&mut steps);
        let outputs = self.model.predict(&steps);
        let rows = outputs.chunks_exact(self.actions.width()).zip(actions.chunks_exact_mut(self.history.action));
        for (row, (output, action)) in rows.enumerate() {
            match (self.actions, mode) {
                (Actions::Numbers(_), _) => action.copy_from_slice(output),
                (Actions::Choice(_), Mode::Best) => action[0] = argmax(output, input.mask(row)) as f32,
                (Actions::Choice(n), Mode::Sample) => {
                    Distribution::Categorical { n }.sample(output, &[], input.mask(row), rng, action);
                }
            }
        }
        let remembered = memory.state.chunks_exact_mut(self.history.width());
        let chosen = remembered.zip(actions.chunks_exact(self.history.action));
        chosen.for_each(|(row, action)| self.history.act(row, action));
        Ok(())
    }

    fn feedback(&mut self, memory: &mut Memory, envs: Range<usize>, actions: &[f32], rewards: &[f32]) {
        let (width, action) = (self.history.width(), self.history.action);
        for env in envs {
            let row = &mut memory.state[env * width..(env + 1) * width];
            self.history.act(row, &actions[env * action..(env + 1) * action]);
            self.history.earn(row, rewards[env]);
        }
    }

    fn onnx(&self, _graph: &mut Graph, _shown: Shown) -> Result<Answer, NoGraph> {
        Err(NoGraph::because("it acts on the rewards it was given so far, which are no part of an observation"))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.value("return_scale", &mut self.history.scale)?;
        io.value("target_return", &mut self.history.target)?;
        // A policy that was trained can be asked for something else.
        self.history.target = self.config.target_return.unwrap_or(self.history.target);
        self.model.visit_policy(io)
    }
}

impl ReplayLearner for DecisionTransformerLearner {
    /// Windows with returns and times.
    fn takes_any_steps(&self) -> bool {
        false
    }

    fn fill(
        &mut self,
        _source: &mut dyn BatchSource,
        rows: usize,
        options: &mut SampleOptions<'_>,
        batch: &mut Batch,
    ) -> Result<(), LearnError> {
        match &mut self.windows {
            Some(windows) => windows.draw(rows, options.rng, batch),
            None => Err(LearnError::Other("there are no recorded transitions; give the run a `dataset`".into())),
        }
    }

    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        // rate * min(k / warmup_updates, 1) for update k = 1, 2, ...
        let warm = (context.number() as f64 / self.warm_up as f64).min(1.0);
        let rate = (self.config.learning_rate.at(context.fraction()) * warm) as f32;
        // R_t, s_t, a_t of every recorded step
        let (steps, done) = self.steps(batch);
        // y_t from R_t, s_t and the steps before; how far it is from a_t
        let mut accuracy = None;
        let (loss, gradients) = self.model.pass(&steps, Some(context.rng.next_u64()), |outputs| {
            accuracy = self.accuracy(outputs, &done);
            self.actions.loss(outputs, &done)
        });
        // AdamW
        let (params, number) = (&mut self.model.params(), context.number());
        let norm =
            self.group.descend_along("the transformer", loss, &gradients, params, rate, number, |_| Vec::new())?;

        context.metrics.add("loss", loss);
        if let Some(accuracy) = accuracy {
            context.metrics.add("accuracy", accuracy);
        }
        context.metrics.add("grad_norm", norm);
        context.metrics.set("learning_rate", f64::from(rate));
        Ok(())
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.group.visit_state("transformer", io)
    }
}

#[cfg(test)]
mod tests;
