//! What a value network says about an action's return: a number, a distribution over atoms, or quantiles.
//!
//! Whatever the head, a target is a weighted set of returns, and the loss asks the head to represent it. So every
//! backup works with every head.

use axiomrl_core::value_functions::{huber, huber_grad};

/// The meaning of the `K` numbers a network gives for one action.
#[derive(Clone, Debug, PartialEq)]
pub enum Head {
    /// K = 1: the expected return itself.
    Scalar,
    /// Logits of the probabilities of K evenly spaced returns.
    Categorical { v_min: f32, v_max: f32, atoms: Vec<f32> },
    /// The return at K fractions, which come with the outputs.
    Quantile { kappa: f32 },
}

impl Head {
    pub fn categorical(v_min: f32, v_max: f32, count: usize) -> Self {
        let step = (v_max - v_min) / (count - 1) as f32;
        Head::Categorical { v_min, v_max, atoms: (0..count).map(|i| v_min + step * i as f32).collect() }
    }

    /// The expected return that `outputs` stand for. `share` weighs quantiles; other heads do not look at it.
    pub fn expectation(&self, outputs: &[f32], share: &[f32]) -> f32 {
        match self {
            Head::Scalar => outputs[0],
            Head::Categorical { atoms, .. } => {
                let (peak, total) = peak_and_total(outputs);
                outputs.iter().zip(atoms).map(|(l, z)| (l - peak).exp() * z).sum::<f32>() / total
            }
            Head::Quantile { .. } => outputs.iter().zip(share).map(|(v, s)| v * s).sum(),
        }
    }

    /// Adds `slope` times the gradient of [`Head::expectation`].
    pub fn d_expectation(&self, outputs: &[f32], share: &[f32], slope: f32, gradient: &mut [f32]) {
        match self {
            Head::Scalar => gradient[0] += slope,
            Head::Categorical { atoms, .. } => {
                let (peak, total) = peak_and_total(outputs);
                let mean = self.expectation(outputs, share);
                for ((g, l), z) in gradient.iter_mut().zip(outputs).zip(atoms) {
                    *g += slope * (l - peak).exp() / total * (z - mean);
                }
            }
            Head::Quantile { .. } => gradient.iter_mut().zip(share).for_each(|(g, s)| *g += slope * s),
        }
    }

    /// Calls `take(return, weight)` for each return the outputs stand for; the weights sum to 1. Quantiles count by
    /// their `share`, as in [`Head::expectation`]: were uneven ones counted alike, returns would drift to where the
    /// fractions are dense, a little with every backup.
    pub fn for_each_return(&self, outputs: &[f32], share: &[f32], mut take: impl FnMut(f32, f32)) {
        match self {
            Head::Scalar => take(outputs[0], 1.0),
            Head::Categorical { atoms, .. } => {
                let (peak, total) = peak_and_total(outputs);
                for (l, z) in outputs.iter().zip(atoms) {
                    take(*z, (l - peak).exp() / total);
                }
            }
            Head::Quantile { .. } => outputs.iter().zip(share).for_each(|(v, s)| take(*v, *s)),
        }
    }

    /// How badly `outputs` represent the weighted returns; adds `slope` times the gradient. `fractions` are those of
    /// the outputs of a quantile head.
    pub fn loss(
        &self,
        outputs: &[f32],
        fractions: &[f32],
        returns: &[f32],
        weights: &[f32],
        slope: f32,
        gradient: &mut [f32],
        scratch: &mut Vec<f32>,
    ) -> f32 {
        match self {
            Head::Scalar => {
                let target: f32 = returns.iter().zip(weights).map(|(y, w)| y * w).sum();
                gradient[0] += slope * huber_grad(outputs[0] - target, 1.0);
                huber(outputs[0] - target, 1.0)
            }
            Head::Categorical { v_min, v_max, atoms } => {
                scratch.clear();
                scratch.resize(atoms.len(), 0.0);
                project(returns, weights, *v_min, *v_max, scratch);
                let (peak, total) = peak_and_total(outputs);
                let log_total = total.ln();
                let mut loss = 0.0;
                for ((g, l), m) in gradient.iter_mut().zip(outputs).zip(scratch.iter()) {
                    let log_p = l - peak - log_total;
                    loss -= m * log_p;
                    *g += slope * (log_p.exp() - m);
                }
                loss
            }
            Head::Quantile { kappa } => {
                let mut loss = 0.0;
                for ((value, fraction), g) in outputs.iter().zip(fractions).zip(gradient) {
                    let mut pull = 0.0;
                    for (y, w) in returns.iter().zip(weights) {
                        let error = y - value;
                        let side = if error < 0.0 { 1.0 - fraction } else { *fraction };
                        loss += w * side * huber(error, *kappa) / kappa;
                        pull += w * side * huber_grad(error, *kappa) / kappa;
                    }
                    *g -= slope * pull;
                }
                loss
            }
        }
    }
}

