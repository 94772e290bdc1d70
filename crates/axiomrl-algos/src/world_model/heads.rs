//! What is said of a state: a reward, a value, whether there is a future.

use super::choices::Heads;
use crate::parts::tracked::Trainable;
use axiomrl_nn::math::sigmoid;
use axiomrl_nn::{Init, Mlp, MlpPass, MlpSpec, Params, Pooled, Tensor, fused_loss, recycled, two_hot};
use rand_chacha::ChaCha8Rng;

/// A number for each state: a reward or a value.
#[derive(Clone)]
pub struct ScalarHead {
    pub net: Mlp,
    kind: Heads,
}

impl ScalarHead {
    /// `shape` is that of the layers; the width of its outputs follows from the kind of head.
    pub fn new(kind: Heads, shape: impl FnOnce(usize) -> MlpSpec, init: &Init, rng: &mut ChaCha8Rng) -> Self {
        let outputs = match kind {
            Heads::Normal => 1,
            Heads::TwoHot => two_hot::BINS,
        };
        Self { net: Mlp::new(shape(outputs), 1, init, rng), kind }
    }

    /// The number for each row.
    pub fn means(&self, features: &[f32], rows: usize) -> Vec<f32> {
        let mut outputs = Vec::new();
        self.net.infer(features, rows, &mut outputs);
        self.means_of(&outputs)
    }

    /// The numbers that outputs stand for.
    pub fn means_of(&self, outputs: &[f32]) -> Vec<f32> {
        match self.kind {
            Heads::Normal => outputs.to_vec(),
            Heads::TwoHot => {
                let mut means = vec![0.0; outputs.len() / two_hot::BINS];
                two_hot::mean(outputs, &mut means);
                means
            }
        }
    }

    /// What the network says of states, as a node of the graph.
    pub fn outputs(&self, features: Tensor<2>, params: Tensor<2>) -> Tensor<3> {
        self.net.forward(features, params, None)
    }

    /// The loss of such outputs, with its value: for each set of targets the mean over rows of the error, times a factor of its own,
    /// all summed. Rows without a target are left alone; `weights` of the others may be empty.
    pub fn loss(&self, outputs: Tensor<3>, targets: &[(f32, &[f32])], weights: &[f32]) -> (Tensor<1>, f32) {
        let mut total = 0.0;
        let node = fused_loss([outputs], |[outputs]| {
            let mut gradient = recycled(outputs.len());
            gradient.fill(0.0);
            for &(factor, targets) in targets.iter().filter(|(factor, _)| *factor != 0.0) {
                total += self.error(outputs, targets, factor, weights, &mut gradient);
            }
            (total, [gradient])
        });
        (node, total)
    }

    /// Adds to the gradient.
    fn error(&self, outputs: &[f32], targets: &[f32], factor: f32, weights: &[f32], gradient: &mut [f32]) -> f32 {
        match self.kind {
            // mean w (v - y)^2 / 2
            Heads::Normal => {
                let (mut value, share) = (0.0f64, factor / targets.len() as f32);
                for (at, (output, target)) in outputs.iter().zip(targets).enumerate() {
                    let (error, weight) = (output - target, weights.get(at).copied().unwrap_or(1.0));
                    value += f64::from(0.5 * weight * error * error);
                    gradient[at] += share * weight * error;
                }
                factor * (value / targets.len() as f64) as f32
            }
            Heads::TwoHot => {
                let logits = &outputs[..targets.len() * two_hot::BINS];
                let (mut rows, mut own) = (vec![0.0; targets.len()], Pooled::new(logits.len()));
                let value = two_hot::loss(logits, targets, weights, &mut rows, &mut own);
                gradient.iter_mut().zip(own.iter()).for_each(|(sum, own)| *sum += factor * own);
                factor * value
            }
        }
    }

    /// For learning through a model: the outputs themselves are the numbers, and a gradient can be taken back to the states.
    ///
    /// # Panics
    /// For a two-hot head, which is refused together with it.
    pub fn pass<'a>(&'a self, features: &'a [f32], rows: usize) -> MlpPass<'a> {
        assert_eq!(self.kind, Heads::Normal, "gradients through two-hot heads");
        self.net.pass(features, rows, None)
    }
}

