//! Learning from what the current policy has just done.

use crate::agent::{Agent, Diverged, PolicyMemory, Progress, Setup};
use crate::state::{StateError, StateIo};
use axiomrl_core::{Metrics, Rollout, RolloutSpec};
use axiomrl_envs::{ObsRef, Rng, VecState};
use std::io;
use std::ops::Range;

/// What an update may use besides its rollout.
pub struct RolloutUpdate<'a> {
    /// Complete, with advantages and returns.
    pub rollout: &'a Rollout,
    pub progress: Progress,
    pub rng: &'a mut Rng,
    pub metrics: &'a mut Metrics,
    /// Gradient updates so far; the learner counts on.
    pub updates: &'a mut u64,
}

/// The part that is particular to an algorithm.
pub trait RolloutLearner: Send {
    /// Samples actions and says how likely and how valuable they are.
    fn act(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        rng: &mut Rng,
        actions: &mut [f32],
        log_probs: &mut [f32],
        values: &mut [f32],
    );

    fn values(&mut self, obs: ObsRef<'_>, rows: usize, values: &mut [f32]);

    fn predict(
        &mut self,
        obs: ObsRef<'_>,
        masks: &[bool],
        rows: usize,
        deterministic: bool,
        rng: &mut Rng,
        actions: &mut [f32],
    );

    fn update(&mut self, update: RolloutUpdate<'_>) -> Result<(), Diverged>;

    fn metric_names(&self) -> &'static [&'static str];

    fn exchange(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// Whether a rollout is learned from now: when it is full, and a shorter one at the run's end. Where the end cuts a row
/// short, the rollout stays open: the environments that have stepped are already past the place that the others' values
/// would be taken from, and a run that is made longer goes on with the row.
pub(super) fn ready_to_learn(rollout: &Rollout, progress: Progress) -> bool {
    rollout.is_full() || (progress.is_over() && rollout.filled > 0 && rollout.outcomes() == 0)
}

pub struct OnPolicy<L> {
    learner: L,
    rollout: Rollout,
    gamma: f32,
    gae_lambda: f32,
    updates: u64,
    metrics: Metrics,
    act_rng: Rng,
    learn_rng: Rng,
    obs_width: usize,
    log_probs: Vec<f32>,
    values: Vec<f32>,
}

impl<L: RolloutLearner> OnPolicy<L> {
    pub fn new(learner: L, num_steps: usize, gamma: f32, gae_lambda: f32, setup: &Setup) -> Self {
        let rollout = Rollout::new(RolloutSpec {
            steps: num_steps,
            lanes: setup.num_envs,
            obs_width: setup.obs_width(),
            obs_dtype: setup.observation_space.dtype(),
            action_width: setup.action_width(),
            mask_width: setup.mask_width(),
        });
        Self {
            learner,
            rollout,
            gamma,
            gae_lambda,
            updates: 0,
            metrics: Metrics::default(),
            act_rng: setup.rng("act"),
            learn_rng: setup.rng("learn"),
            obs_width: setup.obs_width(),
            log_probs: vec![0.0; setup.num_envs],
            values: vec![0.0; setup.num_envs],
        }
    }

    /// Values the place where the last step led to, in every environment whose episode goes on there.
    fn bootstrap(&mut self, state: &VecState) {
        let (last, lanes) = (self.rollout.filled - 1, self.rollout.lanes);
        self.learner.values(state.obs.as_ref(), lanes, &mut self.values);
        for lane in 0..lanes {
            let at = last * lanes + lane;
            if !self.rollout.terminated[at] && !self.rollout.truncated[at] {
                self.rollout.set_next_value(last, lane, self.values[lane]);
            }
        }
    }
}

impl<L: RolloutLearner> Agent for OnPolicy<L> {
    fn act(&mut self, state: &VecState, _progress: Progress, actions: &mut [f32]) {
        let rows = self.rollout.lanes;
        self.learner.act(
            state.obs.as_ref(),
            &state.masks,
            rows,
            &mut self.act_rng,
            actions,
            &mut self.log_probs,
            &mut self.values,
        );
        self.rollout.begin_row(
            self.rollout.filled,
            state.obs.as_ref(),
            &state.masks,
            actions,
            &self.log_probs,
            &self.values,
        );
    }

    fn observe(&mut self, envs: Range<usize>, _actions: &[f32], state: &VecState) {
        let row = self.rollout.filled;
        for env in envs {
            let (terminated, truncated) = (state.terminated[env], state.truncated[env]);
            self.rollout.set_outcome(row, env, state.reward[env], terminated, truncated);
            if truncated {
                let mut value = [0.0];
                self.learner.values(state.final_obs.rows(env, env + 1, self.obs_width), 1, &mut value);
                self.rollout.set_next_value(row, env, value[0]);
            }
        }
    }

    fn learn(&mut self, state: &VecState, progress: Progress) -> Result<(), Diverged> {
        if !ready_to_learn(&self.rollout, progress) {
            return Ok(());
        }
        self.bootstrap(state);
        self.rollout.compute_gae(self.gamma, self.gae_lambda);
        self.learner.update(RolloutUpdate {
            rollout: &self.rollout,
            progress,
            rng: &mut self.learn_rng,
            metrics: &mut self.metrics,
            updates: &mut self.updates,
        })?;
        self.rollout.clear();
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

    fn values(&mut self, obs: ObsRef<'_>, _masks: &[bool], rows: usize, values: &mut [f32]) {
        self.learner.values(obs, rows, values);
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
        io.metrics(&mut self.metrics, self.learner.metric_names())
    }

    fn check_place(&self, _steps: u64, round: usize) -> Result<(), StateError> {
        let fits = self.rollout.outcomes() == round && !self.rollout.is_full();
        if fits { Ok(()) } else { Err(StateError::other_moment("the rollout")) }
    }

    fn write_store(&self, to: &mut dyn io::Write) -> io::Result<()> {
        self.rollout.write(to)
    }

    fn read_store(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.rollout.read(from)
    }
}
