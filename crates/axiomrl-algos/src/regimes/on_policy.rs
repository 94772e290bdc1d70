//! Learning from what the current policy has just done.

use crate::agent::{Agent, Clock, LearnError, Learned, Need, Setup, UpdateContext};
use crate::config::Problem;
use crate::parts::actions::random_actions;
use crate::parts::checks::BuildError;
use crate::parts::statistics::{ObsStats, RewardStats};
use crate::parts::torso::MemoryKind;
use crate::policy::{ActContext, ActInput, Acting, Actor, Memory, Mode, Policy};
use crate::state::{StateError, StateIo, Streamed};
use axiomrl_core::{Metrics, Rollout, RolloutSpec};
use axiomrl_envs::{ObsBuf, ObsRef, Rng, VecState};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::ops::Range;

/// What a learner says of a row of actions besides choosing them.
pub struct ActedRow<'a> {
    pub actions: &'a mut [f32],
    pub log_probs: &'a mut [f32],
    /// One for each environment; two, side by side, where the learner has values of what it pays itself.
    pub values: &'a mut [f32],
}

/// What a learner pays itself beside the environment, with values of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntrinsicStream {
    /// Its discount.
    pub gamma: f32,
    /// Weights of the environment's advantages and of its own in those that are learned from.
    pub weights: [f32; 2],
}

/// A complete rollout, with advantages and returns, and the memory that went with it.
#[derive(Clone, Copy)]
pub struct Played<'a> {
    pub rollout: &'a Rollout,
    /// Where the memory was emptied, one entry per row of the rollout.
    pub starts: &'a [bool],
    /// The memory at the beginning of each sequence: `[sequence][environment][state]`; empty without one.
    pub states: &'a [f32],
    /// Steps of a sequence; the last one may be shorter.
    pub length: usize,
    /// What raw observations are standardised by before the policy sees them, if they are.
    pub statistics: Option<&'a ObsStats>,
}

/// A complete rollout whose steps are still to be given the rewards that are learned from.
pub struct Unrewarded<'a> {
    pub rollout: &'a mut Rollout,
    /// Where an episode begins, one entry per row of the rollout.
    pub starts: &'a [bool],
    /// What raw observations are standardised by before the policy sees them, if they are.
    pub statistics: Option<&'a ObsStats>,
}

