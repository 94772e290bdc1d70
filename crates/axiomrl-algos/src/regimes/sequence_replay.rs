//! Learning from streams of rows: what world models need.

use super::TrainRatio;
use super::streams::Streams;
use crate::agent::{Agent, Clock, LearnError, Learned, Need, Setup, UpdateContext};
use crate::by_hand::Refused;
use crate::parts::checks::BuildError;
use crate::parts::statistics::RewardStats;
use crate::policy::{ActContext, ActInput, Acting, Actor, Memory, Mode, Policy};
use crate::state::{StateError, StateIo, Streamed};
use axiomrl_core::{LatentSpec, Metrics, RewardScale, SequenceBatch, SequenceSpec, SequenceStore};
use axiomrl_envs::VecState;
use std::io;
use std::ops::Range;

/// States of a model, row by row: numbers, and choices as bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelStates {
    pub deter: Vec<f32>,
    pub classes: Vec<u8>,
}

/// The part that is particular to an algorithm.
pub trait SequenceLearner: Actor {
    /// What is kept of a model's state in each row, so that windows can begin with it; of no width where they begin without.
    fn latents(&self) -> LatentSpec {
        LatentSpec::default()
    }

    /// The state in a row of memory.
    fn recall(&self, _memory: &[f32], _state: &mut ModelStates) {}

    /// Exploring actions; the mode is that of sampling. Warm-up with random actions is the regime's business.
    fn explore(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        self.act(input, context, actions)
    }

