//! How far a posterior is from its prior, with gradients to one side at a time.

use super::latent::{Latent, softmax};
use crate::buffers;
use crate::fused_loss::fused_loss;
use crate::kernels::dispatch::simd;
use burn::tensor::Tensor;

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
                categorical(posterior, prior, groups, classes, unimix, by_posterior, by_prior, &mut each)
            }
        }
        let mean = |values: &mut dyn Iterator<Item = f32>| (values.map(f64::from).sum::<f64>() / rows as f64) as f32;
        let kl = mean(&mut each.iter().copied());
        let (term, counts): (f32, Box<dyn Fn(f32) -> bool>) = match self.free {
            // Written so that a NaN counts, and shows.
            FreeNats::Row(free) => {
                (mean(&mut each.iter().map(|kl| if *kl < free { free } else { *kl })), Box::new(move |kl| !(kl < free)))
            }
            FreeNats::Mean(free) => {
                let below = kl < free;
                (if below { free } else { kl }, Box::new(move |_| !below))
            }
        };
        let (dynamics, representation, loss) = match self.sides {
            KlSides::Joint(scale) => (scale, scale, scale * term),
            KlSides::Apart { dynamics, representation } => {
                (dynamics, representation, (dynamics + representation) * term)
            }
        };
        let grads = by_posterior.chunks_exact_mut(width).zip(by_prior.chunks_exact_mut(width));
        for ((by_posterior, by_prior), kl) in grads.zip(&each) {
            let share = if counts(*kl) { 1.0 / rows as f32 } else { 0.0 };
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
        groups: usize,
        classes: usize,
        unimix: f32,
        by_posterior: &mut [f32],
        by_prior: &mut [f32],
        each: &mut [f32],
    ) {
        let (keep, floor) = (1.0 - unimix, unimix / classes as f32);
        let (mut room_q, mut room_p) = ([0.0f32; 256], [0.0f32; 256]);
        let (s_q, s_p) = (&mut room_q[..classes], &mut room_p[..classes]);
        let width = groups * classes;
        for (row, each) in each.iter_mut().enumerate() {
            let mut total = 0.0;
            for group in 0..groups {
                let at = row * width + group * classes..row * width + (group + 1) * classes;
                let (by_q, by_p) = (&mut by_posterior[at.clone()], &mut by_prior[at.clone()]);
                let log_q = softmax(&posterior[at.clone()], s_q);
                let log_p = softmax(&prior[at.clone()], s_p);
                let (mut along_q, mut along_p) = (0.0, 0.0);
                for k in 0..classes {
                    let (q, p) = (keep.mul_add(s_q[k], floor), keep.mul_add(s_p[k], floor));
                    // ln(q/p); without a mixture from the logits themselves, which never underflow.
                    let log_ratio = match unimix > 0.0 {
                        true => (q / p).ln(),
                        false => (posterior[at.start + k] - log_q) - (prior[at.start + k] - log_p),
                    };
                    let ratio = match unimix > 0.0 {
                        true => q / p,
                        false => 0.0,
                    };
                    total = q.mul_add(log_ratio, total);
                    by_q[k] = log_ratio;
                    by_p[k] = -keep * ratio;
                    along_q = s_q[k].mul_add(by_q[k], along_q);
                    along_p = s_p[k].mul_add(by_p[k], along_p);
                }
                for k in 0..classes {
                    by_q[k] = keep * s_q[k] * (by_q[k] - along_q);
                    // Without a mixture s·(−q/p + Σq) is p − q.
                    by_p[k] = if unimix > 0.0 { s_p[k] * (by_p[k] - along_p) } else { s_p[k] - s_q[k] };
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
                total += 0.5 * (ratio.mul_add(ratio, squared) - 1.0) - ratio.ln();
                by_mean_q[k] = pull;
                by_mean_p[k] = -pull;
                by_std_q[k] = ratio * inverse - 1.0 / std_q[k];
                by_std_p[k] = inverse * (1.0 - ratio.mul_add(ratio, squared));
            }
            *each = total;
        }
    }
}
