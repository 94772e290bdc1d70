//! Independent bits, given by logits.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Probability of a one.
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// ln(1 + eˣ) without overflow.
fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

pub fn sample(logits: &[f32], rng: &mut ChaCha8Rng, action: &mut [f32]) {
    for (x, a) in logits.iter().zip(action) {
        *a = if rng.random::<f32>() < sigmoid(*x) { 1.0 } else { 0.0 };
    }
}

pub fn mode(logits: &[f32], action: &mut [f32]) {
    for (x, a) in logits.iter().zip(action) {
        *a = if *x > 0.0 { 1.0 } else { 0.0 };
    }
}

pub fn log_prob(logits: &[f32], action: &[f32]) -> f32 {
    logits.iter().zip(action).map(|(x, a)| a * x - softplus(*x)).sum()
}

pub fn entropy(logits: &[f32]) -> f32 {
    logits.iter().map(|x| softplus(*x) - x * sigmoid(*x)).sum()
}

pub fn kl(p: &[f32], q: &[f32]) -> f32 {
    p.iter().zip(q).map(|(p, q)| sigmoid(*p) * (p - q) - softplus(*p) + softplus(*q)).sum()
}

pub fn d_log_prob(logits: &[f32], action: &[f32], k: f32, grad: &mut [f32]) {
    for ((x, a), g) in logits.iter().zip(action).zip(grad) {
        *g += k * (a - sigmoid(*x));
    }
}

/// ∂H/∂x = −x·σ(x)·(1−σ(x)).
pub fn d_entropy(logits: &[f32], k: f32, grad: &mut [f32]) {
    for (x, g) in logits.iter().zip(grad) {
        let p = sigmoid(*x);
        *g -= k * x * p * (1.0 - p);
    }
}

/// Log-probability and entropy from one sigmoid per bit; `p` keeps the probabilities and `slope` x·p·(1−p).
pub fn log_prob_entropy(logits: &[f32], action: &[f32], p: &mut [f32], slope: &mut [f32]) -> (f32, f32) {
    let (mut log_prob, mut entropy) = (0.0, 0.0);
    for (((x, a), p), slope) in logits.iter().zip(action).zip(p).zip(slope) {
        let normaliser = softplus(*x);
        *p = sigmoid(*x);
        *slope = x * *p * (1.0 - *p);
        log_prob += a * x - normaliser;
        entropy += normaliser - x * *p;
    }
    (log_prob, entropy)
}

/// Adds the gradient of `k_log_prob·log_prob + k_entropy·entropy` from what [`log_prob_entropy`] kept.
pub fn d_log_prob_entropy(action: &[f32], p: &[f32], slope: &[f32], k_log_prob: f32, k_entropy: f32, grad: &mut [f32]) {
    for (((g, a), p), slope) in grad.iter_mut().zip(action).zip(p).zip(slope) {
        *g += k_log_prob * (a - p) - k_entropy * slope;
    }
}

pub fn d_kl(p: &[f32], q: &[f32], k: f32, grad: &mut [f32]) {
    for ((p, q), g) in p.iter().zip(q).zip(grad) {
        *g += k * (sigmoid(*q) - sigmoid(*p));
    }
}

/// p·(1−p)·ż, bit by bit.
pub fn fisher_product(logits: &[f32], movement: &[f32], out: &mut [f32]) {
    for ((x, movement), out) in logits.iter().zip(movement).zip(out) {
        let p = sigmoid(*x);
        *out = p * (1.0 - p) * movement;
    }
}
