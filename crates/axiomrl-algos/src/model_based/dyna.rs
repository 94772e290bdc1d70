//! A policy that learns from what really happened and from what a learned model makes of it: MBPO, and MOPO from records alone.
//!
//! The policy is the actor-critic of SAC as it is. What is particular comes between its updates, in bounded pieces: the model is
//! fitted, then short rollouts are imagined with it. A run may stop between any two pieces.

use super::dynamics::{Dynamics, DynamicsSettings, FitReport, RawRows, generator};
use super::rollouts::{DataRange, Imagination, Imagining, branch};
use super::schedule::{Retention, RolloutLength};
use super::termination::{Ends, Termination};
use crate::actor_critic::{AcConfig, AcLearner};
use crate::agent::{Clock, LearnError, Learned, Setup, UpdateContext};
use crate::config::Problem;
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::checks::BuildError;
use crate::policy::{ActContext, ActInput, Actor, Memory, Mode};
use crate::regimes::{Preparation, ReplayLearner};
use crate::state::{StateError, StateIo};
use axiomrl_core::random::below;
use axiomrl_core::{Batch, BatchSource, Generated, SampleOptions};
use axiomrl_envs::{Kind, ObsBuf, ObsRef, Rng};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Floating-point operations of one piece of imagining: a fraction of a second.
const PIECE: usize = 1_500_000_000;

/// What such a learner is made of.
#[derive(Clone, Debug)]
pub struct DynaSettings {
    pub policy: AcConfig,
    pub dynamics: DynamicsSettings,
    pub model_rate: f32,
    pub termination: Termination,
    pub when: When,
    pub length: RolloutLength,
    pub retention: Retention,
    pub project: bool,
    pub clip_to_data: bool,
    /// The part of each batch that is imagined.
    pub imagined_share: f32,
    /// Price of the model's doubt.
    pub penalty: f32,
}

/// When the model is fitted and imagines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// After `after` environment steps, and then after so many more each.
    Steps { after: u64, fit: u64, refresh: u64 },
    /// Fitted once, before the first update; imagines before every so many.
    Updates { refresh: u64 },
}

impl When {
    /// What is counted, once it has begun.
    fn time(self, clock: Clock) -> Option<u64> {
        match self {
            When::Steps { after, .. } => clock.env_steps.checked_sub(after),
            When::Updates { .. } => Some(clock.updates),
        }
    }

    /// Fits and refreshes that are due by then.
    fn due(self, time: u64) -> (u64, u64) {
        match self {
            When::Steps { fit, refresh, .. } => (time / fit + 1, time / refresh + 1),
            When::Updates { refresh } => (1, time / refresh + 1),
        }
    }
}

/// What is being done between updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    #[default]
    Nothing,
    Fitting,
    FittingEnds,
    /// So many rollouts of this refresh are done.
    Imagining(usize),
}

/// How far that has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Work {
    stage: Stage,
    fits: u64,
    refreshes: u64,
    /// Steps of the rollouts of this refresh.
    length: u64,
}

pub struct DynaLearner {
    policy: AcLearner,
    model: Dynamics,
    ends: Ends,
    imagined: Generated,
    settings: DynaSettings,
    work: Work,
    /// Of the refresh under way.
    told: Imagining,
    range: Option<DataRange>,
    seed: u64,
    obs_width: usize,
    scaled: ObsBuf,
}

/// Refuses observations that a model of numbers cannot predict.
pub fn check_numbers(setup: &Setup) -> Result<(), Problem> {
    let obs = setup.spaces.obs();
    let numbers = obs.widths.bytes == 0 && obs.parts.iter().all(|part| part.kind == Kind::F32);
    Problem::when(!numbers, &[], || {
        "the model predicts vectors of numbers, and the observations here are images or choices; take another algorithm, `sac` \
         or `drqv2` say"
            .to_owned()
    })
}

impl DynaLearner {
    pub fn new(settings: DynaSettings, setup: &Setup) -> Result<Self, BuildError> {
        check_numbers(setup)?;
        let (width, actions) = (setup.spaces.obs().widths.floats, setup.action_width());
        let policy = AcLearner::new(settings.policy.clone(), setup)?;
        let mut rng = setup.rng("model");
        let capacity = settings.retention.capacity(settings.length.at(0));
        Ok(Self {
            policy,
            model: Dynamics::new(settings.dynamics.clone(), width, actions, setup.seed, &mut rng),
            ends: Ends::new(settings.termination, setup, &mut rng),
            imagined: Generated::new(width, actions, settings.policy.gamma, capacity),
            work: Work::default(),
            told: Imagining::default(),
            range: None,
            seed: setup.seed,
            obs_width: width,
            scaled: ObsBuf::default(),
            settings,
        })
    }

