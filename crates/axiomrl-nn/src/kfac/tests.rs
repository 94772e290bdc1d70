use super::*;
use crate::conv::{ConvLayer, ConvNet};
use crate::fused_loss::fused_loss;
use crate::grads::gradients;
use crate::kernels::activation::Activation;
use crate::mlp::Mlp;
use crate::params::Params;
use crate::threads::with_threads;
use std::sync::Arc;

fn near(found: &[f32], wanted: &[f32]) {
    let close = found.len() == wanted.len() && found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-5);
    assert!(close, "{found:?} {wanted:?}");
}

fn linear(inputs: usize, outputs: usize) -> Mlp {
    let spec = MlpSpec::new(inputs, &[], outputs, Activation::Tanh);
    let params = Params::from_vec(1, spec.param_count(), vec![0.0; spec.param_count()]);
    Mlp { spec: Arc::new(spec), params }
}

/// A curvature with one layer whose averages are given.
fn of(net: &Mlp, a: &[f32], s: &[f32]) -> Kfac {
    let mut kfac = Kfac::new(&[], &net.spec);
    kfac.layers[0].factors[0].mean.copy_from_slice(a);
    kfac.layers[0].factors[1].mean.copy_from_slice(s);
    kfac.refresh();
    kfac
}

#[test]
fn averages_by_hand() {
    // Two rows with inputs (1, 1) and (2, 1), probabilities 1/2 and 1/2, actions 0 and 1: gradients one-hot - p.
    let net = linear(1, 2);
    let x = [1.0, 2.0];
    let captured = net.pass(&x, 2, None).captures(&[0.5, -0.5, -0.5, 0.5]);
    let mut kfac = Kfac::new(&[], &net.spec);
    kfac.observe(&captured, 0.01);
    near(&kfac.layers[0].factors[0].mean, &[2.5, 1.5, 1.5, 1.0]);
    near(&kfac.layers[0].factors[1].mean, &[0.25, -0.25, -0.25, 0.25]);
    // From then on new ones count for their share.
    kfac.observe(&[Captured { inputs: vec![0.0, 0.0], gradients: vec![0.0; 4], ..Captured::default() }], 0.01);
    near(&kfac.layers[0].factors[0].mean, &[2.475, 1.485, 1.485, 1.0]);
    near(&kfac.layers[0].factors[1].mean, &[0.2475, -0.2475, -0.2475, 0.2475]);
}

#[test]
fn preconditioning_by_hand() {
    // One input that is always 0 beside the 1, whose A is 4: the bias alone moves.
    let net = linear(1, 1);
    let kfac = of(&net, &[0.0, 0.0, 0.0, 4.0], &[0.25]);
    near(&kfac.precondition(&[0.0, 1.0], 0.01), &[0.0, 0.990_099]);
    let kfac = of(&net, &[2.0, 1.0, 1.0, 2.0], &[1.0]);
    near(&kfac.precondition(&[1.0, 0.0], 0.01), &[0.661_162, -0.328_937]);
    assert!((kfac.quadratic(&[1.0, 0.0]) - 2.0).abs() < 1e-6);
    assert!((kfac.condition() - 3.0).abs() < 1e-5);
}

/// With one state only, the factors are the curvature itself: what the preconditioner undoes is `A Δ S + damping Δ`.
#[test]
fn one_state_makes_it_exact() {
    let net = linear(2, 3);
    let x = [0.4, -1.3];
    // All three actions, each as often as its probability says: Σ p (e_a - p)(e_a - p)ᵀ is the distribution's information.
    let (p, rows) = ([0.5f32, 0.3, 0.2], 10);
    let actions = [0usize, 0, 0, 0, 0, 1, 1, 1, 2, 2];
    let by_outputs: Vec<f32> =
        actions.iter().flat_map(|&action| (0..3).map(move |j| if j == action { 1.0 } else { 0.0 } - p[j])).collect();
    let inputs = x.repeat(rows);
    let mut kfac = Kfac::new(&[], &net.spec);
    kfac.observe(&net.pass(&inputs, rows, None).captures(&by_outputs), 0.01);
    kfac.refresh();
    let g: Vec<f32> = (0..9).map(|i| (1.1 * i as f32).sin()).collect();
    let natural = kfac.precondition(&g, 0.1);
    // (F + 0.1) x̃ = g, with F from the tangent, the metric p ⊙ (ż - p·ż) and the way back.
    let pass = net.pass(&x, 1, None);
    let moved = pass.tangent(&natural);
    let mean: f32 = moved.iter().zip(p).map(|(m, p)| m * p).sum();
    let by_outputs: Vec<f32> = moved.iter().zip(p).map(|(m, p)| p * (m - mean)).collect();
    let back: Vec<f32> = pass.params_gradient(&by_outputs).iter().zip(&natural).map(|(b, n)| b + 0.1 * n).collect();
    near(&back, &g);
}

