//! Action distributions on plain rows: a network's output row ("head") describes one distribution.
//!
//! [`Distribution`] is the one type on-policy algorithms are written against. Discrete actions are stored as `f32`
//! indices. `d_*` functions add `k` times a derivative to a gradient row, so a loss assembles its gradient term by term.

mod bernoulli;
mod categorical;
pub(crate) mod composed;
mod gaussian;
pub(crate) mod sampling;
mod tanh_gaussian;

use tanh_gaussian::{Flow, sample_with_flow};
pub use tanh_gaussian::{LogStdBounds, TanhGaussian, tanh_gaussian_log_prob, tanh_gaussian_sample};

use rand_chacha::ChaCha8Rng;

/// A policy's distribution family; the numbers come with each call.
///
/// `head` is one output row of the network, `log_std` the shared log standard deviations (empty unless Gaussian), `mask`
/// tells which choices are allowed (empty: all; only categorical families look at it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// One choice out of `n`; the head holds logits.
    Categorical {
        /// Number of choices.
        n: usize,
    },
    /// Several independent choices; the head holds their logits one after another.
    MultiCategorical {
        /// Number of choices of each.
        nvec: Vec<usize>,
    },
    /// `n` independent bits; the head holds logits.
    Bernoulli {
        /// Number of bits.
        n: usize,
    },
    /// Independent Gaussians; the head holds means.
    DiagGaussian {
        /// Number of dimensions.
        d: usize,
    },
}

impl Distribution {
    /// Width of the network's output row.
    pub fn head_width(&self) -> usize {
        match self {
            Self::Categorical { n } | Self::Bernoulli { n } => *n,
            Self::MultiCategorical { nvec } => nvec.iter().sum(),
            Self::DiagGaussian { d } => *d,
        }
    }

    /// Width of an action row.
    pub fn action_width(&self) -> usize {
        match self {
            Self::Categorical { .. } => 1,
            Self::MultiCategorical { nvec } => nvec.len(),
            Self::Bernoulli { n } => *n,
            Self::DiagGaussian { d } => *d,
        }
    }

    /// Length of the shared `log_std` vector: 0 unless Gaussian.
    pub fn log_std_width(&self) -> usize {
        match self {
            Self::DiagGaussian { d } => *d,
            _ => 0,
        }
    }

    /// Draws an action.
    pub fn sample(&self, head: &[f32], log_std: &[f32], mask: &[bool], rng: &mut ChaCha8Rng, action: &mut [f32]) {
        match self {
            Self::Categorical { .. } => action[0] = categorical::sample(head, mask, rng) as f32,
            Self::MultiCategorical { nvec } => {
                for (part, action) in parts(nvec).zip(action) {
                    *action = categorical::sample(part.of(head), part.mask(mask), rng) as f32;
                }
            }
            Self::Bernoulli { .. } => bernoulli::sample(head, rng, action),
            Self::DiagGaussian { .. } => gaussian::sample(head, log_std, rng, action),
        }
    }

    /// Draws an action and tells the logarithm of its probability: what [`sample`](Self::sample) and then
    /// [`log_prob`](Self::log_prob) give, from one softmax.
    pub fn sample_log_prob(
        &self,
        head: &[f32],
        log_std: &[f32],
        mask: &[bool],
        rng: &mut ChaCha8Rng,
        action: &mut [f32],
    ) -> f32 {
        let choose = |head: &[f32], mask: &[bool], rng: &mut ChaCha8Rng, action: &mut f32| {
            let (choice, log_prob) = categorical::sample_log_prob(head, mask, rng);
            *action = choice as f32;
            log_prob
        };
        match self {
            Self::Categorical { .. } => choose(head, mask, rng, &mut action[0]),
            Self::MultiCategorical { nvec } => {
                let choices = parts(nvec).zip(action);
                choices.map(|(part, action)| choose(part.of(head), part.mask(mask), rng, action)).sum()
            }
            Self::Bernoulli { .. } | Self::DiagGaussian { .. } => {
                self.sample(head, log_std, mask, rng, action);
                self.log_prob(head, log_std, mask, action)
            }
        }
    }

    /// The most likely action.
    pub fn mode(&self, head: &[f32], _log_std: &[f32], mask: &[bool], action: &mut [f32]) {
        match self {
            Self::Categorical { .. } => action[0] = categorical::mode(head, mask) as f32,
            Self::MultiCategorical { nvec } => {
                for (part, action) in parts(nvec).zip(action) {
                    *action = categorical::mode(part.of(head), part.mask(mask)) as f32;
                }
            }
            Self::Bernoulli { .. } => bernoulli::mode(head, action),
            Self::DiagGaussian { .. } => action.copy_from_slice(head),
        }
    }