/// The part that is particular to an algorithm.
pub trait RolloutLearner: Actor {
    /// Samples actions, whatever the mode, and says how likely and how valuable they are.
    fn play(&mut self, input: ActInput<'_>, context: ActContext<'_>, row: ActedRow<'_>) -> Result<(), LearnError>;

    /// Values of observations, given the rows of memory that led to them, as many for each as `play` gives; nothing is
    /// remembered of it.
    fn values(&mut self, input: ActInput<'_>, memory: &[f32], values: &mut [f32]) -> Result<(), LearnError>;

    /// Whether it gives steps rewards of its own: rollouts then keep raw observations, and what each step led to.
    fn gives_rewards(&self) -> bool {
        false
    }

    /// The stream of rewards of its own that it has values for, if there is one.
    fn intrinsic(&self) -> Option<IntrinsicStream> {
        None
    }

    /// Steps of random actions, in all environments together, that it watches before the first rollout.
    fn warm_up(&self) -> u64 {
        0
    }

    /// Takes in what steps of random actions led to.
    fn watch(&mut self, _obs: ObsRef<'_>) {}

    /// Whether rollouts keep raw observations beside those that the policy saw.
    fn keeps_raw(&self) -> bool {
        self.gives_rewards()
    }

    /// Gives the steps of a complete rollout the rewards that are learned from, before advantages follow from them: one step of
    /// an optimiser, until nothing is left to do but to write the rewards. Says whether they were written.
    fn compute_rewards(&mut self, _unrewarded: Unrewarded<'_>, _context: &mut UpdateContext<'_>) -> Learned<bool> {
        Ok(true)
    }

    /// What it would pay for actions on raw observations, for learners that give rewards. Says whether it does.
    fn rewards(&mut self, _obs: ObsRef<'_>, _actions: &[f32], _rewards: &mut [f32]) -> bool {
        false
    }

    /// Refuses to learn without something that acting does not need, such as recorded episodes.
    fn check_ready(&self) -> Result<(), Problem> {
        Ok(())
    }

    /// One step of an optimiser. Says whether it was the last one on this rollout.
    fn update(&mut self, played: Played<'_>, context: &mut UpdateContext<'_>) -> Result<bool, LearnError>;

    /// Saves or loads what acting does not need, and how far an update has come.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// How rollouts are made and cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RolloutSettings {
    pub num_steps: usize,
    /// Steps between two memories that are kept; 1 without memory.
    pub sequence_length: usize,
    pub gamma: f32,
    pub gae_lambda: f32,
}

impl RolloutSettings {
    /// Without a memory.
    pub fn new(num_steps: usize, gamma: f32, gae_lambda: f32) -> Self {
        Self { num_steps, sequence_length: 1, gamma, gae_lambda }
    }

    /// With sequences of this length, where something is remembered.
    pub fn remembering(self, memory: MemoryKind, sequence_length: usize) -> Self {
        if memory == MemoryKind::None { self } else { Self { sequence_length, ..self } }
    }
}

/// Random steps before the first rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct WarmUp {
    /// Steps that are left.
    left: u64,
    /// Whether the round under way is one of random actions.
    now: bool,
}

/// A rollout round a learner.
pub struct OnPolicy {
    acting: Acting<dyn RolloutLearner>,
    settings: RolloutSettings,
    rollout: Rollout,
    /// What the newest step of each environment led to, raw.
    latest: ObsBuf,
    /// Rows of the rollout that were begun.
    begun: usize,
    starts: Vec<bool>,
    states: Vec<f32>,
    memory: Memory,
    rewards: Option<RewardStats>,
    warm_up: WarmUp,
    /// Whether the learner has begun to give the steps of a complete rollout its rewards.
    rewarding: bool,
    /// Whether the rollout is complete, has its advantages, and is being learned from.
    learning: bool,
    act_rng: Rng,
    learn_rng: Rng,
    log_probs: Vec<f32>,
    values: Vec<f32>,
}

impl OnPolicy {
    pub fn new(learner: Box<dyn RolloutLearner>, settings: RolloutSettings, setup: &Setup) -> Result<Self, BuildError> {
        learner.check_ready()?;
        let (steps, lanes, width) = (settings.num_steps, setup.num_envs, learner.memory_width());
        let (raw, intrinsic) = (learner.keeps_raw(), learner.intrinsic().is_some());
        let warm_up = WarmUp { left: learner.warm_up(), now: false };
        let widths = setup.spaces.obs().widths;
        let own = learner.fixed_statistics().is_some();
        let mut acting = Acting::new(learner, setup.spaces.clone(), setup.scaling)?;
        if let (Some(stats), Some(data), false) = (&mut acting.stats, &setup.prior, own) {
            stats.fit(data);
        }
        Ok(Self {
            acting,
            rollout: Rollout::new(RolloutSpec {
                steps,
                lanes,
                widths,
                action_width: setup.action_width(),
                mask_width: setup.mask_width(),
                raw,
                intrinsic,
            }),
            latest: ObsBuf::zeros(widths, lanes),
            begun: 0,
            starts: vec![false; steps * lanes],
            states: vec![0.0; steps.div_ceil(settings.sequence_length) * lanes * width],
            memory: Memory::new(lanes, width),
            rewards: setup.normalize_reward.then(|| RewardStats::new(lanes, settings.gamma)),
            warm_up,
            rewarding: false,
            learning: false,
            act_rng: setup.rng("act"),
            learn_rng: setup.rng("learn"),
            log_probs: vec![0.0; lanes],
            values: vec![0.0; lanes * (1 + usize::from(intrinsic))],
            settings,
        })
    }

    /// Numbers of the memories of all environments.
    fn memories(&self) -> usize {
        self.memory.state.len()
    }

    /// Values of each observation.
    fn streams(&self) -> usize {
        1 + usize::from(self.rollout.intrinsic.is_some())
    }

    /// Advantages and returns of a rollout whose values and rewards are known.
    fn compute_advantages(&mut self) {
        let RolloutSettings { gamma, gae_lambda, .. } = self.settings;
        self.rollout.compute_gae(gamma, gae_lambda);
        if let Some(own) = self.acting.learner.intrinsic() {
            self.rollout.add_intrinsic(own.gamma, gae_lambda, own.weights);
        }
    }

    /// Values what the newest steps led to, in every environment of `envs` whose episode goes on there. A row that was begun
    /// since then has done it already.
    fn value_ends(&mut self, envs: Range<usize>) -> Result<(), LearnError> {
        if self.rollout.filled == 0 || self.begun > self.rollout.filled {
            return Ok(());
        }
        let (last, lanes, streams) = (self.rollout.filled - 1, self.rollout.lanes, self.streams());
        // Where an episode has ended, `latest` begins another one.
        self.memory.empty_at_starts();
        let (memory, values) = (&self.memory.state, &mut self.values);
        self.acting
            .with_scaled(self.latest.as_ref(), |learner, obs| learner.values(ActInput::of(obs), memory, values))?;
        for lane in envs {
            let at = last * lanes + lane;
            if !self.rollout.terminated[at] && !self.rollout.truncated[at] {
                self.rollout.set_next_value(last, lane, self.values[lane * streams]);
            }
            if let Some(own) = &mut self.rollout.intrinsic {
                own.set_next_value(at, self.values[lane * streams + 1]);
            }
        }
        Ok(())
    }

    fn value_of_end(&mut self, env: usize, obs: ObsRef<'_>) -> Result<f32, LearnError> {
        let mut value = vec![0.0; self.streams()];
        // With the memory that led there: the episode would have gone on with it.
        let memory = self.memory.row(env);
        self.acting.with_scaled(obs, |learner, obs| learner.values(ActInput::of(obs), memory, &mut value))?;
        Ok(value[0])
    }

    /// Whether there is a rollout to learn from: a full one, and a shorter one at the run's end. Where the end cuts a row
    /// short the rollout stays open: the environments that have stepped are already past the place that the others' values
    /// would be taken from, and a run that is made longer goes on with the row.
    fn is_complete(&self, clock: Clock) -> bool {
        self.rollout.is_full() || (clock.is_over() && self.rollout.filled > 0 && self.rollout.outcomes() == 0)
    }
}

impl Agent for OnPolicy {
    fn need(&mut self, clock: Clock) -> Need {
        match (self.learning || self.rewarding || self.is_complete(clock), clock.is_over()) {
            (true, _) => Need::Update,
            (false, true) => Need::Done,
            (false, false) => Need::Steps,
        }
    }

    fn restarted(&mut self, envs: Range<usize>, state: &VecState) -> Result<(), LearnError> {
        // A rollout that is being learned from has all its values.
        if !self.learning {
            self.value_ends(envs.clone())?;
            envs.clone().for_each(|env| self.rollout.cut_off(env));
            // What a round had begun before its environments were lost is done again.
            self.begun = self.rollout.drop_open_row();
        }
        self.memory.starts[envs.clone()].fill(true);
        if let Some(rewards) = &mut self.rewards {
            rewards.restarted(envs.clone());
        }
        self.acting.count(state.obs.range(envs.clone()));
        self.latest.range_mut(envs.clone()).copy_from(state.obs.range(envs));
        Ok(())
    }

    fn act(&mut self, state: &VecState, _clock: Clock, actions: &mut [f32]) -> Result<(), LearnError> {
        self.warm_up.now = self.warm_up.left > 0;
        if self.warm_up.now {
            random_actions(&self.acting.spaces().action, &state.masks, &mut self.act_rng, actions);
            return Ok(());
        }
        let (lanes, row, length) = (self.rollout.lanes, self.rollout.filled, self.settings.sequence_length);
        self.memory.empty_at_starts();
        if row.is_multiple_of(length) {
            let size = self.memories();
            self.states[row / length * size..(row / length + 1) * size].copy_from_slice(&self.memory.state);
        }
        self.starts[row * lanes..(row + 1) * lanes].copy_from_slice(&self.memory.starts);
        let (memory, rng, rollout) = (&mut self.memory, &mut self.act_rng, &mut self.rollout);
        let (log_probs, values) = (&mut self.log_probs, &mut self.values);
        self.acting.with_scaled(state.obs.as_ref(), |learner, obs| -> Result<(), LearnError> {
            let acted = ActedRow { actions, log_probs, values };
            learner.play(ActInput { obs, masks: &state.masks }, ActContext::new(memory, Mode::Sample, rng), acted)?;
            rollout.begin_row(row, obs, &state.masks, actions, log_probs, values);
            Ok(())
        })?;
        self.rollout.set_raw(row, state.obs.as_ref());
        self.memory.starts.fill(false);
        self.begun = row + 1;
        Ok(())
    }

    fn observe(&mut self, envs: Range<usize>, actions: &[f32], state: &VecState) -> Result<(), LearnError> {
        if !self.warm_up.now {
            self.acting.learner.feedback(&mut self.memory, envs.clone(), actions, &state.reward);
        }
        self.acting.count(state.obs.range(envs.clone()));
        if let Some(rewards) = &mut self.rewards {
            rewards.count(envs.clone(), state);
        }
        self.latest.range_mut(envs.clone()).copy_from(state.obs.range(envs.clone()));
        if self.warm_up.now {
            self.warm_up.left = self.warm_up.left.saturating_sub(envs.len() as u64);
            for env in envs.filter(|env| state.stepped[*env]) {
                let led_to = if state.terminated[env] || state.truncated[env] { &state.final_obs } else { &state.obs };
                self.acting.learner.watch(led_to.row(env));
            }
            return Ok(());
        }
        let row = self.rollout.filled;
        for env in envs {
            if !state.stepped[env] {
                self.rollout.leave_out(row, env);
                self.memory.starts[env] = true;
                continue;
            }
            let (terminated, truncated) = (state.terminated[env], state.truncated[env]);
            let reward = self.rewards.as_ref().map_or(state.reward[env], |stats| stats.scaled(state.reward[env]));
            let led_to = if terminated || truncated { &state.final_obs } else { &state.obs };
            self.rollout.set_next_obs(row, env, led_to.row(env));
            self.rollout.set_outcome(row, env, reward, terminated, truncated);
            if truncated {
                let value = self.value_of_end(env, state.final_obs.row(env))?;
                self.rollout.set_next_value(row, env, value);
            }
            self.memory.starts[env] = terminated || truncated;
        }
        Ok(())
    }

    fn update(&mut self, clock: Clock, metrics: &mut Metrics) -> Result<u64, LearnError> {
        if !self.learning {
            let rng = &mut self.learn_rng;
            let mut context = UpdateContext::new(clock, rng, &mut *metrics);
            let (rollout, starts) = (&mut self.rollout, &self.starts[..]);
            let unrewarded = Unrewarded { rollout, starts, statistics: self.acting.stats.as_ref() };
            self.rewarding = !self.acting.learner.compute_rewards(unrewarded, &mut context)?;
            if self.rewarding {
                return Ok(1);
            }
            self.value_ends(0..self.rollout.lanes)?;
            self.compute_advantages();
            self.learning = true;
        }
        let mut context = UpdateContext::new(clock, &mut self.learn_rng, metrics);
        let played = Played {
            rollout: &self.rollout,
            starts: &self.starts,
            states: &self.states,
            length: self.settings.sequence_length,
            statistics: self.acting.stats.as_ref(),
        };
        if self.acting.learner.update(played, &mut context)? {
            self.rollout.clear();
            (self.begun, self.learning) = (0, false);
        }
        Ok(1)
    }

    fn policy(&mut self) -> &mut dyn Policy {
        &mut self.acting
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let (empty, streams) = (vec![0.0; input.rows() * self.memory.width()], self.streams());
        let mut all = vec![0.0; input.rows() * streams];
        let found = self
            .acting
            .with_scaled(input.obs, |learner, obs| learner.values(ActInput { obs, ..input }, &empty, &mut all));
        // What the environment pays is what is asked for.
        values.iter_mut().zip(all.iter().step_by(streams)).for_each(|(value, found)| *value = *found);
        found.is_ok()
    }

    fn rewards(&mut self, obs: ObsRef<'_>, actions: &[f32], rewards: &mut [f32]) -> bool {
        self.acting.learner.rewards(obs, actions, rewards)
    }

    fn check_place(&self, _env_steps: u64, round: usize) -> Result<(), StateError> {
        if self.warm_up.now && round > 0 {
            let empty = self.begun == 0 && self.rollout.filled == 0 && self.rollout.outcomes() == 0;
            return if empty { Ok(()) } else { Err(StateError::other_moment("the rollout")) };
        }
        let begun = self.rollout.filled + usize::from(round > 0);
        // A full rollout that nothing was learned from yet is where a run stopped before its first update.
        let learnable = round == 0 && self.rollout.filled > 0;
        let fits = self.rollout.outcomes() == round
            && self.begun == begun
            && (learnable || !(self.learning || self.rewarding));
        if fits { Ok(()) } else { Err(StateError::other_moment("the rollout")) }
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.acting.visit_state(io)?;
        self.acting.learner.visit_state(io)?;
        io.rng("rng.act", &mut self.act_rng)?;
        io.rng("rng.learn", &mut self.learn_rng)?;
        self.memory.visit_state(io)?;
        if let Some(rewards) = &mut self.rewards {
            rewards.visit_state(io)?;
        }
        if self.acting.learner.gives_rewards() {
            io.value("rewarding", &mut self.rewarding)?;
        }
        if self.acting.learner.warm_up() > 0 {
            io.value("warm_up", &mut self.warm_up)?;
        }
        io.value("learning", &mut self.learning)?;
        io.streamed("rollout", &mut RolloutOf(self))?;
        if io.loading() && self.learning {
            // Advantages follow from the rest.
            self.compute_advantages();
        }
        Ok(())
    }
}

/// The rollout with what goes with it: what its last step led to, where its sequences begin and with what memory.
struct RolloutOf<'a>(&'a mut OnPolicy);

impl RolloutOf<'_> {
    /// Entries of `states` that the rows begun so far have filled.
    fn states_in_use(&self) -> usize {
        self.0.begun.div_ceil(self.0.settings.sequence_length) * self.0.memories()
    }
}

