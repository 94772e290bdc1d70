//! A Gaussian squashed into (−1, 1) by tanh, whose network gives mean and (raw) log standard deviation.
//!
//! The density's correction ln(1 − tanh²u) is computed from `u` in a form that stays exact for large `u`. There is no
//! closed form for the entropy; algorithms estimate it by −log_prob of a sample.

use super::gaussian::{self, HALF_LN_TAU};
use crate::buffers::Pooled;
use crate::kernels::dispatch::simd;
use crate::kernels::math::{exp, ln_one_minus_tanh_squared, tanh};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use serde::{Deserialize, Serialize};

/// How the raw output becomes a log standard deviation within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogStdBounds {
    /// Cut off at the bounds, where the gradient vanishes.
    Clamp(f32, f32),
    /// `lo + ½(hi − lo)(tanh(raw) + 1)`.
    Tanh(f32, f32),
}

impl LogStdBounds {
    /// The log standard deviation and its derivative with respect to the raw output.
    #[inline(always)]
    fn apply(self, raw: f32) -> (f32, f32) {
        match self {
            LogStdBounds::Clamp(low, high) => (raw.clamp(low, high), if raw >= low && raw <= high { 1.0 } else { 0.0 }),
            LogStdBounds::Tanh(low, high) => {
                let (t, half) = (tanh(raw), 0.5 * (high - low));
                (half.mul_add(t + 1.0, low), half * (1.0 - t) * (1.0 + t))
            }
        }
    }
}

/// What the backward pass of sampling needs, one value per action element.
pub(crate) struct Flow<'a> {
    /// ∂u/∂log_std = std·eps.
    pub spread: &'a mut [f32],
    /// ∂log_std/∂raw.
    pub slope: &'a mut [f32],
}

/// Reparametrised sample: `action = tanh(mean + std·eps)` with its log-density.
///
/// `head` is `[rows, 2d]` (means, then raw log standard deviations), `eps` `[rows, d]`; `action` `[rows, d]` and
/// `log_prob` `[rows]` are overwritten.
pub fn tanh_gaussian_sample(head: &[f32], eps: &[f32], bounds: LogStdBounds, action: &mut [f32], log_prob: &mut [f32]) {
    let mut flow = Pooled::new(2 * eps.len());
    let (spread, slope) = flow.split_at_mut(eps.len());
    sample_with_flow(head, eps, bounds, action, log_prob, Flow { spread, slope });
}

/// As [`tanh_gaussian_sample`], keeping what the gradient needs.
pub(crate) fn sample_with_flow(
    head: &[f32],
    eps: &[f32],
    bounds: LogStdBounds,
    action: &mut [f32],
    log_prob: &mut [f32],
    flow: Flow<'_>,
) {
    let (rows, len) = (log_prob.len(), eps.len());
    assert!(head.len() == 2 * len && action.len() == len && len.is_multiple_of(rows.max(1)), "row widths disagree");
    if len == 0 {
        return;
    }
    let d = len / rows;
    // Rows of a few elements do not vectorise; the whole block does, once means and raw values are apart.
    let mut terms = Pooled::new(len);
    for ((head, mean), raw) in
        head.chunks_exact(2 * d).zip(action.chunks_exact_mut(d)).zip(flow.slope.chunks_exact_mut(d))
    {
        mean.copy_from_slice(&head[..d]);
        raw.copy_from_slice(&head[d..]);
    }
    squash(action, flow.slope, eps, bounds, flow.spread, &mut terms);
    for (log_prob, terms) in log_prob.iter_mut().zip(terms.chunks_exact(d)) {
        *log_prob = terms.iter().sum();
    }
}

