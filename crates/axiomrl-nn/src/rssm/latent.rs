//! The stochastic half of a world model's state: how it is drawn from its statistics, and how gradients pass the draw.

use crate::buffers::Pooled;
use crate::kernels::dispatch::simd;
use crate::kernels::math::{exp, exp_m1, ln, softplus};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use serde::{Deserialize, Serialize};

/// What kind of random numbers a state holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Latent {
    /// Independent normal numbers. Their statistics are the means, then the standard deviations.
    Gaussian {
        /// How many.
        size: usize,
        /// Added to every standard deviation.
        min_std: f32,
    },
    /// One-hot choices. Their statistics are logits; probabilities are mixed with uniform ones.
    Categorical {
        /// How many choices.
        groups: usize,
        /// Out of how many each.
        classes: usize,
        /// Share of the uniform distribution.
        unimix: f32,
    },
}

impl Latent {
    /// Width of a sample.
    pub fn width(&self) -> usize {
        match *self {
            Latent::Gaussian { size, .. } => size,
            Latent::Categorical { groups, classes, .. } => groups * classes,
        }
    }

    /// Width of the statistics.
    pub fn stats(&self) -> usize {
        match *self {
            Latent::Gaussian { size, .. } => 2 * size,
            Latent::Categorical { groups, classes, .. } => groups * classes,
        }
    }

    /// Random numbers that a sample needs: standard normal ones, or one in [0, 1) for each choice.
    pub fn noise(&self) -> usize {
        match *self {
            Latent::Gaussian { size, .. } => size,
            Latent::Categorical { groups, .. } => groups,
        }
    }

    /// The random numbers of `rows` samples.
    pub fn draw_noise(&self, rows: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
        let count = rows * self.noise();
        match self {
            Latent::Gaussian { .. } => (0..count).map(|_| StandardNormal.sample(rng)).collect(),
            Latent::Categorical { .. } => (0..count).map(|_| rng.random()).collect(),
        }
    }

    /// Draws `z` `[rows, width]` from `stats` `[rows, stats]`, given `noise` `[rows, noise]`.
    pub fn sample(&self, stats: &[f32], noise: &[f32], z: &mut [f32]) {
        let rows = z.len() / self.width().max(1);
        assert!(stats.len() == rows * self.stats() && noise.len() == rows * self.noise(), "slices disagree");
        match *self {
            Latent::Gaussian { size, .. } => sample_gaussian(stats, noise, size, z),
            Latent::Categorical { classes, unimix, .. } => sample_classes(stats, noise, classes, unimix, z),
        }
    }

    /// The most probable `z`.
    pub fn mode(&self, stats: &[f32], z: &mut [f32]) {
        match *self {
            Latent::Gaussian { size, .. } => {
                for (stats, z) in stats.chunks_exact(2 * size).zip(z.chunks_exact_mut(size)) {
                    z.copy_from_slice(&stats[..size]);
                }
            }
            Latent::Categorical { classes, .. } => {
                z.fill(0.0);
                for (logits, z) in stats.chunks_exact(classes).zip(z.chunks_exact_mut(classes)) {
                    let mut best = 0;
                    for (k, logit) in logits.iter().enumerate() {
                        if *logit > logits[best] {
                            best = k;
                        }
                    }
                    z[best] = 1.0;
                }
            }
        }
    }

    /// Turns what a network puts out into statistics: standard deviations are made positive, logits stay.
    pub(crate) fn finish_stats(&self, stats: &mut [f32]) {
        if let Latent::Gaussian { size, min_std } = *self {
            deviations(stats, size, min_std);
        }
    }

    /// Turns the gradient of the statistics into that of the network's outputs.
    pub(crate) fn unfinish_stats(&self, stats: &[f32], grad: &mut [f32]) {
        if let Latent::Gaussian { size, min_std } = *self {
            deviations_backward(stats, grad, size, min_std);
        }
    }

    /// Adds to the gradient of the statistics what reaches them through a sample: reparametrised, or as if the one-hot choice
    /// were the probabilities.
    pub(crate) fn sample_backward(&self, stats: &[f32], noise: &[f32], dz: &[f32], grad: &mut [f32]) {
        match *self {
            Latent::Gaussian { size, .. } => gaussian_backward(noise, dz, size, grad),
            Latent::Categorical { classes, unimix, .. } => {
                straight_through(stats, dz, classes, unimix, &mut Pooled::new(stats.len()), grad);
            }
        }
    }
}

