//! Learning from a store of past transitions.

mod given;
#[cfg(test)]
mod tests;

use super::streams::Streams;
use super::{Pace, ReplaySettings};
use crate::agent::{Agent, Clock, LearnError, Learned, Need, Phases, Setup, UpdateContext};
use crate::by_hand::{Refused, Replay};
use crate::config::Problem;
use crate::parts::checks::BuildError;
use crate::parts::statistics::{ObsStats, RewardStats};
use crate::policy::{ActContext, ActInput, Acting, Actor, Memory, Mode, Policy};
use crate::state::{StateError, StateIo, Streamed};
use axiomrl_core::{
    Batch, BatchSource, Dataset, Metrics, Mixture, Owned, RewardScale, Ring, RingSpec, SampleOptions, Schedule, View,
};
use axiomrl_envs::VecState;
use given::Lent;
use std::io;
use std::ops::Range;

/// The part that is particular to an algorithm.
pub trait ReplayLearner: Actor {
    /// Exploring actions; the mode is that of sampling. Warm-up with random actions is the regime's business.
    fn explore(&mut self, input: ActInput<'_>, _clock: Clock, context: ActContext<'_>, actions: &mut [f32]) -> Learned {
        self.act(input, context, actions)
    }

    /// One update. Where priorities are in use it says its errors (`UpdateContext::errors`).
    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError>;

    /// Draws the rows of an update from what the regime offers: from its own steps, from recorded ones, or from both.
    fn fill(
        &mut self,
        source: &mut dyn BatchSource,
        rows: usize,
        options: &mut SampleOptions<'_>,
        batch: &mut Batch,
    ) -> Result<(), LearnError> {
        batch.resize(&source.shape(), rows);
        source.fill(0..rows, options, batch)?;
        batch.trim();
        Ok(())
    }

    /// Whether it can be updated from any single steps; false where batches are of its own making.
    fn takes_any_steps(&self) -> bool {
        true
    }

    /// Whether there is something to be done before the next environment step, or before the next update where no steps are taken
    /// yet: a model to be fitted, say.
    fn prepares(&self, _clock: Clock) -> bool {
        false
    }

    /// A piece of that, bounded like an update. Says how many updates it counts as: 0 or 1.
    fn prepare(&mut self, _given: Preparation<'_>, _context: &mut UpdateContext<'_>) -> Result<u64, LearnError> {
        Ok(0)
    }

    /// Environment steps `before + 1 ..= after` have been taken and learned from: the place for what is counted in steps.
    fn stepped(&mut self, _before: u64, _after: u64) {}

    /// An episode of environment `env` ended: the place for exploration noise that restarts.
    fn episode_ended(&mut self, _env: usize) {}

    /// What each observation is worth, for learners that think of values. Says whether it does.
    fn values(&mut self, _input: ActInput<'_>, _values: &mut [f32]) -> bool {
        false
    }

    /// Saves or loads what acting does not need.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// What the regime lends for work between updates.
#[derive(Clone, Copy)]
pub struct Preparation<'a> {
    /// All transitions there are to learn from, raw: recorded ones before the first step, and then the run's own.
    pub store: &'a Ring,
    /// What raw observations are scaled by before networks take them.
    pub stats: Option<&'a ObsStats>,
}

/// A store of the run's own transitions, and of those that somebody recorded, round a learner.
pub struct OffPolicy {
    acting: Acting<dyn ReplayLearner>,
    real: View<Owned>,
    /// Recorded transitions and their share of a batch.
    prior: Option<(View<Dataset>, f32)>,
    /// For learners of recorded transitions, the steps after them.
    offline: Option<u64>,
    /// What becomes of rewards when they are drawn.
    reward: RewardScale,
    pace: Pace,
    batch_size: usize,
    priority_beta: Schedule,
    prioritized: bool,
    rewards: Option<RewardStats>,
    batch: Batch,
    errors: Vec<f32>,
    /// Rows of no numbers where the policy does not remember.
    memory: Memory,
    /// Whether sequences begin with what the policy remembered there.
    stored_state: bool,
    /// Lanes of the store in which somebody else's steps are put for now.
    lent: Vec<Option<Lent>>,
    /// Whether the next update takes the batch as it is: somebody has handed it over.
    handed: bool,
    streams: Streams,
    mask_width: usize,
}

