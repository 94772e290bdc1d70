//! Recurrent state-space models against formulas in `f64`, differences, Burn's own operations and themselves.

mod dreams;
mod observed;
mod oracle;
mod windows;

use crate::reference::{normal, rng};
use axiomrl_nn::{Latent, Rssm, RssmSpec, Window};
use rand::RngExt;

const GAUSSIAN: Latent = Latent::Gaussian { size: 3, min_std: 0.1 };
const CHOICES: Latent = Latent::Categorical { groups: 2, classes: 3, unimix: 0.02 };

/// Every core, with both latents.
pub fn small_specs() -> Vec<RssmSpec> {
    let mut specs = Vec::new();
    for latent in [GAUSSIAN, CHOICES] {
        specs.push(RssmSpec::v1(latent, 6, 5, 4, 2));
        specs.push(RssmSpec::v2(latent, 6, 5, 4, 2));
        specs.push(RssmSpec::v3(latent, 6, 2, 5, 4, 2));
    }
    specs.push(RssmSpec { posterior_layers: 0, prior_layers: 0, ..RssmSpec::v3(CHOICES, 6, 3, 5, 4, 2) });
    specs.push(RssmSpec { posterior_layers: 2, actions: 0, ..RssmSpec::v2(CHOICES, 6, 5, 4, 0) });
    specs
}

/// A model whose every parameter is random: biases and norms too.
pub fn model(spec: &RssmSpec, seed: u64) -> Rssm {
    let mut model = Rssm::new(spec.clone(), &mut rng(seed));
    let noise = normal(model.params.as_slice().len(), seed + 1);
    model.params.make_mut().iter_mut().zip(noise).for_each(|(p, n)| *p += 0.2 * n);
    model
}

/// Everything a window needs.
pub struct Data {
    pub steps: usize,
    pub rows: usize,
    pub tokens: Vec<f32>,
    pub actions: Vec<f32>,
    pub is_first: Vec<bool>,
    pub noise: Vec<f32>,
    pub start: Vec<f32>,
}

impl Data {
    pub fn new(spec: &RssmSpec, steps: usize, rows: usize, seed: u64) -> Self {
        let total = steps * rows;
        let mut start = normal(rows * spec.features(), seed);
        // Latents are what the model draws: one-hot choices.
        if let Latent::Categorical { classes, .. } = spec.latent {
            for row in start.chunks_exact_mut(spec.features()) {
                for group in row[spec.deter..].chunks_exact_mut(classes) {
                    group.fill(0.0);
                    group[rng(seed).random_range(0..classes)] = 1.0;
                }
            }
        }
        Self {
            steps,
            rows,
            tokens: normal(total * spec.tokens, seed + 1),
            // Some beyond one, none near it.
            actions: normal(total * spec.actions, seed + 2)
                .into_iter()
                .map(|a| if (a.abs() - 1.0).abs() < 0.05 { 1.3 } else { 1.2 * a })
                .collect(),
            is_first: (0..total).map(|i| (i * 7 + i / rows) % 5 == 1).collect(),
            noise: spec.latent.draw_noise(total, &mut rng(seed + 3)),
            start,
        }
    }

    pub fn window(&self) -> Window<'_> {
        self.part(0, self.steps, &self.start)
    }

    /// Steps `from..to`, from another state.
    pub fn part<'a>(&'a self, from: usize, to: usize, start: &'a [f32]) -> Window<'a> {
        let total = self.steps * self.rows;
        let cut = |values: &'a [f32]| {
            let each = values.len() / total;
            &values[from * self.rows * each..to * self.rows * each]
        };
        Window {
            steps: to - from,
            rows: self.rows,
            actions: cut(&self.actions),
            is_first: &self.is_first[from * self.rows..to * self.rows],
            noise: cut(&self.noise),
            start,
        }
    }
}
