use super::*;
use crate::policy_gradient::trpo::search::full_step;
use axiomrl_core::stream;
use axiomrl_nn::{Activation, Init, Mlp, MlpSpec, Params};
use rand::RngExt;
use std::sync::Arc;

fn near(found: &[f32], wanted: &[f32]) {
    let close = found.len() == wanted.len() && found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-5);
    assert!(close, "{found:?} {wanted:?}");
}

fn network(spec: MlpSpec, params: Vec<f32>) -> Mlp {
    Mlp { spec: Arc::new(spec), params: Params::from_vec(1, params.len(), params) }
}

#[test]
fn products_by_hand() {
    let choice = Distribution::Categorical { n: 2 };
    // Logits W x + b = 0 for two actions, rows x 1 and 2, moving the first weight.
    let net = network(MlpSpec::new(1, &[], 2, Activation::Tanh), vec![0.0; 4]);
    let x = [1.0, 2.0];
    let curvature = Curvature {
        pass: net.pass(&x, 2, None),
        rows: 2,
        distribution: &choice,
        log_std: &[],
        masks: &[],
        damping: 0.0,
    };
    let product = curvature.product(&[1.0, 0.0, 0.0, 0.0]);
    near(&product.vector, &[0.625, -0.625, 0.375, -0.375]);
    assert!((product.quadratic - 0.625).abs() < 1e-6);
    let damped = Curvature { damping: 0.1, ..curvature }.product(&[1.0, 0.0, 0.0, 0.0]);
    near(&damped.vector, &[0.725, -0.625, 0.375, -0.375]);
    assert!((damped.quadratic - 0.725).abs() < 1e-6);
    // Logits (w2 tanh(w1 x), 0): the second output has no weights of its own.
    let net = network(MlpSpec::new(1, &[1], 2, Activation::Tanh), vec![0.5, 0.0, 2.0, 0.0, 0.0, 0.0]);
    let x = [1.0];
    let pass = net.pass(&x, 1, None);
    let curvature = Curvature { pass, rows: 1, distribution: &choice, log_std: &[], masks: &[], damping: 0.0 };
    let product = curvature.product(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).vector;
    near(&[product[0], product[2]], &[0.503_176, 0.147_833]);
}

#[test]
fn log_deviations_have_information_two() {
    let net = network(MlpSpec::new(1, &[], 1, Activation::Tanh), vec![0.3, 0.0]);
    let (x, gaussian) = ([1.0, -2.0], Distribution::DiagGaussian { d: 1 });
    let log_std = [0.5f32.ln()];
    let pass = net.pass(&x, 2, None);
    let curvature = Curvature { pass, rows: 2, distribution: &gaussian, log_std: &log_std, masks: &[], damping: 0.0 };
    // The mean of x²/σ² is 2.5 * 4, that of x/σ² is -0.5 * 4.
    near(&curvature.product(&[1.0, 0.0, 3.0]).vector, &[10.0, -2.0, 6.0]);
}

