//! Learning from a store of past sequences, with a policy that remembers.

use super::ReplaySettings;
use super::hidden::Hidden;
use super::off_policy::check_trained;
use crate::agent::{Agent, Diverged, PolicyMemory, Progress, Setup};
use crate::parts::actions::random_actions;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Metrics, SequenceBatch, SequenceOutcome, SequenceSpec, SequenceStore};
use axiomrl_envs::{ObsRef, Rng, Space, VecState};
use std::io;
use std::ops::Range;

/// What an update may use besides its batch.
pub struct SequenceUpdate<'a> {
    pub batch: &'a SequenceBatch,
    pub progress: Progress,
    /// Number of this update, from 1.
    pub number: u64,
    pub metrics: &'a mut Metrics,
    /// Filled with one absolute error per sequence.
    pub errors: &'a mut Vec<f32>,
}

/// The part that is particular to an algorithm. `state` holds a row of memory per environment; it moves on with every
/// observation, and is emptied first where `starts` says so.
pub trait SequenceLearner: Send {
    /// Numbers of a row of memory.
    fn state_width(&self) -> usize;

    /// Exploring actions. Warm-up with random actions is the regime's business.
    fn explore(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        starts: &[bool],
        state: &mut [f32],
        progress: Progress,
        rng: &mut Rng,
        actions: &mut [f32],
    );

