//! Every instruction set must give the same answers. A process of its own: the level is global.

use axiomrl_nn::{
    Activation, Adam, AdamConfig, CellKind, ConvNet, ConvSpec, Decoder, DecoderSpec, FreeNats, Init, KlSides, Latent,
    LatentKl, Mlp, MlpSpec, Recurrent, RecurrentSpec, ResidualNet, ResidualSpec, Rssm, RssmSpec, SimdLevel, Tensor,
    Transformer, TransformerSpec, Window, fused_loss, gradients, leaf, limit_simd, losses, values,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn seeded(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Outputs and parameters after two steps.
fn train(activation: Activation) -> Vec<f32> {
    let spec = MlpSpec::new(5, &[64, 33], 3, activation).with_layer_norm().with_dropout(0.1);
    let mut net = Mlp::new(spec, 2, &Init::pytorch(), &mut seeded(1));
    let mut adam = Adam::new(net.params.as_slice().len(), AdamConfig::default());
    let x: Vec<f32> = (0..7 * 5).map(|i| (i as f32).sin()).collect();
    for step in 0..2 {
        let params = net.params.tracked();
        let y = net.forward(leaf(&x, [7, 5]), params.clone(), Some(step));
        let loss = fused_loss([y], |[y]| (y.iter().map(|y| 0.5 * y * y).sum(), [y.to_vec()]));
        let [grad] = gradients(loss, [&params]);
        drop(params);
        adam.step(&mut net.params, &grad, 1e-3);
    }
    let mut out = Vec::new();
    net.infer(&x, 7, &mut out);
    out.extend(net.params.as_slice());
    out
}

/// Outputs and gradient of ½ Σ y².
fn trace<const D: usize>(y: Tensor<D>, params: &Tensor<2>) -> Vec<f32> {
    let mut numbers = values(&y).to_vec();
    let loss = fused_loss([y], |[y]| (y.iter().map(|y| 0.5 * y * y).sum(), [y.to_vec()]));
    let [grad] = gradients(loss, [params]);
    numbers.extend_from_slice(&grad);
    numbers
}

/// Everything else that has kernels of its own.
fn others() -> Vec<f32> {
    let wave = |len: usize| (0..len).map(|i| (i as f32 * 0.7).sin()).collect::<Vec<f32>>();
    let mut numbers = Vec::new();
    for kind in [CellKind::Lstm, CellKind::Gru] {
        let net = Recurrent::new(RecurrentSpec::new(kind, 5, 19), &mut seeded(2));
        let (params, width) = (net.params.tracked(), net.spec.state_width());
        let (x, state) = (leaf(&wave(4 * 3 * 5), [4, 3, 5]), leaf(&wave(3 * width), [3, width]));
        let resets: Vec<bool> = (0..12).map(|i| i == 7).collect();
        numbers.extend(trace(net.forward(x, params.clone(), &resets, state), &params));
    }
    let net = ConvNet::new(ConvSpec::small([16, 16, 2]), &Init::pytorch(), &mut seeded(3));
    let (params, bytes) = (net.params.tracked(), (0..3 * 512).map(|i| (i * 7 % 256) as u8).collect::<Vec<_>>());
    numbers.extend(trace(net.forward_u8(bytes, 3, params.clone()), &params));

    let residual = ResidualNet::new(ResidualSpec::impala([9, 8, 2], 1, 7), &Init::pytorch(), &mut seeded(4));
    let params = residual.params.tracked();
    numbers.extend(trace(residual.forward(leaf(&wave(3 * 144), [3, 144]), params.clone()), &params));
    let spec = DecoderSpec::new(5, [3, 2, 6], &[5, 3], Activation::Elu);
    let decoder = Decoder::new(spec, &Init::pytorch(), &mut seeded(5));
    let params = decoder.params.tracked();
    numbers.extend(trace(decoder.forward(leaf(&wave(15), [3, 5]), params.clone()), &params));

    let spec = TransformerSpec::new(24, 2).with_heads(3).with_dropout(0.1);
    let net = Transformer::new(spec, &Init::Normal { std: 0.1 }, &mut seeded(6));
    let x = wave(20 * 24);
    let pass = net.pass(&x, &[11, 1, 8], Some(4));
    numbers.extend_from_slice(pass.outputs());
    let mut gradient = pass.outputs().to_vec();
    numbers.extend_from_slice(&pass.backward(&mut gradient));
    numbers.extend(gradient);

    let latent = Latent::Categorical { groups: 3, classes: 5, unimix: 0.01 };
    for spec in [RssmSpec::v1(latent, 20, 17, 9, 2), RssmSpec::v3(latent, 20, 4, 17, 9, 2)] {
        let model = Rssm::new(spec.clone(), &mut seeded(7));
        let (tokens, noise, actions) = (wave(12 * 9), latent.draw_noise(12, &mut seeded(8)), wave(24));
        let (is_first, start) = (vec![false; 12], vec![0.0; 3 * spec.features()]);
        let window = Window { steps: 4, rows: 3, actions: &actions, is_first: &is_first, noise: &noise, start: &start };
        let pass = model.pass(&tokens, window);
        let kl = LatentKl { latent, free: FreeNats::Row(0.0), sides: KlSides::Joint(1.0) };
        let (mut by_q, mut by_p) = (vec![0.0; 12 * 15], vec![0.0; 12 * 15]);
        kl.gradients(pass.posterior(), pass.prior(), &mut by_q, &mut by_p);
        let (by_params, by_tokens) = pass.gradients(pass.features(), &by_q, &by_p);
        numbers.extend(pass.features().iter().chain(by_params.iter()).chain(by_tokens.iter()));
    }

    let (mut each, mut grad) = (vec![0.0; 3], vec![0.0; 3 * 21]);
    losses::quantile_huber_loss(&wave(63), &[0.4; 21], &wave(57), 1.0, &[], &mut each, &mut grad);
    numbers.extend(each.iter().chain(&grad));
    let mut target = vec![0.0; 63];
    losses::softmax_rows(&grad, 21, &mut target);
    losses::cross_entropy_loss(&wave(63), &target, 21, &[], &mut each, &mut grad);
    numbers.extend(each.iter().chain(&grad));
    numbers
}

#[test]
fn portable_avx2_and_avx512_agree() {
    let activations = [Activation::Relu, Activation::Tanh, Activation::Elu, Activation::Silu];
    for activation in activations.map(Some).into_iter().chain([None]) {
        let run = || activation.map_or_else(others, train);
        limit_simd(SimdLevel::Portable);
        let portable = run();
        for level in [SimdLevel::Avx2, SimdLevel::Avx512] {
            if limit_simd(level) != level {
                continue; // This machine does not have it.
            }
            let got = run();
            assert_eq!(got.len(), portable.len());
            for (a, b) in got.iter().zip(&portable) {
                // The portable path sums matrix products in another order.
                assert!((a - b).abs() < 2e-5 * b.abs().max(1.0), "{level:?} {activation:?}: {a} {b}");
            }
        }
    }
}
