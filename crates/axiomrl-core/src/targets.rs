//! Targets and losses of distributional value functions.

use crate::value_functions::{huber, huber_grad};

/// The target distribution of C51: the atoms `reward + discount·z_j`, cut to `[v_min, v_max]`, each shared between the
/// two atoms beside it in proportion to its distance. Mass is preserved, and so is the mean unless something was cut.
///
/// The atoms are evenly spaced over `[v_min, v_max]`; a discount of 0 puts everything at the reward.
pub fn categorical_projection(
    probability: &[f32],
    reward: f32,
    discount: f32,
    v_min: f32,
    v_max: f32,
    out: &mut [f32],
) {
    let atoms = probability.len();
    assert!(atoms >= 2 && out.len() == atoms, "a categorical value has at least two atoms");
    let step = (v_max - v_min) / (atoms - 1) as f32;
    out.fill(0.0);
    for (j, &p) in probability.iter().enumerate() {
        let moved = (reward + discount * (v_min + j as f32 * step)).clamp(v_min, v_max);
        let at = ((moved - v_min) / step).clamp(0.0, (atoms - 1) as f32);
        // The triangular kernel max(0, 1−|at−i|) has two neighbours that are not zero; at the last atom the upper one
        // would be outside, with weight 0.
        let lower = (at as usize).min(atoms - 2);
        let share = at - lower as f32;
        out[lower] += p * (1.0 - share);
        out[lower + 1] += p * share;
    }
}

/// Writes `x` as weights of its two neighbours among the ascending `bins`, so that their weighted mean is `x`. Outside
/// of the bins it is the nearest one.
pub fn two_hot(x: f32, bins: &[f32], out: &mut [f32]) {
    assert!(bins.len() >= 2 && out.len() == bins.len(), "two-hot needs at least two bins");
    let x = x.clamp(bins[0], bins[bins.len() - 1]);
    let upper = bins.partition_point(|&bin| bin <= x).clamp(1, bins.len() - 1);
    let share = (x - bins[upper - 1]) / (bins[upper] - bins[upper - 1]);
    out.fill(0.0);
    out[upper - 1] = 1.0 - share;
    out[upper] = share;
}

/// The mean of a distribution over bins, summed from both ends inwards in pairs: for bins that are symmetric about 0
/// and equal probabilities it is exactly 0, so a fresh network predicts exactly nothing.
pub fn two_hot_mean(probability: &[f32], bins: &[f32]) -> f32 {
    let n = bins.len();
    let pairs: f32 = (0..n / 2).map(|i| probability[i] * bins[i] + probability[n - 1 - i] * bins[n - 1 - i]).sum();
    if n % 2 == 1 { pairs + probability[n / 2] * bins[n / 2] } else { pairs }
}

