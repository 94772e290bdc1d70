//! Independent Gaussians: a row of means and a shared vector of log standard deviations.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

/// ½ ln 2π.
pub const HALF_LN_TAU: f32 = 0.918_938_5;

pub fn sample(mean: &[f32], log_std: &[f32], rng: &mut ChaCha8Rng, action: &mut [f32]) {
    for ((m, s), a) in mean.iter().zip(log_std).zip(action) {
        let noise: f32 = StandardNormal.sample(rng);
        *a = m + s.exp() * noise;
    }
}

pub fn log_prob(mean: &[f32], log_std: &[f32], action: &[f32]) -> f32 {
    let terms = mean.iter().zip(log_std).zip(action).map(|((m, s), a)| {
        let z = (a - m) * (-s).exp();
        -0.5 * z * z - s - HALF_LN_TAU
    });
    terms.sum()
}

pub fn entropy(log_std: &[f32]) -> f32 {
    log_std.iter().map(|s| s + 0.5 + HALF_LN_TAU).sum()
}

pub fn kl(p: &[f32], p_log_std: &[f32], q: &[f32], q_log_std: &[f32]) -> f32 {
    let pairs = p.iter().zip(p_log_std).zip(q.iter().zip(q_log_std));
    pairs
        .map(|((p, ps), (q, qs))| {
            let (ratio, distance) = ((ps - qs).exp(), (p - q) * (-qs).exp());
            qs - ps + 0.5 * (ratio * ratio + distance * distance - 1.0)
        })
        .sum()
}

pub fn d_log_prob(
    mean: &[f32],
    log_std: &[f32],
    action: &[f32],
    k: f32,
    grad_mean: &mut [f32],
    grad_log_std: &mut [f32],
) {
    let numbers = mean.iter().zip(log_std).zip(action);
    for (((m, s), a), (gm, gs)) in numbers.zip(grad_mean.iter_mut().zip(grad_log_std)) {
        let inverse = (-s).exp();
        let z = (a - m) * inverse;
        *gm += k * z * inverse;
        *gs += k * (z * z - 1.0);
    }
}

/// Log-density and entropy from one exponential per element; keeps the derivatives of the log-density with respect to
/// `mean` and `log_std`.
pub fn log_prob_entropy(
    mean: &[f32],
    log_std: &[f32],
    action: &[f32],
    by_mean: &mut [f32],
    by_log_std: &mut [f32],
) -> (f32, f32) {
    let (mut log_prob, mut entropy) = (0.0, 0.0);
    let kept = by_mean.iter_mut().zip(by_log_std);
    for (((m, s), a), (by_mean, by_log_std)) in mean.iter().zip(log_std).zip(action).zip(kept) {
        let inverse = (-s).exp();
        let z = (a - m) * inverse;
        *by_mean = z * inverse;
        *by_log_std = z * z - 1.0;
        log_prob += -0.5 * z * z - s - HALF_LN_TAU;
        entropy += s + 0.5 + HALF_LN_TAU;
    }
    (log_prob, entropy)
}

pub fn d_kl(
    p: &[f32],
    p_log_std: &[f32],
    q: &[f32],
    q_log_std: &[f32],
    k: f32,
    grad_mean: &mut [f32],
    grad_log_std: &mut [f32],
) {
    let pairs = p.iter().zip(p_log_std).zip(q.iter().zip(q_log_std));
    for (((p, ps), (q, qs)), (gm, gs)) in pairs.zip(grad_mean.iter_mut().zip(grad_log_std)) {
        let inverse = (-qs).exp();
        let (ratio, distance) = ((ps - qs).exp(), (q - p) * inverse);
        *gm += k * distance * inverse;
        *gs += k * (1.0 - ratio * ratio - distance * distance);
    }
}

/// ż/σ², for the means.
pub fn fisher_product(log_std: &[f32], movement: &[f32], out: &mut [f32]) {
    for ((s, movement), out) in log_std.iter().zip(movement).zip(out) {
        *out = movement * (-2.0 * s).exp();
    }
}
