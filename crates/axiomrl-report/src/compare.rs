//! Whether one set of runs is better than another, and how sure one can be.
//!
//! The statistics are those of Agarwal and others, Deep reinforcement learning at the edge of the statistical precipice, 2021.

use axiomrl_core::random::{below, stream};
use axiomrl_core::score::iqm;

/// Resamples that an interval is made of.
const RESAMPLES: usize = 10_000;

/// A number with its 95 % interval; without one where there are too few scores to resample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

#[derive(Clone, Debug)]
pub struct Comparison {
    pub first: Estimate,
    pub second: Estimate,
    /// Interquartile mean of the second minus that of the first.
    pub difference: Estimate,
    /// How likely a run of the second is better than one of the first; ties count half.
    pub improvement: Estimate,
}

impl Comparison {
    /// Whether the interval of the difference leaves out nothing at all.
    pub fn is_clear(&self) -> bool {
        self.difference.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

/// Compares the scores of two sets of runs.
pub fn compare(first: &[f64], second: &[f64], seed: u64) -> Comparison {
    let estimate = |name: &str, statistic: &dyn Fn(&[f64], &[f64]) -> f64, enough: bool| Estimate {
        value: statistic(first, second),
        interval: enough.then(|| interval(first, second, statistic, seed, name)),
    };
    let (several, others) = (first.len() > 1, second.len() > 1);
    Comparison {
        first: estimate("first", &|a, _| iqm(a), several),
        second: estimate("second", &|_, b| iqm(b), others),
        difference: estimate("difference", &|a, b| iqm(b) - iqm(a), several && others),
        improvement: estimate("improvement", &probability_of_improvement, several && others),
    }
}

/// P(b > a), ties counted half: Mann and Whitney's statistic, divided by the number of pairs.
fn probability_of_improvement(a: &[f64], b: &[f64]) -> f64 {
    let won = |a: f64, b: f64| if b > a { 1.0 } else { f64::from(u8::from(a == b)) / 2.0 };
    let total: f64 = a.iter().flat_map(|a| b.iter().map(|b| won(*a, *b))).sum();
    total / (a.len() * b.len()) as f64
}

/// Between the 2.5 % and the 97.5 % quantile over resamples of both.
fn interval(a: &[f64], b: &[f64], statistic: &dyn Fn(&[f64], &[f64]) -> f64, seed: u64, name: &str) -> (f64, f64) {
    let mut rng = stream(seed, name);
    let mut draw = |from: &[f64]| (0..from.len()).map(|_| from[below(&mut rng, from.len())]).collect::<Vec<f64>>();
    let mut found: Vec<f64> = (0..RESAMPLES).map(|_| statistic(&draw(a), &draw(b))).collect();
    found.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        let at = share * (found.len() - 1) as f64;
        let (low, rest) = (at.floor() as usize, at.fract());
        found[low] + rest * (found[(low + 1).min(found.len() - 1)] - found[low])
    };
    (quantile(0.025), quantile(0.975))
}

/// The share of runs with a score above each threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub points: Vec<(f64, f64)>,
}

/// Performance profiles over the range of all scores.
pub fn profiles(sets: &[&[f64]], thresholds: usize) -> Vec<Profile> {
    let all = || sets.iter().flat_map(|set| set.iter().copied());
    let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
    let at = |i: usize| low + (high - low) * i as f64 / (thresholds.max(2) - 1) as f64;
    let share = |set: &[f64], threshold: f64| {
        set.iter().filter(|score| **score > threshold).count() as f64 / set.len().max(1) as f64
    };
    let profile = |set: &&[f64]| Profile { points: (0..thresholds).map(|i| (at(i), share(set, at(i)))).collect() };
    sets.iter().map(profile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_numbers() {
        // Of nine pairs five are won and one is a tie.
        let found = compare(&[1.0, 3.0, 4.0], &[2.0, 4.0, 5.0], 1);
        assert!((found.improvement.value - 6.5 / 9.0).abs() < 1e-12, "{found:?}");
        assert!((found.difference.value - 1.0).abs() < 1e-12);
        assert!(!found.is_clear());
        let (low, high) = found.improvement.interval.unwrap();
        assert!(low < 6.5 / 9.0 && high > 6.5 / 9.0 && low >= 0.0 && high <= 1.0);
    }

    #[test]
    fn a_clear_difference_is_called_clear_and_a_single_run_has_no_interval() {
        let clear = compare(&[1.0, 2.0, 1.5, 1.2], &[10.0, 11.0, 9.0, 12.0], 1);
        assert!(clear.is_clear() && clear.improvement.value == 1.0);
        let same = compare(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 4.0], 1);
        assert!(!same.is_clear() && same.improvement.value == 0.5);
        let single = compare(&[1.0], &[2.0, 3.0], 1);
        assert!(single.difference.interval.is_none() && single.second.interval.is_some() && !single.is_clear());
    }

    #[test]
    fn a_profile_falls_from_one_to_nothing() {
        let found = profiles(&[&[0.0, 1.0, 2.0, 3.0], &[4.0]], 5);
        assert_eq!(found[0].points, [(0.0, 0.75), (1.0, 0.5), (2.0, 0.25), (3.0, 0.0), (4.0, 0.0)]);
        assert_eq!(found[1].points[3], (3.0, 1.0));
    }
}
