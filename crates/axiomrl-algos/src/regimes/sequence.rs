//! Learning from a store of past sequences, with a policy that remembers.

use super::on_policy::{read_floats, write_floats};
use super::{Pace, ReplaySettings};
use crate::agent::{Agent, Clock, LearnError, Need, Setup, UpdateContext};
use crate::parts::actions::random_actions;
use crate::parts::checks::BuildError;
use crate::parts::statistics::RewardStats;
use crate::policy::{ActInput, Acting, Actor, Memory, Mode, Policy};
use crate::state::{StateError, StateIo, Streamed};
use axiomrl_core::{Metrics, RewardScale, Schedule, SequenceBatch, SequenceOutcome, SequenceSpec, SequenceStore};
use axiomrl_envs::{ObsBuf, Rng, VecState};
use std::io::{self, Read, Write};
use std::ops::Range;

/// The part that is particular to an algorithm.
pub trait SequenceLearner: Actor {
    /// Exploring actions. Warm-up with random actions is the regime's business.
    fn explore(
        &mut self,
        input: ActInput<'_>,
        memory: &mut Memory,
        clock: Clock,
        rng: &mut Rng,
        actions: &mut [f32],
    ) -> Result<(), LearnError>;

    /// One update. `errors` is filled with one absolute error per sequence.
    fn update(
        &mut self,
        batch: &SequenceBatch,
        context: &mut UpdateContext<'_>,
        errors: &mut Vec<f32>,
    ) -> Result<(), LearnError>;

    /// Environment steps `before + 1 ..= after` have been taken and learned from: the place for what is counted in steps.
    fn stepped(&mut self, before: u64, after: u64);

    /// Values with an empty memory.
    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]);

    /// Saves or loads what acting does not need.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// When and from what a learner of sequences is updated.
#[derive(Clone, Debug)]
pub struct SequenceSettings {
    /// `batch_size` counts sequences, `capacity` transitions.
    pub replay: ReplaySettings,
    pub length: usize,
    pub overlap: usize,
    /// Whether a sequence begins with the memory that the policy had there.
    pub stored_state: bool,
}

/// A store of sequences round a learner.
pub struct Sequence {
    acting: Acting<dyn SequenceLearner>,
    store: SequenceStore,
    pace: Pace,
    batch_size: usize,
    priority_beta: Schedule,
    rewards: Option<RewardStats>,
    batch: SequenceBatch,
    errors: Vec<f32>,
    memory: Memory,
    /// What the newest step of each environment led to, with the choices allowed there.
    latest: ObsBuf,
    latest_masks: Vec<bool>,
    act_rng: Rng,
    store_rng: Rng,
    learn_rng: Rng,
    mask_width: usize,
}

impl Sequence {
    pub fn new(
        learner: Box<dyn SequenceLearner>,
        settings: SequenceSettings,
        setup: &Setup,
    ) -> Result<Self, BuildError> {
        let replay = settings.replay;
        let (widths, width) = (setup.spaces.obs().widths, learner.memory_width());
        let store = SequenceStore::new(SequenceSpec {
            capacity: replay.capacity,
            lanes: setup.num_envs,
            length: settings.length,
            overlap: settings.overlap,
            widths,
            action_width: setup.action_width(),
            mask_width: setup.mask_width(),
            state_width: if settings.stored_state { width } else { 0 },
            n_step: replay.n_step,
            gamma: replay.gamma,
            prioritized: replay.priority,
        });
        Ok(Self {
            acting: Acting::new(learner, setup.spaces.clone(), setup.normalize_observation)?,
            store,
            pace: replay.pace(),
            batch_size: replay.batch_size,
            rewards: setup.normalize_reward.then(|| RewardStats::new(setup.num_envs, replay.gamma)),
            priority_beta: replay.priority_beta,
            batch: SequenceBatch::default(),
            errors: Vec::new(),
            memory: Memory::new(setup.num_envs, width),
            latest: ObsBuf::zeros(widths, setup.num_envs),
            latest_masks: vec![true; setup.num_envs * setup.mask_width()],
            act_rng: setup.rng("act"),
            store_rng: setup.rng("store"),
            learn_rng: setup.rng("learn"),
            mask_width: setup.mask_width(),
        })
    }

    fn mask_row<'a>(&self, masks: &'a [bool], env: usize) -> &'a [bool] {
        &masks[env * self.mask_width..(env + 1) * self.mask_width]
    }

    /// Remembers what environments show now.
    fn look(&mut self, envs: Range<usize>, state: &VecState) {
        self.acting.count(state.obs.range(envs.clone()));
        self.latest.range_mut(envs.clone()).copy_from(state.obs.range(envs.clone()));
        let masks = envs.start * self.mask_width..envs.end * self.mask_width;
        self.latest_masks[masks.clone()].copy_from_slice(&state.masks[masks]);
    }
}

impl Agent for Sequence {
    fn need(&mut self, clock: Clock) -> Need {
        let learner = &mut self.acting.learner;
        self.pace.need(clock, self.store.ready() > 0, |before, after| learner.stepped(before, after))
    }

