use super::*;
use crate::kernels::activation::Activation;
use crate::mlp::Mlp;
use crate::params::Params;

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
    let mut kfac = Kfac::new(net.spec.clone());
    kfac.factors[0][0].mean.copy_from_slice(a);
    kfac.factors[0][1].mean.copy_from_slice(s);
    kfac.refresh();
    kfac
}

#[test]
fn averages_by_hand() {
    // Two rows with inputs (1, 1) and (2, 1), probabilities 1/2 and 1/2, actions 0 and 1: gradients one-hot - p.
    let net = linear(1, 2);
    let x = [1.0, 2.0];
    let captured = net.pass(&x, 2, None).captures(&[0.5, -0.5, -0.5, 0.5]);
    let mut kfac = Kfac::new(net.spec.clone());
    kfac.observe(&captured, 0.01);
    near(&kfac.factors[0][0].mean, &[2.5, 1.5, 1.5, 1.0]);
    near(&kfac.factors[0][1].mean, &[0.25, -0.25, -0.25, 0.25]);
    // From then on new ones count for their share.
    kfac.observe(&[Captured { inputs: vec![0.0, 0.0], gradients: vec![0.0; 4] }], 0.01);
    near(&kfac.factors[0][0].mean, &[2.475, 1.485, 1.485, 1.0]);
    near(&kfac.factors[0][1].mean, &[0.2475, -0.2475, -0.2475, 0.2475]);
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
    let mut kfac = Kfac::new(net.spec.clone());
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
        for (layer, Captured { inputs, gradients }) in net.spec.layers().zip(captured) {
            let ones = with_ones(&inputs, layer.inputs);
            let mut own = vec![0.0; layer.len()];
            product(&mut own, layer.inputs + 1, layer.outputs, rows, Left::Transposed(&ones), &gradients, false);
            let wanted = &gradient[place(&layer)];
            assert!(own.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-4), "{rows} rows");
        }
    }
}
