//! The TD(lambda) returns of all recorded transitions, and how far the turns between value and policy have come.

use super::recorded::Recorded;
use super::settings::RegressionConfig;
use super::value::ValueNet;
use crate::agent::LearnError;
use crate::state::{StateError, StateIo};
use axiomrl_core::Segment;
use axiomrl_core::returns::lambda_return;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Floating-point operations that one update may spend on going through the dataset: about a tenth of a second.
const BUDGET: usize = 4_000_000_000;

/// The same in images.
const IMAGES: usize = 1024;

/// Keeps advantages that are all alike from dividing by zero.
const EPSILON: f64 = 1e-5;

/// Whose updates are being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Turn {
    Value,
    Policy,
}

/// How far the turns have come. A run may stop between any two updates, so all of it is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    turn: Turn,
    /// Updates of this turn that were made.
    made: u64,
    /// Transitions that were valued anew for it; the turn begins when that is all of them.
    valued: usize,
}

pub struct LambdaReturns {
    recorded: Recorded,
    gamma: f32,
    lambda: f32,
    unit: f32,
    value_updates: u64,
    actor_updates: u64,
    /// Transitions that are valued in one update.
    portion: usize,
    place: Place,
    /// V of the observation before each transition.
    values: Vec<f32>,
    /// V of the last observation of each episode.
    finals: Vec<f32>,
    returns: Vec<f32>,
    /// Standardised.
    advantages: Vec<f32>,
}

impl LambdaReturns {
    /// `unit` is what the outputs of `value` are to be multiplied with.
    pub fn new(config: &RegressionConfig, recorded: Recorded, unit: f32, value: &ValueNet) -> Self {
        let (count, episodes) = (recorded.rewards().len(), recorded.episodes().len());
        let (cost, images) = value.cost();
        Self {
            recorded,
            gamma: config.gamma,
            lambda: config.td_lambda,
            unit,
            value_updates: config.value_updates,
            actor_updates: config.actor_updates,
            portion: if images { IMAGES } else { (BUDGET / cost).clamp(IMAGES, 1 << 16) },
            place: Place { turn: Turn::Value, made: 0, valued: 0 },
            values: vec![0.0; count],
            finals: vec![0.0; episodes],
            returns: vec![0.0; count],
            advantages: vec![0.0; count],
        }
    }

    /// Goes through some of the dataset, if its returns are to be taken anew. Then says whose turn it is, or nothing while there
    /// is more to go through.
    pub fn advance(&mut self, value: &ValueNet) -> Result<Option<Turn>, LearnError> {
        let all = self.values.len();
        if self.place.valued < all {
            let portion = self.place.valued..all.min(self.place.valued + self.portion);
            self.value_portion(portion.clone(), value)?;
            self.place.valued = portion.end;
            if self.place.valued < all {
                return Ok(None);
            }
            self.take_returns();
        }
        Ok(Some(self.place.turn))
    }

    /// V of the observations of some transitions, and of the last observations of episodes that end among them.
    fn value_portion(&mut self, portion: Range<usize>, value: &ValueNet) -> Result<(), LearnError> {
        let unit = self.unit;
        let scaled = |values: Vec<f32>| values.into_iter().map(|value| unit * value).collect::<Vec<f32>>();
        let numbers: Vec<u64> = portion.clone().map(|row| row as u64).collect();
        let found = scaled(value.values(self.recorded.gather(&numbers)?.0));
        self.values[portion.clone()].copy_from_slice(&found);
        let ended = self.recorded.ending_within(portion);
        if !ended.is_empty() {
            let lasts: Vec<u64> = ended.clone().map(|at| self.recorded.episodes()[at].end as u64 - 1).collect();
            let found = scaled(value.values(self.recorded.gather(&lasts)?.1));
            self.finals[ended].copy_from_slice(&found);
        }
        Ok(())
    }

    /// Returns and advantages from the values of all transitions.
    fn take_returns(&mut self) {
        let count = self.values.len();
        let mut next_value: Vec<f32> = self.values[1..].to_vec();
        next_value.push(0.0);
        let (mut terminated, mut truncated) = (vec![false; count], vec![false; count]);
        for (episode, value) in self.recorded.episodes().iter().zip(&self.finals) {
            let last = episode.end - 1;
            next_value[last] = *value;
            terminated[last] = self.recorded.terminated(last);
            truncated[last] = !terminated[last];
        }
        let steps = Segment {
            lanes: 1,
            reward: self.recorded.rewards(),
            terminated: &terminated,
            truncated: &truncated,
            next_value: &next_value,
        };
        lambda_return(&steps, self.gamma, self.lambda, &mut self.returns);
        let differences = self.advantages.iter_mut().zip(&self.returns).zip(&self.values);
        differences.for_each(|((advantage, ret), value)| *advantage = ret - value);
        standardise(&mut self.advantages);
    }

    /// An update of the turn was made. After those of the value, returns are due: the ones that the policy then learns from are
    /// also those that the value goes on with, for it stays as it is in between.
    pub fn made(&mut self) {
        self.place.made += 1;
        match self.place.turn {
            Turn::Value if self.place.made >= self.value_updates => {
                self.place = Place { turn: Turn::Policy, made: 0, valued: 0 };
            }
            Turn::Policy if self.place.made >= self.actor_updates => {
                self.place = Place { turn: Turn::Value, made: 0, ..self.place };
            }
            _ => {}
        }
    }

    pub fn returns(&self, index: &[u64]) -> Result<Vec<f32>, LearnError> {
        Ok(self.recorded.rows(index)?.into_iter().map(|row| self.returns[row]).collect())
    }

    /// (G - V(s) - mean) / (std + 1e-5), mean and std over all transitions.
    pub fn advantages(&self, index: &[u64]) -> Result<Vec<f32>, LearnError> {
        Ok(self.recorded.rows(index)?.into_iter().map(|row| self.advantages[row]).collect())
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.value("returns.place", &mut self.place)?;
        if self.place.valued > self.values.len() {
            return Err(StateError::other_moment("returns.place"));
        }
        io.floats("returns.values", &mut self.values)?;
        io.floats("returns.finals", &mut self.finals)?;
        io.floats("returns.returns", &mut self.returns)?;
        io.floats("returns.advantages", &mut self.advantages)
    }
}

/// To mean 0 and standard deviation 1.
fn standardise(values: &mut [f32]) {
    let n = values.len() as f64;
    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
    let scale = 1.0 / (variance.sqrt() + EPSILON);
    values.iter_mut().for_each(|v| *v = ((f64::from(*v) - mean) * scale) as f32);
}
