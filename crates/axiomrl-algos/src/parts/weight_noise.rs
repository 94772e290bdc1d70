//! Noise in the weights of a network, learned along with them.
//!
//! Each weight is `mean + sigma * e`, the noise of a layer factorised into one draw per input and one per output.

use crate::state::{StateError, StateIo};
use axiomrl_nn::{Mlp, Params};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

/// The noisy side of a network: how large the noise is, what was drawn last, and the network with it.
#[derive(Clone)]
pub struct WeightNoise {
    pub sigma: Params,
    draw: Vec<f32>,
    /// The network with the latest noise in its weights.
    pub noisy: Mlp,
}

impl WeightNoise {
    /// Every sigma starts at `size / sqrt(inputs of its layer)`.
    pub fn new(mean: &Mlp, size: f32) -> Self {
        let mut sigma = vec![0.0; mean.params.as_slice().len()];
        for member in sigma.chunks_exact_mut(mean.params.per_member()) {
            for tensor in mean.spec.layout().iter().filter(|t| !t.name.contains("norm")) {
                let count = tensor.shape.iter().product::<usize>();
                member[tensor.offset..tensor.offset + count].fill(size / (inputs_of(mean, &tensor.name) as f32).sqrt());
            }
        }
        let draw = vec![0.0; sigma.len()];
        let sigma = Params::from_vec(mean.params.members(), mean.params.per_member(), sigma);
        Self { sigma, draw, noisy: mean.clone() }
    }

    /// Draws anew and puts the noise into the weights.
    pub fn draw(&mut self, mean: &Mlp, rng: &mut ChaCha8Rng) {
        let per_member = mean.params.per_member();
        for member in self.draw.chunks_exact_mut(per_member) {
            let (mut from, mut to): (Vec<f32>, Vec<f32>) = Default::default();
            for tensor in mean.spec.layout() {
                let place = &mut member[tensor.offset..];
                if let [outputs, inputs] = tensor.shape[..] {
                    from = (0..inputs).map(|_| shaped(rng)).collect();
                    to = (0..outputs).map(|_| shaped(rng)).collect();
                    for (i, a) in from.iter().enumerate() {
                        for (o, b) in to.iter().enumerate() {
                            place[i * outputs + o] = a * b;
                        }
                    }
                } else if !tensor.name.contains("norm") {
                    place[..to.len()].copy_from_slice(&to);
                }
            }
            drop(from);
        }
        let (mean, sigma) = (mean.params.as_slice(), self.sigma.as_slice());
        for (((w, m), s), e) in self.noisy.params.make_mut().iter_mut().zip(mean).zip(sigma).zip(&self.draw) {
            *w = m + s * e;
        }
    }

    /// The size of the noise, and what was drawn last.
    pub fn sigma_and_draw(&mut self) -> (&mut Params, &[f32]) {
        (&mut self.sigma, &self.draw)
    }

    pub fn visit_state(&mut self, name: &str, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.params(&format!("{name}.sigma"), &mut self.sigma)
    }
}

/// The gradient of sigma, given what was drawn and the gradient of the noisy weights (which is also that of the means).
pub fn sigma_gradient(draw: &[f32], gradient: &[f32]) -> Vec<f32> {
    gradient.iter().zip(draw).map(|(g, e)| g * e).collect()
}

/// sign(x) sqrt|x| of a normal draw.
fn shaped(rng: &mut ChaCha8Rng) -> f32 {
    let x: f32 = StandardNormal.sample(rng);
    x.abs().sqrt().copysign(x)
}

/// Inputs of the layer that a tensor `3.weight` or `3.bias` belongs to.
fn inputs_of(net: &Mlp, name: &str) -> usize {
    let layer: usize = name.split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    if layer == 0 { net.spec.inputs } else { net.spec.hidden[layer - 1] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_nn::{Activation, Init, MlpSpec};

    #[test]
    fn noise_is_factorised_and_enters_weights_and_gradient() {
        let mut rng = axiomrl_core::stream(1, "test");
        let mean = Mlp::new(MlpSpec::new(2, &[3], 2, Activation::Relu), 1, &Init::pytorch(), &mut rng);
        let mut noise = WeightNoise::new(&mean, 0.5);
        noise.draw(&mean, &mut rng);
        // First layer: 2 x 3 weights of rank one, biases equal to the outputs' draws.
        let e = noise.draw[..9].to_vec();
        assert!((e[0] * e[4] - e[1] * e[3]).abs() < 1e-6, "rank one");
        assert!((e[0] / e[6] - e[1] / e[7]).abs() < 1e-4, "the bias has the outputs' draws");
        let at = 1;
        let wanted = mean.params.as_slice()[at] + 0.5 / 2f32.sqrt() * e[at];
        assert!((noise.noisy.params.as_slice()[at] - wanted).abs() < 1e-6);
        assert!((sigma_gradient(noise.sigma_and_draw().1, &[2.0; 17])[at] - 2.0 * e[at]).abs() < 1e-6);
        let before = noise.noisy.params.as_slice().to_vec();
        noise.draw(&mean, &mut rng);
        assert_ne!(before, noise.noisy.params.as_slice());
    }

    #[test]
    fn a_draw_is_the_root_of_a_normal_number_with_its_sign() {
        let drawn = |draw: fn(&mut ChaCha8Rng) -> f32| {
            let mut rng = axiomrl_core::stream(2, "test");
            (0..20).map(|_| draw(&mut rng)).collect::<Vec<f32>>()
        };
        for (shaped, x) in drawn(shaped).into_iter().zip(drawn(|rng| StandardNormal.sample(rng))) {
            assert!((shaped * shaped.abs() - x).abs() < 1e-5, "{shaped} of {x}");
        }
    }
}
