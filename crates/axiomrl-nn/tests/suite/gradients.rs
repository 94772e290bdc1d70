//! The whole-network operation against Burn's own operations and against finite differences.

use crate::reference::{assert_close, grad_of, network, normal, unfused};
use axiomrl_nn::{Activation, Mlp, MlpSpec, Tensor, gradients, leaf, try_gradients, values};

const ACTIVATIONS: [Activation; 5] =
    [Activation::Identity, Activation::Relu, Activation::Tanh, Activation::Elu, Activation::Silu];

/// Compares outputs and both gradients; `shared` says whether members share their input.
fn check(spec: MlpSpec, members: usize, rows: usize, shared: bool, seed: u64) {
    let what = format!("{spec:?} E={members} rows={rows} shared={shared}");
    let net = network(spec, members, seed);
    let (inputs, outputs) = (net.spec.inputs, net.spec.outputs);
    let blocks = if shared { 1 } else { members };
    let x_values = normal(blocks * rows * inputs, seed + 2);
    let weights = leaf(&normal(members * rows * outputs, seed + 3), [members, rows, outputs]);

    let params = net.params.tracked();
    let x = leaf(&x_values, [blocks, rows, inputs]).require_grad();
    let y = if shared {
        net.forward(x.clone().reshape([rows, inputs]), params.clone(), None)
    } else {
        net.forward_members(x.clone(), params.clone(), None)
    };
    let grads = (y.clone() * weights.clone()).sum().backward();

    let reference_params = net.params.tracked();
    let reference_x = leaf(&x_values, [blocks, rows, inputs]).require_grad();
    let outputs_of = |member: usize| {
        let block = if shared { 0 } else { member };
        let x = reference_x.clone().slice([block..block + 1, 0..rows, 0..inputs]).reshape([rows, inputs]);
        unfused(&net.spec, x, reference_params.clone(), member)
    };
    let want: Tensor<3> = Tensor::stack((0..members).map(outputs_of).collect(), 0);
    let weights_again = weights.clone();
    let want_grads = (want.clone() * weights).sum().backward();

    assert_close(&format!("outputs of {what}"), &values(&y), &values(&want));
    assert_close(&format!("dx of {what}"), &grad_of(&x, &grads), &grad_of(&reference_x, &want_grads));
    let (got, expected) = (grad_of(&params, &grads), grad_of(&reference_params, &want_grads));
    assert_close(&format!("dp of {what}"), &got, &expected);

    // Without a graph the same kernels run: the same bits.
    let pass = net.pass(&x_values, rows, None);
    assert_eq!(pass.outputs(), &values(&y)[..], "pass of {what}");
    let by_outputs = values(&weights_again);
    assert_eq!(&pass.params_gradient(&by_outputs)[..], &got[..], "dp of the pass of {what}");
    assert_eq!(&pass.input_gradient(&by_outputs)[..], &grad_of(&x, &grads)[..], "dx of the pass of {what}");
    let (by_params, by_input) = pass.gradients(&by_outputs);
    assert_eq!((&by_params[..], &by_input[..]), (&got[..], &grad_of(&x, &grads)[..]), "both of the pass of {what}");

    let mut inferred = Vec::new();
    net.infer(&x_values, rows, &mut inferred);
    assert_close(&format!("infer of {what}"), &inferred, &values(&want));
}

#[test]
fn every_activation_with_and_without_layer_norm() {
    for (i, activation) in ACTIVATIONS.into_iter().enumerate() {
        for output in ACTIVATIONS {
            let spec = MlpSpec::new(5, &[24, 17], 3, activation).with_output_activation(output);
            check(spec.clone(), 1, 7, true, 10 + i as u64);
            check(spec.clone().with_layer_norm(), 2, 7, true, 20 + i as u64);
            check(spec.clone().with_layer_norm_after(), 2, 7, false, 25 + i as u64);
            check(spec.with_layer_norm_after().with_output_layer_norm(), 1, 7, true, 80 + i as u64);
        }
    }
}