#[test]
fn what_is_captured_makes_the_gradient() {
    let spec = MlpSpec::new(3, &[5, 4], 2, Activation::Tanh);
    let values: Vec<f32> = (0..spec.param_count()).map(|i| (0.9 * i as f32).sin()).collect();
    let net = Mlp { params: Params::from_vec(1, values.len(), values), spec: Arc::new(spec) };
    // Enough rows that the work is cut in two.
    for rows in [4usize, 60_000] {
        let x: Vec<f32> = (0..rows * 3).map(|i| (0.37 * i as f32).cos()).collect();
        let u: Vec<f32> = (0..rows * 2).map(|i| (0.53 * i as f32).sin() / rows as f32).collect();
        let pass = net.pass(&x, rows, None);
        let (captured, gradient) = (pass.captures(&u), pass.params_gradient(&u));
        sums_to(&captured, &gradient, Kfac::new(&[], &net.spec), &format!("{rows} rows"));
    }
}

/// `Σ ā gᵀ` over all rows and positions is the gradient, layer by layer.
fn sums_to(captured: &[Captured], gradient: &[f32], kfac: Kfac, what: &str) {
    assert_eq!((captured.len(), gradient.len()), (kfac.layers.len(), kfac.param_count()), "{what}");
    for (Layer { at, factors: [a, s] }, layer) in kfac.layers.iter().zip(captured) {
        let (mut own, mut done) = (vec![0.0; at.len()], 0);
        layer.each_block(a.n - 1, |rows| {
            let gradients = &layer.gradients[done..][..rows.len() / a.n * s.n];
            product(&mut own, a.n, s.n, rows.len() / a.n, Left::Transposed(rows), gradients, true);
            done += gradients.len();
        });
        assert_eq!(done, layer.gradients.len(), "{what}: a gradient for every row");
        let size = gradient[at.clone()].iter().fold(1e-3f32, |size, g| size.max(g.abs()));
        let wanted = own.iter().zip(&gradient[at.clone()]);
        assert!(wanted.into_iter().all(|(own, g)| (own - g).abs() < 1e-4 * size), "{what}");
    }
}

fn convolutions(input: [usize; 3], layers: &[ConvLayer], activation: Activation) -> ConvNet {
    let spec = ConvSpec::new(input, layers, activation);
    let values: Vec<f32> = (0..spec.param_count()).map(|i| 0.3 * (0.9 * i as f32).sin()).collect();
    ConvNet { params: Params::from_vec(1, values.len(), values), spec: Arc::new(spec) }
}

/// The curvature of convolutions alone, beside a layer that nobody looks at.
fn of_convolutions(net: &ConvNet, captured: &[Captured]) -> Kfac {
    let unseen = Captured { inputs: vec![0.0], gradients: vec![0.0], ..Captured::default() };
    let mut kfac = Kfac::new(&[&net.spec], &MlpSpec::new(1, &[], 1, Activation::Tanh));
    kfac.observe(&[captured, &[unseen]].concat(), 0.01);
    kfac
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 37 % 256) as u8).collect()
}

#[test]
fn a_convolution_by_hand() {
    // A 2x2 kernel over three pixels on the diagonal of a 3x3 image: patches (1 0 0 1), (0 0 1 0), (0 1 0 0), (1 0 0 1).
    let net = convolutions([3, 3, 1], &[ConvLayer::new(2, 2, 1, 0)], Activation::Identity);
    let image = [255, 0, 0, 0, 255, 0, 0, 0, 255];
    // At the four positions, two channels each.
    let by_outputs = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 0.0];
    let a = [
        [0.5, 0.0, 0.0, 0.5, 0.5],
        [0.0, 0.25, 0.0, 0.0, 0.25],
        [0.0, 0.0, 0.25, 0.0, 0.25],
        [0.5, 0.0, 0.0, 0.5, 0.5],
        [0.5, 0.25, 0.25, 0.5, 1.0],
    ];
    // A is a mean over positions, S a sum over them; both are means over images.
    for images in [1, 3] {
        let x = image.repeat(images);
        let captured = net.pass_u8(&x, images).captures(&by_outputs.repeat(images));
        let kfac = of_convolutions(&net, &captured);
        near(&kfac.layers[0].factors[0].mean, &a.concat());
        near(&kfac.layers[0].factors[1].mean, &[6.0, 1.0, 1.0, 2.0]);
    }
}