    /// Logarithm of the action's probability (density).
    pub fn log_prob(&self, head: &[f32], log_std: &[f32], mask: &[bool], action: &[f32]) -> f32 {
        match self {
            Self::Categorical { .. } => categorical::log_prob(head, mask, action[0] as usize),
            Self::MultiCategorical { nvec } => parts(nvec)
                .zip(action)
                .map(|(part, action)| categorical::log_prob(part.of(head), part.mask(mask), *action as usize))
                .sum(),
            Self::Bernoulli { .. } => bernoulli::log_prob(head, action),
            Self::DiagGaussian { .. } => gaussian::log_prob(head, log_std, action),
        }
    }

    /// Entropy in nats.
    pub fn entropy(&self, head: &[f32], log_std: &[f32], mask: &[bool]) -> f32 {
        match self {
            Self::Categorical { .. } => categorical::entropy(head, mask),
            Self::MultiCategorical { nvec } => {
                parts(nvec).map(|part| categorical::entropy(part.of(head), part.mask(mask))).sum()
            }
            Self::Bernoulli { .. } => bernoulli::entropy(head),
            Self::DiagGaussian { .. } => gaussian::entropy(log_std),
        }
    }

    /// Kullback–Leibler divergence KL(p ‖ q) between two heads of this family.
    pub fn kl(&self, p: &[f32], p_log_std: &[f32], q: &[f32], q_log_std: &[f32], mask: &[bool]) -> f32 {
        match self {
            Self::Categorical { .. } => categorical::kl(p, q, mask),
            Self::MultiCategorical { nvec } => {
                parts(nvec).map(|part| categorical::kl(part.of(p), part.of(q), part.mask(mask))).sum()
            }
            Self::Bernoulli { .. } => bernoulli::kl(p, q),
            Self::DiagGaussian { .. } => gaussian::kl(p, p_log_std, q, q_log_std),
        }
    }

    /// The Fisher information of the head times a movement of it: the second derivative of [`kl`](Self::kl), either way round, where
    /// both are the same. Written to `out`. The shared `log_std` of Gaussians are apart from the means: each has information 2.
    pub fn fisher_product(&self, head: &[f32], log_std: &[f32], mask: &[bool], movement: &[f32], out: &mut [f32]) {
        match self {
            Self::Categorical { .. } => categorical::fisher_product(head, mask, movement, out),
            Self::MultiCategorical { nvec } => {
                for part in parts(nvec) {
                    let out = part.of_mut(out);
                    categorical::fisher_product(part.of(head), part.mask(mask), part.of(movement), out);
                }
            }
            Self::Bernoulli { .. } => bernoulli::fisher_product(head, movement, out),
            Self::DiagGaussian { .. } => gaussian::fisher_product(log_std, movement, out),
        }
    }

    /// Adds `k · ∂ log_prob` to the gradients of head and `log_std`.
    pub fn d_log_prob(
        &self,
        head: &[f32],
        log_std: &[f32],
        mask: &[bool],
        action: &[f32],
        k: f32,
        grad_head: &mut [f32],
        grad_log_std: &mut [f32],
    ) {
        match self {
            Self::Categorical { .. } => categorical::d_log_prob(head, mask, action[0] as usize, k, grad_head),
            Self::MultiCategorical { nvec } => {
                for (part, action) in parts(nvec).zip(action) {
                    let grad = part.of_mut(grad_head);
                    categorical::d_log_prob(part.of(head), part.mask(mask), *action as usize, k, grad);
                }
            }
            Self::Bernoulli { .. } => bernoulli::d_log_prob(head, action, k, grad_head),
            Self::DiagGaussian { .. } => gaussian::d_log_prob(head, log_std, action, k, grad_head, grad_log_std),
        }
    }

    /// Adds `k · ∂ entropy` to the gradients of head and `log_std`.
    pub fn d_entropy(
        &self,
        head: &[f32],
        _log_std: &[f32],
        mask: &[bool],
        k: f32,
        grad_head: &mut [f32],
        grad_log_std: &mut [f32],
    ) {
        match self {
            Self::Categorical { .. } => categorical::d_entropy(head, mask, k, grad_head),
            Self::MultiCategorical { nvec } => {
                for part in parts(nvec) {
                    categorical::d_entropy(part.of(head), part.mask(mask), k, part.of_mut(grad_head));
                }
            }
            Self::Bernoulli { .. } => bernoulli::d_entropy(head, k, grad_head),
            Self::DiagGaussian { .. } => grad_log_std.iter_mut().for_each(|g| *g += k),
        }
    }

