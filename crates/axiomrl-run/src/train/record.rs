//! What a run knows of itself; saved with every checkpoint.

use crate::evaluate::Evaluation;
use crate::metadata::Best;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Episodes whose mean is shown.
const WINDOW: usize = 100;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// Environment steps taken.
    pub steps: u64,
    /// Environments that have stepped in the current round; 0 between rounds.
    pub round: usize,
    pub episodes: u64,
    /// Return and length of the newest episodes.
    recent: VecDeque<(f64, u64)>,
    pub best: Option<Best>,
    /// What the next improvement is measured against.
    reference_reward: Option<f64>,
    pub evaluations_without_improvement: u64,
    /// Whether what is due at this very step is still to be done: the run was stopped in the middle of it.
    #[serde(default)]
    pub unattended: bool,
    #[serde(skip)]
    pub last_evaluation: Option<Evaluation>,
}

impl Record {
    pub fn stepped(&mut self, count: u64) {
        self.steps += count;
    }

    /// Whether its numbers can be those of one run.
    pub fn is_possible(&self) -> bool {
        self.episodes <= self.steps && self.evaluations_without_improvement <= self.steps && self.recent.len() <= WINDOW
    }

    pub fn episode_ended(&mut self, episode_return: f64, length: u64) {
        self.episodes += 1;
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back((episode_return, length));
    }

    /// Mean return and length of the newest episodes.
    pub fn recent(&self) -> Option<(f64, f64)> {
        if self.recent.is_empty() {
            return None;
        }
        let n = self.recent.len() as f64;
        let returns = self.recent.iter().map(|e| e.0).sum::<f64>() / n;
        Some((returns, self.recent.iter().map(|e| e.1 as f64).sum::<f64>() / n))
    }

    pub fn mean_return(&self) -> Option<f64> {
        self.recent().map(|r| r.0)
    }

    /// Counts towards the patience of early stopping.
    pub fn count_evaluation(&mut self, mean_reward: f64, min_delta: f64) {
        if self.reference_reward.is_none_or(|reference| mean_reward > reference + min_delta) {
            self.reference_reward = Some(mean_reward);
            self.evaluations_without_improvement = 0;
        } else {
            self.evaluations_without_improvement += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_holds_a_hundred_episodes() {
        let mut record = Record::default();
        assert_eq!(record.recent(), None);
        for i in 0..150 {
            record.episode_ended(f64::from(i), 2);
        }
        assert_eq!(record.recent(), Some((99.5, 2.0)));
        assert_eq!(record.episodes, 150);
    }

    #[test]
    fn small_gains_do_not_count_as_improvement() {
        let mut record = Record::default();
        for reward in [10.0, 10.5, 10.9] {
            record.count_evaluation(reward, 1.0);
        }
        assert_eq!(record.evaluations_without_improvement, 2);
        record.count_evaluation(11.1, 1.0);
        assert_eq!(record.evaluations_without_improvement, 0);
    }
}
