//! The policy on states: what it does, and how it learns.

use crate::export::{Graph, Value};
use crate::parts::actions::argmax;
use crate::parts::tracked::Trainable;
use axiomrl_core::Rng;
use axiomrl_core::random::{normal, uniform};
use axiomrl_envs::Space;
use axiomrl_nn::math::{sigmoid, softplus, tanh};
use axiomrl_nn::{Init, Mlp, MlpSpec, Params};
use rand_chacha::ChaCha8Rng;

/// Means of a squashed Gaussian stay within ±5, softly.
const MEAN_SCALE: f32 = 5.0;
/// softplus⁻¹(5): a squashed Gaussian begins wide.
const RAW_STD: f32 = 4.993_24;
const LEAST_STD: f32 = 1e-4;
/// Deviations of a plain Gaussian: between the two.
const STD_RANGE: (f32, f32) = (0.1, 1.0);
/// ½ log 2π
const HALF_LOG_TAU: f32 = 0.918_938_5;

/// What the outputs of the network stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActionLaw {
    /// Logits of one choice out of `n`, mixed with a part of the uniform distribution.
    Choice { n: usize, unimix: f32 },
    /// Means and spreads of `d` Gaussians; what leaves [−1, 1] is clipped when it is done.
    Normal { d: usize },
    /// Means and spreads of `d` Gaussians that tanh squashes: to be differentiated through.
    TanhNormal { d: usize },
}

/// Draws of a policy: what was done, and from what chance.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// `[rows, width]`: one-hot choices, or numbers in [−1, 1], as the model takes them
    pub encoded: Vec<f32>,
    /// `[rows, raw]`: the choice, the number before clipping, or the noise behind it
    pub raw: Vec<f32>,
}

impl ActionLaw {
    /// `mixed` is the uniform part of choices that learn by their likelihood.
    pub fn new(action: &Space, dynamics: bool, mixed: f32) -> Self {
        match (action, dynamics) {
            (Space::Discrete { n }, _) => Self::Choice { n: *n, unimix: if dynamics { 0.0 } else { mixed } },
            (space, true) => Self::TanhNormal { d: space.width() },
            (space, false) => Self::Normal { d: space.width() },
        }
    }

    /// Outputs of the network.
    fn outputs(self) -> usize {
        match self {
            Self::Choice { n, .. } => n,
            Self::Normal { d } | Self::TanhNormal { d } => 2 * d,
        }
    }

    /// Numbers of an action as the model takes it.
    pub fn width(self) -> usize {
        match self {
            Self::Choice { n, .. } => n,
            Self::Normal { d } | Self::TanhNormal { d } => d,
        }
    }

    /// Numbers of an action as environments and stores have it.
    pub fn action_width(self) -> usize {
        match self {
            Self::Choice { .. } => 1,
            Self::Normal { d } | Self::TanhNormal { d } => d,
        }
    }

    /// Actions as the model takes them, from those of a store.
    pub fn encode(self, actions: &[f32], encoded: &mut [f32]) {
        match self {
            Self::Choice { n, .. } => {
                encoded.fill(0.0);
                encoded
                    .chunks_exact_mut(n)
                    .zip(actions)
                    .for_each(|(row, &choice)| row[(choice as usize).min(n - 1)] = 1.0);
            }
            _ => encoded.copy_from_slice(actions),
        }
    }

    /// The reverse.
    pub fn decode(self, encoded: &[f32], actions: &mut [f32]) {
        match self {
            Self::Choice { n, .. } => {
                encoded.chunks_exact(n).zip(actions).for_each(|(row, action)| *action = argmax(row, &[]) as f32);
            }
            _ => actions.copy_from_slice(encoded),
        }
    }

    /// Mean and deviation of number `i` of a row of outputs.
    fn gaussian(self, outputs: &[f32], i: usize) -> (f32, f32) {
        match self {
            Self::Choice { .. } => unreachable!("choices have no deviation"),
            Self::Normal { d } => {
                let (low, high) = STD_RANGE;
                (tanh(outputs[i]), (high - low) * sigmoid(outputs[d + i] + 2.0) + low)
            }
            Self::TanhNormal { d } => {
                let std = softplus(outputs[d + i] + RAW_STD) + LEAST_STD;
                (MEAN_SCALE * tanh(outputs[i] / MEAN_SCALE), std)
            }
        }
    }

    /// Derivatives of the mean and the deviation by their outputs.
    fn gaussian_slopes(self, outputs: &[f32], i: usize) -> (f32, f32) {
        match self {
            Self::Choice { .. } => unreachable!("choices have no deviation"),
            Self::Normal { d } => {
                let ((low, high), mean, gate) = (STD_RANGE, tanh(outputs[i]), sigmoid(outputs[d + i] + 2.0));
                (1.0 - mean * mean, (high - low) * gate * (1.0 - gate))
            }
            Self::TanhNormal { d } => {
                let bent = tanh(outputs[i] / MEAN_SCALE);
                (1.0 - bent * bent, sigmoid(outputs[d + i] + RAW_STD))
            }
        }
    }

