//! The episodes of an iteration: which wait, which are being played and by whom, and what came of the others.

use crate::state::{StateError, StateIo};
use axiomrl_envs::RunningStats;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One episode of one candidate.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Trial {
    stage: Stage,
    total: f64,
    length: u64,
    /// What was acted on, until it is gathered.
    seen: Option<RunningStats>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    #[default]
    Waiting,
    Playing,
    Done,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Lane {
    trial: Option<usize>,
    /// Whether what it shows begins an episode: a batch that steps as a whole goes on where nobody has anything to do.
    fresh: bool,
}

/// All episodes of the iteration, in the order of their numbers.
#[derive(Debug)]
pub struct Trials {
    trials: Vec<Trial>,
    lanes: Vec<Lane>,
    /// What was seen in the episodes up to the first that is not done: taken in in the order of their numbers, whoever was
    /// first, so that rounding is the same.
    gathered: RunningStats,
    /// How many those are.
    settled: usize,
}

impl Trials {
    /// `width` numbers of what is seen are counted.
    pub fn new(count: usize, lanes: usize, width: usize) -> Self {
        Self {
            trials: vec![Trial::default(); count],
            lanes: vec![Lane { trial: None, fresh: true }; lanes],
            gathered: RunningStats::new(width),
            settled: 0,
        }
    }

    pub fn count(&self) -> usize {
        self.trials.len()
    }

    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    pub fn are_done(&self) -> bool {
        self.settled == self.trials.len()
    }

    /// Steps of this iteration.
    pub fn steps(&self) -> u64 {
        self.trials.iter().map(|trial| trial.length).fold(0, u64::saturating_add)
    }

    /// What came of an episode: its return and its length.
    pub fn outcome(&self, trial: usize) -> (f64, u64) {
        (self.trials[trial].total, self.trials[trial].length)
    }

    /// What was seen in the whole iteration.
    pub fn seen(&self) -> &RunningStats {
        &self.gathered
    }

    pub fn played_by(&self, lane: usize) -> Option<usize> {
        self.lanes[lane].trial
    }

    /// The first episode that waits goes to the first lane that can begin one.
    pub fn hand_out(&mut self) -> Option<(usize, usize)> {
        let lane = self.lanes.iter().position(|lane| lane.trial.is_none() && lane.fresh)?;
        let trial =
            self.trials.iter().skip(self.settled).position(|trial| trial.stage == Stage::Waiting)? + self.settled;
        self.lanes[lane].trial = Some(trial);
        self.begin(trial, Stage::Playing);
        Some((lane, trial))
    }

    fn begin(&mut self, trial: usize, stage: Stage) {
        let seen = (stage == Stage::Playing).then(|| RunningStats::new(self.gathered.width()));
        self.trials[trial] = Trial { stage, seen, ..Trial::default() };
    }

    /// Lanes that lost their episodes: these wait again.
    pub fn give_back(&mut self, lanes: Range<usize>) {
        for lane in lanes {
            if let Some(trial) = self.lanes[lane].trial.take() {
                self.begin(trial, Stage::Waiting);
            }
            self.lanes[lane].fresh = true;
        }
    }

    /// A lane's turn went by with a reset: the episode begins with what it shows now.
    pub fn begins_only_now(&mut self, lane: usize) {
        if let Some(trial) = self.lanes[lane].trial {
            self.begin(trial, Stage::Playing);
        }
        self.lanes[lane].fresh = true;
    }

    /// What a lane acts on.
    pub fn saw(&mut self, lane: usize, row: impl Iterator<Item = f64>) {
        if let Some(trial) = self.lanes[lane].trial
            && let Some(seen) = &mut self.trials[trial].seen
        {
            seen.push(row);
        }
    }

    pub fn stepped(&mut self, lane: usize, reward: f32, ended: bool) {
        self.lanes[lane].fresh = ended;
        let Some(at) = self.lanes[lane].trial else { return };
        let trial = &mut self.trials[at];
        trial.total += f64::from(reward);
        trial.length += 1;
        if ended {
            trial.stage = Stage::Done;
            self.lanes[lane].trial = None;
            self.settle();
        }
    }

    fn settle(&mut self) {
        while let Some(trial) = self.trials.get_mut(self.settled)
            && trial.stage == Stage::Done
        {
            if let Some(seen) = trial.seen.take() {
                self.gathered.merge(&seen);
            }
            self.settled += 1;
        }
    }

    /// The next iteration.
    pub fn begin_anew(&mut self) {
        self.trials.fill(Trial::default());
        self.gathered = RunningStats::new(self.gathered.width());
        self.settled = 0;
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        let (count, lanes) = (self.trials.len(), self.lanes.len());
        io.value("trials", &mut self.trials)?;
        io.value("trials.lanes", &mut self.lanes)?;
        io.value("trials.settled", &mut self.settled)?;
        io.statistics("trials.seen", &mut self.gathered)?;
        match self.trials.len() == count && self.lanes.len() == lanes && self.is_possible() {
            true => Ok(()),
            false => Err(StateError::other_moment("trials")),
        }
    }

    /// Whether an iteration can be like this: every episode that is being played has one lane, and those that are settled are
    /// done and counted.
    fn is_possible(&self) -> bool {
        let width = self.gathered.width();
        let players = |at: usize| self.lanes.iter().filter(|lane| lane.trial == Some(at)).count();
        let known = self.lanes.iter().flat_map(|lane| lane.trial).all(|trial| trial < self.trials.len());
        let sound = |(at, trial): (usize, &Trial)| {
            let settled = at < self.settled;
            let counted = match &trial.seen {
                None => settled || trial.stage == Stage::Waiting,
                Some(seen) => !settled && trial.stage != Stage::Waiting && seen.check(width).is_ok(),
            };
            let playing = trial.stage == Stage::Playing;
            let ended = !settled || trial.stage == Stage::Done;
            counted && ended && trial.total.is_finite() && players(at) == usize::from(playing)
        };
        let next = self.trials.get(self.settled).is_none_or(|trial| trial.stage != Stage::Done);
        known && self.settled <= self.trials.len() && next && self.trials.iter().enumerate().all(sound)
    }
}