impl Trainable for ScalarHead {
    fn params(&mut self) -> Vec<&mut Params> {
        vec![&mut self.net.params]
    }
}

/// Whether there is a future, times the discount.
#[derive(Clone)]
pub struct ContinueHead(pub Mlp);

impl ContinueHead {
    /// The discount for each row.
    pub fn discounts(&self, features: &[f32], rows: usize) -> Vec<f32> {
        let mut outputs = Vec::new();
        self.0.infer(features, rows, &mut outputs);
        outputs.iter_mut().for_each(|x| *x = sigmoid(*x));
        outputs
    }

    /// Mean cross-entropy with discounts that are known, and its value.
    pub fn loss(&self, features: Tensor<2>, params: Tensor<2>, targets: &[f32]) -> (Tensor<1>, f32) {
        let outputs = self.0.forward(features, params, None);
        let mut value = 0.0;
        let node = fused_loss([outputs], |[outputs]| {
            let gradient;
            (value, gradient) = cross_entropy(outputs, targets);
            (value, [gradient])
        });
        (node, value)
    }
}

/// Mean of `-y log σ(x) - (1 - y) log(1 - σ(x))`, and its slope.
fn cross_entropy(logits: &[f32], targets: &[f32]) -> (f32, Vec<f32>) {
    let (mut value, share) = (0.0f64, 1.0 / targets.len() as f32);
    let rows = logits.iter().zip(targets).map(|(&x, y)| {
        // max(x, 0) - x y + log(1 + exp(-|x|)) never overflows.
        value += f64::from(x.max(0.0) - x * y + (-x.abs()).exp().ln_1p());
        share * (sigmoid(x) - y)
    });
    let gradient = rows.collect();
    ((value / targets.len() as f64) as f32, gradient)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_nn::{Activation, leaf, values};

    #[test]
    fn a_zero_initialised_two_hot_head_says_zero() {
        let (init, mut rng) = (Init::TruncatedNormal { output_scale: 0.0 }, axiomrl_core::stream(1, "test"));
        let shape = |outputs| MlpSpec::new(3, &[8], outputs, Activation::Silu);
        let head = ScalarHead::new(Heads::TwoHot, shape, &init, &mut rng);
        assert_eq!(head.means(&[0.5, -1.0, 2.0, 0.1, 0.2, 0.3], 2), [0.0, 0.0]);
        // Every bin is as likely: the loss of any target is log 255.
        let features = leaf(&[0.5, -1.0, 2.0], [1, 3]);
        let outputs = head.outputs(features, head.net.params.tracked());
        let (node, value) = head.loss(outputs, &[(1.0, &[0.7])], &[]);
        assert!((value - 255f32.ln()).abs() < 1e-4 && values(&node)[0] == value, "{value}");
    }

    #[test]
    fn a_normal_head_halves_the_squared_error_and_weighs_it() {
        let mut rng = axiomrl_core::stream(1, "test");
        let shape = |outputs| MlpSpec::new(1, &[], outputs, Activation::Relu);
        let mut head = ScalarHead::new(Heads::Normal, shape, &Init::pytorch(), &mut rng);
        head.net.params.make_mut().copy_from_slice(&[2.0, 0.0]);
        let params = head.net.params.tracked();
        let outputs = head.outputs(leaf(&[1.0, 2.0, 7.0], [3, 1]), params);
        let (_, value) = head.loss(outputs, &[(1.0, &[1.0, 1.0]), (3.0, &[2.0, 4.0])], &[1.0, 0.5]);
        // (1/2 + 9/4) / 2 for the first targets, nothing for the second.
        assert!((value - 1.375).abs() < 1e-6, "{value}");
    }

    #[test]
    fn cross_entropy_is_stable_and_its_slope_right() {
        let (value, slope) = cross_entropy(&[0.0, 100.0], &[0.9, 1.0]);
        assert!((value - 0.5 * 2f32.ln()).abs() < 1e-6 && (slope[0] + 0.2).abs() < 1e-6 && slope[1] == 0.0);
        let (value, _) = cross_entropy(&[-100.0], &[1.0]);
        assert!((value - 100.0).abs() < 1e-4);
    }
}