/// The largest logit, and the sum of exponentials relative to it.
fn peak_and_total(logits: &[f32]) -> (f32, f32) {
    let peak = logits.iter().fold(f32::MIN, |m, l| m.max(*l));
    (peak, logits.iter().map(|l| (l - peak).exp()).sum())
}

/// Spreads each weighted return over its two neighbouring atoms; what lies outside goes to the edge.
fn project(returns: &[f32], weights: &[f32], v_min: f32, v_max: f32, mass: &mut [f32]) {
    let last = mass.len() - 1;
    let step = (v_max - v_min) / last as f32;
    for (y, w) in returns.iter().zip(weights) {
        let at = ((y.clamp(v_min, v_max) - v_min) / step).clamp(0.0, last as f32);
        let low = (at as usize).min(last - 1);
        let upper = at - low as f32;
        mass[low] += w * (1.0 - upper);
        mass[low + 1] += w * upper;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::targets::categorical_projection;

    fn heads() -> Vec<(Head, usize)> {
        vec![(Head::Scalar, 1), (Head::categorical(-2.0, 3.0, 6), 6), (Head::Quantile { kappa: 1.0 }, 4)]
    }

    const FRACTIONS: [f32; 4] = [0.1, 0.4, 0.6, 0.95];
    const SHARE: [f32; 4] = [0.2, 0.3, 0.4, 0.1];
    const OUTPUTS: [f32; 6] = [0.3, -0.7, 1.2, 0.1, 0.6, -0.2];

    #[test]
    fn gradients_agree_with_finite_differences() {
        let (returns, weights) = ([0.4, 2.2, -1.5], [0.5, 0.3, 0.2]);
        for (head, k) in heads() {
            let mut exact = vec![0.0; k];
            let mut scratch = Vec::new();
            let outputs = &OUTPUTS[..k];
            head.loss(outputs, &FRACTIONS, &returns, &weights, 0.7, &mut exact, &mut scratch);
            head.d_expectation(outputs, &SHARE, 0.3, &mut exact);
            for i in 0..k {
                let mut value = |by: f32| {
                    let mut moved = outputs.to_vec();
                    moved[i] += by;
                    let mut unused = vec![0.0; k];
                    let loss = head.loss(&moved, &FRACTIONS, &returns, &weights, 0.0, &mut unused, &mut scratch);
                    f64::from(0.7 * loss + 0.3 * head.expectation(&moved, &SHARE))
                };
                let numeric = (value(1e-2) - value(-1e-2)) / 2e-2;
                assert!((numeric - f64::from(exact[i])).abs() < 2e-3, "{head:?} {i}: {numeric} against {}", exact[i]);
            }
        }
    }

    #[test]
    fn projection_is_the_one_of_the_core() {
        let (returns, weights) = ([-3.0, 0.5, 1.0, 9.0], [0.1, 0.2, 0.3, 0.4]);
        let mut found = vec![0.0; 6];
        project(&returns, &weights, -2.0, 3.0, &mut found);
        // The core's form, one return at a time: a distribution whose only atom is the return.
        let mut wanted = vec![0.0; 6];
        for (y, w) in returns.iter().zip(weights) {
            let mut one = vec![0.0; 6];
            let concentrated = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            categorical_projection(&concentrated, *y, 0.0, -2.0, 3.0, &mut one);
            wanted.iter_mut().zip(&one).for_each(|(a, b)| *a += w * b);
        }
        assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {wanted:?}");
    }

    #[test]
    fn the_returns_of_a_head_average_to_its_expectation() {
        for (head, k) in heads() {
            let (mut mean, mut mass) = (0.0, 0.0);
            head.for_each_return(&OUTPUTS[..k], &SHARE, |y, w| {
                mean += y * w;
                mass += w;
            });
            assert!((mass - 1.0).abs() < 1e-6);
            assert!((mean - head.expectation(&OUTPUTS[..k], &SHARE)).abs() < 1e-5);
        }
    }
}
