//! What a value network says about a return: a number, a distribution over atoms, or quantiles.
//!
//! Whatever the head, a target is a weighted set of returns, and the loss asks the head to represent it. So every
//! backup works with every head.

use axiomrl_core::value_functions::{huber, huber_grad};
use axiomrl_nn::losses::{cross_entropy_loss, softmax_rows};

/// The meaning of the `K` numbers a network gives for one return.
#[derive(Clone, Debug, PartialEq)]
pub enum Head {
    /// K = 1: the expected return itself. The loss is Huber's, quadratic up to `kappa`; an infinite one makes it half the
    /// square everywhere.
    Scalar { kappa: f32 },
    /// Logits of the probabilities of K evenly spaced returns.
    Categorical { v_min: f32, v_max: f32, atoms: Vec<f32> },
    /// The return at K fractions, which come with the outputs.
    Quantile { kappa: f32 },
}

/// What a network said about one return, as it came out of it.
#[derive(Clone, Copy)]
pub struct Said<'a> {
    pub outputs: &'a [f32],
    /// Fractions of a quantile head's outputs; other heads do not look at them.
    pub fractions: &'a [f32],
    /// Weights of a quantile head's outputs in the expectation, summing to 1.
    pub share: &'a [f32],
}

/// The returns to represent, with weights that sum to 1.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub returns: &'a [f32],
    pub weights: &'a [f32],
}

/// How what was said compares with what was wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fit {
    pub loss: f32,
    /// The expected return that was said.
    pub expectation: f32,
    /// How much of what was wanted lies outside the support of a categorical head.
    pub outside: f32,
}

impl Head {
    pub fn categorical(v_min: f32, v_max: f32, count: usize) -> Self {
        let step = (v_max - v_min) / (count - 1) as f32;
        Head::Categorical { v_min, v_max, atoms: (0..count).map(|i| v_min + step * i as f32).collect() }
    }

    /// Turns rows of outputs into what [`Head::expectation`] and [`Head::for_each_return`] take: logits become
    /// probabilities, other heads' outputs are left as they are. `spare` is overwritten.
    pub fn interpret(&self, outputs: &mut Vec<f32>, spare: &mut Vec<f32>) {
        if let Head::Categorical { atoms, .. } = self {
            spare.resize(outputs.len(), 0.0);
            softmax_rows(outputs, atoms.len(), spare);
            std::mem::swap(outputs, spare);
        }
    }

    /// The expected return of interpreted outputs. `share` weighs quantiles; other heads do not look at it.
    pub fn expectation(&self, interpreted: &[f32], share: &[f32]) -> f32 {
        match self {
            Head::Scalar { .. } => interpreted[0],
            Head::Categorical { atoms, .. } => interpreted.iter().zip(atoms).map(|(p, z)| p * z).sum(),
            Head::Quantile { .. } => interpreted.iter().zip(share).map(|(v, s)| v * s).sum(),
        }
    }

    /// Adds `slope` times the gradient of the expectation by the outputs, which come interpreted.
    pub fn d_expectation(&self, interpreted: &[f32], share: &[f32], slope: f32, gradient: &mut [f32]) {
        match self {
            Head::Scalar { .. } => gradient[0] += slope,
            Head::Categorical { atoms, .. } => {
                let mean = self.expectation(interpreted, share);
                for ((g, p), z) in gradient.iter_mut().zip(interpreted).zip(atoms) {
                    *g += slope * p * (z - mean);
                }
            }
            Head::Quantile { .. } => gradient.iter_mut().zip(share).for_each(|(g, s)| *g += slope * s),
        }
    }

    /// Calls `take(return, weight)` for each return that interpreted outputs stand for; the weights sum to 1. Quantiles count
    /// by their `share`, as in [`Head::expectation`]: were uneven ones counted alike, returns would drift to where the
    /// fractions are dense, a little with every backup.
    #[inline]
    pub fn for_each_return(&self, interpreted: &[f32], share: &[f32], mut take: impl FnMut(f32, f32)) {
        match self {
            Head::Scalar { .. } => take(interpreted[0], 1.0),
            Head::Categorical { atoms, .. } => interpreted.iter().zip(atoms).for_each(|(p, z)| take(*z, *p)),
            Head::Quantile { .. } => interpreted.iter().zip(share).for_each(|(v, s)| take(*v, *s)),
        }
    }

