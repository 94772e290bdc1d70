//! The whole-encoder operation against Burn's own convolutions, finite differences and itself.

use crate::reference::{assert_close, grad_of, normal, rng};
use axiomrl_nn::{
    Activation, ConvLayer, ConvNet, ConvSpec, Init, NamedTensors, NnError, Tensor, fused_loss, gradients, leaf, values,
    with_threads,
};
use burn::tensor::activation;
use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use std::collections::BTreeMap;

fn network(spec: ConvSpec, seed: u64) -> ConvNet {
    ConvNet::new(spec, &Init::pytorch(), &mut rng(seed))
}

/// The same encoder by Burn's operations, channels first inside.
fn unfused(net: &ConvNet, x: Tensor<2>, params: Tensor<2>) -> Tensor<2> {
    let images = x.dims()[0];
    let [height, width, channels] = net.spec.input;
    let mut h: Tensor<4> = x.reshape([images, height, width, channels]).permute([0, 3, 1, 2]);
    for (layer, tensors) in net.spec.layers.iter().zip(net.spec.layout().chunks(2)) {
        let part = |index: usize| {
            let tensor = &tensors[index];
            let len = tensor.shape.iter().product::<usize>();
            params.clone().slice([0..1, tensor.offset..tensor.offset + len])
        };
        let [out, input, kernel, _] = tensors[0].shape[..] else { panic!("a weight has four dimensions") };
        let weight: Tensor<4> = part(0).reshape([kernel, kernel, input, out]).permute([3, 2, 0, 1]);
        let bias: Tensor<1> = part(1).reshape([out]);
        let (stride, padding) = ([layer.stride; 2], [layer.padding; 2]);
        h = conv2d(h, weight, Some(bias), ConvOptions::new(stride, padding, [1, 1], 1));
        h = match net.spec.activation {
            Activation::Identity => h,
            Activation::Relu => activation::relu(h),
            Activation::Tanh => activation::tanh(h),
            Activation::Silu => activation::silu(h),
            Activation::Elu => activation::relu(h.clone()) + h.clamp_max(0.0).exp() - 1.0,
        };
    }
    h.permute([0, 2, 3, 1]).reshape([images, net.spec.features()])
}

fn check(spec: ConvSpec, images: usize) {
    let what = format!("{spec:?} {images} images");
    let net = network(spec, 1);
    let pixels: usize = net.spec.input.iter().product();
    let x = normal(images * pixels, 2);
    let weights = leaf(&normal(images * net.spec.features(), 3), [images, net.spec.features()]);
    let run = |fused: bool| {
        let (params, input) = (net.params.tracked(), leaf(&x, [images, pixels]).require_grad());
        let y = if fused {
            net.forward(input.clone(), params.clone())
        } else {
            unfused(&net, input.clone(), params.clone())
        };
        let grads = (y.clone() * weights.clone()).sum().backward();
        [values(&y).to_vec(), grad_of(&params, &grads), grad_of(&input, &grads)]
    };
    let (got, want) = (run(true), run(false));
    for (name, (got, want)) in ["outputs", "dp", "dx"].iter().zip(got.iter().zip(&want)) {
        assert_close(&format!("{name} of {what}"), got, want);
    }
    let mut inferred = Vec::new();
    net.infer(&x, images, &mut inferred);
    assert_eq!(inferred, got[0], "infer of {what}");
}

#[test]
fn every_kernel_stride_and_padding() {
    for (kernel, stride, padding) in [(1, 1, 0), (3, 1, 0), (3, 1, 1), (3, 2, 1), (4, 2, 0), (5, 3, 2), (2, 2, 1)] {
        let layers = [ConvLayer::new(5, kernel, stride, padding), ConvLayer::new(3, 2, 1, 1)];
        check(ConvSpec::new([7, 9, 2], &layers, Activation::Tanh), 3);
    }
    // A kernel wider than its image, which only the padding makes fit.
    check(ConvSpec::new([2, 3, 1], &[ConvLayer::new(4, 5, 1, 2)], Activation::Tanh), 2);
}

#[test]
fn every_activation() {
    for kind in [Activation::Identity, Activation::Relu, Activation::Elu, Activation::Silu] {
        let layers = [ConvLayer::new(6, 3, 2, 1), ConvLayer::new(4, 3, 1, 1)];
        check(ConvSpec::new([8, 8, 3], &layers, kind), 5);
    }
}

#[test]
fn the_known_encoders_and_split_batches() {
    check(ConvSpec::nature([84, 84, 4]), 3);
    check(ConvSpec::drq([20, 20, 9]), 5);
    check(ConvSpec::small([16, 16, 1]), 33);
    check(ConvSpec::small([32, 32, 3]), 1);
    assert_eq!(ConvSpec::nature([84, 84, 4]).output_shape(), [7, 7, 64]);
    assert_eq!(ConvSpec::drq([84, 84, 9]).features(), 35 * 35 * 32);
    assert_eq!(ConvSpec::small([16, 16, 1]).output_shape(), [4, 4, 32]);
    assert_eq!(ConvSpec::small([32, 32, 1]).output_shape(), [4, 4, 32]);
}

/// Inference takes a few images at a time, and the gradient of the input some patches at a time: neither need end with an
/// image, a group of them or a batch.
#[test]
fn batches_that_end_in_the_middle_of_a_block() {
    for images in [1, 19, 20, 21, 43] {
        check(ConvSpec::small([32, 32, 9]), images);
    }
    let same = |channels: usize| ConvLayer::new(channels, 3, 1, 1);
    for channels in [16, 32, 48, 64, 80] {
        let layers = [same(channels), same(channels), ConvLayer::new(channels, 3, 2, 0)];
        check(ConvSpec::new([15, 13, 3], &layers, Activation::Relu), 7);
    }
    // One patch that is larger than a block.
    check(ConvSpec::new([8, 8, 520], &[ConvLayer::new(2, 8, 1, 0)], Activation::Tanh), 2);
}