/// Every family: symmetric, and the derivative of the divergence's gradient.
#[test]
fn products_are_symmetric_and_match_differences() {
    let families = [
        (Distribution::Categorical { n: 3 }, vec![true, true, false, true, true, true]),
        (Distribution::MultiCategorical { nvec: vec![2, 3] }, Vec::new()),
        (Distribution::Bernoulli { n: 3 }, Vec::new()),
        (Distribution::DiagGaussian { d: 2 }, Vec::new()),
    ];
    let mut rng = stream(4, "test");
    let mut draw = |len: usize| (0..len).map(|_| rng.random_range(-1.0f32..1.0)).collect::<Vec<f32>>();
    for (family, masks) in families {
        let (x, spec) = (draw(6), MlpSpec::new(3, &[5], family.head_width(), Activation::Tanh));
        let net = Mlp::new(spec, 1, &Init::pytorch(), &mut stream(2, "init"));
        let (log_std, count) = (draw(family.log_std_width()), net.params.as_slice().len());
        let (u, v) = (draw(count + log_std.len()), draw(count + log_std.len()));
        let pass = net.pass(&x, 2, None);
        let heads = pass.outputs().to_vec();
        let curvature =
            Curvature { pass, rows: 2, distribution: &family, log_std: &log_std, masks: &masks, damping: 0.0 };
        let (with_u, with_v) = (curvature.product(&u), curvature.product(&v));
        assert!((dot(&u, &with_v.vector) - dot(&v, &with_u.vector)).abs() < 1e-5, "{family:?}");
        assert!((dot(&v, &with_v.vector) - with_v.quadratic).abs() < 1e-5, "{family:?}");
        // The gradient of the mean of KL(old ‖ moved), along v and against it.
        let gradient_at = |step: f32| {
            let (mut moved, mut deviations) = (net.clone(), log_std.clone());
            moved.params.make_mut().iter_mut().zip(&v).for_each(|(p, v)| *p += step * v);
            deviations.iter_mut().zip(&v[count..]).for_each(|(s, v)| *s += step * v);
            let pass = moved.pass(&x, 2, None);
            let (width, masks_width) = (family.head_width(), masks.len() / 2);
            let (mut by_outputs, mut by_log_std) = (vec![0.0; 2 * width], vec![0.0; log_std.len()]);
            for row in 0..2 {
                let (at, mask) = (row * width..(row + 1) * width, &masks[row * masks_width..(row + 1) * masks_width]);
                let (old, new) = (&heads[at.clone()], &pass.outputs()[at.clone()]);
                family.d_kl(old, &log_std, new, &deviations, mask, 0.5, &mut by_outputs[at], &mut by_log_std);
            }
            [pass.params_gradient(&by_outputs).to_vec(), by_log_std].concat()
        };
        let (above, below) = (gradient_at(1e-2), gradient_at(-1e-2));
        for ((a, b), product) in above.iter().zip(&below).zip(&with_v.vector) {
            let difference = (a - b) / 2e-2;
            assert!((difference - product).abs() < 2e-3, "{family:?}: {difference} {product}");
        }
    }
}

/// diag(2, 1) with a damping of 0.1.
fn by_hand(v: &[f32]) -> Product {
    let vector = vec![2.1 * v[0], 1.1 * v[1]];
    Product { quadratic: dot(&vector, v), vector }
}

#[test]
fn conjugate_gradients_and_the_step_by_hand() {
    let g = [1.0, 1.0];
    let Solution { x, residual } = conjugate_gradients(&g, 15, by_hand);
    near(&x, &[0.476_190, 0.909_091]);
    assert!(residual < 1e-10);
    let product = by_hand(&x);
    assert!((product.quadratic - 1.385_281).abs() < 1e-5);
    let step = full_step(&x, &product, 0.01).unwrap();
    near(&step, &[0.057_217_2, 0.109_232_9]);
    assert!((dot(&g, &step) - 0.166_450).abs() < 1e-5);
    let plain = conjugate_gradients(&g, 1, by_hand).x;
    near(&plain, &[0.625, 0.625]);
    let gain = dot(&g, &full_step(&plain, &by_hand(&plain), 0.01).unwrap());
    assert!((gain - 0.158_114).abs() < 1e-5);
}

#[test]
fn a_curvature_that_is_none_ends_the_search_where_it_is() {
    let flat = |v: &[f32]| Product { vector: vec![0.0; v.len()], quadratic: 0.0 };
    assert_eq!(conjugate_gradients(&[1.0, 2.0], 15, flat).x, [0.0, 0.0]);
    let broken = |v: &[f32]| Product { vector: vec![f32::NAN; v.len()], quadratic: f64::NAN };
    assert_eq!(conjugate_gradients(&[1.0, 2.0], 15, broken).x, [0.0, 0.0]);
}
