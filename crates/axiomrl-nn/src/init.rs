//! Initial parameters.

use crate::kernels::activation::Activation;
use crate::mlp::{Layer, MlpSpec};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use serde::{Deserialize, Serialize};

/// How a network's parameters start. LayerNorm always starts as the identity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Init {
    /// Orthogonal weights times a gain, zero biases.
    Orthogonal {
        /// Gain of hidden layers (√2 for ReLU and tanh).
        hidden_gain: f32,
        /// Gain of the last layer (0.01 for a policy, 1 for a value).
        output_gain: f32,
    },
    /// Uniform ±√(6/(in+out)), zero biases.
    Xavier {
        /// Factor on the last layer's weights.
        output_scale: f32,
    },
    /// Uniform ±1/√in for weights and biases, PyTorch's default for a linear layer.
    PyTorch {
        /// Another bound for the last layer's weights and biases (DDPG: 3e-3).
        output_bound: Option<f32>,
    },
    /// Gaussian weights, zero biases.
    Normal {
        /// Standard deviation of every weight (0.02 in transformers).
        std: f32,
    },
    /// Normal with a deviation of 1/(2√in), drawn again outside of two deviations, for weights; biases start at zero.
    HalfTruncatedNormal,
    /// Gaussian weights cut at two standard deviations, of standard deviation 1/√in, and zero biases.
    TruncatedNormal {
        /// Factor on the last layer's weights; 0 makes its outputs start at 0.
        output_scale: f32,
    },
    /// Uniform ±1/√in for weights, and one number for all biases.
    FanIn {
        /// Every bias.
        bias: f32,
        /// Another bound for the last layer's weights, and for its biases, which are then drawn too.
        output_bound: Option<f32>,
    },
}

impl Init {
    /// PyTorch's default for every layer.
    pub fn pytorch() -> Self {
        Init::PyTorch { output_bound: None }
    }

    /// Flat parameters of `members` members, drawn one after another.
    pub fn draw(&self, spec: &MlpSpec, members: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
        let mut values = Vec::with_capacity(members * spec.param_count());
        for _ in 0..members {
            for layer in spec.layers() {
                self.draw_layer(&layer, &mut values, rng);
            }
        }
        values
    }

    /// One hidden layer with `inputs` inputs per output.
    pub(crate) fn draw_hidden(&self, inputs: usize, outputs: usize, values: &mut Vec<f32>, rng: &mut ChaCha8Rng) {
        // A network of one hidden layer and no more.
        let layer = MlpSpec::new(inputs, &[outputs], 0, Activation::Relu).layer(0, 0);
        self.draw_layer(&layer, values, rng);
    }

    fn draw_layer(&self, layer: &Layer, values: &mut Vec<f32>, rng: &mut ChaCha8Rng) {
        let (inputs, outputs) = (layer.inputs, layer.outputs);
        let mut uniform = |count: usize, bound: f32| {
            for _ in 0..count {
                values.push(bound * (2.0 * rng.random::<f32>() - 1.0));
            }
        };
        match *self {
            Init::Orthogonal { hidden_gain, output_gain } => {
                let gain = if layer.is_output { output_gain } else { hidden_gain };
                values.extend(orthogonal(inputs, outputs, rng).into_iter().map(|w| gain * w));
                values.extend(std::iter::repeat_n(0.0, outputs));
            }
            Init::Xavier { output_scale } => {
                let scale = if layer.is_output { output_scale } else { 1.0 };
                uniform(layer.weights(), scale * (6.0 / (inputs + outputs) as f32).sqrt());
                values.extend(std::iter::repeat_n(0.0, outputs));
            }
            Init::PyTorch { output_bound } => {
                let bound = 1.0 / (inputs.max(1) as f32).sqrt();
                let bound = output_bound.filter(|_| layer.is_output).unwrap_or(bound);
                uniform(layer.weights() + outputs, bound);
            }
            Init::Normal { std } => {
                for _ in 0..layer.weights() {
                    let w: f32 = StandardNormal.sample(rng);
                    values.push(std * w);
                }
                values.extend(std::iter::repeat_n(0.0, outputs));
            }
            Init::HalfTruncatedNormal => {
                let std = 0.5 * LEFT / (inputs.max(1) as f32).sqrt();
                for _ in 0..layer.weights() {
                    values.push(std * truncated_normal(rng));
                }
                values.extend(std::iter::repeat_n(0.0, outputs));
            }
            Init::TruncatedNormal { output_scale } => {
                let scale = if layer.is_output { output_scale } else { 1.0 } / (inputs.max(1) as f32).sqrt();
                for _ in 0..layer.weights() {
                    values.push(scale * truncated_normal(rng));
                }
                values.extend(std::iter::repeat_n(0.0, outputs));
            }
            Init::FanIn { output_bound: Some(bound), .. } if layer.is_output => {
                uniform(layer.weights() + outputs, bound)
            }
            Init::FanIn { bias, .. } => {
                uniform(layer.weights(), 1.0 / (inputs.max(1) as f32).sqrt());
                values.extend(std::iter::repeat_n(bias, outputs));
            }
        }
        if layer.normed {
            values.extend(std::iter::repeat_n(1.0, outputs));
            values.extend(std::iter::repeat_n(0.0, if layer.rms { 0 } else { outputs }));
        }
    }
}

/// The standard deviation of what is left of a standard normal number within ±2.
const LEFT: f32 = 0.879_625_7;

/// A normal number that was drawn again while it was beyond two standard deviations, brought back to a variance of one.
pub(crate) fn truncated_normal(rng: &mut ChaCha8Rng) -> f32 {
    loop {
        let x: f32 = StandardNormal.sample(rng);
        if x.abs() <= 2.0 {
            return x / LEFT;
        }
    }
}