/// The quantile Huber loss of one sample: `Σ_j mean_i |τ_j − 1{δ_ij<0}|·Huber_κ(δ_ij)/κ`, `δ_ij = target_i − pred_j`.
/// Writes the derivative by each prediction into `grad`.
pub fn quantile_huber(pred: &[f32], tau: &[f32], target: &[f32], kappa: f32, grad: &mut [f32]) -> f32 {
    assert!(tau.len() == pred.len() && grad.len() == pred.len(), "one τ and one gradient for each prediction");
    let scale = 1.0 / (kappa * target.len() as f32);
    let mut loss = 0.0;
    for ((&pred, &tau), grad) in pred.iter().zip(tau).zip(grad) {
        let (mut sum, mut slope) = (0.0, 0.0);
        for &target in target {
            let delta = target - pred;
            let side = if delta < 0.0 { (1.0 - tau).abs() } else { tau };
            sum += side * huber(delta, kappa);
            slope -= side * huber_grad(delta, kappa);
        }
        loss += scale * sum;
        *grad = scale * slope;
    }
    loss
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: &[f32], expected: &[f32]) {
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-6, "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn projection_by_hand() {
        // Atoms −1, 0, 1. Moved by 0.5 + 0.5·z they are 0, 0.5, 1.
        let mut out = [0.0; 3];
        categorical_projection(&[0.2, 0.3, 0.5], 0.5, 0.5, -1.0, 1.0, &mut out);
        close(&out, &[0.0, 0.2 + 0.15, 0.15 + 0.5]);
        // The end of an episode: all at the reward.
        categorical_projection(&[0.2, 0.3, 0.5], -0.25, 0.0, -1.0, 1.0, &mut out);
        close(&out, &[0.25, 0.75, 0.0]);
        // Beyond the support: all at its edge, none lost.
        categorical_projection(&[0.2, 0.3, 0.5], 7.0, 1.0, -1.0, 1.0, &mut out);
        close(&out, &[0.0, 0.0, 1.0]);
    }

    #[test]
    fn two_hot_by_hand() {
        let bins = [-2.0, 0.0, 1.0, 5.0];
        let hot = |x| {
            let mut out = [9.0; 4];
            two_hot(x, &bins, &mut out);
            out
        };
        assert_eq!(hot(2.0), [0.0, 0.0, 0.75, 0.25]);
        assert_eq!(hot(0.0), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!((hot(-9.0), hot(9.0)), ([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]));
    }

    #[test]
    fn an_undecided_head_predicts_exactly_nothing() {
        let bins: Vec<f32> = (-127..=127).map(|i| crate::value_functions::symexp(20.0 * i as f32 / 127.0)).collect();
        assert_eq!(two_hot_mean(&vec![1.0 / 255.0; 255], &bins), 0.0);
    }

    #[test]
    fn quantile_huber_by_hand() {
        // δ = 2, −0.5 for pred 0 and 1, −1.5 for pred 1; κ = 1.
        let mut grad = [0.0; 2];
        let loss = quantile_huber(&[0.0, 1.0], &[0.25, 0.75], &[2.0, -0.5], 1.0, &mut grad);
        let first = (0.25 * 1.5 + 0.75 * 0.125) / 2.0;
        let second = (0.75 * 0.5 + 0.25 * 1.0) / 2.0;
        close(&[loss], &[first + second]);
        close(&grad, &[(-0.25 + 0.75 * 0.5) / 2.0, (-0.75 + 0.25) / 2.0]);
    }

    proptest! {
        #[test]
        fn projection_keeps_mass_and_mean(
            raw in prop::collection::vec(0.01f32..1.0, 2..60), reward in -2.0f32..2.0, discount in 0.0f32..1.0,
        ) {
            let total: f32 = raw.iter().sum();
            let p: Vec<f32> = raw.iter().map(|r| r / total).collect();
            // |reward| ≤ 2 and discount·|z| ≤ 8 stay within the support, so nothing is cut.
            let discount = 0.8 * discount;
            let (v_min, v_max) = (-10.0, 10.0);
            let mut out = vec![0.0; p.len()];
            categorical_projection(&p, reward, discount, v_min, v_max, &mut out);
            let z = |i: usize| v_min + i as f32 * (v_max - v_min) / (p.len() - 1) as f32;
            prop_assert!((out.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            let mean = |q: &[f32]| q.iter().enumerate().map(|(i, q)| q * z(i)).sum::<f32>();
            prop_assert!((mean(&out) - reward - discount * mean(&p)).abs() < 1e-3);
            // The dense triangular kernel says the same.
            let step = z(1) - z(0);
            for (i, &found) in out.iter().enumerate() {
                let dense: f32 = (0..p.len())
                    .map(|j| p[j] * (1.0 - ((reward + discount * z(j) - v_min) / step - i as f32).abs()).max(0.0))
                    .sum();
                prop_assert!((dense - found).abs() < 1e-4);
            }
        }

        #[test]
        fn two_hot_keeps_the_value(x in -50.0f32..50.0) {
            let bins: Vec<f32> = (-20..=20).map(|i| crate::value_functions::symexp(i as f32 / 5.0)).collect();
            let mut out = vec![0.0; bins.len()];
            two_hot(x, &bins, &mut out);
            prop_assert!(out.iter().all(|&w| (0.0..=1.0).contains(&w)));
            prop_assert!((out.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            prop_assert!((two_hot_mean(&out, &bins) - x).abs() < 1e-4 * (1.0 + x.abs()));
        }

        #[test]
        fn the_quantile_gradient_is_the_slope(
            pred in prop::collection::vec(-3.0f32..3.0, 1..6), target in prop::collection::vec(-3.0f32..3.0, 1..6), kappa in 0.5f32..2.0,
        ) {
            let n = pred.len();
            let tau: Vec<f32> = (0..n).map(|i| (i as f32 + 0.5) / n as f32).collect();
            let (mut grad, mut unused) = (vec![0.0; n], vec![0.0; n]);
            quantile_huber(&pred, &tau, &target, kappa, &mut grad);
            for j in 0..n {
                let h = 1e-2;
                let mut at = |shift: f32| {
                    let mut moved = pred.clone();
                    moved[j] += shift;
                    quantile_huber(&moved, &tau, &target, kappa, &mut unused)
                };
                let slope = (at(h) - at(-h)) / (2.0 * h);
                prop_assert!((slope - grad[j]).abs() < 2e-2, "{slope} {}", grad[j]);
            }
        }
    }
}
