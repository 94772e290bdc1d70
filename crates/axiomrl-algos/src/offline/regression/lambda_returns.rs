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

#[cfg(test)]
mod tests {
    use super::super::presets;
    use super::*;
    use crate::agent::Setup;
    use axiomrl_core::{Dataset, DatasetBuilder, Episode, stream};
    use axiomrl_envs::{BoxSpace, ObsRef, Space, Spaces};

    /// Three episodes of two steps, rewards 1 and 1 each; the second was cut off.
    fn data(spaces: &Spaces) -> Dataset {
        let mut builder = DatasetBuilder::new(spaces.clone()).unwrap();
        for (number, terminated) in [true, false, true].into_iter().enumerate() {
            let seen = [0.1, 0.2, 0.3].map(|x| x + number as f32);
            let episode = Episode {
                obs: ObsRef::of_floats(3, &seen),
                masks: &[],
                action: &[0.0, 0.5],
                reward: &[1.0, 1.0],
                terminated: &[false, terminated],
                truncated: &[false, !terminated],
            };
            builder.push(&episode).unwrap();
        }
        builder.build().unwrap()
    }

    fn returns(portion: usize) -> (LambdaReturns, ValueNet, Setup) {
        let unit = || Space::Box(BoxSpace::uniform(1, -1.0, 1.0));
        let spaces = Spaces::new(unit(), unit());
        let setup = Setup { prior: Some(data(&spaces)), ..Setup::new(spaces) };
        let config = RegressionConfig { gamma: 0.5, td_lambda: 0.5, ..presets::awr() };
        let value = ValueNet::new(&config, &setup, &mut stream(1, "init")).unwrap();
        let recorded = Recorded::of(&setup).unwrap().unwrap();
        (LambdaReturns { portion, ..LambdaReturns::new(&config, recorded, 2.0, &value) }, value, setup)
    }

    #[test]
    fn lambda_returns_by_hand() {
        let (mut found, ..) = returns(100);
        found.values = vec![7.0, 2.0, 7.0, 2.0, 7.0, 2.0];
        found.finals = vec![4.0; 3];
        found.take_returns();
        // 1 + 1/2 * (1/2 * 2 + 1/2 * 1) where the episode ended, and with 1 + 1/2 * 4 in the place of the 1 where it was cut off.
        assert_eq!(found.returns, [1.75, 1.0, 2.25, 3.0, 1.75, 1.0]);
        let differences = [1.75 - 7.0, -1.0, 2.25 - 7.0, 1.0, 1.75 - 7.0, -1.0f64];
        let mean = differences.iter().sum::<f64>() / 6.0;
        let std = (differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 6.0).sqrt();
        for (found, difference) in found.advantages.iter().zip(differences) {
            assert!((f64::from(*found) - (difference - mean) / (std + 1e-5)).abs() < 1e-5);
        }
    }

    #[test]
    fn a_dataset_is_valued_portion_by_portion_with_the_same_result() {
        let (mut whole, value, setup) = returns(100);
        assert_eq!(whole.advance(&value).unwrap(), Some(Turn::Value));
        for portion in [1, 2, 4, 5] {
            let (mut found, ..) = returns(portion);
            let mut calls = 1;
            while found.advance(&value).unwrap().is_none() {
                calls += 1;
            }
            assert_eq!(calls, 6usize.div_ceil(portion));
            assert_eq!((&found.returns, &found.finals, &found.values), (&whole.returns, &whole.finals, &whole.values));
            // Nothing is due again until the value has learned.
            assert_eq!(found.advance(&value).unwrap(), Some(Turn::Value));
        }
        // In the unit of rewards: twice what the network gives.
        let seen = [1.1, 1.2, 1.3];
        let values = value.values(ObsRef::of_floats(3, &seen));
        assert_eq!(whole.values[2..4], [2.0 * values[0], 2.0 * values[1]]);
        assert_eq!(whole.finals[1], 2.0 * values[2]);
        assert_eq!(setup.prior.unwrap().len(), 6);
    }

    #[test]
    fn a_place_beyond_the_dataset_is_refused() {
        let (mut found, ..) = returns(100);
        found.place.valued = 7;
        let mut saved = crate::state::Snapshot::default();
        assert!(found.visit_state(&mut StateIo::save(&mut saved, None)).is_err());
    }
}
