//! Formulas of losses on plain rows with their gradients, for use inside [`fused_loss`](crate::fused_loss).
//!
//! Each function returns `Σ weight·row loss / rows`, overwrites `grad` with its derivative, and fills one number per row for
//! priorities and logs. `weights` may be empty: every row then counts alike.

mod gaussian_nll;

pub use gaussian_nll::{bounded_gaussian_nll, bounded_log_var, bounded_log_vars};

use crate::kernels::dispatch::simd;
use crate::kernels::math::exp;
use crate::kernels::vector::{largest, reduce};

/// How an error is penalised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorLoss {
    /// ½·error².
    Squared,
    /// ½·error² up to this size, linear beyond.
    Huber(f32),
}

impl ErrorLoss {
    /// The loss of one error and its derivative.
    pub fn of(self, error: f32) -> (f32, f32) {
        match self {
            ErrorLoss::Squared => (0.5 * error * error, error),
            ErrorLoss::Huber(limit) => {
                let slope = error.clamp(-limit, limit);
                (slope * (error - 0.5 * slope), slope)
            }
        }
    }
}

#[inline(always)]
fn row_share(weights: &[f32], row: usize, rows: usize) -> f32 {
    let weight = if weights.is_empty() { 1.0 } else { weights[row] };
    weight / rows as f32
}

fn check_rows(rows: usize, weights: &[f32], per_row: &[f32]) {
    assert!(weights.is_empty() || weights.len() == rows, "one weight per row, or none");
    assert_eq!(per_row.len(), rows, "one result per row");
}

/// Temporal-difference loss of the chosen actions: `q` `[rows, actions]`, `chosen` holds indices, one target per row.
///
/// `errors` receives `q[chosen] − target`.
pub fn td_loss(
    kind: ErrorLoss,
    q: &[f32],
    chosen: &[f32],
    targets: &[f32],
    weights: &[f32],
    errors: &mut [f32],
    grad: &mut [f32],
) -> f32 {
    let rows = targets.len();
    check_rows(rows, weights, errors);
    assert!(chosen.len() == rows && q.len() == grad.len(), "slices disagree");
    grad.fill(0.0);
    let actions = q.len() / rows.max(1);
    let mut total = 0.0;
    for row in 0..rows {
        let at = row * actions + chosen[row] as usize;
        let share = row_share(weights, row, rows);
        errors[row] = q[at] - targets[row];
        let (loss, slope) = kind.of(errors[row]);
        total += share * loss;
        grad[at] = share * slope;
    }
    total
}

/// ln Σ eˣ of a row; `probabilities` receives its softmax.
#[inline(always)]
fn softmax(logits: &[f32], probabilities: &mut [f32]) -> f32 {
    let largest = largest(logits);
    for (p, x) in probabilities.iter_mut().zip(logits) {
        *p = exp(*x - largest);
    }
    let total = reduce(probabilities, probabilities, |sum, p, _| sum + p);
    let scale = 1.0 / total;
    for p in probabilities {
        *p *= scale;
    }
    largest + total.ln()
}

