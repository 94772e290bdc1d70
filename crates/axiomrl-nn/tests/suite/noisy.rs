//! Parameter noise: its distribution, and its gradients by differences.

use crate::reference::{normal, rng};
use axiomrl_nn::{Activation, MlpSpec, Noisy, fused_loss, gradients, leaf, sigma_gradient};
use std::collections::BTreeMap;

fn network(members: usize) -> Noisy {
    let spec = MlpSpec::new(4, &[16], 3, Activation::Tanh).with_layer_norm();
    Noisy::new(spec, members, 0.5, &mut rng(1))
}

/// ½ Σ y² under `noise`.
fn objective(net: &Noisy, noise: &[f32], x: &[f32]) -> f64 {
    let mut out = Vec::new();
    net.effective(noise).infer(x, x.len() / 4, &mut out);
    out.iter().map(|y| 0.5 * f64::from(*y) * f64::from(*y)).sum()
}

#[test]
fn gradients_of_mean_and_sigma_match_differences() {
    let net = network(2);
    let (noise, x) = (net.sample_noise(&mut rng(2)), normal(7 * 4, 3));
    let effective = net.effective(&noise);
    let params = effective.params.tracked();
    let y = effective.forward(leaf(&x, [7, 4]), params.clone(), None);
    let loss = fused_loss([y], |[y]| (y.iter().map(|y| 0.5 * y * y).sum(), [y.to_vec()]));
    let [mean_grad] = gradients(loss, [&params]);
    let mut sigma_grad = Vec::new();
    sigma_gradient(&mean_grad, &noise, &mut sigma_grad);
    for seed in 0..3 {
        let along = normal(noise.len(), 10 + seed);
        for (of_sigma, grad) in [(false, &mean_grad[..]), (true, &sigma_grad[..])] {
            let moved = |by: f32| {
                let mut net = net.clone();
                let values = if of_sigma { net.sigma.make_mut() } else { net.mean.params.make_mut() };
                values.iter_mut().zip(&along).for_each(|(v, d)| *v += by * d);
                objective(&net, &noise, &x)
            };
            let numeric = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            let exact: f64 = grad.iter().zip(&along).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
            let size: f64 = grad.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            assert!((numeric - exact).abs() < 5e-3 * size, "sigma {of_sigma}: {numeric} {exact} (norm {size})");
        }
    }
}

#[test]
fn noise_is_factorised_and_has_the_right_size() {
    let net = network(1);
    let mut rng = rng(4);
    let (mut squares, mut count) = (0.0, 0.0);
    for _ in 0..200 {
        let noise = net.sample_noise(&mut rng);
        // The first layer: 4x16 weights, 16 biases. A weight is its input's factor times its output's bias noise.
        let (weight, bias) = (&noise[..64], &noise[64..80]);
        for o in 1..16 {
            assert!((weight[o] * bias[0] - weight[0] * bias[o]).abs() < 1e-4);
        }
        assert!(noise[80..112].iter().all(|n| *n == 0.0), "LayerNorm has no noise");
        squares += weight.iter().map(|w| f64::from(w * w)).sum::<f64>();
        count += 64.0;
    }
    // E[f(ε)²] = E|ε| = √(2/π), twice.
    let want = 2.0 / std::f64::consts::PI;
    assert!((squares / count - want).abs() < 0.08, "{} {want}", squares / count);
}

#[test]
fn sigmas_start_by_fan_in_and_no_noise_means_the_mean() {
    let net = network(2);
    let sigma = net.sigma.as_slice();
    assert_eq!(sigma[0], 0.25);
    assert_eq!(sigma[net.sigma.per_member() - 1], 0.125);
    assert_eq!(sigma[80..112], [0.0; 32]);
    let still = net.effective(&vec![0.0; sigma.len()]);
    assert_eq!(still.params.as_slice(), net.mean.params.as_slice());
}

#[test]
fn files_hold_both() {
    let net = network(2);
    let mut file = BTreeMap::new();
    net.export("q", &mut |name, shape, data| {
        file.insert(name, (shape, data));
    });
    assert_eq!(file["q.sigma.1.0.weight"].0, [16, 4]);
    let mut other = Noisy::new((*net.mean.spec).clone(), 2, 0.1, &mut rng(9));
    other.import("q", &mut |name| file.get(name).cloned()).expect("the same network");
    assert_eq!(other.sigma.as_slice(), net.sigma.as_slice());
    assert_eq!(other.mean.params.as_slice(), net.mean.params.as_slice());
    file.remove("q.mean.0.0.bias");
    other.sigma.make_mut().fill(3.0);
    assert!(other.import("q", &mut |name| file.get(name).cloned()).is_err());
    assert_eq!(other.sigma.as_slice()[0], 3.0, "a refused file changes nothing");
}
