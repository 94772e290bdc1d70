//! Results must not depend on the number of threads.

use crate::reference::{network, normal};
use axiomrl_nn::{Activation, Adam, AdamConfig, MlpSpec, fused_loss, gradients, leaf, with_threads};

/// Three training steps; returns every bit that could differ.
fn train(threads: usize, members: usize, rows: usize, spec: &MlpSpec) -> Vec<u32> {
    with_threads(threads, || {
        let mut net = network(spec.clone(), members, 3);
        let mut adam = Adam::new(net.params.as_slice().len(), AdamConfig::default());
        let mut bits = Vec::new();
        for step in 0..3 {
            let params = net.params.tracked();
            let x = leaf(&normal(rows * spec.inputs, step), [rows, spec.inputs]);
            let y = net.forward(x, params.clone(), Some(step));
            let loss = fused_loss([y], |[y]| (y.iter().map(|y| 0.5 * y * y).sum(), [y.to_vec()]));
            let [grad] = gradients(loss, [&params]);
            drop(params);
            bits.extend(grad.iter().map(|g| g.to_bits()));
            adam.step(&mut net.params, &grad, 1e-3);
        }
        let mut out = Vec::new();
        net.infer(&normal(rows * spec.inputs, 9), rows, &mut out);
        bits.extend(out.iter().chain(net.params.as_slice()).map(|v| v.to_bits()));
        bits
    })
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let small = MlpSpec::new(4, &[64, 64], 2, Activation::Tanh);
    let wide = MlpSpec::new(23, &[256, 256], 1, Activation::Relu).with_layer_norm().with_dropout(0.1);
    let large = MlpSpec::new(2101, &[501], 3, Activation::Relu);
    let sizes = [(1, 64, &small), (1, 257, &wide), (2, 129, &wide), (5, 33, &wide), (1, 17, &large), (2, 32, &large)];
    for (members, rows, spec) in sizes {
        let one = train(1, members, rows, spec);
        assert_eq!(one, train(2, members, rows, spec), "members {members}, rows {rows}");
        assert_eq!(one, train(3, members, rows, spec), "members {members}, rows {rows}");
    }
}
