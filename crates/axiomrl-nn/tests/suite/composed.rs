//! What runs on devices without fused operations, on the CPU device against the fused operations.
//!
//! The crate `axiomrl-nn-devices` does the same through the networks' own calls on a device of another kind.

use crate::reference::{assert_close, grad_of, network, normal, rng};
use axiomrl_nn::{
    Activation, CellKind, ConvLayer, ConvNet, ConvSpec, Decoder, DecoderSpec, Device, Init, LogStdBounds, MlpSpec,
    Params, Recurrent, RecurrentSpec, Tensor, composed, fused_loss, leaf, leaf_on, tanh_gaussian, values,
};

/// Compares outputs and the gradients of every leaf; `run` gets fresh leaves and whether to take the fused way.
fn compare<const D: usize>(
    what: &str,
    leaves: &dyn Fn() -> Vec<Tensor<2>>,
    run: &dyn Fn(&[Tensor<2>], bool) -> Tensor<D>,
) {
    let numbers = |fused: bool| {
        let leaves = leaves();
        let y = run(&leaves, fused);
        let weights = leaf(&normal(y.dims().iter().product(), 5), y.dims());
        let grads = (y.clone() * weights).sum().backward();
        let mut all = vec![values(&y).to_vec()];
        all.extend(leaves.iter().map(|leaf| grad_of(leaf, &grads)));
        all
    };
    for (index, (got, want)) in numbers(false).iter().zip(numbers(true)).enumerate() {
        assert_close(&format!("{what}, part {index}"), got, &want);
    }
}

#[test]
fn perceptrons_with_dropout_and_layer_norm() {
    for (members, activation) in [(1, Activation::Elu), (3, Activation::Silu)] {
        let spec = MlpSpec::new(4, &[16, 8], 3, activation).with_dropout(0.3);
        let specs = [
            spec.clone().with_layer_norm(),
            spec.clone().with_layer_norm_after(),
            spec.clone().with_rms_norm(),
            spec.with_rms_norm().with_output_layer_norm(),
        ];
        for spec in specs {
            let net = network(spec, members, 1);
            let leaves = || vec![leaf(&normal(28, 1), [7, 4]).require_grad(), net.params.tracked()];
            for seed in [None, Some(5)] {
                compare("MLP", &leaves, &|leaves, fused| {
                    let (x, params) = (leaves[0].clone(), leaves[1].clone());
                    if fused {
                        net.forward(x, params, seed)
                    } else {
                        composed::mlp(&net.spec, x.unsqueeze(), params, seed)
                    }
                });
            }
        }
    }
}

/// Every parameter random: biases and norms too.
fn scatter(params: &mut Params) {
    let noise = normal(params.as_slice().len(), 9);
    params.make_mut().iter_mut().zip(noise).for_each(|(p, n)| *p += 0.1 * n);
}

#[test]
fn convolutions_and_recurrences() {
    let net = ConvNet::new(ConvSpec::small([16, 16, 2]), &Init::pytorch(), &mut rng(2));
    let leaves = || vec![leaf(&normal(3 * 512, 1), [3, 512]).require_grad(), net.params.tracked()];
    compare("convolutions", &leaves, &|leaves, fused| {
        let (x, params) = (leaves[0].clone(), leaves[1].clone());
        if fused { net.forward(x, params) } else { composed::conv(&net.spec, x, params) }
    });
    for activation in [Activation::Elu, Activation::Silu] {
        let layers = [ConvLayer::new(6, 5, 2, 2), ConvLayer::new(4, 4, 2, 0)];
        let spec = ConvSpec::new([14, 16, 2], &layers, activation).with_rms_norm();
        let mut net = ConvNet::new(spec, &Init::pytorch(), &mut rng(2));
        scatter(&mut net.params);
        let leaves = || vec![leaf(&normal(3 * 448, 1), [3, 448]).require_grad(), net.params.tracked()];
        compare("normed convolutions", &leaves, &|leaves, fused| {
            let (x, params) = (leaves[0].clone(), leaves[1].clone());
            if fused { net.forward(x, params) } else { composed::conv(&net.spec, x, params) }
        });
        let spec = DecoderSpec::new(5, [3, 2, 6], &[5, 3], activation).with_rms_norm();
        let mut net = Decoder::new(spec, &Init::pytorch(), &mut rng(2));
        scatter(&mut net.params);
        assert_eq!(net.spec.layout().iter().map(|t| t.len()).sum::<usize>(), net.spec.param_count());
        let leaves = || vec![leaf(&normal(15, 1), [3, 5]).require_grad(), net.params.tracked()];
        compare("a normed decoder", &leaves, &|leaves, fused| {
            let (x, params) = (leaves[0].clone(), leaves[1].clone());
            if fused { net.forward(x, params) } else { composed::decoder(&net.spec, x, params) }
        });
    }
    for kind in [CellKind::Lstm, CellKind::Gru] {
        let net = Recurrent::new(RecurrentSpec::new(kind, 3, 5), &mut rng(3));
        let width = net.spec.state_width();
        let resets: Vec<bool> = (0..8).map(|i| i == 5).collect();
        let leaves = || {
            let x = leaf(&normal(24, 1), [8, 3]).require_grad();
            vec![x, net.params.tracked(), leaf(&normal(2 * width, 2), [2, width]).require_grad()]
        };
        compare(&format!("{kind:?}"), &leaves, &|leaves, fused| {
            let (x, params, state) = (leaves[0].clone().reshape([4, 2, 3]), leaves[1].clone(), leaves[2].clone());
            let (y, last) = net.forward_with_state(x.clone(), params.clone(), &resets, state.clone());
            if fused {
                return y;
            }
            let (y, state) = composed::recurrent(&net.spec, x, params, &resets, state);
            assert_close("final state", &values(&state), &last);
            y
        });
    }
}

#[test]
fn losses_and_sampling() {
    let leaves = || vec![leaf(&normal(12, 1), [3, 4]).require_grad(), leaf(&normal(12, 2), [3, 4]).require_grad()];
    compare("loss", &leaves, &|leaves, fused| {
        let product = |[a, b]: [&[f32]; 2]| {
            let value = a.iter().zip(b).map(|(a, b)| a * a * b).sum();
            let da = a.iter().zip(b).map(|(a, b)| 2.0 * a * b).collect();
            (value, [da, a.iter().map(|a| a * a).collect()])
        };
        let inputs = [leaves[0].clone(), leaves[1].clone()];
        if fused { fused_loss(inputs, product) } else { composed::loss(inputs, product) }
    });
    for bounds in [LogStdBounds::Clamp(-0.5, 0.5), LogStdBounds::Tanh(-5.0, 2.0)] {
        let (leaves, eps) = (|| vec![leaf(&normal(12, 1), [3, 4]).require_grad()], normal(6, 2));
        compare("sampling", &leaves, &|leaves, fused| {
            let head = leaves[0].clone();
            if fused { tanh_gaussian(head, &eps, bounds) } else { composed::tanh_gaussian(head, &eps, bounds) }
        });
    }
}

#[test]
fn leaves_on_the_fused_device_are_the_plain_ones() {
    let net = network(MlpSpec::new(2, &[3], 1, Activation::Relu), 1, 1);
    let device = Device::flex().autodiff();
    assert!(net.params.tracked_on(&device).is_tracked() && !net.params.frozen_on(&device).is_tracked());
    assert_eq!(*values(&leaf_on(&[1.0, 2.0], [1, 2], &device)), [1.0, 2.0]);
}
