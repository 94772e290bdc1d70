//! A model that is fitted after every episode, and a planner that asks it at every step.

use super::planner::{ModelWorld, Planner};
use super::{PetsConfig, Propagation, RewardSource};
use crate::agent::{Clock, LearnError, Setup, UpdateContext};
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::model_based::LogVarBounds;
use crate::model_based::dynamics::{Dynamics, DynamicsSettings, FitSettings, Patience};
use crate::model_based::termination::Ends;
use crate::policy::{ActContext, ActInput, Actor};
use crate::regimes::{Preparation, ReplayLearner};
use crate::state::{StateError, StateIo};
use axiomrl_core::{Batch, Schedule};
use axiomrl_envs::TaskRules;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// What is being done between two steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    #[default]
    Nothing,
    Fitting,
    FittingEnds,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Work {
    stage: Stage,
    /// Whether an episode ended since the last fit.
    due: bool,
}

pub struct PetsLearner {
    model: Dynamics,
    ends: Ends,
    planner: Planner,
    reward: RewardSource,
    propagation: Propagation,
    project: bool,
    random_model: bool,
    rate: Schedule,
    learning_starts: u64,
    actions: usize,
    work: Work,
    /// Whether the model was fitted at all: without that there is nothing to plan by.
    ready: bool,
}

impl PetsLearner {
    pub fn new(config: PetsConfig, setup: &Setup) -> Self {
        let (width, actions) = (setup.spaces.obs().widths.floats, setup.action_width());
        let fit = FitSettings {
            batch_size: config.model_batch_size,
            holdout: None,
            patience: Patience::Epochs(0),
            from_warm: false,
            most: [None; 2],
            epochs: config.model_epochs,
            fewest: config.model_updates,
            permute: false,
        };
        let settings = DynamicsSettings {
            members: config.num_ensembles,
            elites: config.num_ensembles,
            hidden: config.model_hidden_sizes.clone(),
            with_reward: config.reward == RewardSource::Learned,
            standardize_targets: config.standardize_targets,
            learned_bounds: config.logvar_bounds == LogVarBounds::Learned,
            weight_decay: config.model_weight_decay.clone(),
            max_grad_norm: config.model_max_grad_norm,
            fit,
        };
        let mut rng = setup.rng("model");
        Self {
            model: Dynamics::new(settings, width, actions, setup.seed, &mut rng),
            ends: Ends::new(config.termination, setup, &mut rng),
            planner: config.planner(),
            reward: config.reward,
            propagation: config.propagation,
            project: config.project,
            random_model: config.random_model,
            rate: config.learning_rate,
            learning_starts: config.learning_starts,
            actions,
            work: Work::default(),
            ready: false,
        }
    }

    /// Rewards that are known are known by the environment's rules.
    fn check_rules(&self) -> Result<(), LearnError> {
        if self.reward == RewardSource::Learned || self.ends.rules().is_some() {
            return Ok(());
        }
        let problem = "with `reward: known` plans are priced by the environment's rules, and there is no environment here that has \
                       them; train with `reward: learned` to plan without";
        Err(LearnError::Other(problem.into()))
    }

    fn finish(&mut self) {
        self.work.stage = Stage::Nothing;
        self.ready = true;
    }
}

impl Actor for PetsLearner {
    /// The plan: what is left of it is where the next decision begins.
    fn memory_width(&self) -> usize {
        self.planner.horizon * self.actions
    }

    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { memory, rng, .. } = context;
        if !self.ready {
            actions.fill(0.0);
            return Ok(());
        }
        self.check_rules()?;
        let world =
            ModelWorld { model: &self.model, ends: &self.ends, propagation: self.propagation, project: self.project };
        self.planner.decide(&world, (input.obs.floats, input.rows()), &mut memory.state, rng, actions)
    }

    fn know_rules(&mut self, rules: Option<Arc<dyn TaskRules>>) {
        self.ends.know(rules);
    }

    fn onnx(&self, _graph: &mut Graph, _shown: Shown) -> Result<Answer, NoGraph> {
        Err(NoGraph::because("it plans at every step, by drawing and comparing plans, and no graph draws"))
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.value("ready", &mut self.ready)?;
        self.model.visit_model(io)?;
        self.ends.visit_judgement(io)
    }
}

impl ReplayLearner for PetsLearner {
    fn prepares(&self, clock: Clock) -> bool {
        let begun = clock.env_steps >= self.learning_starts;
        self.work.stage != Stage::Nothing || (begun && (self.work.due || !self.ready))
    }

    /// after each episode: some epochs over all transitions
    fn prepare(&mut self, given: Preparation<'_>, context: &mut UpdateContext<'_>) -> Result<u64, LearnError> {
        let update = context.number();
        match self.work.stage {
            Stage::Nothing => {
                self.check_rules()?;
                self.work.due = false;
                if self.random_model {
                    // A model that nobody fits, to see what fitting is worth.
                    self.finish();
                } else {
                    self.model.begin_fit(given.store, context.metrics)?;
                    self.work.stage = Stage::Fitting;
                }
                Ok(0)
            }
            Stage::Fitting => {
                let rate = self.rate.at(context.fraction()) as f32;
                if let Some(report) = self.model.fit_piece(given.store, rate, update)? {
                    context.metrics.set("model_loss", f64::from(report.loss));
                    context.metrics.set("model_fit_steps", report.steps as f64);
                    context.metrics.set("learning_rate", f64::from(rate));
                    self.ends.begin_fit();
                    if self.ends.is_fitting() {
                        self.work.stage = Stage::FittingEnds;
                    } else {
                        self.finish();
                    }
                }
                Ok(1)
            }
            Stage::FittingEnds => {
                let loss = self.ends.fit_piece(given.store, update)?;
                if !self.ends.is_fitting() {
                    context.metrics.set("termination_loss", f64::from(loss));
                    self.finish();
                }
                Ok(0)
            }
        }
    }

    fn update(&mut self, _: &Batch, _: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        Err(LearnError::Other("a planner has no policy to update".into()))
    }

    fn episode_ended(&mut self, _env: usize) {
        self.work.due = true;
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.model.visit_learning(io)?;
        self.ends.visit_learning(io)?;
        io.value("work", &mut self.work)
    }
}
