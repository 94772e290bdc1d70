//! The squashed Gaussian's sampling node.

use crate::reference::{assert_close, grad_of, normal};
use axiomrl_nn::distributions::TanhGaussian;
use axiomrl_nn::{LogStdBounds, composed, leaf, tanh_gaussian, tanh_gaussian_log_prob, tanh_gaussian_sample, values};
use std::f32::consts::PI;

#[test]
fn values_and_gradients_match_the_composition() {
    for bounds in [LogStdBounds::Clamp(-1.0, 0.5), LogStdBounds::Tanh(-5.0, 2.0)] {
        for (rows, d) in [(1, 1), (7, 3), (33, 6)] {
            let eps = normal(rows * d, 2);
            let weights = leaf(&normal(rows * (d + 1), 3), [rows, d + 1]);
            let head = || leaf(&normal(rows * 2 * d, 1), [rows, 2 * d]).require_grad();
            let (ours, theirs) = (head(), head());
            let got = tanh_gaussian(ours.clone(), &eps, bounds);
            let want = composed::tanh_gaussian(theirs.clone(), &eps, bounds);
            assert_close("samples", &values(&got), &values(&want));
            let grads = (got * weights.clone()).sum().backward();
            let want_grads = (want * weights).sum().backward();
            assert_close("head gradient", &grad_of(&ours, &grads), &grad_of(&theirs, &want_grads));
        }
    }
}

#[test]
fn slices_and_node_agree() {
    let (rows, d, bounds) = (5, 2, LogStdBounds::Clamp(-20.0, 2.0));
    let (head, eps) = (normal(rows * 2 * d, 1), normal(rows * d, 2));
    let (mut action, mut log_prob) = (vec![0.0; rows * d], vec![0.0; rows]);
    tanh_gaussian_sample(&head, &eps, bounds, &mut action, &mut log_prob);
    let node = tanh_gaussian(leaf(&head, [rows, 2 * d]), &eps, bounds);
    assert!(!node.is_tracked());
    let node = values(&node);
    for row in 0..rows {
        assert_eq!(node[row * 3..row * 3 + 2], action[row * 2..row * 2 + 2]);
        assert_eq!(node[row * 3 + 2], log_prob[row]);
        // The density of the action alone agrees with that of the sample.
        let again = tanh_gaussian_log_prob(&head[row * 4..row * 4 + 4], &action[row * 2..row * 2 + 2], bounds);
        assert!((again - log_prob[row]).abs() < 1e-3, "{again} {}", log_prob[row]);
    }
}

#[test]
fn the_correction_stays_exact_far_out() {
    // Mean 9, std 1, eps 0: u = 9, and ln(1 − tanh²9) = −16.6137.
    let (mut action, mut log_prob) = ([0.0], [0.0]);
    tanh_gaussian_sample(&[9.0, 0.0], &[0.0], LogStdBounds::Clamp(-20.0, 2.0), &mut action, &mut log_prob);
    let want = -0.5 * (2.0 * PI).ln() + 16.613_706;
    assert!((log_prob[0] - want).abs() < 1e-4, "{} against {want}", log_prob[0]);
}

#[test]
fn the_density_integrates_to_one() {
    let policy = TanhGaussian { d: 1, bounds: LogStdBounds::Tanh(-5.0, 2.0) };
    let head = [0.3, 0.4];
    let steps = 20_000;
    let mass: f64 = (0..steps)
        .map(|i| {
            let a = -1.0 + (2.0 * i as f32 + 1.0) / steps as f32;
            f64::from(policy.log_prob(&head, &[a])).exp() * 2.0 / f64::from(steps)
        })
        .sum();
    assert!((mass - 1.0).abs() < 2e-3, "{mass}");
}

#[test]
fn row_wise_gradient_and_kl() {
    let policy = TanhGaussian { d: 2, bounds: LogStdBounds::Tanh(-5.0, 2.0) };
    let (head, action) = ([0.3, -0.2, 0.1, -0.4], [0.5, -0.7]);
    let mut grad = [0.0; 4];
    policy.d_log_prob(&head, &action, 2.0, &mut grad);
    for i in 0..4 {
        let moved = |by: f32| {
            let mut h = head;
            h[i] += by;
            policy.log_prob(&h, &action)
        };
        let numeric = 2.0 * (moved(1e-2) - moved(-1e-2)) / 2e-2;
        assert!((numeric - grad[i]).abs() < 2e-3 * grad[i].abs().max(1.0), "{i}: {numeric} {}", grad[i]);
    }
    // KL as the mean log-ratio of samples.
    let other = [0.1, 0.2, 0.3, 0.0];
    let mut rng = crate::reference::rng(4);
    let (mut sum, n) = (0.0f64, 40_000);
    let mut drawn = [0.0; 2];
    for _ in 0..n {
        let log_prob = policy.sample(&head, &mut rng, &mut drawn);
        sum += f64::from(log_prob - policy.log_prob(&other, &drawn));
    }
    let (estimate, exact) = (sum / f64::from(n), f64::from(policy.kl(&head, &other)));
    assert!((estimate - exact).abs() < 0.03, "{estimate} {exact}");
    let mut mode = [0.0; 2];
    policy.mode(&head, &mut mode);
    assert!((mode[0] - 0.3f32.tanh()).abs() < 1e-6);
}