    /// One update. `states` is filled with those of all rows but the first of each window, where they are kept.
    fn update(&mut self, batch: &SequenceBatch, context: &mut UpdateContext<'_>, states: &mut ModelStates) -> Learned;

    /// What each observation is worth as the first of an episode. Says whether the learner thinks of values.
    fn values(&mut self, _input: ActInput<'_>, _values: &mut [f32]) -> bool {
        false
    }

    /// Saves or loads what acting does not need.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// When and from what a learner of sequences is updated.
#[derive(Clone, Debug)]
pub struct SequenceReplaySettings {
    /// Rows kept.
    pub capacity: usize,
    /// Windows of an update.
    pub batch_size: usize,
    /// Rows of a window that are learned from. With kept states there is one more before them.
    pub batch_length: usize,
    /// Replayed rows for each environment step.
    pub train_ratio: f64,
    /// Steps of uniformly random actions before the first update.
    pub learning_starts: u64,
    /// Whether what just arrived is drawn first.
    pub online_queue: bool,
    pub gamma: f32,
}

/// A store of streams round a learner.
pub struct SequenceReplay {
    acting: Acting<dyn SequenceLearner>,
    store: SequenceStore,
    settings: SequenceReplaySettings,
    ratio: TrainRatio,
    reward: RewardScale,
    rewards: Option<RewardStats>,
    batch: SequenceBatch,
    states: ModelStates,
    memory: Memory,
    streams: Streams,
}

impl SequenceReplay {
    pub fn new(
        learner: Box<dyn SequenceLearner>,
        settings: SequenceReplaySettings,
        setup: &Setup,
    ) -> Result<Self, BuildError> {
        let latents = learner.latents();
        let context = usize::from(latents != LatentSpec::default());
        let store = SequenceStore::new(SequenceSpec {
            capacity: settings.capacity,
            lanes: setup.num_envs,
            widths: setup.spaces.obs().widths,
            action_width: setup.action_width(),
            length: settings.batch_length + context,
            latents,
        });
        let acting = Acting::new(learner, setup.spaces.clone(), setup.scaling)?;
        Ok(Self {
            memory: Memory::new(setup.num_envs, acting.learner.memory_width()),
            acting,
            store,
            ratio: TrainRatio::new(settings.train_ratio, settings.batch_size * settings.batch_length),
            reward: setup.reward,
            rewards: setup.normalize_reward.then(|| RewardStats::new(setup.num_envs, settings.gamma)),
            settings,
            batch: SequenceBatch::default(),
            states: ModelStates::default(),
            streams: Streams::new(setup),
        })
    }

    /// Whether there is as much as an update takes.
    fn ready(&self, clock: Clock) -> bool {
        let rows = self.settings.batch_size * self.settings.batch_length;
        clock.env_steps >= self.settings.learning_starts
            && self.store.windows() > 0
            && self.store.len() >= rows.min(self.store.spec().capacity)
    }

    /// Keeps the state that the model has in the row that waits for its action.
    fn keep_states(&mut self) {
        let LatentSpec { deter, groups } = self.acting.learner.latents();
        if deter + groups == 0 {
            return;
        }
        for env in 0..self.memory.starts.len() {
            self.acting.learner.recall(self.memory.row(env), &mut self.states);
            self.store.remember(env, &self.states.deter, &self.states.classes);
        }
    }

    /// Begins an episode of `env` with what it shows now; one that was under way counts as cut off.
    fn begin(&mut self, env: usize, state: &VecState) {
        self.store.begin(env, state.obs.row(env));
        self.memory.starts[env] = true;
    }
}

impl Agent for SequenceReplay {
    fn need(&mut self, clock: Clock) -> Need {
        let ready = self.ready(clock);
        self.ratio.need(clock, ready)
    }

    fn restarted(&mut self, envs: Range<usize>, state: &VecState) -> Result<(), LearnError> {
        self.acting.count(state.obs.range(envs.clone()));
        if let Some(rewards) = &mut self.rewards {
            rewards.restarted(envs.clone());
        }
        envs.for_each(|env| self.begin(env, state));
        Ok(())
    }

    fn act(&mut self, state: &VecState, clock: Clock, actions: &mut [f32]) -> Result<(), LearnError> {
        self.memory.empty_at_starts();
        let (memory, rng) = (&mut self.memory, &mut self.streams.act);
        if clock.env_steps < self.settings.learning_starts {
            self.acting.act_by_chance(state, ActContext::new(memory, Mode::Best, rng), actions)?;
        } else {
            self.acting.with_scaled(state.obs.as_ref(), |learner, obs| {
                let input = ActInput { obs, masks: &state.masks };
                learner.explore(input, ActContext::new(memory, Mode::Sample, rng), actions)
            })?;
        }
        self.memory.starts.fill(false);
        self.keep_states();
        Ok(())
    }

    fn observe(&mut self, envs: Range<usize>, actions: &[f32], state: &VecState) -> Result<(), LearnError> {
        if let Some(rewards) = &mut self.rewards {
            rewards.count(envs.clone(), state);
        }
        self.acting.took(envs.clone(), actions, state, &mut self.memory);
        let width = self.acting.spaces().action.width();
        for env in envs {
            if !state.stepped[env] {
                self.begin(env, state);
                continue;
            }
            let (terminated, truncated) = (state.terminated[env], state.truncated[env]);
            self.store.push(
                env,
                &actions[env * width..(env + 1) * width],
                state.reward[env],
                terminated,
                truncated,
                state.obs.row(env),
                state.final_obs.row(env),
            );
            self.memory.starts[env] = terminated || truncated;
        }
        Ok(())
    }

    fn update(&mut self, clock: Clock, metrics: &mut Metrics) -> Result<u64, LearnError> {
        let SequenceReplaySettings { batch_size, online_queue, .. } = self.settings;
        let reward = self.rewards.as_ref().map_or(self.reward, RewardStats::scale);
        self.store.draw(batch_size, online_queue, reward, &mut self.streams.store, &mut self.batch)?;
        // The store keeps observations raw; from here on they are as networks take them.
        if let Some(stats) = &self.acting.stats {
            let width = self.batch.obs.widths().floats;
            stats.scale(&mut self.batch.obs.floats, width);
        }
        let mut context = UpdateContext::new(clock, &mut self.streams.learn, metrics);
        let learner = &mut self.acting.learner;
        learner.update(&self.batch, &mut context, &mut self.states)?;
        if learner.latents() != LatentSpec::default() {
            self.store.write_back(&self.batch, 1, &self.states.deter, &self.states.classes);
        }
        self.ratio.updated(clock.env_steps);
        Ok(1)
    }

    fn check_spare_update(&mut self, _clock: Clock) -> Result<(), Refused> {
        match self.store.windows() {
            0 => Err(Refused::NotYet("no sequence of steps is long enough to learn from yet; `collect` more".into())),
            _ => Ok(()),
        }
    }

    fn waive(&mut self, clock: Clock) {
        self.ratio.waive(clock.env_steps);
    }

    fn policy(&mut self) -> &mut dyn Policy {
        &mut self.acting
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        self.acting.with_scaled(input.obs, |learner, obs| learner.values(ActInput { obs, ..input }, values))
    }

    fn check_place(&self, env_steps: u64, _round: usize) -> Result<(), StateError> {
        if !self.store.has_begun() {
            return Err(StateError::other_moment("the sequence store"));
        }
        self.ratio.check_place(env_steps, self.memory.starts.len())
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.acting.visit_state(io)?;
        self.acting.learner.visit_state(io)?;
        self.streams.visit_state(io)?;
        self.ratio.visit_state(io)?;
        self.memory.visit_state(io)?;
        if let Some(rewards) = &mut self.rewards {
            rewards.visit_state(io)?;
        }
        io.store("replay", &mut self.store)?;
        if self.acting.learner.latents() != LatentSpec::default() {
            io.streamed("latents", &mut LatentsOf(&mut self.store))?;
        }
        Ok(())
    }
}

/// The states of a model: they change long after their rows were stored, so they are kept apart.
struct LatentsOf<'a>(&'a mut SequenceStore);

impl Streamed for LatentsOf<'_> {
    fn write(&mut self, to: &mut dyn io::Write) -> io::Result<()> {
        self.0.write_latents(to)
    }

    fn read(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.0.read_latents(from)
    }
}