#[test]
fn a_trunk_with_layer_norm_on_its_output() {
    for output in ACTIVATIONS {
        let spec = MlpSpec::new(40, &[], 50, Activation::Relu).with_output_layer_norm().with_output_activation(output);
        check(spec, 1, 9, true, 30);
    }
    let spec = MlpSpec::new(7, &[33], 20, Activation::Silu).with_layer_norm().with_output_layer_norm();
    check(spec.with_output_activation(Activation::Tanh), 2, 33, false, 31);
}

#[test]
fn odd_row_counts_and_ensembles() {
    for rows in [1, 3, 7, 33, 65] {
        for members in [1, 2, 5] {
            let spec = MlpSpec::new(6, &[32, 32], 2, Activation::Tanh);
            check(spec.clone(), members, rows, true, 30);
            check(spec.with_layer_norm(), members, rows, false, 40);
        }
    }
}

#[test]
fn no_hidden_layer_and_deep_ones() {
    check(MlpSpec::new(4, &[], 3, Activation::Relu), 1, 9, true, 50);
    check(MlpSpec::new(4, &[], 1, Activation::Relu), 3, 9, true, 51);
    check(MlpSpec::new(3, &[8, 16, 8, 4], 2, Activation::Elu), 2, 5, false, 52);
    check(MlpSpec::new(1, &[1], 1, Activation::Tanh), 1, 1, true, 53);
}

#[test]
fn sizes_that_are_split_between_threads() {
    // One member is split by rows, several by members; odd counts leave uneven halves.
    check(MlpSpec::new(23, &[256, 256], 1, Activation::Relu), 2, 64, true, 60);
    check(MlpSpec::new(23, &[256, 256], 1, Activation::Tanh).with_layer_norm(), 5, 33, false, 61);
    check(MlpSpec::new(23, &[256, 256], 1, Activation::Relu).with_layer_norm_after(), 2, 64, true, 66);
    check(MlpSpec::new(23, &[256, 256], 1, Activation::Silu).with_layer_norm_after(), 1, 131, true, 67);
    check(MlpSpec::new(17, &[256, 256], 12, Activation::Tanh), 1, 131, true, 62);
    check(MlpSpec::new(17, &[128, 200], 3, Activation::Silu).with_layer_norm(), 1, 129, true, 63);
    check(MlpSpec::new(9, &[300], 2, Activation::Elu), 3, 400, true, 64);
}

#[test]
fn few_rows_under_large_weights() {
    // Cut by weights: 2101·501 is just above a million. The rest of the network is small.
    check(MlpSpec::new(2101, &[501], 3, Activation::Tanh), 1, 17, true, 70);
    check(MlpSpec::new(2101, &[501, 40], 2, Activation::Silu).with_layer_norm(), 1, 32, true, 71);
    // Several members add up the gradient of a shared input.
    check(MlpSpec::new(2101, &[501], 1, Activation::Relu), 2, 16, true, 72);
}

/// Directional derivative of Σ weights·y by central differences, against the gradient.
fn check_by_differences(net: &Mlp, rows: usize, seed: Option<u64>) {
    let spec = &net.spec;
    let x = normal(rows * spec.inputs, 5);
    let weights = normal(net.params.members() * rows * spec.outputs, 6);
    let objective = |net: &Mlp, x: &[f32]| -> f64 {
        let mut out = Vec::new();
        match seed {
            Some(seed) => net.infer_dropout(x, rows, seed, &mut out),
            None => net.infer(x, rows, &mut out),
        }
        out.iter().zip(&weights).map(|(y, w)| f64::from(*y) * f64::from(*w)).sum()
    };
    let (params, input) = (net.params.tracked(), leaf(&x, [rows, spec.inputs]).require_grad());
    let y = net.forward(input.clone(), params.clone(), seed);
    let shape = [net.params.members(), rows, spec.outputs];
    let grads = (y * leaf(&weights, shape)).sum().backward();
    let (dp, dx) = (grad_of(&params, &grads), grad_of(&input, &grads));

    let step = 1e-3f32;
    for direction_seed in 0..4 {
        let direction = normal(dp.len(), 100 + direction_seed);
        let moved = |sign: f32| {
            let mut net = net.clone();
            net.params.make_mut().iter_mut().zip(&direction).for_each(|(p, d)| *p += sign * step * d);
            objective(&net, &x)
        };
        compare(moved(1.0) - moved(-1.0), &dp, &direction, step, "parameters");
        let direction = normal(dx.len(), 200 + direction_seed);
        let moved = |sign: f32| {
            let x: Vec<f32> = x.iter().zip(&direction).map(|(x, d)| x + sign * step * d).collect();
            objective(net, &x)
        };
        compare(moved(1.0) - moved(-1.0), &dx, &direction, step, "inputs");
    }
}

