//! Single operations, one thread: `cargo xtask bench --only ops`. What an update is made of, to see which part changed.

use axiomrl_nn::losses::{ErrorLoss, quantile_huber_loss, softmax_rows, td_loss};
use axiomrl_nn::{
    Activation, Adam, AdamConfig, CellKind, ConvNet, ConvSpec, Init, LogStdBounds, Mlp, MlpSpec, Recurrent,
    RecurrentSpec, fused_loss, gradients, leaf, tanh_gaussian_sample, with_threads,
};
use divan::{Bencher, black_box};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn main() {
    // What two threads gain is measured on whole updates.
    with_threads(1, divan::main);
}

fn wave(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.37).sin()).collect()
}

fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(1)
}

fn net(width: usize, activation: Activation, layer_norm: bool) -> Mlp {
    let spec = MlpSpec::new(17, &[width, width], 6, activation);
    Mlp::new(if layer_norm { spec.with_layer_norm() } else { spec }, 1, &Init::pytorch(), &mut rng())
}

#[divan::bench(args = [(64, 1), (64, 64), (256, 1), (256, 256)])]
fn mlp_forward(bencher: Bencher, (width, rows): (usize, usize)) {
    let (net, x, mut out) = (net(width, Activation::Relu, false), wave(rows * 17), Vec::new());
    bencher.bench_local(|| net.infer(black_box(&x), rows, &mut out));
}

fn train(bencher: Bencher, net: &Mlp, rows: usize) {
    let x = wave(rows * 17);
    bencher.bench_local(|| {
        let params = net.params.tracked();
        let y = net.forward(leaf(&x, [rows, 17]), params.clone(), None);
        let loss = fused_loss([y], |[y]| (y.iter().sum(), [vec![1.0; y.len()]]));
        gradients(loss, [&params])
    });
}

#[divan::bench(args = [(64, 64), (256, 256)])]
fn mlp_forward_backward(bencher: Bencher, (width, rows): (usize, usize)) {
    train(bencher, &net(width, Activation::Relu, false), rows);
}

#[divan::bench(args = [(64, 64), (256, 256)])]
fn mlp_tanh_forward_backward(bencher: Bencher, (width, rows): (usize, usize)) {
    train(bencher, &net(width, Activation::Tanh, false), rows);
}

#[divan::bench(args = [(64, 64), (256, 256)])]
fn mlp_layer_norm_forward_backward(bencher: Bencher, (width, rows): (usize, usize)) {
    train(bencher, &net(width, Activation::Relu, true), rows);
}

#[divan::bench(args = [1, 32])]
fn nature_cnn_forward(bencher: Bencher, rows: usize) {
    let net = ConvNet::new(ConvSpec::nature([84, 84, 4]), &Init::pytorch(), &mut rng());
    let frames: Vec<u8> = (0..rows * 84 * 84 * 4).map(|i| (i * 31 % 256) as u8).collect();
    let mut out = Vec::new();
    bencher.bench_local(|| net.infer_u8(black_box(&frames), rows, &mut out));
}

#[divan::bench(args = [CellKind::Lstm, CellKind::Gru])]
fn recurrent_forward_16_steps(bencher: Bencher, kind: CellKind) {
    let (steps, rows) = (16, 32);
    let net = Recurrent::new(RecurrentSpec::new(kind, 64, 64), &mut rng());
    let (x, resets, mut out) = (wave(steps * rows * 64), vec![false; steps * rows], Vec::new());
    let mut state = vec![0.0; rows * net.spec.state_width()];
    bencher.bench_local(|| net.infer(black_box(&x), steps, rows, &resets, &mut state, &mut out));
}

#[divan::bench(args = [4_000, 140_000])]
fn adam(bencher: Bencher, len: usize) {
    let mut params = axiomrl_nn::Params::from_vec(1, len, wave(len));
    let (mut adam, gradient) = (Adam::new(len, AdamConfig::default()), wave(len));
    bencher.bench_local(|| adam.step(&mut params, black_box(&gradient), 1e-4));
}

#[divan::bench(args = [4_000, 140_000])]
fn polyak(bencher: Bencher, len: usize) {
    let online = axiomrl_nn::Params::from_vec(1, len, wave(len));
    let mut target = online.clone();
    bencher.bench_local(|| target.polyak_from(black_box(&online), 0.005));
}

#[divan::bench]
fn tanh_gaussian_256_rows(bencher: Bencher) {
    let (head, noise) = (wave(256 * 12), wave(256 * 6));
    let (mut action, mut log_prob) = (vec![0.0; 256 * 6], vec![0.0; 256]);
    let bounds = LogStdBounds::Clamp(-20.0, 2.0);
    bencher.bench_local(|| tanh_gaussian_sample(black_box(&head), &noise, bounds, &mut action, &mut log_prob));
}

#[divan::bench]
fn softmax_64_rows_of_51(bencher: Bencher) {
    let (logits, mut probabilities) = (wave(64 * 51), vec![0.0; 64 * 51]);
    bencher.bench_local(|| softmax_rows(black_box(&logits), 51, &mut probabilities));
}

#[divan::bench]
fn huber_td_loss_64_rows(bencher: Bencher) {
    let (q, chosen, targets) = (wave(128), vec![0.0; 64], wave(64));
    let (mut errors, mut gradient) = (vec![0.0; 64], vec![0.0; 128]);
    bencher.bench_local(|| {
        td_loss(ErrorLoss::Huber(1.0), black_box(&q), &chosen, &targets, &[], &mut errors, &mut gradient)
    });
}

#[divan::bench]
fn quantile_huber_loss_64_rows_of_32(bencher: Bencher) {
    let (predicted, targets) = (wave(64 * 32), wave(64 * 32 + 1)[1..].to_vec());
    let taus: Vec<f32> = (0..32).map(|i| (i as f32 + 0.5) / 32.0).collect();
    let (mut losses, mut gradient) = (vec![0.0; 64], vec![0.0; 64 * 32]);
    bencher.bench_local(|| {
        quantile_huber_loss(black_box(&predicted), &taus, &targets, 1.0, &[], &mut losses, &mut gradient)
    });
}
