//! The residual encoder against Burn's own operations, finite differences and itself.

use crate::image_checks::Case;
use crate::reference::{assert_close, rng};
use axiomrl_nn::{Init, NamedTensors, NnError, ResidualNet, ResidualSpec, composed, fused_loss, gradients, leaf};
use std::collections::BTreeMap;

fn network(spec: ResidualSpec, seed: u64) -> ResidualNet {
    ResidualNet::new(spec, &Init::pytorch(), &mut rng(seed))
}

fn small(input: [usize; 3], channels: &[usize], blocks: usize) -> ResidualSpec {
    ResidualSpec { input, channels: channels.to_vec(), blocks, features: 7, relu_features: false }
}

fn check(spec: ResidualSpec, images: usize, test: impl Fn(&Case<'_>, &ResidualNet)) {
    check_network(&network(spec, 1), images, test);
}

fn check_network(net: &ResidualNet, images: usize, test: impl Fn(&Case<'_>, &ResidualNet)) {
    let case = Case {
        what: format!("{:?} {images} images", net.spec),
        params: &net.params,
        images,
        inputs: net.spec.input.iter().product(),
        outputs: net.spec.features,
        fused: &|x, params| net.forward(x, params),
    };
    test(&case, net);
}

#[test]
fn values_and_gradients_match_burns_operations() {
    let specs = [
        (small([8, 8, 3], &[4], 1), 2),
        (small([7, 9, 2], &[5, 3], 2), 3),
        (small([5, 4, 1], &[3, 2, 4], 0), 4),
        // Images that shrink to a single pixel.
        (small([3, 2, 2], &[4, 4, 4], 1), 3),
        (ResidualSpec { relu_features: true, ..small([6, 6, 2], &[4, 6], 2) }, 5),
        // Large enough to be cut in two.
        (ResidualSpec::impala([20, 20, 3], 1, 32), 5),
    ];
    for (spec, images) in specs {
        check(spec, images, |case, net| {
            case.against(|x, p| composed::residual(&net.spec, x, p), |x, n, out| net.infer(x, n, out));
        });
    }
}

#[test]
fn gradients_match_finite_differences() {
    // Channels firmly above or below zero: where ReLUs switch within a step, differences are not derivatives.
    let mut net = network(small([6, 5, 2], &[4, 3], 1), 1);
    let biases = net.spec.layout().into_iter().filter(|tensor| tensor.name.ends_with("bias"));
    for place in biases.flat_map(|tensor| tensor.offset..tensor.offset + tensor.shape[0]) {
        net.params.make_mut()[place] += if place % 2 == 0 { 2.0 } else { -2.0 };
    }
    check_network(&net, 3, |case, _| case.against_differences(2e-4));
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    check(ResidualSpec::impala([24, 24, 4], 1, 64), 7, |case, net| {
        assert!(net.spec.flops(7) > 8_000_000, "large enough to be cut in two");
        case.same_bits_at_any_thread_count();
    });
}

#[test]
fn bytes_are_floats_over_255() {
    let net = network(ResidualSpec::impala([12, 12, 3], 1, 16), 5);
    let (images, pixels) = (3, 12 * 12 * 3);
    let bytes: Vec<u8> = (0..images * pixels).map(|i| (i * 37 % 256) as u8).collect();
    let floats: Vec<f32> = bytes.iter().map(|b| f32::from(*b) / 255.0).collect();
    let (mut from_bytes, mut from_floats) = (Vec::new(), Vec::new());
    net.infer_u8(&bytes, images, &mut from_bytes);
    net.infer(&floats, images, &mut from_floats);
    assert_close("outputs", &from_bytes, &from_floats);
    let gradient = |bytes: Option<&[u8]>| {
        let params = net.params.tracked();
        let y = match bytes {
            Some(bytes) => net.forward_u8(bytes, images, params.clone()),
            None => net.forward(leaf(&floats, [images, pixels]), params.clone()),
        };
        let loss = fused_loss([y], |[y]| (y.iter().map(|y| 0.5 * y * y).sum(), [y.to_vec()]));
        let [grad] = gradients(loss, [&params]);
        grad.to_vec()
    };
    assert_close("gradient", &gradient(Some(&bytes)), &gradient(None));
}

#[test]
fn files_name_every_layer_and_come_back() {
    let net = network(ResidualSpec::impala([10, 10, 4], 2, 20), 7);
    let mut file = BTreeMap::new();
    net.export("encoder", &mut |name, shape, data| {
        file.insert(name, (shape, data));
    });
    assert_eq!(file["encoder.0.conv.weight"].0, [32, 4, 3, 3]);
    assert_eq!(file["encoder.2.block1.conv1.weight"].0, [64, 64, 3, 3]);
    assert_eq!(file["encoder.linear.weight"].0, [20, 2 * 2 * 64]);
    // 15 convolutions and the linear map, weight and bias each.
    assert_eq!(file.len(), 32);
    assert_eq!(file.values().map(|(_, data)| data.len()).sum::<usize>(), net.spec.param_count());
    let mut other = network((*net.spec).clone(), 8);
    other.import("encoder", &mut |name| file.get(name).cloned()).expect("the same network");
    assert_eq!(other.params.as_slice(), net.params.as_slice());
}

#[test]
fn empty_shapes_are_refused() {
    for spec in [ResidualSpec::impala([0, 8, 3], 1, 8), ResidualSpec::impala([8, 8, 3], 0, 8), small([8, 8, 3], &[], 2)]
    {
        let error = spec.check().expect_err("empty");
        assert_eq!(error, NnError::EmptyLayer { network: "residual encoder" });
    }
    assert!(ResidualSpec::impala([84, 84, 4], 1, 256).check().is_ok());
}