fn compare(difference: f64, gradient: &[f32], direction: &[f32], step: f32, what: &str) {
    let numeric = difference / (2.0 * f64::from(step));
    let exact: f64 = gradient.iter().zip(direction).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
    let size: f64 = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
    assert!((numeric - exact).abs() < 5e-3 * size, "{what}: {numeric} against {exact} (norm {size})");
}

#[test]
fn gradients_match_finite_differences() {
    for activation in [Activation::Tanh, Activation::Elu, Activation::Silu] {
        let spec = MlpSpec::new(5, &[16, 16], 2, activation);
        check_by_differences(&network(spec.clone(), 2, 1), 7, None);
        check_by_differences(&network(spec.clone().with_layer_norm(), 1, 2), 7, None);
        check_by_differences(&network(spec.with_layer_norm_after(), 1, 2), 7, None);
    }
}

#[test]
fn dropout_uses_the_same_mask_forward_and_backward() {
    let spec = MlpSpec::new(5, &[32, 32], 2, Activation::Tanh).with_dropout(0.3);
    check_by_differences(&network(spec.clone(), 2, 3), 9, Some(77));
    check_by_differences(&network(spec.clone().with_layer_norm(), 1, 4), 9, Some(78));
    check_by_differences(&network(spec.clone().with_layer_norm_after(), 1, 4), 9, Some(78));
    // Split by rows: the mask must not depend on the cut.
    let wide = MlpSpec::new(5, &[256, 256], 2, Activation::Tanh).with_dropout(0.1);
    check_by_differences(&network(wide, 1, 5), 65, Some(79));
}

/// `Σ along · ∂(Σ weights·y)/∂x` and its gradient by the parameters.
fn slopes(net: &Mlp, x: &[f32], rows: usize, weights: &[f32], along: &[f32]) -> (f64, Vec<f32>) {
    let pass = net.pass(x, rows, None);
    let slope = pass.input_gradient(weights);
    let sum = slope.iter().zip(along).map(|(s, v)| f64::from(*s) * f64::from(*v)).sum();
    (sum, pass.slope_gradient(weights, along).to_vec())
}

