//! How far a posterior is from its prior, with gradients to one side at a time.

use super::latent::{Latent, softmax_groups};
use crate::buffers::{self, Pooled};
use crate::burn::tensor::Tensor;
use crate::fused_loss::fused_loss;
use crate::kernels::dispatch::simd;
use crate::kernels::math::ln;

/// Below how many nats nothing is to be gained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FreeNats {
    /// In every row, all its latents together (DreamerV3).
    Row(f32),
    /// In the mean over all rows (Dreamer, DreamerV2).
    Mean(f32),
}

/// Which side is drawn to which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KlSides {
    /// Both to each other: one term of this scale (Dreamer).
    Joint(f32),
    /// The prior to the posterior and the posterior to the prior, as two terms with scales of their own.
    Apart {
        /// Of the term that trains the prior.
        dynamics: f32,
        /// Of the term that trains the posterior.
        representation: f32,
    },
}

/// The divergence KL[posterior ‖ prior] as a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatentKl {
    /// What the statistics describe.
    pub latent: Latent,
    /// Where it stops to count.
    pub free: FreeNats,
    /// What it trains.
    pub sides: KlSides,
}

/// Values of a loss, all of them means over the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KlValues {
    /// The loss.
    pub loss: f32,
    /// The term that trains the prior, without its scale.
    pub dynamics: f32,
    /// The term that trains the posterior, without its scale.
    pub representation: f32,
    /// The divergence itself, in nats.
    pub kl: f32,
}

impl LatentKl {
    /// The loss as one node over statistics `[rows, stats]`, and its values.
    pub fn loss(&self, posterior: Tensor<2>, prior: Tensor<2>) -> (Tensor<1>, KlValues) {
        let mut values = KlValues::default();
        let loss = fused_loss([posterior, prior], |[posterior, prior]| {
            let (mut by_posterior, mut by_prior) = (buffers::take(posterior.len()), buffers::take(prior.len()));
            values = self.gradients(posterior, prior, &mut by_posterior, &mut by_prior);
            (values.loss, [by_posterior, by_prior])
        });
        (loss, values)
    }

    /// The values, overwriting the loss's gradients by both statistics.
    ///
    /// # Panics
    /// When the slices disagree: a mistake in the calling code.
    pub fn gradients(
        &self,
        posterior: &[f32],
        prior: &[f32],
        by_posterior: &mut [f32],
        by_prior: &mut [f32],
    ) -> KlValues {
        let width = self.latent.stats();
        let rows = posterior.len() / width;
        let lens = [prior.len(), by_posterior.len(), by_prior.len()];
        assert!(posterior.len() == rows * width && lens.iter().all(|len| *len == rows * width), "slices disagree");
        if rows == 0 {
            return KlValues::default();
        }
        // Every row's divergence with its gradients, then what the free nats leave of them.
        let mut each = vec![0.0; rows];
        match self.latent {
            Latent::Gaussian { size, .. } => gaussian(posterior, prior, size, by_posterior, by_prior, &mut each),
            Latent::Categorical { groups, classes, unimix } => {
                let mut room = Pooled::new(2 * width + 2 * groups);
                categorical(posterior, prior, classes, unimix, &mut room, by_posterior, by_prior, &mut each);
            }
        }
        let mean = |values: &mut dyn Iterator<Item = f32>| (values.map(f64::from).sum::<f64>() / rows as f64) as f32;
        let kl = mean(&mut each.iter().copied());
        // Written so that a NaN counts, and shows.
        let is_free = |row: f32| match self.free {
            FreeNats::Row(free) => row < free,
            FreeNats::Mean(free) => kl < free,
        };
        let term = match self.free {
            FreeNats::Row(free) => mean(&mut each.iter().map(|kl| if *kl < free { free } else { *kl })),
            FreeNats::Mean(free) if kl < free => free,
            FreeNats::Mean(_) => kl,
        };
        let (dynamics, representation, loss) = match self.sides {
            KlSides::Joint(scale) => (scale, scale, scale * term),
            KlSides::Apart { dynamics, representation } => {
                (dynamics, representation, (dynamics + representation) * term)
            }
        };
        let grads = by_posterior.chunks_exact_mut(width).zip(by_prior.chunks_exact_mut(width));
        for ((by_posterior, by_prior), kl) in grads.zip(&each) {
            let share = if is_free(*kl) { 0.0 } else { 1.0 / rows as f32 };
            by_posterior.iter_mut().for_each(|g| *g *= representation * share);
            by_prior.iter_mut().for_each(|g| *g *= dynamics * share);
        }
        KlValues { loss, dynamics: term, representation: term, kl }
    }
}