simd! {
    /// Element by element: `mean_to_action` and `raw_to_slope` are read as the first and overwritten with the second.
    fn squash(
        mean_to_action: &mut [f32],
        raw_to_slope: &mut [f32],
        eps: &[f32],
        bounds: LogStdBounds,
        spread: &mut [f32],
        log_prob: &mut [f32],
    ) {
        let len = eps.len();
        let (mean_to_action, raw_to_slope) = (&mut mean_to_action[..len], &mut raw_to_slope[..len]);
        let (spread, log_prob) = (&mut spread[..len], &mut log_prob[..len]);
        for i in 0..len {
            let (log_std, slope) = bounds.apply(raw_to_slope[i]);
            let noise = exp(log_std) * eps[i];
            let u = mean_to_action[i] + noise;
            mean_to_action[i] = tanh(u);
            raw_to_slope[i] = slope;
            spread[i] = noise;
            log_prob[i] = -0.5 * eps[i] * eps[i] - log_std - HALF_LN_TAU - ln_one_minus_tanh_squared(u);
        }
    }
}

/// Actions of a dataset may sit on the border, where `atanh` is infinite.
const BORDER: f32 = 1.0 - 1e-6;

/// Log-density of a given action row under a head row `(mean, raw log_std)`.
pub fn tanh_gaussian_log_prob(head: &[f32], action: &[f32], bounds: LogStdBounds) -> f32 {
    let (mean, raw) = head.split_at(action.len());
    let terms = mean.iter().zip(raw).zip(action).map(|((mean, raw), action)| {
        let u = action.clamp(-BORDER, BORDER).atanh();
        let (log_std, _) = bounds.apply(*raw);
        let z = (u - mean) * (-log_std).exp();
        -0.5 * z * z - log_std - HALF_LN_TAU - ln_one_minus_tanh_squared(u)
    });
    terms.sum()
}

/// A squashed Gaussian policy of `d` dimensions, row by row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TanhGaussian {
    /// Number of action dimensions; a head row holds `2d` values.
    pub d: usize,
    /// Bounds of the log standard deviation.
    pub bounds: LogStdBounds,
}

impl TanhGaussian {
    /// Draws an action and returns its log-density.
    pub fn sample(&self, head: &[f32], rng: &mut ChaCha8Rng, action: &mut [f32]) -> f32 {
        let mut eps = Pooled::new(self.d);
        eps.iter_mut().for_each(|e| *e = StandardNormal.sample(rng));
        let mut log_prob = [0.0];
        tanh_gaussian_sample(head, &eps, self.bounds, action, &mut log_prob);
        log_prob[0]
    }

    /// The deterministic action tanh(mean).
    pub fn mode(&self, head: &[f32], action: &mut [f32]) {
        for (mean, action) in head.iter().zip(action) {
            *action = tanh(*mean);
        }
    }

    /// Log-density of a given action.
    pub fn log_prob(&self, head: &[f32], action: &[f32]) -> f32 {
        tanh_gaussian_log_prob(head, action, self.bounds)
    }

    /// KL(p ‖ q): squashing is one-to-one, so it is that of the Gaussians beneath.
    pub fn kl(&self, p: &[f32], q: &[f32]) -> f32 {
        let log_std = |head: &[f32]| head[self.d..].iter().map(|raw| self.bounds.apply(*raw).0).collect::<Vec<_>>();
        gaussian::kl(&p[..self.d], &log_std(p), &q[..self.d], &log_std(q))
    }

    /// Adds `k · ∂ log_prob(action)` to the gradient of the head.
    pub fn d_log_prob(&self, head: &[f32], action: &[f32], k: f32, grad: &mut [f32]) {
        let (mean, raw) = head.split_at(self.d);
        let (grad_mean, grad_raw) = grad.split_at_mut(self.d);
        for i in 0..self.d {
            let u = action[i].clamp(-BORDER, BORDER).atanh();
            let (log_std, slope) = self.bounds.apply(raw[i]);
            let inverse = (-log_std).exp();
            let z = (u - mean[i]) * inverse;
            grad_mean[i] += k * z * inverse;
            grad_raw[i] += k * (z * z - 1.0) * slope;
        }
    }
}