    fn restarted(&mut self, envs: Range<usize>, state: &VecState) -> Result<(), LearnError> {
        for env in envs.clone() {
            let mask = &self.latest_masks[env * self.mask_width..(env + 1) * self.mask_width];
            self.store.cut_off(env, self.latest.row(env), mask);
            self.memory.starts[env] = true;
        }
        if let Some(rewards) = &mut self.rewards {
            rewards.restarted(envs.clone());
        }
        self.look(envs, state);
        Ok(())
    }

    fn act(&mut self, state: &VecState, clock: Clock, actions: &mut [f32]) -> Result<(), LearnError> {
        let stored = self.store.spec().state_width;
        self.memory.empty_at_starts();
        for env in 0..self.store.spec().lanes {
            let mask = &state.masks[env * self.mask_width..(env + 1) * self.mask_width];
            self.store.open(env, state.obs.row(env), mask, &self.memory.row(env)[..stored]);
        }
        // The memory moves on whoever chooses the actions: what was seen was seen.
        let warming_up = self.pace.is_warming_up(clock);
        let (memory, rng) = (&mut self.memory, &mut self.act_rng);
        self.acting.with_scaled(state.obs.as_ref(), |learner, obs| {
            let input = ActInput { obs, masks: &state.masks };
            match warming_up {
                true => learner.act(input, memory, Mode::Best, rng, actions),
                false => learner.explore(input, memory, clock, rng, actions),
            }
        })?;
        if warming_up {
            random_actions(&self.acting.spaces().action, &state.masks, &mut self.act_rng, actions);
        }
        self.memory.starts.fill(false);
        Ok(())
    }

    fn observe(&mut self, envs: Range<usize>, actions: &[f32], state: &VecState) -> Result<(), LearnError> {
        if let Some(rewards) = &mut self.rewards {
            rewards.count(envs.clone(), state);
        }
        self.acting.learner.feedback(&mut self.memory, envs.clone(), actions, &state.reward);
        let action_width = self.store.spec().action_width;
        for env in envs.clone() {
            if !state.stepped[env] {
                self.store.cut_off(env, state.obs.row(env), self.mask_row(&state.masks, env));
                self.memory.starts[env] = true;
                continue;
            }
            let outcome = SequenceOutcome {
                reward: state.reward[env],
                terminated: state.terminated[env],
                truncated: state.truncated[env],
                final_obs: state.final_obs.row(env),
                final_mask: self.mask_row(&state.final_masks, env),
            };
            self.store.close(env, &actions[env * action_width..(env + 1) * action_width], &outcome);
            self.memory.starts[env] = outcome.terminated || outcome.truncated;
        }
        self.look(envs, state);
        Ok(())
    }

    fn update(&mut self, clock: Clock, metrics: &mut Metrics) -> Result<u64, LearnError> {
        let beta = self.priority_beta.at(clock.fraction()) as f32;
        self.store.reward_scale = self.rewards.as_ref().map_or(RewardScale::IDENTITY, RewardStats::scale);
        self.store.sample(self.batch_size, beta, &mut self.store_rng, &mut self.batch);
        // The store keeps what it was given; from here on it is as networks take it.
        if let Some(stats) = &self.acting.stats {
            let width = self.batch.obs.widths().floats;
            stats.scale(&mut self.batch.obs.floats, width);
        }
        self.errors.clear();
        let closes_burst = self.pace.closes_burst();
        let mut context = UpdateContext { clock, closes_burst, rng: &mut self.learn_rng, metrics };
        self.acting.learner.update(&self.batch, &mut context, &mut self.errors)?;
        self.store.update_priorities(&self.batch.index, &self.errors);
        self.pace.updated(clock);
        Ok(1)
    }

    fn policy(&mut self) -> &mut dyn Policy {
        &mut self.acting
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        self.acting.with_scaled(input.obs, |learner, obs| learner.values(ActInput { obs, ..input }, values));
        true
    }

    fn check_place(&self, env_steps: u64, round: usize) -> Result<(), StateError> {
        let open = |lane: usize| round > 0 && lane >= round;
        let lanes = self.store.spec().lanes;
        if (0..lanes).any(|lane| self.store.is_open(lane) != open(lane)) {
            return Err(StateError::other_moment("the replay store"));
        }
        self.pace.check_place(env_steps, lanes)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.acting.visit_state(io)?;
        self.acting.learner.visit_state(io)?;
        io.rng("rng.act", &mut self.act_rng)?;
        io.rng("rng.store", &mut self.store_rng)?;
        io.rng("rng.learn", &mut self.learn_rng)?;
        self.pace.visit_state(io)?;
        self.memory.visit_state(io)?;
        io.flags("latest.masks", &mut self.latest_masks)?;
        if let Some(rewards) = &mut self.rewards {
            rewards.visit_state(io)?;
        }
        io.streamed("sequences", &mut SequencesOf(self))
    }
}

/// The store with what the newest steps led to.
struct SequencesOf<'a>(&'a mut Sequence);

impl Streamed for SequencesOf<'_> {
    fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        self.0.store.write(to)?;
        write_floats(to, &self.0.latest.floats)?;
        to.write_all(&self.0.latest.bytes)
    }

    fn read(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.0.store.read(from)?;
        read_floats(from, &mut self.0.latest.floats)?;
        from.read_exact(&mut self.0.latest.bytes)
    }
}
