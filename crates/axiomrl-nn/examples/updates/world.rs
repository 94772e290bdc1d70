//! World models: what a window costs forward and backward, with the KL terms, and what imagination does.

use crate::timing::{Work, wave};
use axiomrl_nn::{
    FreeNats, KlSides, Latent, LatentKl, Rssm, RssmSpec, Window, fused_loss, gradients, leaf, recycled, two_hot,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;

/// Deterministic width, hidden width, latents and their classes, tokens.
pub type Size = (usize, usize, [usize; 2], usize);
pub const TINY: Size = (128, 64, [8, 8], 256);
pub const ONE_M: Size = (512, 64, [32, 4], 256);
const ACTIONS: usize = 3;

fn model((deter, hidden, [groups, classes], tokens): Size) -> Rssm {
    let latent = Latent::Categorical { groups, classes, unimix: 0.01 };
    Rssm::new(RssmSpec::v3(latent, deter, 8, hidden, tokens, ACTIONS), &mut ChaCha8Rng::seed_from_u64(1))
}

/// A batch of windows forward and backward with its KL terms, gradients of the tokens included.
pub fn observed(size: Size, steps: usize, rows: usize) -> Work {
    let model = model(size);
    let (spec, total) = (model.spec.clone(), steps * rows);
    let noise = spec.latent.draw_noise(total, &mut ChaCha8Rng::seed_from_u64(2));
    let (actions, start) = (wave(total * ACTIONS), vec![0.0; rows * spec.features()]);
    let is_first: Vec<bool> = (0..total).map(|i| i % 97 == 0).collect();
    let tokens = leaf(&wave(total * spec.tokens), [total, spec.tokens]);
    let sides = KlSides::Apart { dynamics: 1.0, representation: 0.1 };
    let kl = LatentKl { latent: spec.latent, free: FreeNats::Row(1.0), sides };
    let flops = 3.0 * spec.flops(total) as f64;
    let title = format!("RSSM {}, {rows} windows of {steps}, fwd + bwd", spec.deter);
    Work::new(title, flops, move || {
        let window = Window { steps, rows, actions: &actions, is_first: &is_first, noise: &noise, start: &start };
        let params = model.params.tracked();
        let observed = model.observe(tokens.clone().require_grad(), params.clone(), window);
        let (kl, _) = kl.loss(observed.posterior, observed.prior);
        let features = fused_loss([observed.features], |[y]| {
            let mut gradient = recycled(y.len());
            gradient.iter_mut().zip(y).for_each(|(g, y)| *g = 1e-3 * y);
            (0.0, [gradient])
        });
        black_box(gradients(kl + features, [&params]));
    })
}

/// Fifteen imagined steps of many rows.
pub fn imagined(size: Size, rows: usize) -> Work {
    let model = model(size);
    let spec = model.spec.clone();
    let noise = spec.latent.draw_noise(rows, &mut ChaCha8Rng::seed_from_u64(2));
    let (actions, start) = (wave(rows * ACTIONS), vec![0.0; rows * spec.features()]);
    // Not the posterior, which imagination does without.
    let posterior = (spec.deter + spec.tokens) * spec.hidden + spec.hidden * spec.latent.stats();
    let flops = 15.0 * (spec.flops(rows) - 2 * rows * posterior) as f64;
    Work::new(format!("RSSM {}, {rows} rows, 15 imagined steps", spec.deter), flops, move || {
        let mut imagination = model.imagine(&start, rows);
        for _ in 0..15 {
            imagination.step(&actions, &noise);
        }
        black_box(imagination.features());
    })
}

/// The loss and the means of a two-hot head over many rows.
pub fn two_hot_head(rows: usize) -> Work {
    let (logits, targets) = (wave(rows * two_hot::BINS), wave(rows));
    let (mut each, mut means, mut grad) = (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows * two_hot::BINS]);
    Work::new(format!("two-hot loss and means, {rows} rows"), 0.0, move || {
        two_hot::mean(&logits, &mut means);
        black_box(two_hot::loss(&logits, &targets, &[], &mut each, &mut grad));
    })
}

/// One observed step of one row, as when acting.
pub fn act(size: Size) -> Work {
    let model = model(size);
    let spec = model.spec.clone();
    let (tokens, noise) = (wave(spec.tokens), vec![0.4; spec.latent.noise()]);
    let mut state = vec![0.0; spec.features()];
    Work::new(format!("RSSM {}, one row, one step", spec.deter), spec.flops(1) as f64, move || {
        model.step(1, black_box(&tokens), &[0.1; ACTIONS], &[false], &noise, &mut state);
    })
}