impl Streamed for RolloutOf<'_> {
    fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        self.0.rollout.write(to)?;
        to.write_all(&(self.0.begun as u64).to_le_bytes())?;
        let starts = &self.0.starts[..self.0.begun * self.0.rollout.lanes];
        to.write_all(&starts.iter().map(|&start| u8::from(start)).collect::<Vec<u8>>())?;
        write_floats(to, &self.0.states[..self.states_in_use()])?;
        write_floats(to, &self.0.latest.floats)?;
        to.write_all(&self.0.latest.bytes)
    }

    fn read(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.0.rollout.read(from)?;
        let mut count = [0; 8];
        from.read_exact(&mut count)?;
        let (filled, steps) = (self.0.rollout.filled, self.0.rollout.steps);
        let begun = usize::try_from(u64::from_le_bytes(count)).ok();
        let begun = begun.filter(|&begun| (filled..=(filled + 1).min(steps)).contains(&begun));
        self.0.begun = begun.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "the saved rollout is damaged: its rows were not begun in order")
        })?;
        let mut starts = vec![0; self.0.begun * self.0.rollout.lanes];
        from.read_exact(&mut starts)?;
        self.0.starts.iter_mut().zip(starts).for_each(|(start, byte)| *start = byte != 0);
        let in_use = self.states_in_use();
        read_floats(from, &mut self.0.states[..in_use])?;
        read_floats(from, &mut self.0.latest.floats)?;
        from.read_exact(&mut self.0.latest.bytes)
    }
}

pub(crate) fn write_floats(to: &mut dyn Write, values: &[f32]) -> io::Result<()> {
    to.write_all(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

pub(crate) fn read_floats(from: &mut dyn Read, values: &mut [f32]) -> io::Result<()> {
    let mut bytes = vec![0; 4 * values.len()];
    from.read_exact(&mut bytes)?;
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *value = f32::from_le_bytes(*bytes);
    }
    Ok(())
}