    /// The best actions.
    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        starts: &[bool],
        state: &mut [f32],
        actions: &mut [f32],
    );

    /// Values with an empty memory.
    fn values(&mut self, obs: ObsRef<'_>, masks: &[bool], rows: usize, values: &mut [f32]);

    fn update(&mut self, update: SequenceUpdate<'_>) -> Result<(), Diverged>;

    /// Environment steps `before + 1 ..= after` have been taken: the place for what is counted in steps.
    fn stepped(&mut self, before: u64, after: u64);

    /// Names under which the learner reports, so that averages survive a resume.
    fn metric_names(&self) -> &'static [&'static str];

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// When and from what a learner of sequences is updated.
pub struct SequenceSettings {
    /// `batch_size` counts sequences, `capacity` transitions.
    pub replay: ReplaySettings,
    pub length: usize,
    pub overlap: usize,
    /// Whether a sequence begins with the memory that the policy had there.
    pub stored_state: bool,
}

pub struct Sequence<L> {
    learner: L,
    settings: ReplaySettings,
    action_space: Space,
    store: SequenceStore,
    batch: SequenceBatch,
    errors: Vec<f32>,
    metrics: Metrics,
    hidden: Hidden,
    act_rng: Rng,
    store_rng: Rng,
    /// Environment steps whose updates are done.
    trained_until: u64,
    updates: u64,
}

impl<L: SequenceLearner> Sequence<L> {
    pub fn new(learner: L, settings: SequenceSettings, setup: &Setup) -> Self {
        let replay = settings.replay;
        let store = SequenceStore::new(SequenceSpec {
            capacity: replay.capacity,
            lanes: setup.num_envs,
            length: settings.length,
            overlap: settings.overlap,
            obs_width: setup.obs_width(),
            obs_dtype: setup.observation_space.dtype(),
            action_width: setup.action_width(),
            mask_width: setup.mask_width(),
            state_width: if settings.stored_state { learner.state_width() } else { 0 },
            n_step: replay.n_step,
            gamma: replay.gamma,
            prioritized: replay.priority,
        });
        Self {
            hidden: Hidden::new(setup.num_envs, learner.state_width()),
            learner,
            settings: replay,
            action_space: setup.action_space.clone(),
            store,
            batch: SequenceBatch::default(),
            errors: Vec::new(),
            metrics: Metrics::default(),
            act_rng: setup.rng("act"),
            store_rng: setup.rng("store"),
            trained_until: 0,
            updates: 0,
        }
    }

    /// Updates that the steps up to `steps` call for.
    fn due(&self, steps: u64) -> u64 {
        let every = self.settings.train_frequency;
        let from = self.trained_until.max(self.settings.learning_starts);
        let bursts = (steps / every).saturating_sub(from / every);
        bursts * self.settings.gradient_steps.unwrap_or(every)
    }

    fn update(&mut self, beta: f32, progress: Progress) -> Result<(), Diverged> {
        self.store.sample(self.settings.batch_size, beta, &mut self.store_rng, &mut self.batch);
        self.updates += 1;
        self.errors.clear();
        self.learner.update(SequenceUpdate {
            batch: &self.batch,
            progress,
            number: self.updates,
            metrics: &mut self.metrics,
            errors: &mut self.errors,
        })?;
        self.store.update_priorities(&self.batch.index, &self.errors);
        Ok(())
    }
}

impl<L: SequenceLearner> Agent for Sequence<L> {
    fn act(&mut self, state: &VecState, progress: Progress, actions: &mut [f32]) {
        let spec = self.store.spec();
        let (rows, obs_width, mask_width) = (spec.lanes, spec.obs_width, spec.mask_width);
        let stored = spec.state_width;
        self.hidden.empty_at_starts();
        for env in 0..rows {
            let obs = state.obs.rows(env, env + 1, obs_width);
            let mask = &state.masks[env * mask_width..(env + 1) * mask_width];
            self.store.open(env, obs, mask, &self.hidden.row(env)[..stored]);
        }
        // The memory moves on whoever chooses the actions: what was seen was seen.
        let (obs, Hidden { state: memory, starts, .. }) = (state.obs.as_ref(), &mut self.hidden);
        if progress.steps < self.settings.learning_starts {
            self.learner.predict(obs, &state.masks, rows, starts, memory, actions);
            random_actions(&self.action_space, &state.masks, &mut self.act_rng, actions);
        } else {
            let rng = &mut self.act_rng;
            self.learner.explore(obs, &state.masks, rows, starts, memory, progress, rng, actions);
        }
        self.hidden.starts.fill(false);
    }

    fn observe(&mut self, envs: Range<usize>, actions: &[f32], state: &VecState) {
        let spec = self.store.spec();
        let (obs_width, mask_width, action_width) = (spec.obs_width, spec.mask_width, spec.action_width);
        for env in envs {
            let outcome = SequenceOutcome {
                reward: state.reward[env],
                terminated: state.terminated[env],
                truncated: state.truncated[env],
                final_obs: state.final_obs.rows(env, env + 1, obs_width),
                final_mask: &state.final_masks[env * mask_width..(env + 1) * mask_width],
            };
            self.store.close(env, &actions[env * action_width..(env + 1) * action_width], &outcome);
            self.hidden.starts[env] = outcome.terminated || outcome.truncated;
        }
    }

    fn learn(&mut self, _state: &VecState, progress: Progress) -> Result<(), Diverged> {
        if self.store.ready() > 0 {
            let beta = self.settings.priority_beta.at(progress.fraction()) as f32;
            for _ in 0..self.due(progress.steps) {
                self.update(beta, progress)?;
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
        _deterministic: bool,
        memory: &mut PolicyMemory,
        _rng: &mut Rng,
        actions: &mut [f32],
    ) {
        super::hidden::prepare(memory, rows, self.learner.state_width());
        self.learner.predict(obs, masks, rows, &memory.starts, &mut memory.hidden, actions);
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
        io.value("trained_until", &mut self.trained_until)?;
        io.value("updates", &mut self.updates)?;
        self.hidden.exchange(io)?;
        io.metrics(&mut self.metrics, self.learner.metric_names())
    }

    fn check_place(&self, steps: u64, round: usize) -> Result<(), StateError> {
        let open = |lane: usize| round > 0 && lane >= round;
        if (0..self.store.spec().lanes).any(|lane| self.store.is_open(lane) != open(lane)) {
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