simd! {
    /// Softmax of each row of `width` logits.
    pub fn softmax_rows(logits: &[f32], width: usize, probabilities: &mut [f32]) {
        assert_eq!(logits.len(), probabilities.len(), "slices disagree");
        for (x, p) in logits.chunks_exact(width).zip(probabilities.chunks_exact_mut(width)) {
            softmax(x, p);
        }
    }

    /// Cross-entropy −Σ target·ln softmax(logits) of each row of `width` logits; target rows sum to one.
    ///
    /// `row_losses` receives each row's loss, without its weight.
    pub fn cross_entropy_loss(
        logits: &[f32],
        targets: &[f32],
        width: usize,
        weights: &[f32],
        row_losses: &mut [f32],
        grad: &mut [f32],
    ) -> f32 {
        let rows = logits.len() / width;
        check_rows(rows, weights, row_losses);
        assert!(logits.len() == targets.len() && logits.len() == grad.len(), "slices disagree");
        let mut total = 0.0;
        for (row, row_loss) in row_losses.iter_mut().enumerate() {
            let range = row * width..(row + 1) * width;
            let (x, target, grad) = (&logits[range.clone()], &targets[range.clone()], &mut grad[range]);
            let normaliser = softmax(x, grad);
            // Σ t·(ln Σeˣ − x): the distance is taken first, so large logits do not cancel.
            *row_loss = reduce(target, x, |sum, t, x| t.mul_add(normaliser - x, sum));
            let share = row_share(weights, row, rows);
            total += share * *row_loss;
            for (g, t) in grad.iter_mut().zip(target) {
                *g = share * (*g - *t);
            }
        }
        total
    }

    /// Quantile Huber loss |τ − 1{u<0}|·Huber(u)/κ with u = target − predicted: summed over the `predicted` quantiles of a row
    /// and averaged over its targets.
    ///
    /// `predicted` is `[rows, n]`, `targets` `[rows, m]`; `taus` are the fractions of the predicted quantiles, `[rows, n]` or `[n]`
    /// for all rows. `row_losses` (whose length is the number of rows) receives each row's loss, without its weight.
    pub fn quantile_huber_loss(
        predicted: &[f32],
        taus: &[f32],
        targets: &[f32],
        kappa: f32,
        weights: &[f32],
        row_losses: &mut [f32],
        grad: &mut [f32],
    ) -> f32 {
        let rows = row_losses.len();
        check_rows(rows, weights, row_losses);
        let (n, m) = (predicted.len() / rows.max(1), targets.len() / rows.max(1));
        assert!(predicted.len() == rows * n && targets.len() == rows * m, "rows of unequal length");
        assert!(grad.len() == predicted.len() && (taus.len() == n || taus.len() == predicted.len()), "slices disagree");
        let scale = 1.0 / (kappa * m as f32);
        let mut total = 0.0;
        for row in 0..rows {
            let targets = &targets[row * m..(row + 1) * m];
            let share = row_share(weights, row, rows);
            let mut loss = 0.0;
            for i in 0..n {
                let value = predicted[row * n + i];
                let tau = if taus.len() == n { taus[i] } else { taus[row * n + i] };
                let weight = |u: f32| if u < 0.0 { 1.0 - tau } else { tau };
                loss += reduce(targets, targets, |sum, target, _| {
                    let u = target - value;
                    let bounded = u.clamp(-kappa, kappa);
                    (weight(u) * bounded).mul_add((-0.5f32).mul_add(bounded, u), sum)
                });
                let slope = reduce(targets, targets, |sum, target, _| {
                    let u = target - value;
                    weight(u).mul_add(u.clamp(-kappa, kappa), sum)
                });
                grad[row * n + i] = -share * scale * slope;
            }
            row_losses[row] = scale * loss;
            total += share * row_losses[row];
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(len: usize, step: f32) -> Vec<f32> {
        (0..len).map(|i| 1.5 * (i as f32 * step).sin()).collect()
    }

    /// Compares `grad` with central differences of `f` around `x`.
    fn check(x: &[f32], grad: &[f32], f: impl Fn(&[f32]) -> f32) {
        for i in 0..x.len() {
            let moved = |by: f32| {
                let mut x = x.to_vec();
                x[i] += by;
                f64::from(f(&x))
            };
            let numeric = (moved(4e-3) - moved(-4e-3)) / 8e-3;
            assert!((numeric - f64::from(grad[i])).abs() < 1e-3, "{i}: {numeric} {}", grad[i]);
        }
    }

    #[test]
    fn td_losses_by_hand_and_by_differences() {
        let (q, chosen, targets, weights) = ([1.0, 2.0, 3.0, -1.0], [1.0, 0.0], [0.0, 2.5], [1.0, 0.5]);
        let (mut errors, mut grad) = ([0.0; 2], [9.0; 4]);
        let loss = td_loss(ErrorLoss::Huber(1.0), &q, &chosen, &targets, &weights, &mut errors, &mut grad);
        assert_eq!(errors, [2.0, 0.5]);
        // Half of 1·(2 − ½), and half of ½·½·0.25.
        assert!((loss - (0.75 + 0.03125)).abs() < 1e-6);
        assert_eq!(grad, [0.0, 0.5, 0.125, 0.0]);
        let loss = td_loss(ErrorLoss::Squared, &q, &chosen, &targets, &[], &mut errors, &mut grad);
        assert!((loss - (1.0 + 0.0625)).abs() < 1e-6);
        for kind in [ErrorLoss::Squared, ErrorLoss::Huber(1.0)] {
            td_loss(kind, &q, &chosen, &targets, &weights, &mut errors, &mut grad);
            check(&q, &grad, |q| td_loss(kind, q, &chosen, &targets, &weights, &mut [0.0; 2], &mut [0.0; 4]));
        }
    }

    #[test]
    fn cross_entropy_by_its_definition_and_by_differences() {
        let (width, rows) = (21, 3);
        let (logits, weights) = (wave(width * rows, 0.7), [0.5, 2.0, 1.0]);
        let mut targets = vec![0.0; width * rows];
        softmax_rows(&wave(width * rows, 0.3), width, &mut targets);
        let (mut each, mut grad) = (vec![0.0; rows], vec![9.0; logits.len()]);
        let loss = cross_entropy_loss(&logits, &targets, width, &weights, &mut each, &mut grad);
        let mut want = 0.0;
        for row in 0..rows {
            let x = &logits[row * width..(row + 1) * width];
            let total: f64 = x.iter().map(|x| f64::from(*x).exp()).sum();
            let sum: f64 =
                (0..width).map(|i| f64::from(targets[row * width + i]) * (total.ln() - f64::from(x[i]))).sum();
            assert!((f64::from(each[row]) - sum).abs() < 1e-5);
            want += f64::from(weights[row]) * sum / rows as f64;
        }
        assert!((f64::from(loss) - want).abs() < 1e-5);
        let again =
            |x: &[f32]| cross_entropy_loss(x, &targets, width, &weights, &mut [0.0; 3], &mut vec![0.0; width * rows]);
        check(&logits, &grad, again);
        let mut far = vec![0.0; 3];
        softmax_rows(&[1000.0, 1000.0, -1000.0], 3, &mut far);
        assert!((far[0] - 0.5).abs() < 1e-6 && far[2] < 1e-30);
        softmax_rows(&[0.0, f32::NAN, 1.0], 3, &mut far);
        assert!(far.iter().any(|p| p.is_nan()), "a diverging network must show");
    }

    #[test]
    fn quantile_huber_by_its_definition_and_by_differences() {
        let (rows, n, m, kappa) = (2, 5, 19, 0.8f32);
        let (predicted, targets, weights) = (wave(rows * n, 0.9), wave(rows * m, 0.37), [0.7, 1.3]);
        let each_row: Vec<f32> = (0..rows * n).map(|i| 0.05 + 0.09 * i as f32).collect();
        for taus in [&each_row[..n], &each_row[..]] {
            let (mut each, mut grad) = (vec![0.0; rows], vec![9.0; rows * n]);
            quantile_huber_loss(&predicted, taus, &targets, kappa, &weights, &mut each, &mut grad);
            for row in 0..rows {
                let mut want = 0.0;
                for i in 0..n {
                    let tau = if taus.len() == n { taus[i] } else { taus[row * n + i] };
                    for j in 0..m {
                        let u = targets[row * m + j] - predicted[row * n + i];
                        let huber = if u.abs() <= kappa { 0.5 * u * u } else { kappa * (u.abs() - 0.5 * kappa) };
                        let side = if u < 0.0 { 1.0 } else { 0.0 };
                        want += (tau - side).abs() * huber / kappa / m as f32;
                    }
                }
                assert!((each[row] - want).abs() < 1e-5, "{} {want}", each[row]);
            }
            check(&predicted, &grad, |p| {
                quantile_huber_loss(p, taus, &targets, kappa, &weights, &mut [0.0; 2], &mut [0.0; 10])
            });
        }
    }
}