/// Softmax of every group of `classes` logits, each summed from first to last; `sums`, unless empty, receives ln Σ eˣ of each.
///
/// The exponentials of all groups are one loop: a group alone is too short a one.
#[inline(always)]
pub fn softmax_groups(logits: &[f32], classes: usize, s: &mut [f32], sums: &mut [f32]) {
    for (s, logits) in s.chunks_exact_mut(classes).zip(logits.chunks_exact(classes)) {
        s.fill(logits.iter().fold(f32::NEG_INFINITY, |m, x| if *x > m { *x } else { m }));
    }
    if !sums.is_empty() {
        for (sum, s) in sums.iter_mut().zip(s.chunks_exact(classes)) {
            *sum = s[0];
        }
    }
    for (s, x) in s.iter_mut().zip(logits) {
        *s = exp(*x - *s);
    }
    for (group, s) in s.chunks_exact_mut(classes).enumerate() {
        let mut total = 0.0;
        for s in s.iter() {
            total += *s;
        }
        let scale = 1.0 / total;
        for s in s.iter_mut() {
            *s *= scale;
        }
        if let Some(sum) = sums.get_mut(group) {
            *sum += ln(total);
        }
    }
}

simd! {
    fn sample_classes(stats: &[f32], noise: &[f32], classes: usize, unimix: f32, z: &mut [f32]) {
        let (keep, floor) = (1.0 - unimix, unimix / classes as f32);
        softmax_groups(stats, classes, z, &mut []);
        for (z, noise) in z.chunks_exact_mut(classes).zip(noise) {
            // The first class whose cumulated probability exceeds the noise; a crumb left by rounding belongs to the last.
            let (mut chosen, mut cumulated) = (classes - 1, 0.0);
            for (k, s) in z.iter().enumerate() {
                cumulated += keep.mul_add(*s, floor);
                if cumulated > *noise {
                    chosen = k;
                    break;
                }
            }
            let nan = cumulated.is_nan();
            z.fill(if nan { f32::NAN } else { 0.0 });
            if !nan {
                z[chosen] = 1.0;
            }
        }
    }

    fn straight_through(stats: &[f32], dz: &[f32], classes: usize, unimix: f32, s: &mut [f32], grad: &mut [f32]) {
        let keep = 1.0 - unimix;
        softmax_groups(stats, classes, s, &mut []);
        let groups = s.chunks_exact(classes).zip(dz.chunks_exact(classes)).zip(grad.chunks_exact_mut(classes));
        for ((s, dz), grad) in groups {
            let mut along = 0.0;
            for (s, dz) in s.iter().zip(dz) {
                along = s.mul_add(*dz, along);
            }
            for ((g, s), dz) in grad.iter_mut().zip(s).zip(dz) {
                *g = (keep * *s).mul_add(*dz - along, *g);
            }
        }
    }

    fn sample_gaussian(stats: &[f32], noise: &[f32], size: usize, z: &mut [f32]) {
        let rows = stats.chunks_exact(2 * size).zip(noise.chunks_exact(size)).zip(z.chunks_exact_mut(size));
        for ((stats, noise), z) in rows {
            let (mean, std) = stats.split_at(size);
            for (((z, mean), std), noise) in z.iter_mut().zip(mean).zip(std).zip(noise) {
                *z = std.mul_add(*noise, *mean);
            }
        }
    }

    fn gaussian_backward(noise: &[f32], dz: &[f32], size: usize, grad: &mut [f32]) {
        for ((noise, dz), grad) in noise.chunks_exact(size).zip(dz.chunks_exact(size)).zip(grad.chunks_exact_mut(2 * size)) {
            let (mean, std) = grad.split_at_mut(size);
            for (((mean, std), dz), noise) in mean.iter_mut().zip(std).zip(dz).zip(noise) {
                *mean += *dz;
                *std = dz.mul_add(*noise, *std);
            }
        }
    }

    fn deviations(stats: &mut [f32], size: usize, min_std: f32) {
        for stats in stats.chunks_exact_mut(2 * size) {
            for std in &mut stats[size..] {
                *std = softplus(*std) + min_std;
            }
        }
    }

    fn deviations_backward(stats: &[f32], grad: &mut [f32], size: usize, min_std: f32) {
        for (stats, grad) in stats.chunks_exact(2 * size).zip(grad.chunks_exact_mut(2 * size)) {
            for (g, std) in grad[size..].iter_mut().zip(&stats[size..]) {
                // The slope of softplus is σ(x) = 1 − exp(−softplus(x)).
                *g *= -exp_m1(min_std - *std);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn categorical(classes: usize, unimix: f32) -> Latent {
        Latent::Categorical { groups: 1, classes, unimix }
    }

    #[test]
    fn the_straight_through_gradient_counts_all_entries_and_the_mixture() {
        let stats: Vec<f32> = [0.7f32, 0.2, 0.1].iter().map(|p| p.ln()).collect();
        let mut grad = [0.0; 3];
        categorical(3, 0.01).sample_backward(&stats, &[0.5], &[1.0, 0.0, 0.0], &mut grad);
        for (got, want) in grad.iter().zip([0.2079, -0.1386, -0.0693]) {
            assert!((got - want).abs() < 1e-6, "{got} {want}");
        }
    }

    #[test]
    fn a_choice_is_the_first_whose_cumulated_probability_exceeds_the_noise() {
        let stats: Vec<f32> = [0.5f32, 0.25, 0.25].iter().map(|p| p.ln()).collect();
        for (noise, want) in [(0.0, 0), (0.49, 0), (0.51, 1), (0.74, 1), (0.76, 2), (0.999_999_9, 2)] {
            let mut z = [9.0; 3];
            categorical(3, 0.0).sample(&stats, &[noise], &mut z);
            let mut one_hot = [0.0; 3];
            one_hot[want] = 1.0;
            assert_eq!(z, one_hot, "{noise}");
        }
        let mut z = [0.0; 3];
        categorical(3, 0.0).sample(&[0.0, f32::NAN, 1.0], &[0.9], &mut z);
        assert!(z.iter().all(|z| z.is_nan()), "a diverging network must show");
    }

    #[test]
    fn frequencies_are_the_mixed_probabilities() {
        let (latent, draws) = (categorical(4, 0.04), 100_000usize);
        let logits = [1.0, 0.0, -0.5, -1000.0];
        let mut s = [0.0; 4];
        softmax_groups(&logits, 4, &mut s, &mut []);
        let noise = latent.draw_noise(draws, &mut ChaCha8Rng::seed_from_u64(5));
        let mut z = vec![0.0; 4 * draws];
        latent.sample(&logits.repeat(draws), &noise, &mut z);
        let mut chi = 0.0;
        for k in 0..4 {
            let p = 0.96 * f64::from(s[k]) + 0.01;
            let count = z.iter().skip(k).step_by(4).filter(|z| **z == 1.0).count() as f64;
            chi += (count - p * draws as f64).powi(2) / (p * draws as f64);
            if k == 3 {
                assert!((count / draws as f64 - 0.01).abs() < 0.001, "a class of no mass has its share of the mixture");
            }
        }
        // Three degrees of freedom: beyond 16.3 once in a thousand.
        assert!(chi < 16.3, "{chi}");
    }

    #[test]
    fn gaussian_deviations_and_their_slopes() {
        let latent = Latent::Gaussian { size: 2, min_std: 0.1 };
        let raw = [0.3f32, -0.2, 0.7, -1.5];
        let stats = |raw: &[f32]| {
            let mut stats = raw.to_vec();
            latent.finish_stats(&mut stats);
            stats
        };
        assert!((f64::from(stats(&raw)[2]) - (0.7f64.exp().ln_1p() + 0.1)).abs() < 1e-6);
        let (noise, dz) = ([0.5f32, -2.0], [0.3f32, 0.7]);
        let mut grad = [0.0; 4];
        latent.sample_backward(&stats(&raw), &noise, &dz, &mut grad);
        latent.unfinish_stats(&stats(&raw), &mut grad);
        let value = |raw: &[f32]| {
            let mut z = [0.0; 2];
            latent.sample(&stats(raw), &noise, &mut z);
            f64::from(z[0] * dz[0] + z[1] * dz[1])
        };
        for i in 0..4 {
            let moved = |by: f32| {
                let mut raw = raw;
                raw[i] += by;
                value(&raw)
            };
            let numeric = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            assert!((numeric - f64::from(grad[i])).abs() < 1e-4, "{i}: {numeric} {}", grad[i]);
        }
    }
}
