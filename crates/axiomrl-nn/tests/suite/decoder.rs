//! The decoder against Burn's own operations, finite differences and itself.

use crate::image_checks::Case;
use crate::reference::rng;
use axiomrl_nn::{Activation, Decoder, DecoderSpec, Init, NamedTensors, NnError, composed};
use std::collections::BTreeMap;

fn check(spec: DecoderSpec, images: usize, test: impl Fn(&Case<'_>, &Decoder)) {
    let net = Decoder::new(spec, &Init::pytorch(), &mut rng(1));
    let case = Case {
        what: format!("{:?} {images} images", net.spec),
        params: &net.params,
        images,
        inputs: net.spec.inputs,
        outputs: net.spec.output_shape().iter().product(),
        fused: &|x, params| net.forward(x, params),
    };
    test(&case, &net);
}

#[test]
fn values_and_gradients_match_burns_operations() {
    let mut cases = vec![
        (DecoderSpec::new(6, [1, 1, 3], &[2], Activation::Relu), 1),
        (DecoderSpec::new(5, [2, 3, 4], &[3, 2], Activation::Tanh), 3),
        (DecoderSpec::for_image(32, [16, 16, 1]).expect("a size it knows"), 9),
        // Large enough to be cut in two.
        (DecoderSpec::for_image(20, [32, 40, 3]).expect("a size it knows"), 5),
    ];
    for activation in [Activation::Identity, Activation::Relu, Activation::Elu, Activation::Silu] {
        cases.push((DecoderSpec::new(4, [3, 2, 5], &[4, 3, 2], activation), 4));
    }
    for (spec, images) in cases {
        check(spec, images, |case, net| {
            case.against(|x, p| composed::decoder(&net.spec, x, p), |x, n, out| net.infer(x, n, out));
        });
    }
}

#[test]
fn gradients_match_finite_differences() {
    check(DecoderSpec::new(5, [3, 2, 4], &[3, 2], Activation::Tanh), 3, |case, _| case.against_differences(1e-3));
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    check(DecoderSpec::for_image(50, [64, 64, 3]).expect("a size it knows"), 3, |case, net| {
        assert!(net.spec.flops(3) > 8_000_000, "large enough to be cut in two");
        case.same_bits_at_any_thread_count();
    });
}

#[test]
fn the_known_sizes() {
    for (size, start, channels) in [(16, 32, vec![16, 3]), (32, 64, vec![32, 16, 3]), (64, 128, vec![64, 32, 16, 3])] {
        let spec = DecoderSpec::for_image(10, [size, size, 3]).expect("a size it knows");
        assert_eq!((spec.start, &spec.channels), ([4, 4, start], &channels));
        assert_eq!(spec.output_shape(), [size, size, 3]);
    }
    for (height, width) in [(84, 84), (4, 4), (16, 64), (0, 16), (15, 15)] {
        let error = DecoderSpec::for_image(10, [height, width, 3]).expect_err("not a run of doublings");
        assert_eq!(error, NnError::NotDoubled { height, width });
        assert!(error.to_string().contains("16, 32 or 64"));
    }
    let empty = DecoderSpec::new(0, [4, 4, 8], &[3], Activation::Relu).check();
    assert_eq!(empty, Err(NnError::EmptyLayer { network: "decoder" }));
}

#[test]
fn files_name_every_layer_and_come_back() {
    let net = Decoder::new(DecoderSpec::for_image(10, [16, 16, 3]).expect("known"), &Init::pytorch(), &mut rng(3));
    let mut file = BTreeMap::new();
    net.export("decoder", &mut |name, shape, data| {
        file.insert(name, (shape, data));
    });
    assert_eq!(file["decoder.linear.weight"].0, [512, 10]);
    assert_eq!(file["decoder.1.weight"].0, [3, 16, 3, 3]);
    assert_eq!(file.values().map(|(_, data)| data.len()).sum::<usize>(), net.spec.param_count());
    let mut other = Decoder::new((*net.spec).clone(), &Init::pytorch(), &mut rng(4));
    other.import("decoder", &mut |name| file.get(name).cloned()).expect("the same network");
    assert_eq!(other.params.as_slice(), net.params.as_slice());
}