    /// What is to be done first of what is due.
    fn begin(&mut self, given: Preparation<'_>, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        let Some(time) = self.settings.when.time(context.clock) else { return Ok(()) };
        let (fits, refreshes) = self.settings.when.due(time);
        if self.work.fits < fits {
            self.model.begin_fit(given.store, context.metrics)?;
            (self.work.fits, self.work.stage) = (fits, Stage::Fitting);
        } else {
            self.begin_imagining(time, refreshes, context);
        }
        Ok(())
    }

    fn begin_imagining(&mut self, time: u64, refreshes: u64, context: &mut UpdateContext<'_>) {
        self.work.refreshes = refreshes;
        self.work.length = self.settings.length.at(time / self.settings.retention.epoch_length);
        self.work.stage = Stage::Imagining(0);
        self.imagined.set_capacity(self.settings.retention.capacity(self.work.length));
        self.told = Imagining::default();
        self.range = None;
        context.metrics.set("rollout_length", self.work.length as f64);
    }

    fn report_fit(&self, report: FitReport, context: &mut UpdateContext<'_>) {
        let [high, low] = self.model.log_var_range();
        context.metrics.set("model_loss", f64::from(report.loss));
        context.metrics.set("model_holdout_loss", f64::from(report.holdout.unwrap_or(f32::NAN)));
        context.metrics.set("model_fit_steps", report.steps as f64);
        context.metrics.set("model_max_log_var", f64::from(high));
        context.metrics.set("model_min_log_var", f64::from(low));
    }

    /// Some of the rollouts of a refresh. Which numbers are drawn follows from the seed, the refresh and the first of them.
    fn imagine(&mut self, first: usize, given: Preparation<'_>) -> Result<Imagining, LearnError> {
        let rows = self.per_piece().min(self.settings.retention.starts - first);
        let mut rng = generator(self.seed, self.work.refreshes, &format!("rollouts/{first}"));
        let picks: Vec<usize> = (0..rows).map(|_| below(&mut rng, given.store.len())).collect();
        let mut batch = Batch::default();
        given.store.transitions(&picks, &mut batch)?;
        let starts = batch.obs().floats.to_vec();
        if self.settings.clip_to_data && self.range.is_none() {
            self.range = Some(range_of(given, self.obs_width)?);
        }
        let DynaSettings { project, penalty, .. } = self.settings;
        let range = self.range.as_ref();
        let imagination = Imagination { model: &self.model, ends: &self.ends, project, range, penalty };
        let (policy, scaled) = (&mut self.policy, &mut self.scaled);
        let mut act = |obs: &[f32], rows: usize, rng: &mut Rng, actions: &mut Vec<f32>| {
            actions.resize(rows * batch.shape().action_width, 0.0);
            let mut obs = ObsRef::of_floats(rows, obs);
            if let Some(stats) = given.stats {
                stats.scale_into(obs, scaled);
                obs = scaled.as_ref();
            }
            policy.act(ActInput::of(obs), ActContext::new(&mut Memory::new(rows, 0), Mode::Sample, rng), actions)
        };
        branch(&imagination, starts, self.work.length, &mut rng, &mut act, &mut self.imagined)
    }

    /// Rollouts of a piece: a function of sizes alone.
    fn per_piece(&self) -> usize {
        let members = if self.settings.penalty > 0.0 { self.model.members() } else { 1 };
        let hidden = &self.settings.policy.hidden_sizes;
        let policy = 2 * hidden.windows(2).map(|pair| pair[0] * pair[1]).sum::<usize>();
        let row = policy + members * self.model.flops();
        (PIECE / (row * self.work.length.max(1) as usize).max(1)).clamp(256, 65_536)
    }

    fn report_rollouts(&self, context: &mut UpdateContext<'_>) {
        let Imagining { rows, dropped, reward, penalty } = self.told;
        let count = rows.max(1) as f64;
        context.metrics.set("mean_rollout_length", rows as f64 / self.settings.retention.starts as f64);
        context.metrics.set("model_buffer_size", self.imagined.len() as f64);
        context.metrics.set("model_reward_mean", reward / count);
        context.metrics.set("model_dropped_rows", dropped as f64);
        if self.settings.penalty > 0.0 {
            context.metrics.set("penalty_mean", penalty / count);
        }
        if dropped > 0 {
            context
                .metrics
                .note("the model imagined numbers that are none (model_dropped_rows); lower rollout_horizon");
        }
    }
}

