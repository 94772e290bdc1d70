//! Learning from what the current policy has just done, when it remembers.

use super::hidden::{Hidden, prepare};
use super::on_policy::ready_to_learn;
use crate::agent::{Agent, Diverged, PolicyMemory, Progress, Setup};
use crate::state::{StateError, StateIo};
use axiomrl_core::{Metrics, Rollout, RolloutSpec};
use axiomrl_envs::{ObsRef, Rng, VecState};
use std::io;
use std::ops::Range;

/// What an update may use besides its rollout.
pub struct RecurrentUpdate<'a> {
    /// Complete, with advantages and returns.
    pub rollout: &'a Rollout,
    /// Where the memory was emptied, one entry per row of the rollout.
    pub starts: &'a [bool],
    /// The memory at the beginning of each sequence: `[sequence][environment][state]`.
    pub states: &'a [f32],
    /// Steps of a sequence; the last one may be shorter.
    pub length: usize,
    pub progress: Progress,
    pub rng: &'a mut Rng,
    pub metrics: &'a mut Metrics,
    /// Gradient updates so far; the learner counts on.
    pub updates: &'a mut u64,
}

/// The part that is particular to an algorithm. `state` holds a row of memory per environment; it moves on with every
/// observation, and is emptied first where `starts` says so.
pub trait RecurrentLearner: Send {
    /// Numbers of a row of memory.
    fn state_width(&self) -> usize;

    /// Samples actions and says how likely and how valuable they are.
    fn act(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        starts: &[bool],
        state: &mut [f32],
        rng: &mut Rng,
        actions: &mut [f32],
        log_probs: &mut [f32],
        values: &mut [f32],
    );

    /// Values of observations, given the memory that led to them; nothing is remembered of it.
    fn values(&mut self, obs: ObsRef<'_>, rows: usize, state: &[f32], values: &mut [f32]);

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        deterministic: bool,
        starts: &[bool],
        state: &mut [f32],
        rng: &mut Rng,
        actions: &mut [f32],
    );

    fn update(&mut self, update: RecurrentUpdate<'_>) -> Result<(), Diverged>;

    fn metric_names(&self) -> &'static [&'static str];

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// How rollouts are made and cut.
pub struct RecurrentSettings {
    pub num_steps: usize,
    pub sequence_length: usize,
    pub gamma: f32,
    pub gae_lambda: f32,
}

pub struct RecurrentRollout<L> {
    learner: L,
    settings: RecurrentSettings,
    rollout: Rollout,
    /// Rows of the rollout that were begun.
    begun: usize,
    starts: Vec<bool>,
    states: Vec<f32>,
    hidden: Hidden,
    updates: u64,
    metrics: Metrics,
    act_rng: Rng,
    learn_rng: Rng,
    log_probs: Vec<f32>,
    values: Vec<f32>,
}

impl<L: RecurrentLearner> RecurrentRollout<L> {
    pub fn new(learner: L, settings: RecurrentSettings, setup: &Setup) -> Self {
        let (steps, lanes, width) = (settings.num_steps, setup.num_envs, learner.state_width());
        let rollout = Rollout::new(RolloutSpec {
            steps,
            lanes,
            obs_width: setup.obs_width(),
            obs_dtype: setup.observation_space.dtype(),
            action_width: setup.action_width(),
            mask_width: setup.mask_width(),
        });
        Self {
            rollout,
            begun: 0,
            starts: vec![false; steps * lanes],
            states: vec![0.0; steps.div_ceil(settings.sequence_length) * lanes * width],
            hidden: Hidden::new(lanes, width),
            updates: 0,
            metrics: Metrics::default(),
            act_rng: setup.rng("act"),
            learn_rng: setup.rng("learn"),
            log_probs: vec![0.0; lanes],
            values: vec![0.0; lanes],
            learner,
            settings,
        }
    }

    /// Values the place where the last step led to, in every environment whose episode goes on there.
    fn bootstrap(&mut self, state: &VecState) {
        let (last, lanes) = (self.rollout.filled - 1, self.rollout.lanes);
        self.learner.values(state.obs.as_ref(), lanes, &self.hidden.state, &mut self.values);
        for lane in 0..lanes {
            let at = last * lanes + lane;
            if !self.rollout.terminated[at] && !self.rollout.truncated[at] {
                self.rollout.set_next_value(last, lane, self.values[lane]);
            }
        }
    }

