//! Learning from a store of past transitions.

use super::ReplaySettings;
use crate::agent::{Agent, Diverged, PolicyMemory, Progress, Setup};
use crate::parts::actions::random_actions;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Batch, Metrics, Replay, ReplaySpec};
use axiomrl_envs::{ObsRef, Rng, Space, VecState};
use std::io;
use std::ops::Range;

/// What an update may use besides its batch.
pub struct Update<'a> {
    pub batch: &'a Batch,
    pub progress: Progress,
    /// Number of this update, from 1.
    pub number: u64,
    /// Whether it is the last one of its burst: the place for what is done once per burst.
    pub closes_burst: bool,
    pub rng: &'a mut Rng,
    pub metrics: &'a mut Metrics,
    /// Filled with one absolute error per row when priorities are in use.
    pub errors: &'a mut Vec<f32>,
}

/// The part that is particular to an algorithm.
pub trait ReplayLearner: Send {
    /// Exploring actions. Warm-up with random actions is the regime's business.
    fn explore(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        progress: Progress,
        rng: &mut Rng,
        actions: &mut [f32],
    );

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        deterministic: bool,
        rng: &mut Rng,
        actions: &mut [f32],
    );

    fn values(&mut self, obs: ObsRef<'_>, masks: &[bool], rows: usize, values: &mut [f32]);

    fn update(&mut self, update: Update<'_>) -> Result<(), Diverged>;

    /// Environment steps `before + 1 ..= after` have been taken: the place for what is counted in steps.
    fn stepped(&mut self, _before: u64, _after: u64) {}

    /// An episode of environment `env` ended: the place for exploration noise that restarts.
    fn episode_ended(&mut self, _env: usize) {}

    /// Names under which the learner reports, so that averages survive a resume.
    fn metric_names(&self) -> &'static [&'static str];

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// Only the updates of the round under way may be missing: a gap as long as a run would take as long to fill.
pub(super) fn check_trained(until: u64, steps: u64, round: usize) -> Result<(), StateError> {
    let fits = until <= steps && steps - until <= round as u64;
    if fits { Ok(()) } else { Err(StateError::other_moment("trained_until")) }
}

pub struct OffPolicy<L> {
    learner: L,
    settings: ReplaySettings,
    action_space: Space,
    store: Replay,
    batch: Batch,
    errors: Vec<f32>,
    metrics: Metrics,
    act_rng: Rng,
    store_rng: Rng,
    learn_rng: Rng,
    /// Environment steps whose updates are done.
    trained_until: u64,
    updates: u64,
    begun: bool,
    obs_width: usize,
    mask_width: usize,
}

impl<L: ReplayLearner> OffPolicy<L> {
    pub fn new(learner: L, settings: ReplaySettings, setup: &Setup) -> Self {
        let store = Replay::new(ReplaySpec {
            capacity: settings.capacity,
            lanes: setup.num_envs,
            obs_width: setup.obs_width(),
            obs_dtype: setup.observation_space.dtype(),
            frames: setup.frames(),
            action_width: setup.action_width(),
            mask_width: setup.mask_width(),
            n_step: settings.n_step,
            gamma: settings.gamma,
            prioritized: settings.priority,
        });
        Self {
            learner,
            settings,
            action_space: setup.action_space.clone(),
            store,
            batch: Batch::default(),
            errors: Vec::new(),
            metrics: Metrics::default(),
            act_rng: setup.rng("act"),
            store_rng: setup.rng("store"),
            learn_rng: setup.rng("learn"),
            trained_until: 0,
            updates: 0,
            begun: false,
            obs_width: setup.obs_width(),
            mask_width: setup.mask_width(),
        }
    }

    fn mask_row<'a>(&self, masks: &'a [bool], env: usize) -> &'a [bool] {
        &masks[env * self.mask_width..(env + 1) * self.mask_width]
    }

    /// Updates that the steps up to `steps` call for.
    fn due(&self, steps: u64) -> u64 {
        let every = self.settings.train_frequency;
        let from = self.trained_until.max(self.settings.learning_starts);
        let bursts = (steps / every).saturating_sub(from / every);
        bursts * self.settings.gradient_steps.unwrap_or(every)
    }
}