    /// Draws an action for each row of outputs.
    pub fn sample(self, outputs: &[f32], rng: &mut Rng, drawn: &mut Drawn) {
        let rows = outputs.len() / self.outputs();
        drawn.encoded.resize(rows * self.width(), 0.0);
        drawn.raw.resize(rows * self.action_width(), 0.0);
        let places = drawn.encoded.chunks_exact_mut(self.width()).zip(drawn.raw.chunks_exact_mut(self.action_width()));
        for (outputs, (encoded, raw)) in outputs.chunks_exact(self.outputs()).zip(places) {
            match self {
                Self::Choice { unimix, .. } => {
                    let chance = probabilities(outputs, unimix);
                    let (u, mut sum) = (uniform(rng) as f32, 0.0);
                    let passed = |p: &f32| {
                        sum += p;
                        sum > u
                    };
                    let choice = chance.iter().position(passed).unwrap_or(chance.len() - 1);
                    encoded.fill(0.0);
                    (encoded[choice], raw[0]) = (1.0, choice as f32);
                }
                Self::Normal { d } => (0..d).for_each(|i| {
                    let (mean, std) = self.gaussian(outputs, i);
                    raw[i] = mean + std * normal(rng);
                    encoded[i] = raw[i].clamp(-1.0, 1.0);
                }),
                Self::TanhNormal { d } => (0..d).for_each(|i| {
                    let (mean, std) = self.gaussian(outputs, i);
                    raw[i] = normal(rng);
                    encoded[i] = tanh(mean + std * raw[i]);
                }),
            }
        }
    }

    /// The best action for each row of outputs.
    pub fn mode(self, outputs: &[f32], encoded: &mut [f32]) {
        for (outputs, encoded) in outputs.chunks_exact(self.outputs()).zip(encoded.chunks_exact_mut(self.width())) {
            match self {
                Self::Choice { .. } => {
                    encoded.fill(0.0);
                    encoded[argmax(outputs, &[])] = 1.0;
                }
                Self::Normal { d } => (0..d).for_each(|i| encoded[i] = self.gaussian(outputs, i).0),
                Self::TanhNormal { d } => (0..d).for_each(|i| encoded[i] = tanh(self.gaussian(outputs, i).0)),
            }
        }
    }

    /// As [`ActionLaw::mode`], as nodes of a graph: the action, and the same as the model takes it.
    pub fn onnx(self, graph: &mut Graph, outputs: Value) -> (Value, Value) {
        match self {
            Self::Choice { n, .. } => {
                let choice = graph.argmax(outputs);
                let apart = graph.reshape(choice, &[-1, 1]);
                (choice, graph.one_hot(apart, n))
            }
            Self::Normal { d } => {
                let raw = graph.columns(outputs, 0..d, 2 * d);
                let mean = graph.tanh(raw);
                (mean, mean)
            }
            Self::TanhNormal { d } => {
                let raw = graph.columns(outputs, 0..d, 2 * d);
                let soft = graph.scale(raw, 1.0 / MEAN_SCALE);
                let soft = graph.tanh(soft);
                let mean = graph.scale(soft, MEAN_SCALE);
                let action = graph.tanh(mean);
                (action, action)
            }
        }
    }

    /// Logarithm of the chance of `raw` and the entropy, of one row; `k` times their derivatives are added to the gradient.
    ///
    /// A choice is judged by the mixed distribution; a number where it was drawn, before clipping. The entropy of a squashed
    /// Gaussian is that of the Gaussian.
    fn likelihood(
        self,
        outputs: &[f32],
        raw: &[f32],
        [k_log, k_entropy]: [f32; 2],
        gradient: &mut [f32],
    ) -> (f32, f32) {
        match self {
            Self::Choice { n, unimix } => {
                let (soft, mixed) = (probabilities(outputs, 0.0), probabilities(outputs, unimix));
                let choice = raw[0] as usize;
                let entropy = -mixed.iter().map(|p| p * p.max(f32::MIN_POSITIVE).ln()).sum::<f32>();
                // By the mixed probabilities, then through the softmax.
                let mut slope: Vec<f32> =
                    mixed.iter().map(|p| -k_entropy * (p.max(f32::MIN_POSITIVE).ln() + 1.0)).collect();
                slope[choice] += k_log / mixed[choice];
                let mean = soft.iter().zip(&slope).map(|(s, d)| s * d).sum::<f32>();
                (0..n).for_each(|i| gradient[i] += (1.0 - unimix) * soft[i] * (slope[i] - mean));
                (mixed[choice].ln(), entropy)
            }
            Self::Normal { d } | Self::TanhNormal { d } => {
                let (mut log_prob, mut entropy) = (0.0, 0.0);
                for i in 0..d {
                    let ((mean, std), (by_mean, by_std)) =
                        (self.gaussian(outputs, i), self.gaussian_slopes(outputs, i));
                    entropy += std.ln() + HALF_LOG_TAU + 0.5;
                    let z = (raw[i] - mean) / std;
                    log_prob -= 0.5 * z * z + std.ln() + HALF_LOG_TAU;
                    gradient[i] += k_log * z / std * by_mean;
                    gradient[d + i] += (k_log * (z * z - 1.0) + k_entropy) / std * by_std;
                }
                (log_prob, entropy)
            }
        }
    }