    /// Entries of `states` that the rows begun so far have filled.
    fn states_in_use(&self) -> usize {
        self.begun.div_ceil(self.settings.sequence_length) * self.hidden.state.len()
    }
}

impl<L: RecurrentLearner> Agent for RecurrentRollout<L> {
    fn act(&mut self, state: &VecState, _progress: Progress, actions: &mut [f32]) {
        let (rows, row, length) = (self.rollout.lanes, self.rollout.filled, self.settings.sequence_length);
        self.hidden.empty_at_starts();
        if row.is_multiple_of(length) {
            let size = self.hidden.state.len();
            self.states[row / length * size..(row / length + 1) * size].copy_from_slice(&self.hidden.state);
        }
        self.starts[row * rows..(row + 1) * rows].copy_from_slice(&self.hidden.starts);
        self.learner.act(
            state.obs.as_ref(),
            &state.masks,
            rows,
            &self.hidden.starts,
            &mut self.hidden.state,
            &mut self.act_rng,
            actions,
            &mut self.log_probs,
            &mut self.values,
        );
        self.hidden.starts.fill(false);
        self.begun = row + 1;
        self.rollout.begin_row(row, state.obs.as_ref(), &state.masks, actions, &self.log_probs, &self.values);
    }

    fn observe(&mut self, envs: Range<usize>, _actions: &[f32], state: &VecState) {
        let (row, width) = (self.rollout.filled, self.rollout.spec().obs_width);
        for env in envs {
            let (terminated, truncated) = (state.terminated[env], state.truncated[env]);
            self.rollout.set_outcome(row, env, state.reward[env], terminated, truncated);
            if truncated {
                // With the memory that led there: the episode would have gone on with it.
                let mut value = [0.0];
                self.learner.values(state.final_obs.rows(env, env + 1, width), 1, self.hidden.row(env), &mut value);
                self.rollout.set_next_value(row, env, value[0]);
            }
            self.hidden.starts[env] = terminated || truncated;
        }
    }

    fn learn(&mut self, state: &VecState, progress: Progress) -> Result<(), Diverged> {
        if !ready_to_learn(&self.rollout, progress) {
            return Ok(());
        }
        self.bootstrap(state);
        self.rollout.compute_gae(self.settings.gamma, self.settings.gae_lambda);
        self.learner.update(RecurrentUpdate {
            rollout: &self.rollout,
            starts: &self.starts,
            states: &self.states,
            length: self.settings.sequence_length,
            progress,
            rng: &mut self.learn_rng,
            metrics: &mut self.metrics,
            updates: &mut self.updates,
        })?;
        self.rollout.clear();
        self.begun = 0;
        Ok(())
    }

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        deterministic: bool,
        memory: &mut PolicyMemory,
        rng: &mut Rng,
        actions: &mut [f32],
    ) {
        prepare(memory, rows, self.learner.state_width());
        self.learner.predict(obs, masks, rows, deterministic, &memory.starts, &mut memory.hidden, rng, actions);
    }

    fn values(&mut self, obs: ObsRef<'_>, _masks: &[bool], rows: usize, values: &mut [f32]) {
        let empty = vec![0.0; rows * self.learner.state_width()];
        self.learner.values(obs, rows, &empty, values);
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
        io.rng("rng.learn", &mut self.learn_rng)?;
        io.value("updates", &mut self.updates)?;
        self.hidden.exchange(io)?;
        io.metrics(&mut self.metrics, self.learner.metric_names())
    }

    fn check_place(&self, _steps: u64, round: usize) -> Result<(), StateError> {
        let begun = self.rollout.filled + usize::from(round > 0);
        let fits = self.rollout.outcomes() == round && self.begun == begun && !self.rollout.is_full();
        if fits { Ok(()) } else { Err(StateError::other_moment("the rollout")) }
    }

    /// The rollout, then where its sequences begin and with what memory.
    fn write_store(&self, to: &mut dyn io::Write) -> io::Result<()> {
        self.rollout.write(to)?;
        to.write_all(&(self.begun as u64).to_le_bytes())?;
        let starts: Vec<u8> = self.starts[..self.begun * self.rollout.lanes].iter().map(|&s| u8::from(s)).collect();
        to.write_all(&starts)?;
        let states: Vec<u8> = self.states[..self.states_in_use()].iter().flat_map(|x| x.to_le_bytes()).collect();
        to.write_all(&states)
    }

    fn read_store(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.rollout.read(from)?;
        let mut count = [0; 8];
        from.read_exact(&mut count)?;
        let begun = usize::try_from(u64::from_le_bytes(count)).ok().filter(|&n| n <= self.rollout.steps);
        self.begun = begun.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "the saved rollout is damaged: more steps than a rollout has")
        })?;
        let mut starts = vec![0; self.begun * self.rollout.lanes];
        from.read_exact(&mut starts)?;
        self.starts.iter_mut().zip(starts).for_each(|(start, byte)| *start = byte != 0);
        let mut states = vec![0; 4 * self.states_in_use()];
        from.read_exact(&mut states)?;
        for (state, bytes) in self.states.iter_mut().zip(states.chunks_exact(4)) {
            *state = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Ok(())
    }
}
