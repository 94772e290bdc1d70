//! What an expert looks at first.

mod columns;
mod duplicates;
#[cfg(test)]
mod tests;

use crate::episode::next_checked;
use crate::{DataError, Endings, EpisodeReader, Metadata};
use axiomrl_envs::Spaces;
pub use columns::{ActionColumn, Column};
use columns::{ActionTally, ObsTally};
use duplicates::Duplicates;
use serde::Serialize;

/// Smallest, middle, average and largest of some numbers; all 0 where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    pub min: f64,
    pub median: f64,
    pub mean: f64,
    pub max: f64,
}

impl Spread {
    /// Of numbers in order.
    fn of(sorted: &[f64]) -> Self {
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else { return Self::default() };
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) };
        Self { min, median, mean: sorted.iter().sum::<f64>() / sorted.len() as f64, max }
    }
}

/// Counts in bins of equal width between `min` and `max`; the last bin includes `max`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Histogram {
    pub min: f64,
    pub max: f64,
    pub counts: Vec<usize>,
}

impl Histogram {
    /// With about as many bins as a terminal has room for; one where all numbers are the same.
    fn of(sorted: &[f64]) -> Self {
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else { return Self::default() };
        let bins = if min < max { ((sorted.len() as f64).sqrt().ceil() as usize).clamp(2, 20) } else { 1 };
        let mut counts = vec![0; bins];
        for value in sorted {
            let at = if max > min { (value - min) / (max - min) * bins as f64 } else { 0.0 };
            counts[(at as usize).min(bins - 1)] += 1;
        }
        Self { min, max, counts }
    }
}

/// How many numbers are NaN or infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NotFinite {
    pub observations: u64,
    pub actions: u64,
    pub rewards: u64,
}

/// What is in a dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    pub name: String,
    pub spaces: Spaces,
    pub metadata: Metadata,
    pub episodes: usize,
    pub transitions: u64,
    pub endings: Endings,
    /// Of episodes; those with a reward that is not finite are left out.
    pub returns: Spread,
    pub returns_histogram: Histogram,
    pub lengths: Spread,
    /// Of steps; those that are not finite are left out.
    pub rewards: Spread,
    /// No reward differs from 0.
    pub reward_free: bool,
    /// Column by column in the order of the parts.
    pub observations: Vec<Column>,
    pub actions: Vec<ActionColumn>,
    pub not_finite: NotFinite,
    /// Episodes that are the same as an earlier one, number for number.
    pub duplicate_episodes: usize,
    /// Transitions that are the same as an earlier one, number for number.
    pub duplicate_transitions: u64,
    /// What its reader did to the data.
    pub notes: Vec<String>,
}

impl Description {
    /// Share of action numbers that lie on a bound of their Box.
    pub fn at_bound(&self) -> f64 {
        self.share(|column| column.at_bound)
    }

    /// Share of action numbers that lie out of bounds, or are none of the choices.
    pub fn outside(&self) -> f64 {
        self.share(|column| column.outside)
    }

    fn share(&self, count: impl Fn(&ActionColumn) -> u64) -> f64 {
        let all = self.transitions as f64 * self.actions.len() as f64;
        if all > 0.0 { self.actions.iter().map(count).sum::<u64>() as f64 / all } else { 0.0 }
    }
}

/// Reads all episodes and says what is in them. Numbers that are not finite are counted, not refused.
pub fn describe(reader: &mut dyn EpisodeReader) -> Result<Description, DataError> {
    let spaces = reader.spaces().clone();
    let (mut observations, mut actions) = (ObsTally::new(&spaces), ActionTally::new(&spaces.action));
    let (mut returns, mut lengths, mut rewards) = (Vec::new(), Vec::new(), Vec::new());
    let (mut endings, mut duplicates, mut not_finite) =
        (Endings::default(), Duplicates::default(), NotFinite::default());
    let (mut episodes, mut transitions) = (0, 0);
    while let Some(episode) = next_checked(reader, &spaces, episodes)? {
        observations.add(&episode);
        actions.add(&episode.actions);
        duplicates.add(&episode, &spaces);
        endings.count(episode.ending);
        let finite = episode.rewards.iter().filter(|reward| reward.is_finite()).map(|&reward| f64::from(reward));
        let before = rewards.len();
        rewards.extend(finite);
        let bad = episode.steps() - (rewards.len() - before);
        not_finite.rewards += bad as u64;
        if bad == 0 {
            returns.push(episode.episode_return());
        }
        lengths.push(episode.steps() as f64);
        episodes += 1;
        transitions += episode.steps() as u64;
    }
    [&mut returns, &mut lengths, &mut rewards].into_iter().for_each(|values| values.sort_by(f64::total_cmp));
    let (observations, actions) = (observations.columns, actions.columns);
    not_finite.observations = observations.iter().map(|column| column.not_finite).sum();
    not_finite.actions = actions.iter().map(|column| column.not_finite).sum();
    Ok(Description {
        name: reader.name().to_owned(),
        metadata: reader.metadata().clone(),
        spaces,
        episodes,
        transitions,
        endings,
        returns: Spread::of(&returns),
        returns_histogram: Histogram::of(&returns),
        lengths: Spread::of(&lengths),
        reward_free: rewards.iter().all(|&reward| reward == 0.0),
        rewards: Spread::of(&rewards),
        observations,
        actions,
        not_finite,
        duplicate_episodes: duplicates.episodes,
        duplicate_transitions: duplicates.transitions,
        notes: reader.notes(),
    })
}
