//! The forward tangent against the backward pass, finite differences and numbers by hand.

use crate::reference::rng;
use axiomrl_nn::{Activation, Init, Mlp, MlpSpec, Params, with_threads};
use rand::RngExt;
use std::sync::Arc;

fn draw(seed: u64, len: usize) -> Vec<f32> {
    let mut rng = rng(seed);
    (0..len).map(|_| rng.random_range(-1.0..1.0)).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

fn networks() -> Vec<(Mlp, usize)> {
    let mut found = Vec::new();
    for activation in [Activation::Tanh, Activation::Relu, Activation::Elu, Activation::Silu, Activation::Identity] {
        for (hidden, members, rows) in [(&[7, 5][..], 1, 3), (&[6], 3, 4), (&[], 1, 2), (&[64, 64], 1, 700)] {
            let spec = MlpSpec::new(4, hidden, 3, activation);
            let spec = if rows == 3 { spec.with_output_activation(activation) } else { spec };
            found.push((Mlp::new(spec, members, &Init::pytorch(), &mut rng(rows as u64)), rows));
        }
    }
    found
}

/// u·(J v) is (Jᵀu)·v: the tangent goes up the way that the gradient comes down.
#[test]
fn it_is_the_adjoint_of_the_backward_pass() {
    for (net, rows) in networks() {
        let members = net.params.members();
        let (x, u) = (draw(1, rows * 4), draw(2, members * rows * 3));
        let v = draw(3, net.params.as_slice().len());
        let pass = net.pass(&x, rows, None);
        let (up, down) = (dot(&u, &pass.tangent(&v)), dot(&pass.params_gradient(&u), &v));
        assert!((up - down).abs() < 1e-4 * (1.0 + up.abs()), "{:?}: {up} and {down}", net.spec);
    }
}

#[test]
fn it_matches_finite_differences() {
    for (net, rows) in networks().into_iter().filter(|(net, _)| net.spec.activation != Activation::Relu) {
        let (x, v) = (draw(1, rows * 4), draw(3, net.params.as_slice().len()));
        // Short: the second derivative of ELU jumps, and wide layers move far.
        let step = 2e-3;
        let moved = |by: f32| {
            let mut moved = net.clone();
            moved.params.make_mut().iter_mut().zip(&v).for_each(|(p, v)| *p += by * v);
            let mut out = Vec::new();
            moved.infer(&x, rows, &mut out);
            out
        };
        let (above, below, tangent) = (moved(step), moved(-step), net.pass(&x, rows, None).tangent(&v).to_vec());
        for ((a, b), t) in above.iter().zip(&below).zip(&tangent) {
            let difference = (a - b) / (2.0 * step);
            assert!((difference - t).abs() < 1e-2 * (1.0 + t.abs()), "{:?}: {difference} and {t}", net.spec);
        }
    }
}

#[test]
fn two_layers_by_hand() {
    // w2 tanh(w1 x) at x 1, w (0.5, 2): along w1 it moves by 2 (1 - tanh² 0.5), along w2 by tanh 0.5.
    let spec = MlpSpec::new(1, &[1], 1, Activation::Tanh);
    let net = Mlp { spec: Arc::new(spec), params: Params::from_vec(1, 4, vec![0.5, 0.0, 2.0, 0.0]) };
    let pass = net.pass(&[1.0], 1, None);
    assert!((pass.tangent(&[1.0, 0.0, 0.0, 0.0])[0] - 1.572_895_4).abs() < 1e-5);
    assert!((pass.tangent(&[0.0, 0.0, 1.0, 0.0])[0] - 0.462_117_17).abs() < 1e-5);
    assert!((pass.tangent(&[0.0, 0.0, 0.0, 3.0])[0] - 3.0).abs() < 1e-6);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let net = Mlp::new(MlpSpec::new(8, &[128, 128], 4, Activation::Tanh), 1, &Init::pytorch(), &mut rng(5));
    let (x, v) = (draw(1, 1024 * 8), draw(2, net.params.as_slice().len()));
    let with = |threads| with_threads(threads, || net.pass(&x, 1024, None).tangent(&v).to_vec());
    assert_eq!(with(1), with(2));
}
