//! Numbers of any size as a distribution over bins: DreamerV3's heads for rewards and values.
//!
//! A head has [`BINS`] logits. The bins lie evenly in symlog space and mirror each other around zero; a number is the mixture of
//! the two bins around it that has it as its mean, and what a head predicts is the mean over the bins *in raw space*.
//!
//! The end bins are ±4.85e8, so a difference in the last bit between two mirrored probabilities would move the mean by a tenth.
//! Mirrored bins therefore go through the same arithmetic: their differences are taken first, and are exactly zero for logits
//! that mirror each other.

use crate::kernels::dispatch::simd;
use crate::kernels::math::exp;
use crate::kernels::vector::{LANES, largest, reduce};
use crate::threads::join;
use std::sync::LazyLock;

/// Logits of a head.
pub const BINS: usize = 255;
const MIDDLE: usize = BINS / 2;
/// Bins on one side, filled up to whole lanes.
const HALF: usize = MIDDLE.next_multiple_of(LANES);

/// From so many rows on two threads share them; rows are independent, so the results are the same.
const SPLIT_ROWS: usize = 512;

/// sign(x)·ln(1 + |x|).
pub fn symlog(x: f32) -> f32 {
    x.abs().ln_1p().copysign(x)
}

/// The inverse of [`symlog`].
pub fn symexp(x: f32) -> f32 {
    x.abs().exp_m1().copysign(x)
}

/// What the bins stand for, in ascending order; the middle one is 0.
pub fn bins() -> &'static [f32; BINS] {
    static VALUES: LazyLock<[f32; BINS]> = LazyLock::new(|| {
        let mut values = [0.0; BINS];
        for i in 0..MIDDLE {
            let value = (20.0 - 20.0 * i as f64 / MIDDLE as f64).exp_m1() as f32;
            (values[i], values[BINS - 1 - i]) = (-value, value);
        }
        values
    });
    &VALUES
}

/// The lower of the two bins around `target`, and the upper one's share.
fn around(target: f32) -> (usize, f32) {
    let bins = bins();
    let above = bins.partition_point(|bin| *bin <= target);
    let Some(lower) = above.checked_sub(1) else { return (0, 0.0) };
    if above == BINS {
        return (BINS - 1, 0.0);
    }
    // In f64: the difference of two large neighbours must not lose the place between them.
    let (low, high) = (f64::from(bins[lower]), f64::from(bins[above]));
    (lower, ((f64::from(target) - low) / (high - low)) as f32)
}

/// The means that rows of [`BINS`] logits stand for, in raw space; exactly 0 for logits that mirror each other, such as zeros.
///
/// # Panics
/// When the slices disagree: a mistake in the calling code.
pub fn mean(logits: &[f32], out: &mut [f32]) {
    assert_eq!(logits.len(), out.len() * BINS, "one mean for each row");
    if out.len() < SPLIT_ROWS {
        return means(logits, bins(), out);
    }
    let half = out.len() / 2;
    let ((x, rest_x), (out, rest_out)) = (logits.split_at(half * BINS), out.split_at_mut(half));
    join(|| means(x, bins(), out), || means(rest_x, bins(), rest_out));
}

/// Cross-entropy to the two-hot `targets`, one raw number per row: returns `Σ weight·row loss / rows`, overwrites `grad` with its
/// derivative and fills each row's loss, without its weight, as the functions in [`losses`](crate::losses) do. `weights` may be
/// empty. A target that is not a number makes its row's loss and gradient so.
///
/// # Panics
/// When the slices disagree: a mistake in the calling code.
pub fn loss(logits: &[f32], targets: &[f32], weights: &[f32], row_losses: &mut [f32], grad: &mut [f32]) -> f32 {
    let rows = targets.len();
    let fits = logits.len() == rows * BINS && grad.len() == logits.len() && row_losses.len() == rows;
    assert!(fits && (weights.is_empty() || weights.len() == rows), "slices disagree");
    let run = |first: usize, row_losses: &mut [f32], grad: &mut [f32]| {
        for (index, (row_loss, grad)) in row_losses.iter_mut().zip(grad.chunks_exact_mut(BINS)).enumerate() {
            let row = first + index;
            let logits = &logits[row * BINS..(row + 1) * BINS];
            *row_loss = row_of_loss(logits, targets[row], share(weights, row, rows), grad);
        }
    };
    if rows < SPLIT_ROWS {
        run(0, row_losses, grad);
    } else {
        let half = rows / 2;
        let ((each, rest_each), (grad, rest_grad)) = (row_losses.split_at_mut(half), grad.split_at_mut(half * BINS));
        join(|| run(0, each, grad), || run(half, rest_each, rest_grad));
    }
    row_losses.iter().enumerate().map(|(row, loss)| share(weights, row, rows) * loss).sum()
}