#[test]
fn a_kernel_over_the_whole_image_is_a_fully_connected_layer() {
    let net = convolutions([3, 3, 2], &[ConvLayer::new(5, 3, 1, 0)], Activation::Relu);
    let spec = MlpSpec::new(18, &[], 5, Activation::Relu).with_output_activation(Activation::Relu);
    let connected = Mlp { spec: Arc::new(spec), params: net.params.clone() };
    let (rows, pixels) = (23, bytes(23 * 18));
    let x: Vec<f32> = pixels.iter().map(|x| f32::from(*x) * (1.0 / 255.0)).collect();
    let by_outputs: Vec<f32> = (0..rows * 5).map(|i| (0.53 * i as f32).sin()).collect();
    let of_net = of_convolutions(&net, &net.pass_u8(&pixels, rows).captures(&by_outputs));
    let mut of_connected = Kfac::new(&[], &connected.spec);
    of_connected.observe(&connected.pass(&x, rows, None).captures(&by_outputs), 0.01);
    for (convolved, connected) in of_net.layers[0].factors.iter().zip(&of_connected.layers[0].factors) {
        assert_eq!(convolved.mean, connected.mean, "to the last bit");
    }
    assert!(of_net.layers[0].factors[1].mean.iter().any(|s| *s > 0.0));
}

#[test]
fn what_is_captured_of_images_makes_the_gradient() {
    let cases = [
        ([6, 7, 2], vec![ConvLayer::new(4, 3, 2, 1), ConvLayer::new(3, 2, 1, 0)], Activation::Tanh, 9),
        ([10, 5, 1], ConvSpec::small([10, 5, 1]).layers, Activation::Relu, 5),
        // SiLU keeps what goes into it; and enough images that they are cut in two.
        ([24, 24, 3], ConvSpec::small([24, 24, 3]).layers, Activation::Silu, 61),
    ];
    for (input, layers, activation, images) in cases {
        let (net, what) = (convolutions(input, &layers, activation), format!("{input:?} {images} images"));
        let x = bytes(images * input.iter().product::<usize>());
        let by_outputs: Vec<f32> = (0..images * net.spec.features()).map(|i| (0.53 * i as f32).sin()).collect();
        let run = |threads| {
            with_threads(threads, || {
                let pass = net.pass_u8(&x, images);
                (pass.outputs().to_vec(), pass.params_gradient(&by_outputs).to_vec(), pass.captures(&by_outputs))
            })
        };
        let (outputs, gradient, captured) = run(1);
        // The same bits as by a graph, and with any number of threads.
        let params = net.params.tracked();
        let node = fused_loss([net.forward_u8(x.clone(), images, params.clone())], |[out]| {
            assert_eq!(out, outputs, "{what}");
            (0.0, [by_outputs.clone()])
        });
        let [by_graph] = gradients(node, [&params]);
        assert_eq!(&by_graph[..], gradient, "{what}");
        let (others, other_gradient, other_captured) = run(2);
        assert_eq!((others, other_gradient), (outputs, gradient.clone()), "{what}");
        for (one, other) in captured.iter().zip(&other_captured) {
            assert_eq!((&one.inputs, &one.gradients), (&other.inputs, &other.gradients), "{what}");
        }
        let kfac = Kfac::new(&[&net.spec], &MlpSpec::new(1, &[], 1, Activation::Tanh));
        let kfac = Kfac { layers: kfac.layers[..layers.len()].to_vec(), count: 0 };
        sums_to(&captured, &gradient, kfac, &what);
    }
}

/// Two stacks side by side, then layers: every one has its own stretch of the parameters.
#[test]
fn stacks_and_layers_are_preconditioned_one_by_one() {
    let net = convolutions([3, 3, 1], &[ConvLayer::new(2, 2, 1, 0)], Activation::Relu);
    let layers = MlpSpec::new(16, &[3], 1, Activation::Tanh);
    let mut kfac = Kfac::new(&[&net.spec, &net.spec], &layers);
    assert_eq!(kfac.param_count(), 2 * net.spec.param_count() + layers.param_count());
    let gradient: Vec<f32> = (0..kfac.param_count()).map(|i| (1.1 * i as f32).sin()).collect();
    // Curvature 0 leaves the damping alone; in one layer it is 2 in every direction.
    kfac.refresh();
    near(&kfac.precondition(&gradient, 0.5), &gradient.iter().map(|g| 2.0 * g).collect::<Vec<_>>());
    for (factor, scale) in kfac.layers[1].factors.iter_mut().zip([1.0, 2.0]) {
        (0..factor.n).for_each(|i| factor.mean[i * factor.n + i] = scale);
    }
    kfac.refresh();
    let second = net.spec.param_count()..2 * net.spec.param_count();
    let wanted = |(i, g): (usize, &f32)| if second.contains(&i) { g / 2.5 } else { 2.0 * g };
    near(&kfac.precondition(&gradient, 0.5), &gradient.iter().enumerate().map(wanted).collect::<Vec<_>>());
    let sum: f64 = gradient[second].iter().map(|g| 2.0 * f64::from(g * g)).sum();
    assert!((kfac.quadratic(&gradient) - sum).abs() < 1e-5 * sum);
}