    /// Log-probability and entropy in one pass: one softmax where asking twice costs two.
    ///
    /// `kept` (of length [`kept_width`](Self::kept_width)) receives what [`d_log_prob_entropy`](Self::d_log_prob_entropy) needs.
    pub fn log_prob_entropy(
        &self,
        head: &[f32],
        log_std: &[f32],
        mask: &[bool],
        action: &[f32],
        kept: &mut [f32],
    ) -> (f32, f32) {
        let (first, second) = kept.split_at_mut(head.len());
        match self {
            Self::Categorical { .. } => categorical::log_prob_entropy(head, mask, action[0] as usize, first, second),
            Self::MultiCategorical { nvec } => {
                let (mut log_prob, mut entropy) = (0.0, 0.0);
                for (part, action) in parts(nvec).zip(action) {
                    let (p, slope) = (part.of_mut(first), part.of_mut(second));
                    let (l, h) =
                        categorical::log_prob_entropy(part.of(head), part.mask(mask), *action as usize, p, slope);
                    log_prob += l;
                    entropy += h;
                }
                (log_prob, entropy)
            }
            Self::Bernoulli { .. } => bernoulli::log_prob_entropy(head, action, first, second),
            Self::DiagGaussian { .. } => gaussian::log_prob_entropy(head, log_std, action, first, second),
        }
    }

    /// Length of the row [`log_prob_entropy`](Self::log_prob_entropy) keeps for the gradient.
    pub fn kept_width(&self) -> usize {
        2 * self.head_width()
    }

    /// Adds `k_log_prob · ∂ log_prob + k_entropy · ∂ entropy` to the gradients of head and `log_std`, without another softmax.
    pub fn d_log_prob_entropy(
        &self,
        mask: &[bool],
        action: &[f32],
        kept: &[f32],
        k_log_prob: f32,
        k_entropy: f32,
        grad_head: &mut [f32],
        grad_log_std: &mut [f32],
    ) {
        let (first, second) = kept.split_at(self.head_width());
        match self {
            Self::Categorical { .. } => {
                let choice = action[0] as usize;
                categorical::d_log_prob_entropy(mask, choice, first, second, k_log_prob, k_entropy, grad_head);
            }
            Self::MultiCategorical { nvec } => {
                for (part, action) in parts(nvec).zip(action) {
                    let (mask, choice, grad) = (part.mask(mask), *action as usize, part.of_mut(grad_head));
                    let (p, slope) = (part.of(first), part.of(second));
                    categorical::d_log_prob_entropy(mask, choice, p, slope, k_log_prob, k_entropy, grad);
                }
            }
            Self::Bernoulli { .. } => {
                bernoulli::d_log_prob_entropy(action, first, second, k_log_prob, k_entropy, grad_head);
            }
            Self::DiagGaussian { .. } => {
                grad_head.iter_mut().zip(first).for_each(|(g, by_mean)| *g += k_log_prob * by_mean);
                let by_log_std = grad_log_std.iter_mut().zip(second);
                by_log_std.for_each(|(g, by_log_std)| *g += k_log_prob * by_log_std + k_entropy);
            }
        }
    }

    /// Adds `k · ∂ KL(p ‖ q)` with respect to `q` to the gradients of its head and `log_std`.
    pub fn d_kl(
        &self,
        p: &[f32],
        p_log_std: &[f32],
        q: &[f32],
        q_log_std: &[f32],
        mask: &[bool],
        k: f32,
        grad_head: &mut [f32],
        grad_log_std: &mut [f32],
    ) {
        match self {
            Self::Categorical { .. } => categorical::d_kl(p, q, mask, k, grad_head),
            Self::MultiCategorical { nvec } => {
                for part in parts(nvec) {
                    categorical::d_kl(part.of(p), part.of(q), part.mask(mask), k, part.of_mut(grad_head));
                }
            }
            Self::Bernoulli { .. } => bernoulli::d_kl(p, q, k, grad_head),
            Self::DiagGaussian { .. } => gaussian::d_kl(p, p_log_std, q, q_log_std, k, grad_head, grad_log_std),
        }
    }
}

/// One choice's place inside a row of several.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
}

impl Part {
    fn of(self, row: &[f32]) -> &[f32] {
        &row[self.start..self.end]
    }

    fn of_mut(self, row: &mut [f32]) -> &mut [f32] {
        &mut row[self.start..self.end]
    }

    fn mask(self, mask: &[bool]) -> &[bool] {
        if mask.is_empty() { mask } else { &mask[self.start..self.end] }
    }
}

fn parts(nvec: &[usize]) -> impl Iterator<Item = Part> + '_ {
    let mut start = 0;
    nvec.iter().map(move |n| {
        let part = Part { start, end: start + n };
        start += n;
        part
    })
}