    /// `-mean w (log π(a) A + η H)` over rows, its gradient, and the mean entropy.
    pub fn reinforce(
        self,
        outputs: &[f32],
        raw: &[f32],
        weights: &[f32],
        advantages: &[f32],
        entropy_coef: f32,
    ) -> (f32, Vec<f32>, f32) {
        self.sum_over_rows(outputs, raw, weights, |row, weight, out, raw, slope| {
            let advantage = advantages[row];
            let (log_prob, entropy) = self.likelihood(out, raw, [-weight * advantage, -weight * entropy_coef], slope);
            (weight * (log_prob * advantage + entropy_coef * entropy), entropy)
        })
    }

    /// The gradient of the outputs for actions that a return was differentiated by, minus `mean w η H`; the loss of the entropy
    /// and its mean.
    pub fn reparametrised(
        self,
        outputs: &[f32],
        raw: &[f32],
        by_actions: &[f32],
        weights: &[f32],
        entropy_coef: f32,
    ) -> (f32, Vec<f32>, f32) {
        self.sum_over_rows(outputs, raw, weights, |row, weight, out, raw, slope| {
            let by = &by_actions[row * self.width()..(row + 1) * self.width()];
            let (_, entropy) = self.likelihood(out, raw, [0.0, -weight * entropy_coef], slope);
            match self {
                // Straight through the draw: as if the probabilities had been the action.
                Self::Choice { n, unimix } => {
                    let soft = probabilities(out, 0.0);
                    let mean = soft.iter().zip(by).map(|(s, d)| s * d).sum::<f32>();
                    (0..n).for_each(|i| slope[i] += (1.0 - unimix) * soft[i] * (by[i] - mean));
                }
                Self::Normal { d } | Self::TanhNormal { d } => {
                    for i in 0..d {
                        let ((mean, std), (by_mean, by_std)) = (self.gaussian(out, i), self.gaussian_slopes(out, i));
                        let done = tanh(mean + std * raw[i]);
                        let by_sample = by[i] * (1.0 - done * done);
                        slope[i] += by_sample * by_mean;
                        slope[d + i] += by_sample * raw[i] * by_std;
                    }
                }
            }
            (weight * entropy_coef * entropy, entropy)
        })
    }

    /// Minus what `gain` gives for each row, the gradient that it leaves behind, and the mean entropy. It gets the row's number,
    /// its weight in the mean, its outputs, its draw, and where to put its gradient; it gives a gain and an entropy.
    fn sum_over_rows(
        self,
        outputs: &[f32],
        raw: &[f32],
        weights: &[f32],
        gain: impl Fn(usize, f32, &[f32], &[f32], &mut [f32]) -> (f32, f32),
    ) -> (f32, Vec<f32>, f32) {
        let (rows, mut gradient) = (weights.len(), vec![0.0; outputs.len()]);
        let (mut loss, mut entropies, share) = (0.0f64, 0.0f64, 1.0 / rows as f32);
        for row in 0..rows {
            let of = |width: usize| row * width..(row + 1) * width;
            let (out, slope) = (&outputs[of(self.outputs())], &mut gradient[of(self.outputs())]);
            let (gain, entropy) = gain(row, weights[row] * share, out, &raw[of(self.action_width())], slope);
            loss -= f64::from(gain);
            entropies += f64::from(entropy);
        }
        (loss as f32, gradient, (entropies / rows as f64) as f32)
    }
}

/// The softmax, with a part of it uniform.
fn probabilities(logits: &[f32], unimix: f32) -> Vec<f32> {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut chance: Vec<f32> = logits.iter().map(|x| (x - largest).exp()).collect();
    let sum = chance.iter().sum::<f32>();
    let even = unimix / logits.len() as f32;
    chance.iter_mut().for_each(|p| *p = (1.0 - unimix) * *p / sum + even);
    chance
}

/// The network of the policy and what its outputs stand for.
#[derive(Clone)]
pub struct ActorHead {
    pub net: Mlp,
    pub law: ActionLaw,
}

impl ActorHead {
    pub fn new(law: ActionLaw, shape: impl FnOnce(usize) -> MlpSpec, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        Self { net: Mlp::new(shape(law.outputs()), 1, init, rng), law }
    }
}

impl Trainable for ActorHead {
    fn params(&mut self) -> Vec<&mut Params> {
        vec![&mut self.net.params]
    }
}

#[cfg(test)]
mod tests;