/// What a row's loss counts for.
fn share(weights: &[f32], row: usize, rows: usize) -> f32 {
    if weights.is_empty() { 1.0 / rows as f32 } else { weights[row] / rows as f32 }
}

/// One row's loss, and `share` times its gradient.
fn row_of_loss(logits: &[f32], target: f32, share: f32, grad: &mut [f32]) -> f32 {
    let log_total = softmax(logits, grad, share);
    if target.is_nan() {
        grad.fill(f32::NAN);
        return f32::NAN;
    }
    let (lower, high) = around(target);
    let (upper, low) = ((lower + 1).min(BINS - 1), 1.0 - high);
    grad[lower] -= share * low;
    grad[upper] -= share * high;
    low * (log_total - logits[lower]) + high * (log_total - logits[upper])
}

/// `eˣ` over the row into `out`, and the logarithm of the sum; every column by the same operations.
#[inline(always)]
fn powers(logits: &[f32], out: &mut [f32]) -> (f32, f32) {
    let largest = largest(logits);
    for (p, x) in out.iter_mut().zip(logits) {
        *p = exp(*x - largest);
    }
    let total = reduce(out, out, |sum, p, _| sum + p);
    (largest, total)
}

simd! {
    /// `factor · softmax` of one row; returns ln Σ eˣ.
    fn softmax(logits: &[f32], out: &mut [f32], factor: f32) -> f32 {
        let (largest, total) = powers(logits, out);
        let scale = factor / total;
        for p in out.iter_mut() {
            *p *= scale;
        }
        largest + total.ln()
    }

    fn means(logits: &[f32], bins: &[f32; BINS], out: &mut [f32]) {
        let mut p = [0.0f32; BINS];
        // What the bins above the middle stand for, then a zero that fills up the last lane.
        let mut values = [0.0f32; HALF];
        values[..MIDDLE].copy_from_slice(&bins[MIDDLE + 1..]);
        let (mut lower, mut upper) = ([0.0f32; HALF], [0.0f32; HALF]);
        for (logits, out) in logits.chunks_exact(BINS).zip(out) {
            let (_, total) = powers(logits, &mut p);
            upper[..MIDDLE].copy_from_slice(&p[MIDDLE + 1..]);
            for i in 0..MIDDLE {
                lower[i] = p[MIDDLE - 1 - i];
            }
            // In f64, so that small numbers are not lost under large ones.
            let mut sums = [0.0f64; LANES];
            for first in (0..HALF).step_by(LANES) {
                for i in 0..LANES {
                    let at = first + i;
                    sums[i] += f64::from(upper[at] - lower[at]) * f64::from(values[at]);
                }
            }
            *out = (sums.iter().sum::<f64>() / f64::from(total)) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_the_same_rows_on_one_thread_and_two() {
        let rows = SPLIT_ROWS + 3;
        let logits: Vec<f32> = (0..rows * BINS).map(|i| (i as f32 * 0.7).sin()).collect();
        let targets: Vec<f32> = (0..rows).map(|i| symexp(i as f32 * 0.03 - 9.0)).collect();
        let run = |threads: usize| {
            crate::with_threads(threads, || {
                let (mut means, mut each, mut grad) = (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows * BINS]);
                mean(&logits, &mut means);
                let value = loss(&logits, &targets, &[], &mut each, &mut grad);
                [&means[..], &each, &grad, &[value]].concat()
            })
        };
        let one = run(1);
        assert_eq!(one, run(2));
        let mut alone = [0.0];
        mean(&logits[(rows - 1) * BINS..], &mut alone);
        assert_eq!(alone[0], one[rows - 1]);
    }

    #[test]
    fn symlog_and_back() {
        for x in [-1e6f32, -1.0, -0.01, 0.0, 0.3, 5.0, 1e8] {
            assert!((symexp(symlog(x)) - x).abs() <= 1e-5 * x.abs(), "{x}");
        }
        assert!((symlog(-1.0) + 2f32.ln()).abs() < 1e-7);
    }

    #[test]
    fn bins_mirror_each_other() {
        let bins = bins();
        assert_eq!((bins[MIDDLE], bins.len()), (0.0, 255));
        for i in 0..BINS {
            assert_eq!(bins[i], -bins[BINS - 1 - i]);
        }
        assert!((bins[254] - 4.851_652e8).abs() < 1e3, "{}", bins[254]);
        assert!(bins.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn targets_fall_on_the_two_bins_around_them() {
        let at = |target: f32| {
            let (lower, share) = around(target);
            (lower, bins()[lower], share)
        };
        let (lower, value, share) = at(1.0);
        assert_eq!(lower, 131);
        assert!((value - 0.877_463).abs() < 1e-5 && (bins()[132] - 1.197_678).abs() < 1e-5);
        assert!((share - 0.382_67).abs() < 1e-5, "{share}");
        let (lower, value, share) = at(0.1);
        assert!(
            (lower, value) == (127, 0.0) && (bins()[128] - 0.170_558).abs() < 1e-5 && (share - 0.586_31).abs() < 1e-4
        );
        assert_eq!(around(1e9), (254, 0.0));
        assert_eq!(around(f32::INFINITY), (254, 0.0));
        assert_eq!(around(-1e9), (0, 0.0));
        assert_eq!(around(0.0), (127, 0.0));
    }

    #[test]
    fn the_mean_is_in_raw_space_and_exactly_zero_at_the_beginning() {
        let mut out = [9.0; 2];
        mean(&[0.3; 2 * BINS], &mut out);
        assert_eq!(out, [0.0; 2]);
        let mut mirrored: Vec<f32> = (0..BINS).map(|i| (i.abs_diff(MIDDLE) as f32 * 0.7).sin()).collect();
        mean(&mirrored, &mut out[..1]);
        assert_eq!(out[0], 0.0);
        // All mass on two bins: their mean, not that of their logarithms.
        mirrored.fill(-80.0);
        (mirrored[131], mirrored[200]) = (0.0, 0.0);
        mean(&mirrored, &mut out[..1]);
        let want = (bins()[131] + bins()[200]) / 2.0;
        assert!((out[0] - want).abs() < 1e-3 * want, "{} {want}", out[0]);
    }

    #[test]
    fn the_loss_by_its_definition_and_by_differences() {
        let logits: Vec<f32> = (0..2 * BINS).map(|i| (i as f32 * 0.7).sin()).collect();
        let (targets, weights) = ([1.0, -300.0], [0.5, 2.0]);
        let (mut each, mut grad) = ([0.0; 2], vec![9.0; 2 * BINS]);
        let value = loss(&logits, &targets, &weights, &mut each, &mut grad);
        assert!((value - (0.25 * each[0] + each[1])).abs() < 1e-5);
        let total: f64 = logits[..BINS].iter().map(|x| f64::from(*x).exp()).sum();
        let want = 0.617_33 * (total.ln() - f64::from(logits[131])) + 0.382_67 * (total.ln() - f64::from(logits[132]));
        assert!((f64::from(each[0]) - want).abs() < 1e-4, "{} {want}", each[0]);
        for i in [0, 131, 132, 254, BINS + 17, BINS + 90] {
            let moved = |by: f32| {
                let mut logits = logits.clone();
                logits[i] += by;
                f64::from(loss(&logits, &targets, &weights, &mut [0.0; 2], &mut vec![0.0; 2 * BINS]))
            };
            let numeric = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            assert!((numeric - f64::from(grad[i])).abs() < 1e-3, "{i}: {numeric} {}", grad[i]);
        }
        loss(&logits[..BINS], &[f32::NAN], &[], &mut each[..1], &mut grad[..BINS]);
        assert!(each[0].is_nan() && grad[3].is_nan(), "a diverging target must show");
    }
}