/// The same gradient layer by layer in plain loops, for one member.
fn slope_gradient_by_loops(net: &Mlp, member: usize, x: &[f32], weights: &[f32], along: &[f32]) -> Vec<f64> {
    let params: Vec<f64> = {
        let len = net.spec.param_count();
        net.params.as_slice()[member * len..(member + 1) * len].iter().map(|p| f64::from(*p)).collect()
    };
    let layers: Vec<(usize, usize, usize)> =
        net.spec.layout().chunks_exact(2).map(|pair| (pair[0].offset, pair[0].shape[1], pair[0].shape[0])).collect();
    let weight = |(offset, _, outs): (usize, usize, usize), i: usize, o: usize| params[offset + i * outs + o];
    let mut gradient = vec![0.0; params.len()];
    let (ins, outs) = (net.spec.inputs, net.spec.outputs);
    for ((x, along), weights) in x.chunks_exact(ins).zip(along.chunks_exact(ins)).zip(weights.chunks_exact(outs)) {
        let wide = |row: &[f32]| row.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
        let (mut values, mut tangents, mut on) = (wide(x), vec![wide(along)], Vec::new());
        for (index, &layer) in layers.iter().enumerate() {
            let (offset, ins, outs) = layer;
            let last = index + 1 == layers.len();
            let sum = |from: &[f64], o: usize| (0..ins).map(|i| from[i] * weight(layer, i, o)).sum::<f64>();
            let before: Vec<f64> = (0..outs).map(|o| sum(&values, o) + params[offset + ins * outs + o]).collect();
            let open: Vec<f64> = before.iter().map(|v| if last || *v > 0.0 { 1.0 } else { 0.0 }).collect();
            values = before.iter().zip(&open).map(|(v, on)| v * on).collect();
            let tangent = (0..outs).map(|o| open[o] * sum(&tangents[index], o)).collect();
            tangents.push(tangent);
            on.push(open);
        }
        let mut delta = wide(weights);
        for (index, &layer) in layers.iter().enumerate().rev() {
            let (offset, ins, outs) = layer;
            delta.iter_mut().zip(&on[index]).for_each(|(d, on)| *d *= on);
            for i in 0..ins {
                (0..outs).for_each(|o| gradient[offset + i * outs + o] += tangents[index][i] * delta[o]);
            }
            delta = (0..ins).map(|i| (0..outs).map(|o| delta[o] * weight(layer, i, o)).sum()).collect();
        }
    }
    gradient
}

#[test]
fn the_gradient_of_slopes_matches_plain_loops() {
    let deep = MlpSpec::new(5, &[16, 12], 2, Activation::Relu);
    let wide = MlpSpec::new(6, &[128, 128], 1, Activation::Relu);
    // Split by rows, by members, and not at all; inputs of their own and shared ones.
    for (spec, members, rows, shared) in [
        (deep.clone(), 3, 4, false),
        (deep, 1, 7, true),
        (MlpSpec::new(4, &[], 2, Activation::Relu), 2, 3, false),
        (wide.clone(), 1, 131, true),
        (wide, 3, 65, false),
    ] {
        let net = network(spec, members, 21);
        let (blocks, len) = (if shared { 1 } else { members }, rows * net.spec.inputs);
        let (x, along) = (normal(blocks * len, 22), normal(blocks * len, 23));
        let weights = normal(members * rows * net.spec.outputs, 24);
        let (_, gradient) = slopes(&net, &x, rows, &weights, &along);
        for (member, found) in gradient.chunks_exact(net.spec.param_count()).enumerate() {
            let at = if shared { 0 } else { member * len };
            let own = &weights[member * rows * net.spec.outputs..(member + 1) * rows * net.spec.outputs];
            let want = slope_gradient_by_loops(&net, member, &x[at..at + len], own, &along[at..at + len]);
            let want: Vec<f32> = want.iter().map(|v| *v as f32).collect();
            assert_close("slopes", found, &want);
        }
    }
}

#[test]
fn the_gradient_of_slopes_matches_finite_differences() {
    let (members, rows) = (2, 3);
    let net = network(MlpSpec::new(4, &[8, 6], 1, Activation::Relu), members, 31);
    let (x, along) = (normal(members * rows * 4, 32), normal(members * rows * 4, 33));
    let weights = normal(members * rows, 34);
    let (_, gradient) = slopes(&net, &x, rows, &weights, &along);
    let mut compared = 0;
    for at in 0..gradient.len() {
        let moved = |step: f32| {
            let mut net = net.clone();
            net.params.make_mut()[at] += step;
            slopes(&net, &x, rows, &weights, &along).0
        };
        let (near, far) = ((moved(1e-3) - moved(-1e-3)) / 2e-3, (moved(2e-2) - moved(-2e-2)) / 4e-2);
        // Where a unit switches within the step, there is no slope to compare with.
        if (near - far).abs() < 1e-2 {
            assert!((near - f64::from(gradient[at])).abs() < 1e-2, "parameter {at}: {near} against {}", gradient[at]);
            compared += 1;
        }
    }
    assert!(compared > gradient.len() * 3 / 4, "{compared} of {}", gradient.len());
}

