//! Learning from an expert who says at every step what it would have done.

use super::on_policy::write_floats;
use crate::agent::{Agent, Clock, Expert, LearnError, Need, Setup, UpdateContext};
use crate::config::Problem;
use crate::parts::checks::BuildError;
use crate::policy::{ActContext, ActInput, Acting, Actor, Memory, Mode, Policy};
use crate::policy_gradient::passes::Passes;
use crate::state::{StateError, StateIo, Streamed};
use axiomrl_core::{Metrics, random};
use axiomrl_envs::{ObsBuf, ObsRef, ObsWidths, Rng, VecState};
use std::io::{self, Read, Write};
use std::ops::Range;

#[cfg(test)]
mod tests;

/// Observations and what the expert would do there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    pub rows: usize,
    pub obs: ObsBuf,
    /// Entries for every choice of every row; empty where everything is always allowed.
    pub masks: Vec<bool>,
    pub action: Vec<f32>,
}

impl Labels {
    fn new(widths: ObsWidths) -> Self {
        Self { obs: ObsBuf::zeros(widths, 0), ..Self::default() }
    }

    fn push(&mut self, obs: ObsRef<'_>, mask: &[bool], action: &[f32]) {
        self.rows += 1;
        self.obs.floats.extend_from_slice(obs.floats);
        self.obs.bytes.extend_from_slice(obs.bytes);
        self.masks.extend_from_slice(mask);
        self.action.extend_from_slice(action);
    }

    fn row(&self, row: usize) -> (ObsRef<'_>, &[bool], &[f32]) {
        let (masks, actions) = (self.masks.len() / self.rows, self.action.len() / self.rows);
        let mask = &self.masks[row * masks..(row + 1) * masks];
        (self.obs.row(row), mask, &self.action[row * actions..(row + 1) * actions])
    }

    fn clear(&mut self) {
        let widths = self.obs.widths();
        *self = Self::new(widths);
    }

    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(&(self.rows as u64).to_le_bytes())?;
        write_floats(to, &self.obs.floats)?;
        to.write_all(&self.obs.bytes)?;
        to.write_all(&self.masks.iter().map(|&allowed| u8::from(allowed)).collect::<Vec<u8>>())?;
        write_floats(to, &self.action)
    }

    /// Rows of these widths, `most` of them at most.
    fn read(&mut self, from: &mut dyn Read, (masks, actions): (usize, usize), most: u64) -> io::Result<()> {
        let mut count = [0; 8];
        from.read_exact(&mut count)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the saved answers of the expert are damaged");
        let rows = u64::from_le_bytes(count);
        let rows = usize::try_from(rows).ok().filter(|_| rows <= most).ok_or_else(damaged)?;
        let widths = self.obs.widths();
        // Only what is really there takes memory, whatever the count says.
        let mut part = |width: usize| {
            let (length, mut bytes) = ((rows as u64).saturating_mul(width as u64), Vec::new());
            from.take(length).read_to_end(&mut bytes)?;
            if bytes.len() as u64 == length { Ok(bytes) } else { Err(damaged()) }
        };
        let floats = |bytes: Vec<u8>| bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        let mut fresh = Self { rows, ..Self::new(widths) };
        fresh.obs.floats = floats(part(4 * widths.floats)?);
        fresh.obs.bytes = part(widths.bytes)?;
        fresh.masks = part(masks)?.into_iter().map(|byte| byte != 0).collect();
        fresh.action = floats(part(4 * actions)?);
        *self = fresh;
        Ok(())
    }
}

/// The part that is particular to an algorithm.
pub trait LabelLearner: Actor {
    /// One step of an optimiser towards the expert's answers.
    fn update(&mut self, batch: &Labels, context: &mut UpdateContext<'_>) -> Result<(), LearnError>;

    /// Saves or loads what acting does not need.
    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// How rounds are made.
pub struct InteractiveSettings {
    /// A round has at least so many steps and episodes.
    pub round_steps: u64,
    pub round_episodes: u64,
    /// Passes over all answers after each round.
    pub epochs: usize,
    pub batch_size: usize,
    /// The expert's share of steps in each round, from 0 on.
    pub beta: Box<dyn Fn(u64) -> f64 + Send>,
}

/// Rounds of asking and learning round a learner.
pub struct Interactive {
    acting: Acting<dyn LabelLearner>,
    expert: Box<dyn Expert>,
    settings: InteractiveSettings,
    labels: Labels,
    /// What the environments show in the step under way, with the expert's answers; empty between steps.
    asked: Labels,
    round: Round,
    passes: Passes,
    batch: Labels,
    memory: Memory,
    lanes: usize,
    mask_width: usize,
    action_width: usize,
    act_rng: Rng,
    learn_rng: Rng,
}

/// How far the current round has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Round {
    number: u64,
    steps: u64,
    episodes: u64,
    /// Whether an episode ended in the newest step.
    ended: bool,
    /// Whether it is over and being learned from.
    learning: bool,
}

impl Interactive {
    pub fn new(
        learner: Box<dyn LabelLearner>,
        settings: InteractiveSettings,
        setup: &Setup,
    ) -> Result<Self, BuildError> {
        let Some(expert) = &setup.expert else {
            let problem = "there is no expert to ask; name one: `expert: scripted` where the environment has one, or the path \
                           of a run in the same environment";
            return Err(Problem::new(&["expert"], problem).into());
        };
        let labels = Labels::new(setup.spaces.obs().widths);
        Ok(Self {
            acting: Acting::new(learner, setup.spaces.clone(), setup.scaling)?,
            expert: expert()?,
            settings,
            asked: labels.clone(),
            batch: labels.clone(),
            labels,
            round: Round::default(),
            passes: Passes::default(),
            memory: Memory::new(setup.num_envs, 0),
            lanes: setup.num_envs,
            mask_width: setup.mask_width(),
            action_width: setup.action_width(),
            act_rng: setup.rng("act"),
            learn_rng: setup.rng("learn"),
        })
    }

