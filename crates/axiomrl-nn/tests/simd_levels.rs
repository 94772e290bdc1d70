//! Every instruction set must give the same answers. A process of its own: the level is global.

use axiomrl_nn::{
    Activation, Adam, AdamConfig, Init, Mlp, MlpSpec, SimdLevel, fused_loss, gradients, leaf, limit_simd,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Outputs and parameters after two steps.
fn train(activation: Activation) -> Vec<f32> {
    let spec = MlpSpec::new(5, &[64, 33], 3, activation).with_layer_norm().with_dropout(0.1);
    let mut net = Mlp::new(spec, 2, &Init::pytorch(), &mut ChaCha8Rng::seed_from_u64(1));
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

#[test]
fn portable_avx2_and_avx512_agree() {
    for activation in [Activation::Relu, Activation::Tanh, Activation::Elu, Activation::Silu] {
        limit_simd(SimdLevel::Portable);
        let portable = train(activation);
        for level in [SimdLevel::Avx2, SimdLevel::Avx512] {
            if limit_simd(level) != level {
                continue; // This machine does not have it.
            }
            let got = train(activation);
            for (a, b) in got.iter().zip(&portable) {
                // The portable path sums matrix products in another order.
                assert!((a - b).abs() < 2e-5 * b.abs().max(1.0), "{level:?} {activation:?}: {a} {b}");
            }
        }
    }
}