/// The span of rewards and observations of a store.
fn range_of(given: Preparation<'_>, width: usize) -> Result<DataRange, LearnError> {
    let picks: Vec<usize> = (0..given.store.len()).collect();
    let raw = RawRows::of(given.store, &picks, true)?;
    let inputs = raw.inputs.len() / picks.len().max(1);
    let rows = raw.inputs.chunks_exact(inputs).zip(raw.targets.chunks_exact(1 + width));
    let columns: Vec<f32> = rows.flat_map(|(x, y)| [&y[..1], &x[..width]].concat()).collect();
    Ok(DataRange::of(&columns, 1 + width))
}

impl Actor for DynaLearner {
    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        self.policy.act(input, context, actions)
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        self.policy.onnx(graph, shown)
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.policy.visit_policy(io)
    }
}

impl ReplayLearner for DynaLearner {
    fn explore(&mut self, input: ActInput<'_>, clock: Clock, context: ActContext<'_>, actions: &mut [f32]) -> Learned {
        let ActContext { memory, rng, .. } = context;
        self.policy.explore(input, clock, ActContext::new(memory, Mode::Sample, rng), actions)
    }

    fn prepares(&self, clock: Clock) -> bool {
        if self.work.stage != Stage::Nothing {
            return true;
        }
        let due = self.settings.when.time(clock).map(|time| self.settings.when.due(time));
        due.is_some_and(|(fits, refreshes)| self.work.fits < fits || self.work.refreshes < refreshes)
    }

    /// fit the model to all transitions; roll it on from some of them; then act and update as SAC does
    fn prepare(&mut self, given: Preparation<'_>, context: &mut UpdateContext<'_>) -> Result<u64, LearnError> {
        let update = context.number();
        let time = self.settings.when.time(context.clock).unwrap_or(0);
        let refreshes = self.settings.when.due(time).1;
        match self.work.stage {
            Stage::Nothing => self.begin(given, context)?,
            Stage::Fitting => {
                if let Some(report) = self.model.fit_piece(given.store, self.settings.model_rate, update)? {
                    self.report_fit(report, context);
                    self.ends.begin_fit();
                    if self.ends.learns() {
                        self.work.stage = Stage::FittingEnds;
                    } else {
                        self.begin_imagining(time, refreshes, context);
                    }
                }
            }
            Stage::FittingEnds => {
                let loss = self.ends.fit_piece(given.store, update)?;
                if !self.ends.is_fitting() {
                    context.metrics.set("termination_loss", f64::from(loss));
                    self.begin_imagining(time, refreshes, context);
                }
            }
            Stage::Imagining(done) => {
                let Imagining { rows, dropped, reward, penalty } = self.imagine(done, given)?;
                self.told.rows += rows;
                self.told.dropped += dropped;
                self.told.reward += reward;
                self.told.penalty += penalty;
                let done = done + self.per_piece();
                self.work.stage = Stage::Imagining(done);
                if done >= self.settings.retention.starts {
                    self.work.stage = Stage::Nothing;
                    self.report_rollouts(context);
                }
            }
        }
        Ok(0)
    }

    /// A few rows of what really happened, and imagined ones for the rest.
    fn fill(
        &mut self,
        source: &mut dyn BatchSource,
        rows: usize,
        options: &mut SampleOptions<'_>,
        batch: &mut Batch,
    ) -> Result<(), LearnError> {
        batch.resize(&source.shape(), rows);
        // Before the model has imagined anything there is only what happened.
        let real = if self.imagined.is_empty() { rows } else { real_rows(rows, self.settings.imagined_share) };
        source.fill(0..real, options, batch)?;
        self.imagined.fill(real..rows, options, batch)?;
        Ok(())
    }

    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        self.policy.update(batch, context)
    }

    fn episode_ended(&mut self, env: usize) {
        self.policy.episode_ended(env);
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        self.policy.values(input, values)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.policy.visit_state(io)?;
        self.model.visit_model(io)?;
        self.model.visit_learning(io)?;
        self.ends.visit_judgement(io)?;
        self.ends.visit_learning(io)?;
        io.value("work", &mut self.work)?;
        let Imagining { rows, dropped, reward, penalty } = &mut self.told;
        io.value("told.rows", rows)?;
        io.value("told.dropped", dropped)?;
        io.value("told.reward", reward)?;
        io.value("told.penalty", penalty)?;
        self.range = None;
        io.store("imagined", &mut self.imagined)
    }
}

/// Rows of a batch that really happened.
fn real_rows(rows: usize, imagined_share: f32) -> usize {
    // The share has six digits; a whole number of rows must not be lost to the seventh.
    (rows as f64 * (1.0 - f64::from(imagined_share) + 1e-7)) as usize
}