impl<L: ReplayLearner> Agent for OffPolicy<L> {
    fn act(&mut self, state: &VecState, progress: Progress, actions: &mut [f32]) {
        let rows = actions.len() / self.action_space.width();
        if !self.begun {
            for env in 0..rows {
                let mask = if self.mask_width == 0 { &[] } else { self.mask_row(&state.masks, env) };
                self.store.begin(env, state.obs.rows(env, env + 1, self.obs_width), mask);
            }
            self.begun = true;
        }
        if progress.steps < self.settings.learning_starts {
            random_actions(&self.action_space, &state.masks, &mut self.act_rng, actions);
        } else {
            self.learner.explore(state.obs.as_ref(), &state.masks, rows, progress, &mut self.act_rng, actions);
        }
    }

    fn observe(&mut self, envs: Range<usize>, actions: &[f32], state: &VecState) {
        let width = self.action_space.width();
        for env in envs {
            let (next_mask, final_mask): (&[bool], &[bool]) = if self.mask_width == 0 {
                (&[], &[])
            } else {
                (self.mask_row(&state.masks, env), self.mask_row(&state.final_masks, env))
            };
            self.store.push(
                env,
                &actions[env * width..(env + 1) * width],
                state.reward[env],
                state.terminated[env],
                state.truncated[env],
                state.obs.rows(env, env + 1, self.obs_width),
                next_mask,
                state.final_obs.rows(env, env + 1, self.obs_width),
                final_mask,
            );
            if state.terminated[env] || state.truncated[env] {
                self.learner.episode_ended(env);
            }
        }
    }

    fn learn(&mut self, _state: &VecState, progress: Progress) -> Result<(), Diverged> {
        let due = self.due(progress.steps);
        if due > 0 && self.store.ready() > 0 {
            let beta = self.settings.priority_beta.at(progress.fraction()) as f32;
            let burst = self.settings.gradient_steps.unwrap_or(self.settings.train_frequency);
            for update in 1..=due {
                self.store.sample(self.settings.batch_size, beta, &mut self.store_rng, &mut self.batch);
                if let Some(hindsight) = &self.settings.hindsight {
                    self.store.relabel(hindsight, &mut self.store_rng, &mut self.batch);
                }
                self.updates += 1;
                self.errors.clear();
                self.learner.update(Update {
                    batch: &self.batch,
                    progress,
                    number: self.updates,
                    closes_burst: update % burst == 0,
                    rng: &mut self.learn_rng,
                    metrics: &mut self.metrics,
                    errors: &mut self.errors,
                })?;
                if self.settings.priority.is_some() {
                    self.store.update_priorities(&self.batch.index, &self.errors);
                }
            }
        }
        self.learner.stepped(self.trained_until, progress.steps);
        self.trained_until = progress.steps;
        Ok(())
    }

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        deterministic: bool,
        _memory: &mut PolicyMemory,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        self.learner.predict(obs, masks, rows, deterministic, rng, actions);
    }

    fn values(&mut self, obs: ObsRef<'_>, masks: &[bool], rows: usize, values: &mut [f32]) {
        self.learner.values(obs, masks, rows, values);
    }

    fn updates(&self) -> u64 {
        self.updates
    }

    fn metrics(&mut self) -> &mut Metrics {
        &mut self.metrics
    }

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.learner.exchange(io)?;
        io.rng("rng.act", &mut self.act_rng)?;
        io.rng("rng.store", &mut self.store_rng)?;
        io.rng("rng.learn", &mut self.learn_rng)?;
        io.value("trained_until", &mut self.trained_until)?;
        io.value("updates", &mut self.updates)?;
        io.value("begun", &mut self.begun)?;
        io.metrics(&mut self.metrics, self.learner.metric_names())
    }

    fn check_place(&self, steps: u64, round: usize) -> Result<(), StateError> {
        let begun = steps > 0;
        if self.begun != begun || self.store.has_begun() != begun {
            return Err(StateError::other_moment("the replay store"));
        }
        check_trained(self.trained_until, steps, round)
    }

    fn write_store(&self, to: &mut dyn io::Write) -> io::Result<()> {
        self.store.write(to)
    }

    fn read_store(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.store.read(from)
    }
}
