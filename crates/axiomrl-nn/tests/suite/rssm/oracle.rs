//! The model once more, from the formulas, in `f64` and row by row; with draws recorded, so that it is smooth and its true
//! derivative is the straight-through one.

use axiomrl_nn::{Latent, Rssm, RssmCore, RssmSpec};
use std::collections::BTreeMap;

pub struct Oracle {
    pub spec: RssmSpec,
    tensors: BTreeMap<String, usize>,
}

/// What a step starts from or leaves: `h` and `z`.
pub type State = (Vec<f64>, Vec<f64>);

/// A latent's draw: the one-hot choice with the probabilities it was made with, or normal noise.
pub struct Draw<'a> {
    pub noise: &'a [f32],
    pub one_hot: &'a [f32],
    pub base: Option<&'a [f64]>,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Oracle {
    pub fn new(model: &Rssm) -> Self {
        let tensors = model.spec.layout().into_iter().map(|tensor| (tensor.name, tensor.offset)).collect();
        Self { spec: (*model.spec).clone(), tensors }
    }

    fn at<'a>(&self, params: &'a [f64], name: &str, len: usize) -> &'a [f64] {
        let offset = self.tensors[name];
        &params[offset..offset + len]
    }

    fn bias(&self, params: &[f64], name: &str, mut sums: Vec<f64>) -> Vec<f64> {
        let bias = self.at(params, &format!("{name}.bias"), sums.len());
        sums.iter_mut().zip(bias).for_each(|(s, b)| *s += b);
        sums
    }

    fn linear(&self, params: &[f64], name: &str, x: &[f64], outputs: usize) -> Vec<f64> {
        let weight = self.at(params, &format!("{name}.weight"), x.len() * outputs);
        let sums = (0..outputs).map(|o| x.iter().enumerate().map(|(i, x)| x * weight[i * outputs + o]).sum());
        self.bias(params, name, sums.collect())
    }

    /// Block `j` sees its own part of `x` and all of `shared`.
    fn blocks(&self, params: &[f64], name: &str, x: &[f64], shared: &[f64], outputs: usize, blocks: usize) -> Vec<f64> {
        let (own, width) = (x.len() / blocks, outputs / blocks);
        let weight = self.at(params, &format!("{name}.weight"), (own + shared.len()) * outputs);
        let sums = (0..outputs).map(|o| {
            let block = o / width;
            let inputs = x[block * own..(block + 1) * own].iter().chain(shared);
            inputs.enumerate().map(|(i, x)| x * weight[i * outputs + o]).sum()
        });
        self.bias(params, name, sums.collect())
    }

    fn rms_silu(&self, params: &[f64], name: &str, x: Vec<f64>) -> Vec<f64> {
        let scale = self.at(params, &format!("{name}.norm.weight"), x.len());
        let root = (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64 + f64::from(1e-4f32)).sqrt();
        x.iter().zip(scale).map(|(x, s)| x / root * s).map(|y| y * sigmoid(y)).collect()
    }

    fn hidden(&self, params: &[f64], name: &str, x: &[f64]) -> Vec<f64> {
        let sums = self.linear(params, name, x, self.spec.hidden);
        match self.spec.core {
            RssmCore::BlockGru { .. } => self.rms_silu(params, name, sums),
            _ => sums.into_iter().map(|x| if x > 0.0 { x } else { x.exp_m1() }).collect(),
        }
    }

    pub fn cell(&self, params: &[f64], (h, z): &State, a: &[f64]) -> Vec<f64> {
        let deter = self.spec.deter;
        let za: Vec<f64> = z.iter().chain(a).copied().collect();
        match self.spec.core {
            RssmCore::Gru => {
                let x = self.hidden(params, "core.input", &za);
                let from_x = self.linear(params, "core.gates_x", &x, 3 * deter);
                let from_h = self.linear(params, "core.gates_h", h, 3 * deter);
                let of = |k: usize| {
                    let (r, g) = (sigmoid(from_x[k] + from_h[k]), sigmoid(from_x[deter + k] + from_h[deter + k]));
                    let c = (from_x[2 * deter + k] + r * from_h[2 * deter + k]).tanh();
                    g * h[k] + (1.0 - g) * c
                };
                (0..deter).map(of).collect()
            }
            RssmCore::NormGru => {
                let mut x = self.hidden(params, "core.input", &za);
                x.extend(h);
                let p = self.linear(params, "core.gates", &x, 3 * deter);
                let mean = p.iter().sum::<f64>() / p.len() as f64;
                let variance = p.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / p.len() as f64;
                let scale = self.at(params, "core.gates.norm.weight", p.len());
                let shift = self.at(params, "core.gates.norm.bias", p.len());
                let root = (variance + f64::from(1e-3f32)).sqrt();
                let p: Vec<f64> =
                    p.iter().zip(scale.iter().zip(shift)).map(|(p, (s, b))| (p - mean) / root * s + b).collect();
                self.update(&p, h, 1)
            }
            RssmCore::BlockGru { blocks } => {
                let a: Vec<f64> = a.iter().map(|a| a / a.abs().max(1.0)).collect();
                let mut shared = self.hidden(params, "core.input_h", h);
                shared.extend(self.hidden(params, "core.input_z", z));
                shared.extend(self.hidden(params, "core.input_a", &a));
                let mix = self.blocks(params, "core.mix", h, &shared, deter, blocks);
                let mix = self.rms_silu(params, "core.mix", mix);
                self.update(&self.blocks(params, "core.gates", &mix, &[], 3 * deter, blocks), h, blocks)
            }
        }
    }

    fn update(&self, p: &[f64], h: &[f64], blocks: usize) -> Vec<f64> {
        let width = h.len() / blocks;
        let of = |k: usize| {
            let at = k / width * 3 * width + k % width;
            let (r, u) = (sigmoid(p[at]), sigmoid(p[at + 2 * width] - 1.0));
            u * (r * p[at + width]).tanh() + (1.0 - u) * h[k]
        };
        (0..h.len()).map(of).collect()
    }

    /// The statistics of the `prior` or the `posterior`.
    pub fn head(&self, params: &[f64], name: &str, x: &[f64], layers: usize) -> Vec<f64> {
        let mut x = x.to_vec();
        for layer in 0..layers {
            x = self.hidden(params, &format!("{name}.{layer}"), &x);
        }
        let mut stats = self.linear(params, &format!("{name}.{layers}"), &x, self.spec.latent.stats());
        if let Latent::Gaussian { size, min_std } = self.spec.latent {
            stats[size..].iter_mut().for_each(|s| *s = s.exp().ln_1p() + f64::from(min_std));
        }
        stats
    }

    /// The mixed probabilities.
    pub fn probabilities(&self, stats: &[f64]) -> Vec<f64> {
        let Latent::Categorical { classes, unimix, .. } = self.spec.latent else { return Vec::new() };
        let unimix = f64::from(unimix);
        let groups = stats.chunks(classes).flat_map(|logits| {
            let total: f64 = logits.iter().map(|x| x.exp()).sum();
            logits.iter().map(move |x| (1.0 - unimix) * x.exp() / total + unimix / classes as f64).collect::<Vec<_>>()
        });
        groups.collect()
    }

    pub fn sample(&self, stats: &[f64], draw: &Draw<'_>) -> Vec<f64> {
        match self.spec.latent {
            Latent::Gaussian { size, .. } => {
                (0..size).map(|k| stats[k] + stats[size + k] * f64::from(draw.noise[k])).collect()
            }
            Latent::Categorical { .. } => {
                let q = self.probabilities(stats);
                let base = draw.base.unwrap_or(&q);
                q.iter().zip(base).zip(draw.one_hot).map(|((q, base), o)| f64::from(*o) + (q - base)).collect()
            }
        }
    }
}

/// Central differences of `f` at every place of `x`.
pub fn differences(x: &[f64], f: impl Fn(&[f64]) -> f64) -> Vec<f32> {
    let mut x = x.to_vec();
    let slope = |i: usize, x: &mut Vec<f64>| {
        let here = x[i];
        x[i] = here + 1e-6;
        let above = f(x);
        x[i] = here - 1e-6;
        let below = f(x);
        x[i] = here;
        ((above - below) / 2e-6) as f32
    };
    (0..x.len()).map(|i| slope(i, &mut x)).collect()
}

pub fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}
