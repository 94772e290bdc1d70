//! The arithmetic of MPO: weights of sampled actions, and the multipliers that keep each step small.

use axiomrl_nn::math::{sigmoid, softplus};

/// Multipliers are softplus of free numbers; below this the slope is gone and they could never come back.
pub const LEAST_RAW: f32 = -18.0;

/// A positive multiplier and its derivative.
pub fn multiplier(raw: f32) -> (f32, f32) {
    (softplus(raw) + 1e-8, sigmoid(raw))
}

/// The E-step: turns the values `[rows, samples]` of sampled actions into weights, `softmax(value / temperature)` in each
/// row, and returns the dual loss of the temperature with its derivative:
/// `temperature * (epsilon + mean_rows log mean_samples exp(value / temperature))`.
pub fn sample_weights(
    values: &[f32],
    samples: usize,
    temperature: f32,
    epsilon: f32,
    weights: &mut Vec<f32>,
) -> (f32, f32) {
    weights.clear();
    let rows = values.len() / samples;
    let (mut log_mean, mut weighted) = (0.0f64, 0.0f64);
    for row in values.chunks_exact(samples) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let start = weights.len();
        weights.extend(row.iter().map(|v| ((v - largest) / temperature).exp()));
        let sum: f32 = weights[start..].iter().sum();
        weights[start..].iter_mut().for_each(|w| *w /= sum);
        log_mean += f64::from(largest / temperature + (sum / samples as f32).ln());
        weighted += row.iter().zip(&weights[start..]).map(|(v, w)| f64::from(v * w / temperature)).sum::<f64>();
    }
    let (log_mean, weighted) = ((log_mean / rows as f64) as f32, (weighted / rows as f64) as f32);
    (temperature * (epsilon + log_mean), epsilon + log_mean - weighted)
}

/// The M-step of one row and one action dimension: how the policy (`mean`, `std`) should move, seen from the policy that
/// drew the samples (`old_mean`, `old_std`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Move {
    /// Cross-entropy of the weighted samples: new mean with old spread plus old mean with new spread.
    pub loss: f32,
    /// Divergence caused by the mean alone, and by the spread alone.
    pub kl_mean: f32,
    pub kl_std: f32,
    /// Derivatives of the loss, with the divergences weighted by their multipliers.
    pub by_mean: f32,
    pub by_std: f32,
}

impl Move {
    pub fn new(
        (mean, std): (f32, f32),
        (old_mean, old_std): (f32, f32),
        (weight_mean, weight_std): (f32, f32),
        samples: impl Iterator<Item = (f32, f32)>,
    ) -> Self {
        let (precision, old_precision) = (1.0 / (std * std), 1.0 / (old_std * old_std));
        let mut step = Self::default();
        for (action, weight) in samples {
            let (from_new, from_old) = (action - mean, action - old_mean);
            step.loss +=
                weight * (0.5 * from_new * from_new * old_precision + 0.5 * from_old * from_old * precision + std.ln());
            step.by_mean -= weight * from_new * old_precision;
            step.by_std += weight * (1.0 - from_old * from_old * precision) / std;
        }
        let moved = mean - old_mean;
        let ratio = old_std * old_std * precision;
        step.kl_mean = 0.5 * moved * moved * old_precision;
        step.kl_std = (std / old_std).ln() + 0.5 * (ratio - 1.0);
        step.by_mean += weight_mean * moved * old_precision;
        step.by_std += weight_std * (1.0 - ratio) / std;
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_by_hand_and_the_dual_gradient() {
        let mut weights = Vec::new();
        let values = [0.0, 2.0 * 3f32.ln(), 1.0, 1.0];
        let (loss, slope) = sample_weights(&values, 2, 2.0, 0.1, &mut weights);
        for (w, expected) in weights.iter().zip([0.25, 0.75, 0.5, 0.5]) {
            assert!((w - expected).abs() < 1e-6, "{weights:?}");
        }
        // Row 1: log((1 + 3) / 2) = log 2; row 2: 1/2.
        assert!((loss - 2.0 * (0.1 + 0.5 * (2f32.ln() + 0.5))).abs() < 1e-5);
        // By hand, epsilon minus the weights' divergence from equal ones: row 1 has 1/4 ln 1/2 + 3/4 ln 3/2, row 2 none.
        let divergence = 0.25 * 0.5f32.ln() + 0.75 * 1.5f32.ln();
        assert!((slope - (0.1 - 0.5 * divergence)).abs() < 1e-5);
        let at = |t: f32| sample_weights(&values, 2, t, 0.1, &mut Vec::new()).0;
        assert!((slope - (at(2.01) - at(1.99)) / 0.02).abs() < 1e-3);
    }

    #[test]
    fn a_constraint_on_the_weights_is_met_at_the_dual_optimum() {
        // Where the slope vanishes, the divergence of the weights from uniform equals epsilon.
        let values: Vec<f32> = (0..20).map(|i| (i as f32 * 1.7).sin()).collect();
        let (mut low, mut high, mut weights) = (1e-3, 100.0, Vec::new());
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let slope = sample_weights(&values, 20, middle, 0.1, &mut weights).1;
            if slope < 0.0 { low = middle } else { high = middle }
        }
        let divergence: f32 = weights.iter().map(|w| w * (w * 20.0).ln()).sum();
        assert!((divergence - 0.1).abs() < 1e-3, "{divergence}");
    }

    #[test]
    fn a_move_by_hand() {
        // From N(0, 2) to N(1, 1), one sample at 2 of weight 1/2.
        let step = Move::new((1.0, 1.0), (0.0, 2.0), (3.0, 5.0), [(2.0, 0.5)].into_iter());
        // 1/2 [ (2 - 1)^2 / (2 * 4) + (2 - 0)^2 / 2 + ln 1 ]
        assert!((step.loss - 0.5 * (0.125 + 2.0)).abs() < 1e-6);
        // KL(N(0, 2) || N(1, 2)) = 1 / (2 * 4);  KL(N(0, 2) || N(0, 1)) = ln(1 / 2) + (4 - 1) / 2
        assert!((step.kl_mean - 0.125).abs() < 1e-6);
        assert!((step.kl_std - (0.5f32.ln() + 1.5)).abs() < 1e-6);
        // -1/2 (2 - 1) / 4 + 3 * 1 / 4;  1/2 (1 - 4) + 5 * (1 - 4)
        assert!((step.by_mean - (-0.125 + 0.75)).abs() < 1e-6);
        assert!((step.by_std - (-1.5 - 15.0)).abs() < 1e-6);
    }

    #[test]
    fn moves_agree_with_finite_differences_and_stand_still_at_no_change() {
        let samples = || [(0.3, 0.2), (-0.5, 0.5), (1.1, 0.3)].into_iter();
        let whole = |mean: f32, std: f32| {
            let m = Move::new((mean, std), (0.1, 0.8), (2.0, 3.0), samples());
            m.loss + 2.0 * m.kl_mean + 3.0 * m.kl_std
        };
        let step = Move::new((0.4, 0.6), (0.1, 0.8), (2.0, 3.0), samples());
        assert!((step.by_mean - (whole(0.401, 0.6) - whole(0.399, 0.6)) / 0.002).abs() < 5e-3);
        assert!((step.by_std - (whole(0.4, 0.601) - whole(0.4, 0.599)) / 0.002).abs() < 5e-3);
        let still = Move::new((0.1, 0.8), (0.1, 0.8), (2.0, 3.0), std::iter::empty());
        assert!(still.kl_mean == 0.0 && still.kl_std.abs() < 1e-6 && still.by_mean == 0.0 && still.by_std.abs() < 1e-6);
    }
}
