//! Summaries of scores: what a set of runs or episodes amounts to, and how sure one can be.

use crate::random::{below, stream};

pub fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len() as f64
}

/// The standard deviation of these very scores (divided by n, as NumPy does).
pub fn std(scores: &[f64]) -> f64 {
    let mean = mean(scores);
    (scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / scores.len() as f64).sqrt()
}

pub fn median(scores: &[f64]) -> f64 {
    quantile(&sorted(scores), 0.5)
}

/// The interquartile mean: the mean without the lowest and the highest quarter (each rounded down to whole scores).
/// Less shaken by one lucky run than the mean, less wasteful than the median.
pub fn iqm(scores: &[f64]) -> f64 {
    let sorted = sorted(scores);
    let cut = sorted.len() / 4;
    mean(&sorted[cut..sorted.len() - cut])
}

/// An interval that contains the true `statistic` with a confidence of 95 %.
///
/// Each of the `strata` (the runs of one task, say) is resampled within itself, so that every resample has as many
/// scores of each kind as the original; the interval is between the 2.5 % and the 97.5 % quantile of the statistic over
/// the pooled resamples. The draws are a stream of their own: the same scores and seed give the same interval.
pub fn bootstrap_ci(strata: &[&[f64]], statistic: fn(&[f64]) -> f64, resamples: usize, seed: u64) -> (f64, f64) {
    let mut rng = stream(seed, "bootstrap");
    let mut pooled: Vec<f64> = Vec::with_capacity(strata.iter().map(|s| s.len()).sum());
    let found: Vec<f64> = (0..resamples)
        .map(|_| {
            pooled.clear();
            for scores in strata {
                pooled.extend((0..scores.len()).map(|_| scores[below(&mut rng, scores.len())]));
            }
            statistic(&pooled)
        })
        .collect();
    let found = sorted(&found);
    (quantile(&found, 0.025), quantile(&found, 0.975))
}

fn sorted(scores: &[f64]) -> Vec<f64> {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Linear between neighbours; not a number when there is nothing.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = share * last as f64;
    let (below, rest) = (at.floor() as usize, at.fract());
    sorted[below] + rest * (sorted[(below + 1).min(last)] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_numbers() {
        let scores = [8.0, 1.0, 2.0, 100.0, 3.0, 4.0, 5.0, -50.0];
        assert_eq!(mean(&scores), 73.0 / 8.0);
        assert_eq!(median(&scores), 3.5);
        // Without −50, 1 and 8, 100.
        assert_eq!(iqm(&scores), 3.5);
        assert_eq!(iqm(&[1.0, 2.0, 6.0]), 3.0);
        assert_eq!(std(&[1.0, 3.0]), 1.0);
        assert!(mean(&[]).is_nan() && median(&[]).is_nan() && iqm(&[]).is_nan());
    }

    #[test]
    fn the_interval_has_the_width_that_theory_gives() {
        // 400 scores of variance 1/12: the mean's standard error is 0.01443, the interval ±1.96 of it.
        let mut rng = stream(1, "scores");
        let scores: Vec<f64> = (0..400).map(|_| crate::random::uniform(&mut rng)).collect();
        let (low, high) = bootstrap_ci(&[&scores], mean, 4_000, 7);
        assert!(low < mean(&scores) && mean(&scores) < high);
        assert!(((high - low) / (2.0 * 1.96 * std(&scores) / 20.0) - 1.0).abs() < 0.08, "{low} {high}");
        assert_eq!((low, high), bootstrap_ci(&[&scores], mean, 4_000, 7));
        assert_ne!((low, high), bootstrap_ci(&[&scores], mean, 4_000, 8));
    }

    #[test]
    fn strata_are_kept_apart() {
        // Two tasks without any spread: whatever is drawn, the mean is 50. Pooled, it would vary.
        let (low, high) = bootstrap_ci(&[&[0.0; 5], &[100.0; 5]], mean, 200, 1);
        assert_eq!((low, high), (50.0, 50.0));
        let (low, high) = bootstrap_ci(&[&[0.0, 0.0, 0.0, 0.0, 0.0, 100.0, 100.0, 100.0, 100.0, 100.0]], mean, 200, 1);
        assert!(low < 40.0 && high > 60.0);
    }
}
