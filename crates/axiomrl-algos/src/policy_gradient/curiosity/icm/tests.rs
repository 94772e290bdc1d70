use super::*;
use crate::policy_gradient::curiosity::CuriosityKind;
use crate::policy_gradient::curiosity::testing::{agrees, choice, number, settings, setup, steps};
use crate::policy_gradient::testing::{vector, vector_and_image};
use crate::testing::with_context;
use axiomrl_envs::Space;
use axiomrl_nn::{Grad, gradients_of};

fn icm(gradient: FeatureGradient, forward: f32, observation: Space, action: Space) -> (Icm, Steps) {
    let setup = setup(observation, action);
    let settings =
        CuriositySettings { feature_gradient: gradient, forward_loss_coef: forward, ..settings(CuriosityKind::Icm) };
    (Icm::new(&settings, &setup).unwrap(), steps(&setup))
}

fn gradients(icm: &Icm, steps: &Steps) -> Vec<Grad> {
    let (loss, _) = icm.loss(steps);
    gradients_of(loss.node, &loss.tracked)
}

#[test]
fn surprise_by_hand() {
    assert!((surprise(&[0.0, 4.0], &[1.0, 2.0], 0.01) - 0.025).abs() < 1e-8);
    // (tanh 0 - 0.5)^2 and its slope; numbers that are named exactly have none.
    let (loss, _, slope) = tanh_square(&[0.0, 0.5], &[0.5, 0.5f32.tanh()]);
    assert!((loss - 0.125).abs() < 1e-7 && (slope[0] + 0.5).abs() < 1e-7 && slope[1].abs() < 1e-7);
}

#[test]
fn three_equal_choices_are_named_by_chance() {
    let (icm, _) = icm(FeatureGradient::Inverse, 0.2, vector(), choice());
    let (loss, right, slope) = icm.inverse_loss(&[0.0; 6], &[0.0, 2.0]);
    assert!((loss - 3f32.ln()).abs() < 1e-6);
    assert_eq!(right, 0.5, "the first of equals is named");
    let third = 1.0 / 6.0;
    for (found, wanted) in slope.iter().zip([third - 0.5, third, third, third, third, third - 0.5]) {
        assert!((found - wanted).abs() < 1e-6, "{slope:?}");
    }
}

#[test]
fn every_gradient_agrees_with_finite_differences() {
    let pair = || Space::MultiDiscrete { nvec: vec![2, 2] };
    for (observation, action) in
        [(vector(), choice()), (vector(), number()), (vector(), pair()), (vector_and_image(), choice())]
    {
        let (mut icm, steps) = icm(FeatureGradient::Both, 0.3, observation, action);
        for (i, gradient) in gradients(&icm, &steps).iter().enumerate() {
            let loss = |icm: &Icm| icm.loss(&steps).0.value;
            agrees(&format!("tensor {i}"), &mut icm, |icm| icm.params().swap_remove(i), gradient, loss);
        }
    }
}

#[test]
fn features_are_moved_by_the_inverse_loss_alone_unless_asked_otherwise() {
    let (mut icm, steps) = icm(FeatureGradient::Inverse, 0.3, vector(), choice());
    let inverse = |icm: &Icm| 0.7 * icm.loss(&steps).1.inverse;
    let gradient = &gradients(&icm, &steps)[0];
    agrees("features", &mut icm, |icm| icm.params().swap_remove(0), gradient, inverse);
    let forward = |icm: &Icm| 0.3 * icm.loss(&steps).1.forward;
    let gradient = &gradients(&icm, &steps)[2];
    agrees("forward", &mut icm, |icm| icm.params().swap_remove(2), gradient, forward);
}

/// The forward loss alone, so that what moves is moved by it.
#[test]
fn the_forward_loss_leaves_the_features_alone_to_the_last_bit() {
    for (which, moves) in [(FeatureGradient::Inverse, false), (FeatureGradient::Both, true)] {
        let (mut icm, steps) = icm(which, 1.0, vector(), choice());
        let before: Vec<Vec<f32>> = icm.params().iter().map(|p| p.as_slice().to_vec()).collect();
        with_context(|context| icm.learn(&steps, 1e-3, context)).unwrap();
        let moved: Vec<bool> = icm.params().iter().zip(&before).map(|(p, old)| p.as_slice() != &old[..]).collect();
        assert_eq!(moved, [moves, false, true], "{which:?}: features, inverse, forward");
    }
}

#[test]
fn ten_times_the_loss_is_the_same_step() {
    let (mut icm, steps) = icm(FeatureGradient::Inverse, 0.2, vector(), choice());
    let found = gradients(&icm, &steps);
    let moved = |by: f32, icm: &mut Icm| {
        let adam = OptimizerConfig::Adam(AdamConfig { eps: 1e-30, ..AdamConfig::default() });
        let mut params = icm.params();
        let before: Vec<Vec<f32>> = params.iter().map(|p| p.as_slice().to_vec()).collect();
        let scaled: Vec<Vec<f32>> = found.iter().map(|g| g.iter().map(|x| by * x).collect()).collect();
        let slices: Vec<&[f32]> = scaled.iter().map(|g| &g[..]).collect();
        ParamGroup::new(&adam, &params, f32::INFINITY).step(&mut params, &slices, 1e-3);
        let after: Vec<f32> = params.iter().flat_map(|p| p.as_slice().to_vec()).collect();
        params.iter_mut().zip(before).for_each(|(p, old)| p.make_mut().copy_from_slice(&old));
        after
    };
    let (once, tenfold) = (moved(1.0, &mut icm), moved(10.0, &mut icm));
    assert!(once.iter().zip(&tenfold).all(|(a, b)| (a - b).abs() < 1e-6));
}

#[test]
fn what_is_learned_is_foreseen_and_its_action_named() {
    let (mut icm, steps) = icm(FeatureGradient::Inverse, 0.2, vector(), choice());
    for _ in 0..300 {
        with_context(|context| icm.learn(&steps, 3e-3, context)).unwrap();
    }
    let (_, report) = icm.loss(&steps);
    assert!((report.accuracy - 1.0).abs() < 1e-6 && report.inverse < 0.1, "{report:?}");
    assert!(icm.of(&steps).iter().all(|bonus| *bonus < 0.01 * 0.2), "{:?}", icm.of(&steps));
}
