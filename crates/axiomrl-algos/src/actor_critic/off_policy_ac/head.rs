//! What a critic's outputs say about the return, and how far they are from what they should say.

use super::choices::CriticOutput;
use super::settings::AcConfig;
use axiomrl_core::targets::quantile_huber;

/// The meaning of a critic's output row.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueHead {
    /// One number: the mean return.
    Scalar,
    /// Logits of evenly spaced returns from `low` to `high`.
    Categorical { low: f32, high: f32, atoms: usize },
    /// Returns at the given shares of the distribution.
    Quantile { shares: Vec<f32> },
}

/// One row's comparison with its target.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowFit {
    pub loss: f32,
    /// Size of the error, for priorities.
    pub error: f32,
    /// The mean return that was predicted.
    pub mean: f32,
    /// Predicted probability of the two ends of a categorical support.
    pub edge: f32,
}

impl ValueHead {
    pub fn new(config: &AcConfig) -> Self {
        match config.critic_output {
            CriticOutput::Scalar => Self::Scalar,
            CriticOutput::Categorical => {
                Self::Categorical { low: config.v_min, high: config.v_max, atoms: config.n_atoms }
            }
            CriticOutput::Quantile => {
                let n = config.n_quantiles as f32;
                Self::Quantile { shares: (0..config.n_quantiles).map(|i| (i as f32 + 0.5) / n).collect() }
            }
        }
    }

    /// Numbers per output row.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Scalar => 1,
            Self::Categorical { atoms, .. } => *atoms,
            Self::Quantile { shares } => shares.len(),
        }
    }

    /// The mean return of an output row. `scratch` is as long as the row.
    pub fn mean(&self, out: &[f32], scratch: &mut [f32]) -> f32 {
        match self {
            Self::Scalar => out[0],
            Self::Categorical { low, high, .. } => {
                softmax(out, scratch);
                expectation(scratch, *low, *high)
            }
            Self::Quantile { shares } => out.iter().sum::<f32>() / shares.len() as f32,
        }
    }

    /// Writes `k` times the derivative of the mean by the output row, and returns the mean.
    pub fn d_mean(&self, out: &[f32], k: f32, gradient: &mut [f32]) -> f32 {
        let mean = self.mean(out, gradient);
        match self {
            Self::Scalar => gradient[0] = k,
            Self::Categorical { low, high, atoms } => {
                // `mean` has left the probabilities in place.
                let step = (high - low) / (atoms - 1) as f32;
                for (i, p) in gradient.iter_mut().enumerate() {
                    *p *= k * (low + i as f32 * step - mean);
                }
            }
            Self::Quantile { shares } => gradient.fill(k / shares.len() as f32),
        }
        mean
    }

    /// Compares an output row with its target and writes the gradient of `weight * loss`.
    ///
    /// The target is a number, a distribution over the atoms, or any number of equally likely returns.
    pub fn fit(&self, out: &[f32], target: &[f32], weight: f32, gradient: &mut [f32]) -> RowFit {
        match self {
            Self::Scalar => {
                let error = out[0] - target[0];
                gradient[0] = weight * error;
                RowFit { loss: 0.5 * error * error, error: error.abs(), mean: out[0], edge: 0.0 }
            }
            Self::Categorical { low, high, atoms } => {
                let normaliser = softmax(out, gradient);
                let mean = expectation(gradient, *low, *high);
                let edge = gradient[0] + gradient[atoms - 1];
                let mut loss = normaliser;
                for ((gradient, target), logit) in gradient.iter_mut().zip(target).zip(out) {
                    loss -= target * logit;
                    *gradient = weight * (*gradient - target);
                }
                RowFit { loss, error: loss, mean, edge }
            }
            Self::Quantile { shares } => {
                let loss = quantile_huber(out, shares, target, 1.0, gradient);
                gradient.iter_mut().for_each(|g| *g *= weight);
                RowFit { loss, error: loss, mean: out.iter().sum::<f32>() / shares.len() as f32, edge: 0.0 }
            }
        }
    }
}

/// Probabilities of logits; returns the logarithm of the normaliser.
pub fn softmax(logits: &[f32], probability: &mut [f32]) -> f32 {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for (p, logit) in probability.iter_mut().zip(logits) {
        *p = axiomrl_nn::math::exp(logit - largest);
        sum += *p;
    }
    probability.iter_mut().for_each(|p| *p /= sum);
    largest + sum.ln()
}

fn expectation(probability: &[f32], low: f32, high: f32) -> f32 {
    let step = (high - low) / (probability.len() - 1) as f32;
    probability.iter().enumerate().map(|(i, p)| p * (low + i as f32 * step)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads() -> [ValueHead; 3] {
        [
            ValueHead::Scalar,
            ValueHead::Categorical { low: -2.0, high: 4.0, atoms: 4 },
            ValueHead::Quantile { shares: vec![0.125, 0.375, 0.625, 0.875] },
        ]
    }

    fn close(found: f32, expected: f32) {
        assert!((found - expected).abs() < 2e-3, "{found} is not {expected}");
    }

    #[test]
    fn the_mean_and_its_gradient_agree() {
        for head in heads() {
            let out: Vec<f32> = (0..head.outputs()).map(|i| 0.3 * i as f32 - 0.2).collect();
            let mut scratch = vec![0.0; out.len()];
            let mut gradient = vec![0.0; out.len()];
            close(head.d_mean(&out, 2.0, &mut gradient), head.mean(&out, &mut scratch));
            for i in 0..out.len() {
                let shifted = |by: f32| {
                    let mut moved = out.clone();
                    moved[i] += by;
                    head.mean(&moved, &mut vec![0.0; out.len()])
                };
                close(gradient[i], 2.0 * (shifted(0.01) - shifted(-0.01)) / 0.02);
            }
        }
    }

    #[test]
    fn losses_and_their_gradients_agree() {
        for head in heads() {
            let out: Vec<f32> = (0..head.outputs()).map(|i| 0.3 * i as f32 - 0.2).collect();
            let target = if head.outputs() == 1 { vec![0.7] } else { vec![0.1, 0.2, 0.3, 0.4] };
            let mut gradient = vec![0.0; out.len()];
            head.fit(&out, &target, 3.0, &mut gradient);
            for i in 0..out.len() {
                let shifted = |by: f32| {
                    let mut moved = out.clone();
                    moved[i] += by;
                    head.fit(&moved, &target, 3.0, &mut vec![0.0; out.len()]).loss
                };
                close(gradient[i], 3.0 * (shifted(0.01) - shifted(-0.01)) / 0.02);
            }
        }
    }

    #[test]
    fn a_certain_categorical_critic_is_all_edge() {
        let head = ValueHead::Categorical { low: 0.0, high: 10.0, atoms: 3 };
        let fit = head.fit(&[0.0, 0.0, 40.0], &[0.0, 0.0, 1.0], 1.0, &mut [0.0; 3]);
        close(fit.edge, 1.0);
        close(fit.mean, 10.0);
        close(fit.loss, 0.0);
    }
}
