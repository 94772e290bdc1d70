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

pub fn d_kl(p: &[f32], q: &[f32], k: f32, grad: &mut [f32]) {
    for ((p, q), g) in p.iter().zip(q).zip(grad) {
        *g += k * (sigmoid(*q) - sigmoid(*p));
    }
}
