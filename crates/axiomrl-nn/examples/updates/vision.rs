//! Convolutions, from bytes.

use crate::timing::{Work, mean_loss};
use axiomrl_nn::{Activation, ConvNet, ConvSpec, Init, Mlp, MlpSpec, fused_loss, gradients};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;
use std::sync::Arc;

const CHANNELS: usize = 4;

fn encoder(spec: ConvSpec) -> ConvNet {
    ConvNet::new(spec, &Init::pytorch(), &mut ChaCha8Rng::seed_from_u64(1))
}

fn frames(rows: usize, side: usize) -> Arc<[u8]> {
    (0..rows * side * side * CHANNELS).map(|i| (i * 31 % 256) as u8).collect()
}

/// Operations of forward and backward; images receive no gradient.
fn training_flops(spec: &ConvSpec, rows: usize) -> f64 {
    let first = ConvSpec::new(spec.input, &spec.layers[..1], spec.activation).flops(rows);
    (3 * spec.flops(rows) - first) as f64
}

/// Nature-CNN with its linear layer of 512, forward and backward.
pub fn nature() -> Work {
    let rows = 32;
    let net = encoder(ConvSpec::nature([84, 84, CHANNELS]));
    let head = MlpSpec::new(net.spec.features(), &[], 512, Activation::Relu).with_output_activation(Activation::Relu);
    let head = Mlp::new(head, 1, &Init::pytorch(), &mut ChaCha8Rng::seed_from_u64(2));
    let frames = frames(rows, 84);
    let flops = training_flops(&net.spec, rows) + 3.0 * head.spec.flops(rows) as f64;
    Work::new("Nature-CNN, batch 32, fwd + bwd", flops, move || {
        let (encoder, linear) = (net.params.tracked(), head.params.tracked());
        let features = net.forward_u8(frames.clone(), rows, encoder.clone());
        let y = head.forward(features, linear.clone(), None);
        let loss = fused_loss([y], |[y]| mean_loss(y));
        black_box(gradients(loss, [&encoder, &linear]));
    })
}

pub fn nature_inference() -> Work {
    let net = encoder(ConvSpec::nature([84, 84, CHANNELS]));
    let (frame, mut out) = (frames(1, 84), Vec::new());
    let flops = net.spec.flops(1) as f64;
    Work::new("Nature-CNN encoder, batch 1, inference", flops, move || net.infer_u8(black_box(&frame), 1, &mut out))
}

/// Two convolutions that fit images of any size, forward and backward.
pub fn image(side: usize) -> Work {
    let rows = 32;
    let full = ConvSpec::small([side, side, CHANNELS]);
    // Larger images would otherwise get a third layer, and be another network.
    let net = encoder(ConvSpec::new(full.input, &full.layers[..2], full.activation));
    let frames = frames(rows, side);
    let flops = training_flops(&net.spec, rows);
    Work::new(format!("two convolutions, batch 32, {side}x{side}, fwd + bwd"), flops, move || {
        let params = net.params.tracked();
        let y = net.forward_u8(frames.clone(), rows, params.clone());
        let loss = fused_loss([y], |[y]| mean_loss(y));
        black_box(gradients(loss, [&params]));
    })
}