impl OffPolicy {
    pub fn new(learner: Box<dyn ReplayLearner>, settings: ReplaySettings, setup: &Setup) -> Result<Self, BuildError> {
        let obs = setup.spaces.obs();
        let ring = Ring::new(RingSpec {
            capacity: settings.capacity,
            lanes: setup.num_envs,
            widths: obs.widths,
            byte_frames: obs.byte_frames(),
            action_width: setup.action_width(),
            mask_width: setup.mask_width(),
        });
        let (window, width) = (settings.window(), learner.memory_width());
        let stored_state = settings.sequences.is_some_and(|sequences| sequences.stored_state);
        let prior = match &setup.prior {
            Some(data) if settings.wants_prior() => {
                check_prior(data, setup)?;
                // What a policy would have remembered was not recorded: such sequences begin with an empty memory.
                let view = View::new(data.clone(), window, None, None)?.with_extras(settings.extras)?;
                Some((view.with_memories(if stored_state { width } else { 0 }), settings.prior_share))
            }
            None if settings.wants_prior() => {
                let problem = "it learns from recorded transitions; give the run a `dataset`";
                return Err(Problem::new(&[], problem).into());
            }
            _ => None,
        };
        let mut acting = Acting::new(learner, setup.spaces.clone(), setup.scaling)?;
        if let Some(data) = &setup.prior {
            acting.fit(data);
        }
        let width = if stored_state { width } else { 0 };
        let pace = settings.pace(setup.total);
        let real = View::new(Owned(ring), window, settings.priority, settings.relabel)?;
        Ok(Self {
            memory: Memory::new(setup.num_envs, acting.learner.memory_width()),
            acting,
            prior,
            offline: settings.offline,
            reward: setup.reward,
            pace,
            batch_size: settings.batch_size,
            prioritized: settings.priority.is_some(),
            priority_beta: settings.priority_beta,
            real: real.with_memories(width).with_extras(settings.extras)?,
            rewards: setup.normalize_reward.then(|| RewardStats::new(setup.num_envs, window.gamma)),
            batch: Batch::default(),
            errors: Vec::new(),
            lent: (0..setup.num_envs).map(|_| None).collect(),
            handed: false,
            stored_state,
            streams: Streams::new(setup),
            mask_width: setup.mask_width(),
        })
    }

    fn mask_row<'a>(&self, masks: &'a [bool], env: usize) -> &'a [bool] {
        &masks[env * self.mask_width..(env + 1) * self.mask_width]
    }

    /// Whether the learner has something else to do first: what steps call for is done before the next ones are prepared.
    fn prepares(&self, clock: Clock) -> bool {
        (self.pace.is_pretraining(clock) || !self.pace.is_behind(clock)) && self.acting.learner.prepares(clock)
    }

    fn prepare(&mut self, clock: Clock, metrics: &mut Metrics) -> Result<u64, LearnError> {
        let store: &Ring = match &self.prior {
            Some((prior, _)) if self.pace.is_pretraining(clock) => &prior.store,
            _ => &self.real.store,
        };
        let given = Preparation { store, stats: self.acting.stats.as_ref() };
        let mut context =
            UpdateContext { closes_burst: false, ..UpdateContext::new(clock, &mut self.streams.learn, metrics) };
        self.acting.learner.prepare(given, &mut context)
    }

    /// A run that learns from recorded transitions goes on with the same ones.
    fn visit_prior(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        let own = self.prior.as_ref().map(|(view, _)| hex(&view.store.sha256()));
        let mut saved = own.clone();
        io.value("prior", &mut saved)?;
        if saved == own {
            return Ok(());
        }
        let problem = match (saved, own) {
            (Some(_), None) => "the run learns from recorded transitions; give it the same ones to go on",
            _ => "the recorded transitions are not those that the run began with",
        };
        Err(StateError::Misfit { name: "prior".to_owned(), problem: problem.to_owned() })
    }

    /// Begins an episode of `env` with what it shows now; one that was under way counts as cut off.
    fn begin(&mut self, env: usize, state: &VecState) {
        let mask = self.mask_row(&state.masks, env);
        self.real.store.begin(env, state.obs.row(env), mask);
        self.memory.starts[env] = true;
    }
}