#[test]
fn outputs_are_linear_in_the_features() {
    for spec in [
        MlpSpec::new(3, &[5, 4], 2, Activation::Tanh).with_layer_norm(),
        MlpSpec::new(3, &[5, 4], 2, Activation::Relu).with_layer_norm_after(),
        MlpSpec::new(3, &[], 2, Activation::Relu),
    ] {
        let net = network(spec, 1, 8);
        let (x, rows) = (normal(7 * 3, 9), 7);
        let (mut features, mut want) = (Vec::new(), Vec::new());
        net.infer_features(&x, rows, &mut features);
        net.infer(&x, rows, &mut want);
        let width = features.len() / rows;
        let last = &net.params.as_slice()[net.spec.param_count() - 2 * (width + 1)..];
        let found: Vec<f32> = features
            .chunks_exact(width)
            .flat_map(|row| {
                [0, 1].map(|out| {
                    let sum: f32 = row.iter().enumerate().map(|(i, f)| f * last[2 * i + out]).sum();
                    sum + last[2 * width + out]
                })
            })
            .collect();
        assert_close("outputs from features", &found, &want);
    }
}

#[test]
fn dropout_acts_only_in_training_mode() {
    let net = network(MlpSpec::new(4, &[64], 2, Activation::Relu).with_dropout(0.5), 1, 5);
    let x = normal(3 * 4, 1);
    let run = |seed: Option<u64>| values(&net.forward(leaf(&x, [3, 4]), net.params.frozen(), seed)).to_vec();
    let (mut plain, mut dropped) = (Vec::new(), Vec::new());
    net.infer(&x, 3, &mut plain);
    net.infer_dropout(&x, 3, 9, &mut dropped);
    assert_eq!(run(None), plain);
    assert_eq!(run(Some(9)), dropped);
    assert_ne!(plain, dropped);
    assert_ne!(run(Some(10)), dropped);
}

#[test]
fn frozen_parents_get_no_gradient() {
    let net = network(MlpSpec::new(3, &[8], 1, Activation::Relu), 2, 6);
    let frozen = net.params.frozen();
    let x = leaf(&normal(12, 2), [4, 3]).require_grad();
    let grads = net.forward(x.clone(), frozen.clone(), None).sum().backward();
    assert!(frozen.grad(&grads).is_none());
    assert_eq!(grad_of(&x, &grads).len(), 12);

    let tracked = net.params.tracked();
    let constant = leaf(&normal(12, 2), [4, 3]);
    let loss = net.forward(constant.clone(), tracked.clone(), None).sum();
    let [none, some] = try_gradients(loss, [&constant, &tracked]);
    assert!(none.is_none());
    assert!(some.is_some_and(|g| g.iter().any(|v| *v != 0.0)));

    let alone = net.forward(constant, frozen, None);
    assert!(!alone.is_tracked());
}

#[test]
fn an_input_that_is_not_contiguous_is_read_rightly() {
    let net = network(MlpSpec::new(3, &[8], 2, Activation::Tanh), 1, 7);
    let stored = normal(15, 3);
    let transposed = leaf(&stored, [3, 5]).transpose();
    let params = net.params.tracked();
    let loss = net.forward(transposed, params.clone(), None).sum();
    let [grad] = gradients(loss, [&params]);
    let plain: Vec<f32> = (0..15).map(|i| stored[(i % 3) * 5 + i / 3]).collect();
    let again = net.params.tracked();
    let [want] = gradients(net.forward(leaf(&plain, [5, 3]), again.clone(), None).sum(), [&again]);
    assert_eq!(&*grad, &*want);
}
