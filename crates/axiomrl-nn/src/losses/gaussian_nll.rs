//! The likelihood of targets under a Gaussian whose log-variances are kept softly between two bounds.

use crate::kernels::dispatch::simd;
use crate::kernels::math::{exp, sigmoid, softplus};

/// The log-variance that a raw output stands for: `l = max − softplus(max − raw)`, then `min + softplus(l − min)`.
#[inline(always)]
pub fn bounded_log_var(raw: f32, max: f32, min: f32) -> f32 {
    let below = max - softplus(max - raw);
    min + softplus(below - min)
}

simd! {
    /// As [`bounded_log_var`] for rows of raw outputs, one pair of bounds for each of their columns.
    pub fn bounded_log_vars(raw: &[f32], max: &[f32], min: &[f32], out: &mut [f32]) {
        for (raw, out) in raw.chunks_exact(max.len()).zip(out.chunks_exact_mut(max.len())) {
            for (((raw, max), min), out) in raw.iter().zip(max).zip(min).zip(out) {
                *out = bounded_log_var(*raw, *max, *min);
            }
        }
    }

    /// `share · Σ [(mean − target)²·e^−lv + lv]` over rows of `outputs`, each `d` means followed by `d` raw log-variances, where
    /// `d` is the number of bounds. With `share` 1/(rows of a member · d) that is the sum over members of their mean losses.
    ///
    /// `grad` is overwritten with the derivative by `outputs`; those by the bounds are *added* to `by_max` and `by_min`.
    pub fn bounded_gaussian_nll(
        outputs: &[f32],
        targets: &[f32],
        max: &[f32],
        min: &[f32],
        share: f32,
        grad: &mut [f32],
        by_max: &mut [f32],
        by_min: &mut [f32],
    ) -> f32 {
        let d = max.len();
        assert!(min.len() == d && by_max.len() == d && by_min.len() == d, "as many bounds of each kind");
        assert!(outputs.len() == grad.len() && outputs.len() == 2 * targets.len(), "slices disagree");
        let mut total = 0.0f64;
        let rows = outputs.chunks_exact(2 * d).zip(targets.chunks_exact(d)).zip(grad.chunks_exact_mut(2 * d));
        for ((output, target), grad) in rows {
            let (mean, raw) = output.split_at(d);
            let (by_mean, by_raw) = grad.split_at_mut(d);
            let mut row = 0.0;
            for i in 0..d {
                let below = max[i] - softplus(max[i] - raw[i]);
                let log_var = min[i] + softplus(below - min[i]);
                let precision = exp(-log_var);
                let error = mean[i] - target[i];
                let squared = error * error * precision;
                row += squared + log_var;
                by_mean[i] = 2.0 * share * error * precision;
                let by_log_var = share * (1.0 - squared);
                let (p, q) = (sigmoid(max[i] - raw[i]), sigmoid(below - min[i]));
                by_raw[i] = by_log_var * p * q;
                by_max[i] += by_log_var * (1.0 - p) * q;
                by_min[i] += by_log_var * (1.0 - q);
            }
            total += f64::from(row);
        }
        (f64::from(share) * total) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: f32 = 0.5;
    const MIN: f32 = -10.0;

    fn close(found: f32, wanted: f32) {
        assert!((found - wanted).abs() < 2e-6 * wanted.abs().max(1.0), "{found} {wanted}");
    }

    #[test]
    fn log_variances_stay_between_their_bounds_but_for_a_hair() {
        for (raw, wanted) in [(0.0, -0.474_004), (5.0, 0.488_980), (-20.0, -9.999_955), (100.0, 0.500_028)] {
            close(bounded_log_var(raw, MAX, MIN), wanted);
        }
        let mut all = [0.0; 2];
        bounded_log_vars(&[0.0, 5.0], &[MAX], &[MIN], &mut all);
        close(all[1], 0.488_980);
    }

    /// Where the mean is right the derivative by the log-variance is the share itself: what is left are the partials.
    #[test]
    fn the_partials_by_raw_output_and_bounds_sum_to_one() {
        let (mut grad, mut by_max, mut by_min) = ([0.0; 2], [0.0], [0.0]);
        bounded_gaussian_nll(&[0.0, 0.0], &[0.0], &[MAX], &[MIN], 1.0, &mut grad, &mut by_max, &mut by_min);
        close(grad[1], 0.622_414);
        close(by_max[0], 0.377_513);
        assert!((by_min[0] - 7.29e-5).abs() < 1e-6, "{}", by_min[0]);
        close(grad[1] + by_max[0] + by_min[0], 1.0);
    }

    /// The raw output that a log-variance comes from.
    fn raw_of(log_var: f64) -> f32 {
        let inverse = |y: f64| y.exp_m1().ln();
        let below = f64::from(MIN) + inverse(log_var - f64::from(MIN));
        (f64::from(MAX) - inverse(f64::from(MAX) - below)) as f32
    }

    /// Two networks, one row, two dimensions: the sum over networks of means over rows and dimensions.
    #[test]
    fn the_loss_by_hand() {
        // The second log-variance is ln 4 and so above the bound of ½: bounds far away leave it as it is.
        let (max, min) = ([30.0; 2], [-30.0; 2]);
        let outputs = [1.0, 2.0, 0.0, 4.0f32.ln(), 0.0, 0.0, 0.0, 0.0];
        let (mut grad, mut by_max, mut by_min) = ([0.0; 8], [0.0; 2], [0.0; 2]);
        let loss = bounded_gaussian_nll(&outputs, &[0.0; 4], &max, &min, 0.5, &mut grad, &mut by_max, &mut by_min);
        close(loss, 1.693_147);
        assert!((bounded_log_var(raw_of(-0.3), MAX, MIN) + 0.3).abs() < 1e-5);
    }

    #[test]
    fn the_gradient_by_differences() {
        let outputs: Vec<f32> = (0..12).map(|i| (i as f32 * 0.9).sin() * 1.5).collect();
        let targets: Vec<f32> = (0..6).map(|i| (i as f32 * 0.4).cos()).collect();
        let bounds = [0.5, 0.2, 0.9, -3.0, -2.0, -4.0];
        let loss = |outputs: &[f32], bounds: &[f32], grad: &mut [f32], by: &mut [f32]| {
            let ((max, min), (by_max, by_min)) = (bounds.split_at(3), by.split_at_mut(3));
            bounded_gaussian_nll(outputs, &targets, max, min, 0.25, grad, by_max, by_min)
        };
        let (mut grad, mut by) = ([0.0; 12], [0.0; 6]);
        loss(&outputs, &bounds, &mut grad, &mut by);
        let value = |outputs: &[f32], bounds: &[f32]| f64::from(loss(outputs, bounds, &mut [0.0; 12], &mut [0.0; 6]));
        let moved = |values: &[f32], at: usize, step: f32| {
            let mut values = values.to_vec();
            values[at] += step;
            values
        };
        for (i, grad) in grad.iter().enumerate() {
            let numeric =
                (value(&moved(&outputs, i, 4e-3), &bounds) - value(&moved(&outputs, i, -4e-3), &bounds)) / 8e-3;
            assert!((numeric - f64::from(*grad)).abs() < 2e-3, "output {i}: {numeric} {grad}");
        }
        for (i, by) in by.iter().enumerate() {
            let numeric =
                (value(&outputs, &moved(&bounds, i, 4e-3)) - value(&outputs, &moved(&bounds, i, -4e-3))) / 8e-3;
            assert!((numeric - f64::from(*by)).abs() < 2e-3, "bound {i}: {numeric} {by}");
        }
    }
}
