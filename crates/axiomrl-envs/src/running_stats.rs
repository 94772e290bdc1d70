//! Mean and variance of a stream of rows.

use serde::{Deserialize, Serialize};

/// Mean and variance of every column, updated row by row or batch by batch, in double precision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct RunningStats {
    count: u64,
    mean: Vec<f64>,
    /// Sum of squared distances from the mean.
    spread: Vec<f64>,
}

/// Statistics as a file has them.
#[derive(Deserialize)]
struct Saved {
    count: u64,
    mean: Vec<f64>,
    spread: Vec<f64>,
}

impl TryFrom<Saved> for RunningStats {
    type Error = String;

    fn try_from(saved: Saved) -> Result<Self, String> {
        let Saved { count, mean, spread } = saved;
        if mean.len() != spread.len() {
            return Err(format!("statistics with {} means and {} spreads", mean.len(), spread.len()));
        }
        let possible = mean.iter().all(|x| x.is_finite()) && spread.iter().all(|x| x.is_finite() && *x >= 0.0);
        // Beyond this a count has no double of its own, and no run gets there.
        if !possible || count > 1 << 53 {
            return Err("statistics that no observations give".to_owned());
        }
        Ok(Self { count, mean, spread })
    }
}

impl RunningStats {
    pub fn new(width: usize) -> Self {
        Self { count: 0, mean: vec![0.0; width], spread: vec![0.0; width] }
    }

    pub fn width(&self) -> usize {
        self.mean.len()
    }

    /// Refuses statistics of another width, or that no stream of numbers has.
    pub fn check(&self, width: usize) -> Result<(), String> {
        if self.mean.len() != width || self.spread.len() != width {
            return Err(format!(
                "statistics of {} and {} numbers where {width} belong",
                self.mean.len(),
                self.spread.len()
            ));
        }
        let sound = self.mean.iter().all(|m| m.is_finite()) && self.spread.iter().all(|s| s.is_finite() && *s >= 0.0);
        if sound { Ok(()) } else { Err("a mean or variance that no numbers have".to_owned()) }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The variance of column `i`; 1 until there are two rows, since one row says nothing about scale.
    pub fn variance(&self, i: usize) -> f64 {
        if self.count < 2 { 1.0 } else { self.spread[i] / self.count as f64 }
    }

    /// Adds one row (Welford's update, which does not lose digits to a large mean).
    pub fn push(&mut self, row: impl IntoIterator<Item = f64>) {
        self.count += 1;
        let count = self.count as f64;
        for ((mean, spread), x) in self.mean.iter_mut().zip(&mut self.spread).zip(row) {
            let before = x - *mean;
            *mean += before / count;
            *spread += before * (x - *mean);
        }
    }

    /// Adds all that another has seen (Chan's update).
    pub fn merge(&mut self, other: &RunningStats) {
        let (n, m) = (self.count as f64, other.count as f64);
        if other.count == 0 {
            return;
        }
        self.count += other.count;
        for i in 0..self.mean.len() {
            let distance = other.mean[i] - self.mean[i];
            self.mean[i] += distance * m / (n + m);
            self.spread[i] += other.spread[i] + distance * distance * n * m / (n + m);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn two_pass(rows: &[f64]) -> (f64, f64) {
        let n = rows.len() as f64;
        let mean = rows.iter().sum::<f64>() / n;
        (mean, rows.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n)
    }

    #[test]
    fn statistics_that_cannot_be_are_refused_when_read() {
        let read = |text: &str| serde_json::from_str::<RunningStats>(text).map_err(|e| e.to_string());
        assert!(read(r#"{"count": 2, "mean": [1.0], "spread": [0.5]}"#).is_ok());
        let refused = [
            r#"{"count": 2, "mean": [1.0, 2.0], "spread": [0.5]}"#,
            r#"{"count": 2, "mean": [1.0], "spread": [-0.5]}"#,
            r#"{"count": 18446744073709551615, "mean": [1.0], "spread": [0.5]}"#,
            r#"{"count": -1, "mean": [1.0], "spread": [0.5]}"#,
            r#"{"count": 2, "mean": [null], "spread": [0.5]}"#,
        ];
        for text in refused {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_two_passes_however_it_is_split(
            rows in prop::collection::vec(-1e3..1e3f64, 2..60), cut in 0.0..1.0f64, offset in -1e6..1e6f64,
        ) {
            let rows: Vec<f64> = rows.iter().map(|x| x + offset).collect();
            let (first, second) = rows.split_at((cut * rows.len() as f64) as usize);
            let (mut stats, mut rest) = (RunningStats::new(1), RunningStats::new(1));
            first.iter().for_each(|&x| stats.push([x]));
            second.iter().for_each(|&x| rest.push([x]));
            stats.merge(&rest);
            let (mean, variance) = two_pass(&rows);
            prop_assert!((stats.mean()[0] - mean).abs() < 1e-6);
            prop_assert!((stats.variance(0) - variance).abs() < 1e-6 * (1.0 + variance));
        }
    }
}
