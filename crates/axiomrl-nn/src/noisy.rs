//! Networks with learnt parameter noise (NoisyNet), factorised per layer.

use crate::error::NnError;
use crate::init::Init;
use crate::kernels::vector::{combine, multiply};
use crate::mlp::Mlp;
use crate::named::{export_flat, import_flat};
use crate::params::Params;
use crate::spec::MlpSpec;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

/// An ensemble whose parameters are `mean + sigma ⊙ noise`.
///
/// Noise is drawn per layer as f(ε_in)·f(ε_out)ᵀ for weights and f(ε_out) for biases, with f(x) = sign(x)·√|x|; LayerNorm has
/// none. Training evaluates the network made by [`effective_into`](Self::effective_into), tracked as usual: its gradient *is* that
/// of the mean, and [`sigma_gradient`] turns it into that of sigma.
#[derive(Clone, Debug)]
pub struct Noisy {
    /// The network without noise: what a deterministic policy evaluates.
    pub mean: Mlp,
    /// The scale of the noise, in the mean's layout.
    pub sigma: Params,
}

impl Noisy {
    /// Means uniform in ±1/√inputs of their layer, sigmas `sigma0`/√inputs (0.5 in the paper).
    pub fn new(spec: MlpSpec, members: usize, sigma0: f32, rng: &mut ChaCha8Rng) -> Self {
        let mut one = vec![0.0; spec.param_count()];
        for layer in spec.layers() {
            let sigma = sigma0 / (layer.inputs.max(1) as f32).sqrt();
            one[layer.offset..layer.offset + layer.weights() + layer.outputs].fill(sigma);
        }
        let sigma = Params::from_vec(members, spec.param_count(), one.repeat(members));
        Self { mean: Mlp::new(spec, members, &Init::pytorch(), rng), sigma }
    }

    /// Noise for every parameter, `[members, parameters]`.
    pub fn sample_noise(&self, rng: &mut ChaCha8Rng) -> Vec<f32> {
        let mut noise = Vec::new();
        self.sample_noise_into(rng, &mut noise);
        noise
    }

    /// As [`sample_noise`](Self::sample_noise) into a buffer that is used again.
    pub fn sample_noise_into(&self, rng: &mut ChaCha8Rng, noise: &mut Vec<f32>) {
        noise.resize(self.sigma.as_slice().len(), 0.0);
        let mut factor = || {
            let x: f32 = StandardNormal.sample(rng);
            x.abs().sqrt().copysign(x)
        };
        let mut from_inputs = Vec::new();
        for noise in noise.chunks_exact_mut(self.sigma.per_member()) {
            for layer in self.mean.spec.layers() {
                let (weight, vectors) = noise[layer.offset..layer.offset + layer.len()].split_at_mut(layer.weights());
                let (bias, norm) = vectors.split_at_mut(layer.outputs);
                from_inputs.clear();
                from_inputs.extend((0..layer.inputs).map(|_| factor()));
                bias.iter_mut().for_each(|b| *b = factor());
                norm.fill(0.0);
                for (row, input) in weight.chunks_exact_mut(layer.outputs).zip(&from_inputs) {
                    for (w, output) in row.iter_mut().zip(bias.iter()) {
                        *w = input * output;
                    }
                }
            }
        }
    }

    /// The network under this noise.
    pub fn effective(&self, noise: &[f32]) -> Mlp {
        let mut target = self.mean.clone();
        self.effective_into(noise, &mut target);
        target
    }

    /// As [`effective`](Self::effective) into a network of the same shape that is used again.
    ///
    /// # Panics
    /// When noise or target belong to another network: a mistake in the calling code.
    pub fn effective_into(&self, noise: &[f32], target: &mut Mlp) {
        let (mean, sigma) = (self.mean.params.as_slice(), self.sigma.as_slice());
        let out = target.params.make_mut();
        assert!(out.len() == mean.len() && noise.len() == mean.len(), "the noise belongs to another network");
        combine(out, mean, sigma, noise);
    }

    /// Hands out the means as `<prefix>.mean.…` and the sigmas as `<prefix>.sigma.…`.
    pub fn export(&self, prefix: &str, put: &mut dyn FnMut(String, Vec<usize>, Vec<f32>)) {
        let [mean, sigma] = Self::names(prefix);
        self.mean.export(&mean, put);
        export_flat(&self.mean.spec, self.sigma.as_slice(), &sigma, put);
    }

    /// Reads everything back; on an error the network is unchanged.
    pub fn import(
        &mut self,
        prefix: &str,
        get: &mut dyn FnMut(&str) -> Option<(Vec<usize>, Vec<f32>)>,
    ) -> Result<(), NnError> {
        let [mean, sigma] = Self::names(prefix);
        let sigma = import_flat(&self.mean.spec, self.sigma.members(), &sigma, get)?;
        self.mean.import(&mean, get)?;
        self.sigma.make_mut().copy_from_slice(&sigma);
        Ok(())
    }

    fn names(prefix: &str) -> [String; 2] {
        let dot = if prefix.is_empty() || prefix.ends_with('.') { "" } else { "." };
        ["mean", "sigma"].map(|part| format!("{prefix}{dot}{part}"))
    }
}

/// The gradient of sigma from that of the effective parameters, into a buffer that is used again: `grad ⊙ noise`.
///
/// # Panics
/// When the two have different lengths: a mistake in the calling code.
pub fn sigma_gradient(grad: &[f32], noise: &[f32], sigma_grad: &mut Vec<f32>) {
    assert_eq!(grad.len(), noise.len(), "the noise belongs to another network");
    sigma_grad.resize(grad.len(), 0.0);
    multiply(sigma_grad, grad, noise);
}