    /// Whether there is a round to learn from: one that is long enough and ends with an episode, or the run's last.
    fn is_complete(&self, clock: Clock) -> bool {
        let Round { steps, episodes, ended, .. } = self.round;
        let long = steps >= self.settings.round_steps && episodes >= self.settings.round_episodes;
        (long && ended) || (clock.is_over() && steps > 0)
    }
}

impl Agent for Interactive {
    fn need(&mut self, clock: Clock) -> Need {
        match (self.round.learning || self.is_complete(clock), clock.is_over()) {
            (true, _) => Need::Update,
            (false, true) => Need::Done,
            (false, false) => Need::Steps,
        }
    }

    fn restarted(&mut self, envs: Range<usize>, state: &VecState) -> Result<(), LearnError> {
        // What a round of environments had begun before they were lost is done again.
        self.asked.clear();
        self.acting.count(state.obs.range(envs));
        Ok(())
    }

    fn act(&mut self, state: &VecState, _clock: Clock, actions: &mut [f32]) -> Result<(), LearnError> {
        let input = ActInput { obs: state.obs.as_ref(), masks: &state.masks };
        let mut answers = vec![0.0; actions.len()];
        self.expert.act(input, &mut answers)?;
        self.asked.clear();
        for env in 0..self.lanes {
            let answer = &answers[env * self.action_width..(env + 1) * self.action_width];
            self.asked.push(state.obs.row(env), input.mask(env), answer);
        }
        let (memory, rng) = (&mut self.memory, &mut self.act_rng);
        self.acting.with_scaled(state.obs.as_ref(), |learner, obs| {
            learner.act(ActInput { obs, ..input }, ActContext::new(memory, Mode::Sample, rng), actions)
        })?;
        let beta = (self.settings.beta)(self.round.number);
        let each = actions.chunks_exact_mut(self.action_width).zip(answers.chunks_exact(self.action_width));
        for (action, answer) in each {
            if random::uniform(&mut self.act_rng) < beta {
                action.copy_from_slice(answer);
            }
        }
        self.round.ended = false;
        Ok(())
    }

    fn observe(&mut self, envs: Range<usize>, _actions: &[f32], state: &VecState) -> Result<(), LearnError> {
        self.acting.count(state.obs.range(envs.clone()));
        for env in envs.filter(|&env| state.stepped[env]) {
            let (obs, mask, answer) = self.asked.row(env);
            self.labels.push(obs, mask, answer);
            let ended = state.terminated[env] || state.truncated[env];
            self.round.steps += 1;
            self.round.episodes += u64::from(ended);
            self.round.ended |= ended;
        }
        Ok(())
    }

    fn update(&mut self, clock: Clock, metrics: &mut Metrics) -> Result<u64, LearnError> {
        self.round.learning = true;
        let (rows, size) = (self.labels.rows as u32, self.settings.batch_size);
        let chosen = self.passes.next(size, &mut self.learn_rng, || (0..rows).collect());
        self.batch.clear();
        for &row in &self.passes.order()[chosen] {
            let (obs, mask, answer) = self.labels.row(row as usize);
            self.batch.push(obs, mask, answer);
        }
        // Answers are kept with raw observations; from here on they are as networks take them.
        if let Some(stats) = &self.acting.stats {
            let width = self.batch.obs.widths().floats;
            stats.scale(&mut self.batch.obs.floats, width);
        }
        let mut context = UpdateContext::new(clock, &mut self.learn_rng, metrics);
        self.acting.learner.update(&self.batch, &mut context)?;
        if self.passes.stepped(0.0, self.settings.epochs, None) {
            metrics.set("round", self.round.number as f64);
            metrics.set("beta", (self.settings.beta)(self.round.number));
            metrics.set("labels", self.labels.rows as f64);
            self.round = Round { number: self.round.number + 1, ..Round::default() };
        }
        Ok(1)
    }

    fn policy(&mut self) -> &mut dyn Policy {
        &mut self.acting
    }

    fn check_place(&self, env_steps: u64, round: usize) -> Result<(), StateError> {
        let Round { steps, learning, .. } = self.round;
        let rows = self.labels.rows as u64;
        // In the middle of a step there are answers that nobody has acted on yet.
        let asked = round == 0 || self.asked.rows == self.lanes;
        let fits = rows <= env_steps && steps <= rows && asked && !(learning && (rows == 0 || round > 0));
        if fits { Ok(()) } else { Err(StateError::other_moment("the expert's answers")) }
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.acting.visit_state(io)?;
        self.acting.learner.visit_state(io)?;
        io.rng("rng.act", &mut self.act_rng)?;
        io.rng("rng.learn", &mut self.learn_rng)?;
        io.value("round", &mut self.round)?;
        io.streamed("labels", &mut LabelsOf(self))?;
        self.passes.visit_state(self.labels.rows, io)
    }
}

/// All answers, and those of a step under way.
struct LabelsOf<'a>(&'a mut Interactive);

impl Streamed for LabelsOf<'_> {
    fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        self.0.labels.write(to)?;
        self.0.asked.write(to)
    }

    fn read(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let widths = (self.0.mask_width, self.0.action_width);
        self.0.labels.read(from, widths, u64::from(u32::MAX))?;
        self.0.asked.read(from, widths, self.0.lanes as u64)
    }
}