/// A random `[rows, columns]` matrix whose shorter side is orthonormal.
///
/// Gram–Schmidt on Gaussian vectors, in `f64` and applied twice: the second pass removes what rounding left.
pub(crate) fn orthogonal(rows: usize, columns: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let (count, len) = (rows.min(columns), rows.max(columns));
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(count);
    while basis.len() < count {
        let mut v: Vec<f64> = (0..len).map(|_| StandardNormal.sample(rng)).collect();
        for _ in 0..2 {
            for b in &basis {
                let along: f64 = v.iter().zip(b).map(|(v, b)| v * b).sum();
                v.iter_mut().zip(b).for_each(|(v, b)| *v -= along * b);
            }
        }
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        // A draw inside the span of the others has no direction left; it practically never happens.
        if norm > 1e-6 {
            v.iter_mut().for_each(|v| *v /= norm);
            basis.push(v);
        }
    }
    let at = |r: usize, c: usize| if rows <= columns { basis[r][c] } else { basis[c][r] };
    (0..rows * columns).map(|i| at(i / columns, i % columns) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn draw(spec: &MlpSpec, init: Init) -> Vec<f32> {
        init.draw(spec, 1, &mut ChaCha8Rng::seed_from_u64(7))
    }

    #[test]
    fn orthogonal_weights_are_orthogonal_with_the_right_gain() {
        for (rows, columns) in [(4, 64), (64, 64), (64, 2), (300, 7)] {
            let spec = MlpSpec::new(rows, &[], columns, Activation::Tanh);
            let w = draw(&spec, Init::Orthogonal { hidden_gain: 1.0, output_gain: 0.5 });
            let column = |c: usize| (0..rows).map(|r| w[r * columns + c]).collect::<Vec<_>>();
            let row = |r: usize| w[r * columns..(r + 1) * columns].to_vec();
            let short = rows.min(columns);
            for i in 0..short {
                for j in 0..=i {
                    let (a, b) = if rows <= columns { (row(i), row(j)) } else { (column(i), column(j)) };
                    let dot: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
                    let want = if i == j { 0.25 } else { 0.0 };
                    assert!((dot - want).abs() < 1e-5, "{rows}x{columns} ({i},{j}): {dot}");
                }
            }
            assert!(w[rows * columns..].iter().all(|b| *b == 0.0));
        }
    }

    #[test]
    fn uniform_bounds_and_variance_are_right() {
        let spec = MlpSpec::new(100, &[200], 50, Activation::Relu);
        let hidden = 100 * 200;
        let variance = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>() / v.len() as f32;
        let largest = |v: &[f32]| v.iter().fold(0.0f32, |m, x| m.max(x.abs()));

        let w = draw(&spec, Init::PyTorch { output_bound: Some(3e-3) });
        assert!(largest(&w[..hidden + 200]) <= 0.1 && largest(&w[..hidden]) > 0.0999);
        assert!((variance(&w[..hidden]) - 0.01 / 3.0).abs() < 1e-4);
        assert!(largest(&w[hidden..hidden + 200]) > 0.09, "biases are drawn too");
        assert!(largest(&w[hidden + 200..]) <= 3e-3 && largest(&w[hidden + 200..]) > 2.9e-3);

        let w = draw(&spec, Init::FanIn { bias: 0.1, output_bound: Some(3e-3) });
        assert!(largest(&w[..hidden]) <= 0.1 && largest(&w[..hidden]) > 0.0999);
        assert!(w[hidden..hidden + 200].iter().all(|b| *b == 0.1));
        assert!(largest(&w[hidden + 200..]) <= 3e-3 && largest(&w[w.len() - 50..]) > 2e-3);

        let w = draw(&spec, Init::Xavier { output_scale: 0.1 });
        assert!((variance(&w[..hidden]) - 2.0 / 300.0).abs() < 2e-4);
        assert!(w[hidden..hidden + 200].iter().all(|b| *b == 0.0));
        assert!((variance(&w[hidden + 200..hidden + 200 + 10_000]) - 0.01 * 2.0 / 250.0).abs() < 5e-6);

        let w = draw(&spec, Init::HalfTruncatedNormal);
        // Cut at two deviations of 0.05, a normal number has 0.774 of its variance left.
        assert!(largest(&w[..hidden]) <= 0.1 && (variance(&w[..hidden]) - 0.774 * 0.0025).abs() < 5e-5);
        assert!(w[hidden..hidden + 200].iter().all(|b| *b == 0.0));
        let w = draw(&spec, Init::TruncatedNormal { output_scale: 0.0 });
        assert!((variance(&w[..hidden]) - 0.01).abs() < 3e-4 && largest(&w[..hidden]) <= 0.1 * 2.0 / 0.879_625 + 1e-6);
        assert!(w[hidden..].iter().all(|w| *w == 0.0), "biases, and an output that starts at zero");

        let w = draw(&spec, Init::Normal { std: 0.02 });
        assert!((variance(&w[..hidden]) - 4e-4).abs() < 2e-5 && largest(&w[..hidden]) > 0.06);
        assert!(w[hidden..hidden + 200].iter().all(|b| *b == 0.0));
        assert!((variance(&w[hidden + 200..hidden + 200 + 10_000]) - 4e-4).abs() < 3e-5);
    }

    #[test]
    fn layer_norm_starts_as_the_identity_and_members_differ() {
        let spec = MlpSpec::new(2, &[3], 1, Activation::Relu).with_layer_norm();
        let init = Init::PyTorch { output_bound: None };
        let w = init.draw(&spec, 2, &mut ChaCha8Rng::seed_from_u64(1));
        assert_eq!(w[9..15], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        assert_ne!(w[..9], w[spec.param_count()..spec.param_count() + 9]);
    }
}