impl Agent for OffPolicy {
    fn need(&mut self, clock: Clock) -> Need {
        let learner = &mut self.acting.learner;
        match self.pace.need(clock, self.real.ready() > 0, |before, after| learner.stepped(before, after)) {
            Need::Steps if learner.prepares(clock) => Need::Update,
            need => need,
        }
    }

    fn restarted(&mut self, envs: Range<usize>, state: &VecState) -> Result<(), LearnError> {
        self.take_back();
        self.acting.count(state.obs.range(envs.clone()));
        if let Some(rewards) = &mut self.rewards {
            rewards.restarted(envs.clone());
        }
        let under_way = !self.real.store.is_empty();
        for env in envs {
            self.begin(env, state);
            if under_way {
                self.acting.learner.episode_ended(env);
            }
        }
        Ok(())
    }

    fn act(&mut self, state: &VecState, clock: Clock, actions: &mut [f32]) -> Result<(), LearnError> {
        self.take_back();
        self.memory.empty_at_starts();
        if self.stored_state {
            (0..self.memory.starts.len()).for_each(|env| self.real.remember(env, self.memory.row(env)));
        }
        let (memory, rng) = (&mut self.memory, &mut self.streams.act);
        if self.pace.is_warming_up(clock) {
            self.acting.act_by_chance(state, ActContext::new(memory, Mode::Best, rng), actions)?;
        } else {
            self.acting.with_scaled(state.obs.as_ref(), |learner, obs| {
                let input = ActInput { obs, masks: &state.masks };
                learner.explore(input, clock, ActContext::new(memory, Mode::Sample, rng), actions)
            })?;
        }
        self.memory.starts.fill(false);
        Ok(())
    }

    fn observe(&mut self, envs: Range<usize>, actions: &[f32], state: &VecState) -> Result<(), LearnError> {
        self.take_back();
        let width = self.acting.spaces().action.width();
        self.acting.took(envs.clone(), actions, state, &mut self.memory);
        if let Some(rewards) = &mut self.rewards {
            rewards.count(envs.clone(), state);
        }
        for env in envs {
            if !state.stepped[env] {
                self.begin(env, state);
                continue;
            }
            let (next_mask, final_mask) = (self.mask_row(&state.masks, env), self.mask_row(&state.final_masks, env));
            self.real.store.push(
                env,
                &actions[env * width..(env + 1) * width],
                state.reward[env],
                state.terminated[env],
                state.truncated[env],
                state.obs.row(env),
                next_mask,
                state.final_obs.row(env),
                final_mask,
            );
            let ended = state.terminated[env] || state.truncated[env];
            self.memory.starts[env] = ended;
            if ended {
                self.acting.learner.episode_ended(env);
            }
        }
        Ok(())
    }

    fn update(&mut self, clock: Clock, metrics: &mut Metrics) -> Result<u64, LearnError> {
        if !self.handed && self.prepares(clock) {
            return self.prepare(clock, metrics);
        }
        let mut options = SampleOptions {
            rng: &mut self.streams.store,
            beta: self.priority_beta.at(clock.fraction()) as f32,
            reward: self.rewards.as_ref().map_or(self.reward, RewardStats::scale),
        };
        let (batch, learner, rows) = (&mut self.batch, &mut self.acting.learner, self.batch_size);
        // The run's own transitions come first, so that what is learned of them finds them.
        match &mut self.prior {
            _ if self.handed => {}
            None => learner.fill(&mut self.real, rows, &mut options, batch)?,
            Some((prior, _)) if self.pace.is_pretraining(clock) => learner.fill(prior, rows, &mut options, batch)?,
            Some((prior, share)) => {
                let mut both = Mixture { a: &mut self.real, b: prior, share: 1.0 - *share };
                learner.fill(&mut both, rows, &mut options, batch)?;
            }
        }
        // The store keeps observations raw; from here on they are as networks take them.
        if let Some(stats) = &self.acting.stats {
            let width = batch.obs.widths().floats;
            stats.scale(&mut batch.obs.floats, width);
        }
        let own = match &self.prior {
            _ if self.handed => 0,
            None => rows,
            Some(_) if self.pace.is_pretraining(clock) => 0,
            Some((_, share)) => ((1.0 - share) * rows as f32).round() as usize,
        };
        if self.prior.is_some() && !self.handed {
            metrics.add("offline_fraction", (rows - own) as f32 / rows as f32);
        }
        let mut errors = std::mem::take(&mut self.errors);
        errors.clear();
        let closes_burst = self.pace.closes_burst(clock);
        let mut context = UpdateContext { clock, closes_burst, rng: &mut self.streams.learn, metrics, errors };
        self.acting.learner.update(&self.batch, &mut context)?;
        self.errors = context.errors;
        if self.prioritized {
            self.real.learned(0..own, &self.batch, &self.errors);
        }
        if self.pace.is_pretraining(clock) {
            // Before there are steps, updates take their place in all that is counted in them.
            self.acting.learner.stepped(clock.updates, clock.updates + 1);
        }
        self.pace.updated(clock);
        Ok(1)
    }

