//! One choice out of several, given by logits. An empty mask allows all; a
//! forbidden choice has probability exactly 0 and receives no gradient.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

fn allowed(mask: &[bool], choice: usize) -> bool {
    mask.is_empty() || mask[choice]
}

/// The allowed logits with their positions.
fn open<'a>(logits: &'a [f32], mask: &'a [bool]) -> impl Iterator<Item = (usize, f32)> + Clone + 'a {
    logits.iter().copied().enumerate().filter(move |(i, _)| allowed(mask, *i))
}

/// ln Σ exp(logits) over the allowed choices, without overflow.
fn log_sum(logits: &[f32], mask: &[bool]) -> f32 {
    let largest = open(logits, mask).fold(f32::NEG_INFINITY, |m, (_, x)| m.max(x));
    largest + open(logits, mask).map(|(_, x)| (x - largest).exp()).sum::<f32>().ln()
}

pub fn sample(logits: &[f32], mask: &[bool], rng: &mut ChaCha8Rng) -> usize {
    draw(logits, mask, log_sum(logits, mask), rng)
}

/// A choice and the logarithm of its probability, from one softmax.
pub fn sample_log_prob(logits: &[f32], mask: &[bool], rng: &mut ChaCha8Rng) -> (usize, f32) {
    let total = log_sum(logits, mask);
    let choice = draw(logits, mask, total, rng);
    (choice, if allowed(mask, choice) { logits[choice] - total } else { f32::NEG_INFINITY })
}

/// A choice, given [`log_sum`].
fn draw(logits: &[f32], mask: &[bool], total: f32, rng: &mut ChaCha8Rng) -> usize {
    let mut left = rng.random::<f32>();
    let mut last = 0;
    for (i, x) in open(logits, mask) {
        last = i;
        left -= (x - total).exp();
        if left < 0.0 {
            break;
        }
    }
    // Rounding may leave a crumb after the last choice; it belongs to that choice.
    last
}

pub fn mode(logits: &[f32], mask: &[bool]) -> usize {
    let mut best = (0, f32::NEG_INFINITY);
    for (i, x) in open(logits, mask) {
        if x > best.1 {
            best = (i, x);
        }
    }
    best.0
}

pub fn log_prob(logits: &[f32], mask: &[bool], choice: usize) -> f32 {
    if !allowed(mask, choice) {
        return f32::NEG_INFINITY;
    }
    logits[choice] - log_sum(logits, mask)
}

pub fn entropy(logits: &[f32], mask: &[bool]) -> f32 {
    let total = log_sum(logits, mask);
    -open(logits, mask).map(|(_, x)| (x - total).exp() * (x - total)).sum::<f32>()
}

pub fn kl(p: &[f32], q: &[f32], mask: &[bool]) -> f32 {
    let (p_total, q_total) = (log_sum(p, mask), log_sum(q, mask));
    open(p, mask).map(|(i, x)| (x - p_total).exp() * ((x - p_total) - (q[i] - q_total))).sum()
}

pub fn d_log_prob(logits: &[f32], mask: &[bool], choice: usize, k: f32, grad: &mut [f32]) {
    let total = log_sum(logits, mask);
    for (i, x) in open(logits, mask) {
        grad[i] -= k * (x - total).exp();
    }
    if allowed(mask, choice) {
        grad[choice] += k;
    }
}

/// ∂H/∂xᵢ = −pᵢ (ln pᵢ + H).
pub fn d_entropy(logits: &[f32], mask: &[bool], k: f32, grad: &mut [f32]) {
    let total = log_sum(logits, mask);
    let entropy = -open(logits, mask).map(|(_, x)| (x - total).exp() * (x - total)).sum::<f32>();
    for (i, x) in open(logits, mask) {
        grad[i] -= k * (x - total).exp() * (x - total + entropy);
    }
}

/// Log-probability and entropy from one softmax. For [`d_log_prob_entropy`], `p` keeps the probabilities and `slope`
/// pᵢ (ln pᵢ + H); both are 0 for a forbidden choice.
pub fn log_prob_entropy(logits: &[f32], mask: &[bool], choice: usize, p: &mut [f32], slope: &mut [f32]) -> (f32, f32) {
    let largest = open(logits, mask).fold(f32::NEG_INFINITY, |m, (_, x)| m.max(x));
    p.fill(0.0);
    let mut sum = 0.0;
    for (i, x) in open(logits, mask) {
        p[i] = (x - largest).exp();
        sum += p[i];
    }
    let (total, scale) = (largest + sum.ln(), 1.0 / sum);
    let mut entropy = 0.0;
    for (i, x) in open(logits, mask) {
        p[i] *= scale;
        entropy -= p[i] * (x - total);
    }
    for ((slope, p), x) in slope.iter_mut().zip(p.iter()).zip(logits) {
        *slope = if *p > 0.0 { p * (x - total + entropy) } else { 0.0 };
    }
    let log_prob = if allowed(mask, choice) { logits[choice] - total } else { f32::NEG_INFINITY };
    (log_prob, entropy)
}

/// Adds the gradient of `k_log_prob·log_prob + k_entropy·entropy` from what [`log_prob_entropy`] kept.
pub fn d_log_prob_entropy(
    mask: &[bool],
    choice: usize,
    p: &[f32],
    slope: &[f32],
    k_log_prob: f32,
    k_entropy: f32,
    grad: &mut [f32],
) {
    for ((g, p), slope) in grad.iter_mut().zip(p).zip(slope) {
        *g -= k_log_prob * p + k_entropy * slope;
    }
    if allowed(mask, choice) {
        grad[choice] += k_log_prob;
    }
}

/// ∂KL(p‖q)/∂qᵢ = softmax(q)ᵢ − softmax(p)ᵢ.
pub fn d_kl(p: &[f32], q: &[f32], mask: &[bool], k: f32, grad: &mut [f32]) {
    let (p_total, q_total) = (log_sum(p, mask), log_sum(q, mask));
    for (i, x) in open(q, mask) {
        grad[i] += k * ((x - q_total).exp() - (p[i] - p_total).exp());
    }
}

/// p⊙(ż − p·ż): what the Fisher information of the logits makes of their movement. Forbidden choices have none.
pub fn fisher_product(logits: &[f32], mask: &[bool], movement: &[f32], out: &mut [f32]) {
    let total = log_sum(logits, mask);
    let mean = open(logits, mask).map(|(i, x)| (x - total).exp() * movement[i]).sum::<f32>();
    out.fill(0.0);
    for (i, x) in open(logits, mask) {
        out[i] = (x - total).exp() * (movement[i] - mean);
    }
}