#[test]
fn no_images_are_no_features() {
    let net = network(ConvSpec::small([10, 5, 1]), 1);
    let mut out = vec![1.0];
    net.infer_u8(&[], 0, &mut out);
    assert!(out.is_empty());
}

#[test]
fn gradients_match_finite_differences() {
    let layers = [ConvLayer::new(4, 3, 2, 1), ConvLayer::new(3, 2, 1, 0)];
    let net = network(ConvSpec::new([6, 5, 2], &layers, Activation::Tanh), 4);
    let (images, pixels) = (3, 60);
    let (x, weights) = (normal(images * pixels, 1), normal(images * net.spec.features(), 2));
    let objective = |net: &ConvNet| -> f64 {
        let mut out = Vec::new();
        net.infer(&x, images, &mut out);
        out.iter().zip(&weights).map(|(y, w)| f64::from(*y) * f64::from(*w)).sum()
    };
    let params = net.params.tracked();
    let y = net.forward(leaf(&x, [images, pixels]), params.clone());
    let grads = (y * leaf(&weights, [images, net.spec.features()])).sum().backward();
    let gradient = grad_of(&params, &grads);
    for seed in 0..4 {
        let along = normal(gradient.len(), 100 + seed);
        let moved = |by: f32| {
            let mut net = net.clone();
            net.params.make_mut().iter_mut().zip(&along).for_each(|(p, d)| *p += by * d);
            objective(&net)
        };
        let numeric = (moved(1e-3) - moved(-1e-3)) / 2e-3;
        let exact: f64 = gradient.iter().zip(&along).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
        let size: f64 = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        assert!((numeric - exact).abs() < 5e-3 * size, "{numeric} against {exact} (norm {size})");
    }
}

#[test]
fn bytes_are_floats_over_255() {
    let net = network(ConvSpec::small([16, 16, 3]), 5);
    let images = 9;
    let bytes: Vec<u8> = (0..images * 768).map(|i| (i * 37 % 256) as u8).collect();
    let floats: Vec<f32> = bytes.iter().map(|b| f32::from(*b) / 255.0).collect();
    let (mut from_bytes, mut from_floats) = (Vec::new(), Vec::new());
    net.infer_u8(&bytes, images, &mut from_bytes);
    net.infer(&floats, images, &mut from_floats);
    assert_close("outputs", &from_bytes, &from_floats);

    let gradient = |bytes: Option<&[u8]>| {
        let params = net.params.tracked();
        let y = match bytes {
            Some(bytes) => net.forward_u8(bytes, images, params.clone()),
            None => net.forward(leaf(&floats, [images, 768]), params.clone()),
        };
        let loss = fused_loss([y], |[y]| (y.iter().map(|y| 0.5 * y * y).sum(), [y.to_vec()]));
        let [grad] = gradients(loss, [&params]);
        grad.to_vec()
    };
    assert_close("gradient", &gradient(Some(&bytes)), &gradient(None));
    assert!(!net.forward_u8(bytes, images, net.params.frozen()).is_tracked());
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let run = |threads: usize| {
        with_threads(threads, || {
            let net = network(ConvSpec::nature([44, 44, 2]), 6);
            let (images, pixels) = (7, 44 * 44 * 2);
            let params = net.params.tracked();
            let y = net.forward(leaf(&normal(images * pixels, 1), [images, pixels]), params.clone());
            let out = values(&y).to_vec();
            let loss = fused_loss([y], |[y]| (y.iter().map(|y| 0.5 * y * y).sum(), [y.to_vec()]));
            let [grad] = gradients(loss, [&params]);
            out.iter().chain(grad.iter()).map(|v| v.to_bits()).collect::<Vec<_>>()
        })
    };
    assert_eq!(run(1), run(2));
    assert_eq!(run(1), run(3));
}

#[test]
fn files_use_pytorchs_layout() {
    let layers = [ConvLayer::new(4, 3, 1, 0), ConvLayer::new(5, 2, 1, 0)];
    let net = network(ConvSpec::new([6, 6, 2], &layers, Activation::Relu), 7);
    let mut file = BTreeMap::new();
    net.export("encoder", &mut |name, shape, data: Vec<f32>| {
        file.insert(name, (shape, data));
    });
    let (shape, weight) = &file["encoder.0.weight"];
    assert_eq!(*shape, [4, 2, 3, 3]);
    // [out, in, y, x] against [y, x, in, out].
    let (o, i, y, x) = (3, 1, 2, 0);
    assert_eq!(weight[((o * 2 + i) * 3 + y) * 3 + x], net.params.as_slice()[((y * 3 + x) * 2 + i) * 4 + o]);
    let mut other = network((*net.spec).clone(), 8);
    other.import("encoder", &mut |name| file.get(name).cloned()).expect("the same network");
    assert_eq!(other.params.as_slice(), net.params.as_slice());
}

#[test]
fn images_that_are_too_small_are_refused() {
    // 20 pixels become 4, then 1: nothing is left for the third layer.
    let error = ConvSpec::nature([20, 20, 4]).check().expect_err("too small");
    assert_eq!(error, NnError::KernelTooLarge { layer: 2, kernel: 3, height: 1, width: 1 });
    assert!(error.to_string().contains("larger images"));
    assert!(ConvSpec::nature([36, 36, 4]).check().is_ok());
}