    fn check_spare_update(&mut self, clock: Clock) -> Result<(), Refused> {
        if self.pace.is_pretraining(clock) || self.real.ready() > 0 {
            return Ok(());
        }
        let problem = "there is nothing to learn from yet: `collect` some steps first, or put some into the replay";
        Err(Refused::NotYet(problem.into()))
    }

    fn waive(&mut self, clock: Clock) {
        if !self.pace.is_pretraining(clock) {
            let learner = &mut self.acting.learner;
            self.pace.waive(clock, |before, after| learner.stepped(before, after));
        }
    }

    fn replay(&mut self) -> Result<&mut dyn Replay, Refused> {
        Ok(self)
    }

    fn policy(&mut self) -> &mut dyn Policy {
        &mut self.acting
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        self.acting.with_scaled(input.obs, |learner, obs| learner.values(ActInput { obs, ..input }, values))
    }

    fn phases(&self, total: u64) -> Phases {
        let updates = self.pace.pretraining();
        Phases { updates, steps: self.offline.unwrap_or(total) }
    }

    fn check_place(&self, env_steps: u64, _round: usize) -> Result<(), StateError> {
        if !self.real.store.has_begun() {
            return Err(StateError::other_moment("the replay store"));
        }
        self.pace.check_place(env_steps, self.memory.starts.len())
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        // A checkpoint knows of no lent lanes: whoever saves goes on as whoever resumes does.
        match io.loading() {
            true => self.lent.iter_mut().for_each(|lent| *lent = None),
            false => self.take_back(),
        }
        self.acting.visit_state(io)?;
        self.acting.learner.visit_state(io)?;
        self.streams.visit_state(io)?;
        self.pace.visit_state(io)?;
        self.visit_prior(io)?;
        if self.memory.width() > 0 {
            self.memory.visit_state(io)?;
        }
        if let Some(rewards) = &mut self.rewards {
            rewards.visit_state(io)?;
        }
        io.store("replay", &mut *self.real.store)?;
        if self.prioritized {
            io.streamed("priorities", &mut PrioritiesOf(&mut self.real))?;
        }
        if self.stored_state {
            io.streamed("memories", &mut MemoriesOf(&mut self.real))?;
        }
        Ok(())
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Recorded transitions must be of the same kind as those of the run.
pub(crate) fn check_prior(data: &Dataset, setup: &Setup) -> Result<(), BuildError> {
    let (recorded, own) = (data.spaces(), &setup.spaces);
    if recorded.obs() == own.obs() && recorded.action == own.action && recorded.masks == own.masks {
        return Ok(());
    }
    let problem = format!(
        "the recorded transitions have {:?} and {:?}, the environment {:?} and {:?}; use the environment they were \
         recorded in",
        recorded.observation.kind(),
        recorded.action,
        own.observation.kind(),
        own.action
    );
    Err(Problem::new(&[], problem).into())
}

/// The priorities of a view: they change long after their transitions were stored, so they are kept apart.
struct PrioritiesOf<'a>(&'a mut View<Owned>);

impl Streamed for PrioritiesOf<'_> {
    fn write(&mut self, to: &mut dyn io::Write) -> io::Result<()> {
        self.0.write_priorities(to)
    }

    fn read(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.0.read_priorities(from)
    }
}

/// What the policy remembered where sequences begin: kept apart like the priorities, for it may be written back.
struct MemoriesOf<'a>(&'a mut View<Owned>);

impl Streamed for MemoriesOf<'_> {
    fn write(&mut self, to: &mut dyn io::Write) -> io::Result<()> {
        self.0.write_memories(to)
    }

    fn read(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.0.read_memories(from)
    }
}