    /// How badly `said` represents what is wanted; writes the gradient of that by the outputs. `spare` is overwritten.
    #[inline]
    pub fn loss(&self, said: Said<'_>, wanted: Wanted<'_>, gradient: &mut [f32], spare: &mut Vec<f32>) -> Fit {
        let Said { outputs, fractions, share } = said;
        let Wanted { returns, weights } = wanted;
        match self {
            Head::Scalar { kappa } => {
                let target: f32 = returns.iter().zip(weights).map(|(y, w)| y * w).sum();
                gradient[0] = huber_grad(outputs[0] - target, *kappa);
                Fit { loss: huber(outputs[0] - target, *kappa), expectation: outputs[0], outside: 0.0 }
            }
            Head::Categorical { v_min, v_max, atoms } => {
                spare.clear();
                spare.resize(atoms.len(), 0.0);
                project(returns, weights, *v_min, *v_max, spare);
                let mut loss = [0.0];
                cross_entropy_loss(outputs, spare, atoms.len(), &[], &mut loss, gradient);
                // The gradient is p - m, so the probabilities need no second softmax.
                let probabilities = gradient.iter().zip(spare.iter()).map(|(g, m)| g + m);
                // A crumb of rounding is not outside.
                let crumb = 1e-4 * (v_max - v_min);
                let beyond = |y: f32| y < v_min - crumb || y > v_max + crumb;
                let outside = returns.iter().zip(weights).filter(|(y, _)| beyond(**y)).map(|(_, w)| w).sum();
                let expectation = probabilities.zip(atoms).map(|(p, z)| p * z).sum();
                Fit { loss: loss[0], expectation, outside }
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
                    *g = -pull;
                }
                Fit { loss, expectation: self.expectation(outputs, share), outside: 0.0 }
            }
        }
    }
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
        let scalar = |kappa| (Head::Scalar { kappa }, 1);
        let quantile = Head::Quantile { kappa: 1.0 };
        vec![scalar(1.0), scalar(f32::INFINITY), (Head::categorical(-2.0, 3.0, 6), 6), (quantile, 4)]
    }

    const FRACTIONS: [f32; 4] = [0.1, 0.4, 0.6, 0.95];
    const SHARE: [f32; 4] = [0.2, 0.3, 0.4, 0.1];
    const OUTPUTS: [f32; 6] = [0.3, -0.7, 1.2, 0.1, 0.6, -0.2];

    fn interpreted(head: &Head, outputs: &[f32]) -> Vec<f32> {
        let mut outputs = outputs.to_vec();
        head.interpret(&mut outputs, &mut Vec::new());
        outputs
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let wanted = Wanted { returns: &[0.4, 2.2, -1.5], weights: &[0.5, 0.3, 0.2] };
        for (head, k) in heads() {
            let mut spare = vec![7.0; 9];
            let mut compare = |outputs: &[f32], gradient: &mut [f32]| {
                head.loss(Said { outputs, fractions: &FRACTIONS, share: &SHARE }, wanted, gradient, &mut spare)
            };
            let outputs = &OUTPUTS[..k];
            let mut exact = vec![9.0; k];
            compare(outputs, &mut exact);
            exact.iter_mut().for_each(|g| *g *= 0.7);
            head.d_expectation(&interpreted(&head, outputs), &SHARE, 0.3, &mut exact);
            for i in 0..k {
                let mut value = |by: f32| {
                    let mut moved = outputs.to_vec();
                    moved[i] += by;
                    let fit = compare(&moved, &mut vec![0.0; k]);
                    let expectation = head.expectation(&interpreted(&head, &moved), &SHARE);
                    assert!((fit.expectation - expectation).abs() < 1e-5, "{head:?}: {fit:?}");
                    f64::from(0.7 * fit.loss + 0.3 * expectation)
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
            let said = interpreted(&head, &OUTPUTS[..k]);
            head.for_each_return(&said, &SHARE, |y, w| {
                mean += y * w;
                mass += w;
            });
            assert!((mass - 1.0).abs() < 1e-6);
            assert!((mean - head.expectation(&said, &SHARE)).abs() < 1e-5);
        }
    }

    #[test]
    fn an_output_is_drawn_to_the_quantile_of_its_fraction() {
        let head = Head::Quantile { kappa: 1.0 };
        let compare = |y: f32| {
            let said = Said { outputs: &[0.0], fractions: &[0.9], share: &[1.0] };
            let mut gradient = [0.0];
            let fit = head.loss(said, Wanted { returns: &[y], weights: &[1.0] }, &mut gradient, &mut Vec::new());
            (fit.loss, gradient[0])
        };
        // Nine tenths of the returns are to lie below: one above counts nine times as much as one below.
        let (above, below) = (compare(3.0), compare(-3.0));
        assert!((above.0 - 0.9 * 2.5).abs() < 1e-6 && (above.1 + 0.9).abs() < 1e-6, "{above:?}");
        assert!((below.0 - 0.1 * 2.5).abs() < 1e-6 && (below.1 - 0.1).abs() < 1e-6, "{below:?}");
    }
}