simd! {
    /// KL of each row, summed over its groups, between mixed probabilities; and its gradients by both sides' logits.
    fn categorical(
        posterior: &[f32],
        prior: &[f32],
        classes: usize,
        unimix: f32,
        room: &mut [f32],
        by_posterior: &mut [f32],
        by_prior: &mut [f32],
        each: &mut [f32],
    ) {
        let (keep, floor, mixed) = (1.0 - unimix, unimix / classes as f32, unimix > 0.0);
        let width = posterior.len() / each.len();
        let (s_q, rest) = room.split_at_mut(width);
        let (s_p, rest) = rest.split_at_mut(width);
        let (sum_q, sum_p) = rest.split_at_mut(width / classes);
        for (row, each) in each.iter_mut().enumerate() {
            let at = row * width..(row + 1) * width;
            let (x_q, x_p) = (&posterior[at.clone()], &prior[at.clone()]);
            let (by_q, by_p) = (&mut by_posterior[at.clone()], &mut by_prior[at]);
            softmax_groups(x_q, classes, s_q, sum_q);
            softmax_groups(x_p, classes, s_p, sum_p);
            // ln(q/p) and, for the prior, −(1 − ε)·q/p.
            if mixed {
                for k in 0..width {
                    let ratio = keep.mul_add(s_q[k], floor) / keep.mul_add(s_p[k], floor);
                    by_q[k] = ln(ratio);
                    by_p[k] = -keep * ratio;
                }
            } else {
                // From the logits themselves, which do not underflow; s·(−q/p + Σq) is p − q.
                for k in 0..width {
                    by_q[k] = (x_q[k] - sum_q[k / classes]) - (x_p[k] - sum_p[k / classes]);
                    by_p[k] = s_p[k] - s_q[k];
                }
            }
            let mut total = 0.0;
            for first in (0..width).step_by(classes) {
                let at = first..first + classes;
                let (s_q, s_p, by_q, by_p) = (&s_q[at.clone()], &s_p[at.clone()], &mut by_q[at.clone()], &mut by_p[at]);
                let (mut along_q, mut along_p, mut sum) = (0.0, 0.0, 0.0);
                for k in 0..classes {
                    along_q = s_q[k].mul_add(by_q[k], along_q);
                    along_p = s_p[k].mul_add(by_p[k], along_p);
                    sum += by_q[k];
                }
                total += keep.mul_add(along_q, floor * sum);
                for k in 0..classes {
                    by_q[k] = keep * s_q[k] * (by_q[k] - along_q);
                }
                if mixed {
                    for k in 0..classes {
                        by_p[k] = s_p[k] * (by_p[k] - along_p);
                    }
                }
            }
            *each = total;
        }
    }

    /// The same for means and standard deviations.
    fn gaussian(
        posterior: &[f32],
        prior: &[f32],
        size: usize,
        by_posterior: &mut [f32],
        by_prior: &mut [f32],
        each: &mut [f32],
    ) {
        for (row, each) in each.iter_mut().enumerate() {
            let at = row * 2 * size..(row + 1) * 2 * size;
            let ((mean_q, std_q), (mean_p, std_p)) =
                (posterior[at.clone()].split_at(size), prior[at.clone()].split_at(size));
            let (by_mean_q, by_std_q) = by_posterior[at.clone()].split_at_mut(size);
            let (by_mean_p, by_std_p) = by_prior[at].split_at_mut(size);
            let mut total = 0.0;
            for k in 0..size {
                let (distance, inverse) = (mean_q[k] - mean_p[k], 1.0 / std_p[k]);
                let ratio = std_q[k] * inverse;
                let (pull, squared) = (distance * inverse * inverse, distance * inverse * distance * inverse);
                total += 0.5 * (ratio.mul_add(ratio, squared) - 1.0) - ln(ratio);
                by_mean_q[k] = pull;
                by_mean_p[k] = -pull;
                by_std_q[k] = ratio * inverse - 1.0 / std_q[k];
                by_std_p[k] = inverse * (1.0 - ratio.mul_add(ratio, squared));
            }
            *each = total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: KlSides = KlSides::Apart { dynamics: 1.0, representation: 1.0 };

    fn choices(groups: usize, classes: usize, unimix: f32) -> Latent {
        Latent::Categorical { groups, classes, unimix }
    }

    fn logs(p: &[f32]) -> Vec<f32> {
        p.iter().map(|p| p.ln()).collect()
    }

    #[test]
    fn the_sides_are_not_swapped() {
        let (q, p) = (logs(&[0.8, 0.2]), logs(&[0.5, 0.5]));
        let run = |dynamics: f32, representation: f32| {
            let sides = KlSides::Apart { dynamics, representation };
            let loss = LatentKl { latent: choices(1, 2, 0.0), free: FreeNats::Row(0.0), sides };
            let (mut by_q, mut by_p) = ([9.0; 2], [9.0; 2]);
            let values = loss.gradients(&q, &p, &mut by_q, &mut by_p);
            (values, by_q, by_p)
        };
        let (values, by_q, by_p) = run(1.0, 0.0);
        assert!((values.kl - 0.192_74).abs() < 1e-5 && (values.loss - values.kl).abs() < 1e-7);
        assert_eq!(by_q, [0.0; 2]);
        assert!((by_p[0] + 0.3).abs() < 1e-6 && (by_p[1] - 0.3).abs() < 1e-6, "{by_p:?}");
        let (_, by_q, by_p) = run(0.0, 1.0);
        assert_eq!(by_p.map(f32::abs), [0.0; 2]);
        assert!((by_q[0] - 0.2218).abs() < 1e-4 && (by_q[1] + 0.2218).abs() < 1e-4, "{by_q:?}");
        let (values, _, by_p) = run(0.8, 0.2);
        assert!((by_p[0] + 0.24).abs() < 1e-6 && (values.loss - values.kl).abs() < 1e-7);
    }

    /// Statistics of `groups` groups of two whose divergence from even ones is `kl` in each.
    fn row_of(kl: f32, groups: usize) -> Vec<f32> {
        // KL of (x, 1 − x) from (½, ½), by bisection.
        let of = |x: f32| x * (2.0 * x).ln() + (1.0 - x) * (2.0 * (1.0 - x)).ln();
        let (mut low, mut high) = (0.5f32, 1.0f32 - 1e-7);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if of(middle) < kl { low = middle } else { high = middle }
        }
        logs(&[low, 1.0 - low]).repeat(groups)
    }

    #[test]
    fn free_nats_count_a_rows_groups_together() {
        let posterior = row_of(0.6, 2);
        let prior = vec![0.5f32.ln(); 4];
        let (mut by_q, mut by_p) = ([0.0; 4], [0.0; 4]);
        let loss = LatentKl { latent: choices(2, 2, 0.0), free: FreeNats::Row(1.0), sides: APART };
        let values = loss.gradients(&posterior, &prior, &mut by_q, &mut by_p);
        assert!((values.dynamics - 1.2).abs() < 1e-5 && (values.representation - 1.2).abs() < 1e-5, "{values:?}");
        assert!(by_q.iter().chain(&by_p).all(|g| *g != 0.0));
    }

    #[test]
    fn free_nats_of_rows_and_of_their_mean() {
        // Rows of .5 and 1.9: the mean is 1.2, and each row at least 1 makes it 1.45.
        let posterior: Vec<f32> = row_of(0.25, 2).into_iter().chain(row_of(0.475, 4)).collect();
        let posterior = [&posterior[..4], &[0.0; 4][..], &posterior[4..]].concat();
        let prior = [0.0; 16];
        let latent = choices(4, 2, 0.0);
        let run = |free: FreeNats| {
            let (mut by_q, mut by_p) = ([9.0; 16], [9.0; 16]);
            let values = LatentKl { latent, free, sides: APART }.gradients(&posterior, &prior, &mut by_q, &mut by_p);
            (values, by_q, by_p)
        };
        let (values, by_q, by_p) = run(FreeNats::Mean(1.0));
        assert!((values.dynamics - 1.2).abs() < 1e-5, "{values:?}");
        assert!(by_q[0] != 0.0 && by_p[0] != 0.0 && by_q[8] != 0.0);
        let (values, by_q, by_p) = run(FreeNats::Row(1.0));
        assert!((values.dynamics - 1.45).abs() < 1e-5 && (values.kl - 1.2).abs() < 1e-5, "{values:?}");
        assert!(by_q[..8].iter().chain(&by_p[..8]).all(|g| *g == 0.0), "exactly nothing below");
        assert!(by_q[8] != 0.0 && by_p[8] != 0.0);
        let (values, by_q, _) = run(FreeNats::Mean(1.3));
        assert_eq!((values.dynamics, by_q), (1.3, [0.0; 16]));
    }

    /// The divergence in `f64`.
    fn exact(latent: Latent, q: &[f64], p: &[f64]) -> f64 {
        match latent {
            Latent::Gaussian { size, .. } => (0..size)
                .map(|k| {
                    let (s, t, d) = (q[size + k], p[size + k], q[k] - p[k]);
                    (t / s).ln() + (s * s + d * d) / (2.0 * t * t) - 0.5
                })
                .sum(),
            Latent::Categorical { classes, unimix, .. } => {
                let mixed = |x: &[f64]| -> Vec<f64> {
                    let total: f64 = x.iter().map(|x| x.exp()).sum();
                    let e = f64::from(unimix);
                    x.iter().map(|x| (1.0 - e) * x.exp() / total + e / classes as f64).collect()
                };
                let groups = q.chunks(classes).zip(p.chunks(classes));
                groups.map(|(q, p)| mixed(q).iter().zip(mixed(p)).map(|(q, p)| q * (q / p).ln()).sum::<f64>()).sum()
            }
        }
    }

    #[test]
    fn gradients_match_differences_on_each_side() {
        let gaussian = Latent::Gaussian { size: 3, min_std: 0.1 };
        for latent in [gaussian, choices(3, 2, 0.0), choices(3, 2, 0.05), choices(2, 17, 0.01)] {
            let width = latent.stats();
            let wave = |step: f32| (0..width).map(|i| 1.2 + (i as f32 * step).sin()).collect::<Vec<_>>();
            let (q, p) = (wave(0.7), wave(1.9));
            let loss = LatentKl { latent, free: FreeNats::Row(0.0), sides: KlSides::Joint(2.0) };
            let (mut by_q, mut by_p) = (vec![0.0; width], vec![0.0; width]);
            let values = loss.gradients(&q, &p, &mut by_q, &mut by_p);
            let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
            let (q, p) = (wide(&q), wide(&p));
            let want = exact(latent, &q, &p);
            assert!((f64::from(values.kl) - want).abs() < 1e-5 * want.max(1.0), "{latent:?}: {values:?} {want}");
            assert!((values.loss - 2.0 * values.kl).abs() < 1e-6);
            for i in 0..width {
                let moved = |x: &[f64], by: f64| {
                    let mut x = x.to_vec();
                    x[i] += by;
                    x
                };
                let slope_q = (exact(latent, &moved(&q, 1e-6), &p) - exact(latent, &moved(&q, -1e-6), &p)) / 1e-6;
                let slope_p = (exact(latent, &q, &moved(&p, 1e-6)) - exact(latent, &q, &moved(&p, -1e-6))) / 1e-6;
                assert!((slope_q - f64::from(by_q[i])).abs() < 1e-4 * slope_q.abs().max(1.0), "{latent:?} {i}");
                assert!((slope_p - f64::from(by_p[i])).abs() < 1e-4 * slope_p.abs().max(1.0), "{latent:?} {i}");
            }
        }
    }

    #[test]
    fn a_diverging_model_shows() {
        let loss = LatentKl { latent: choices(1, 2, 0.01), free: FreeNats::Row(1.0), sides: APART };
        let (mut by_q, mut by_p) = ([0.0; 2], [0.0; 2]);
        let values = loss.gradients(&[f32::NAN, 0.0], &[0.0, 0.0], &mut by_q, &mut by_p);
        assert!(values.loss.is_nan() && by_q[0].is_nan());
    }
}
