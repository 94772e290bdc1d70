//! Optimisers against Burn's and against numbers worked out by hand.

use crate::reference::{assert_close, normal};
use axiomrl_nn::{
    Adam, AdamConfig, LaProp, LaPropConfig, NnError, Optimizer, OptimizerConfig, Params, RmsProp, RmsPropConfig, Sgd,
    SgdConfig, Tensor, values,
};
use burn::module::{Module, Param};
use burn::optim::{AdamConfig as BurnAdam, AdamWConfig as BurnAdamW, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, TensorData};

#[derive(Module, Debug)]
struct Weights {
    w: Param<Tensor<1>>,
}

/// A gradient that depends on the parameters, so that errors would accumulate: Σ cᵢ·wᵢ².
fn coefficients(len: usize) -> Vec<f32> {
    normal(len, 2)
}

fn ours(len: usize, steps: usize, config: AdamConfig) -> Vec<f32> {
    let mut params = Params::from_vec(1, len, normal(len, 1));
    let mut adam = Adam::new(len, config);
    for _ in 0..steps {
        let grad: Vec<f32> = params.as_slice().iter().zip(coefficients(len)).map(|(w, c)| 2.0 * c * w).collect();
        adam.step(&mut params, &grad, 1e-2);
    }
    assert_eq!(adam.step, steps as u64);
    params.as_slice().to_vec()
}

/// Twenty steps of an optimiser of Burn's from the same parameters.
fn burns(len: usize, mut optim: ModuleOptimizer) -> Vec<f32> {
    let device = Device::default().autodiff();
    let tensor = Tensor::<1>::from_data(TensorData::new(normal(len, 1), [len]), &device);
    let factors = Tensor::<1>::from_data(TensorData::new(coefficients(len), [len]), &device);
    let mut module = Weights { w: Param::from_tensor(tensor) };
    for _ in 0..20 {
        let w = module.w.val();
        let grads = (w.clone() * w * factors.clone()).sum().backward();
        let grads = GradientsParams::from_grads(grads, &module);
        module = optim.step(1e-2, module, grads);
    }
    values(&module.w.val()).to_vec()
}

#[test]
fn adam_matches_burn_over_twenty_steps() {
    for len in [7, 1000, 70_001] {
        let config = AdamConfig { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 };
        let want = burns(len, BurnAdam::new().with_epsilon(1e-8).init());
        assert_close("Adam", &ours(len, 20, config), &want);
    }
}

#[test]
fn adamw_matches_burn() {
    let config = AdamConfig { eps: 1e-8, weight_decay: 0.1, ..AdamConfig::default() };
    let want = burns(100, BurnAdamW::new().with_epsilon(1e-8).with_weight_decay(0.1).init());
    assert_close("AdamW", &ours(100, 20, config), &want);
}

#[test]
fn a_scaled_step_equals_a_step_with_the_scaled_gradient() {
    let configs = [
        OptimizerConfig::Adam(AdamConfig::default()),
        OptimizerConfig::RmsProp(RmsPropConfig::default()),
        OptimizerConfig::Sgd(SgdConfig::default()),
    ];
    for config in configs {
        let grad = normal(50, 3);
        let halved: Vec<f32> = grad.iter().map(|g| 0.5 * g).collect();
        let mut a = Params::from_vec(1, 50, normal(50, 4));
        let mut b = a.clone();
        Optimizer::new(&config, 50).step(&mut a, &grad, 0.1, 0.5);
        Optimizer::new(&config, 50).step(&mut b, &halved, 0.1, 1.0);
        assert_eq!(a.as_slice(), b.as_slice(), "{config:?}");
    }
}

/// Two steps with gradients 2 and −1 at rate 0.1, α = 0.9, ε = 0.01, from 1.
fn two_steps(config: RmsPropConfig) -> f32 {
    let mut params = Params::from_vec(1, 1, vec![1.0]);
    let mut rmsprop = RmsProp::new(1, config);
    rmsprop.step(&mut params, &[2.0], 0.1);
    rmsprop.step(&mut params, &[-1.0], 0.1);
    params.as_slice()[0]
}

#[test]
fn rmsprop_by_hand() {
    let base = RmsPropConfig { alpha: 0.9, eps: 0.01, ..RmsPropConfig::default() };
    // Squared averages: 0.1·4 = 0.4, then 0.9·0.4 + 0.1·1 = 0.46. Averages: 0.2, then 0.9·0.2 − 0.1 = 0.08.
    let (s1, s2) = (0.4f64, 0.46f64);
    let close = |got: f32, want: f64| assert!((f64::from(got) - want).abs() < 1e-5, "{got} {want}");
    close(two_steps(base), 1.0 - 0.1 * 2.0 / (s1.sqrt() + 0.01) + 0.1 / (s2.sqrt() + 0.01));
    let inside = RmsPropConfig { eps_inside_sqrt: true, ..base };
    close(two_steps(inside), 1.0 - 0.1 * 2.0 / (s1 + 0.01).sqrt() + 0.1 / (s2 + 0.01).sqrt());
    let centred = RmsPropConfig { centred: true, ..base };
    let (c1, c2) = (s1 - 0.04, s2 - 0.0064);
    close(two_steps(centred), 1.0 - 0.1 * 2.0 / (c1.sqrt() + 0.01) + 0.1 / (c2.sqrt() + 0.01));
    let momentum = RmsPropConfig { momentum: 0.5, ..base };
    let first = 2.0 / (s1.sqrt() + 0.01);
    close(two_steps(momentum), 1.0 - 0.1 * first - 0.1 * (0.5 * first - 1.0 / (s2.sqrt() + 0.01)));
}

#[test]
fn sgd_by_hand() {
    let mut params = Params::from_vec(1, 1, vec![1.0]);
    let mut sgd = Sgd::new(1, SgdConfig { momentum: 0.9, weight_decay: 0.5 });
    sgd.step(&mut params, &[2.0], 0.1); // 2 + 0.5·1 = 2.5, so 1 − 0.25
    assert!((params.as_slice()[0] - 0.75).abs() < 1e-6);
    sgd.step(&mut params, &[0.0], 0.1); // 0.375 + 0.9·2.5 = 2.625
    assert!((params.as_slice()[0] - 0.4875).abs() < 1e-6);
}

#[test]
fn a_restored_optimiser_continues_bit_for_bit() {
    let configs = [
        OptimizerConfig::Adam(AdamConfig::default()),
        OptimizerConfig::RmsProp(RmsPropConfig { centred: true, momentum: 0.5, ..RmsPropConfig::default() }),
        OptimizerConfig::Sgd(SgdConfig { momentum: 0.9, weight_decay: 0.0 }),
    ];
    for config in configs {
        let mut params = Params::from_vec(1, 20, normal(20, 1));
        let mut first = Optimizer::new(&config, 20);
        for seed in 0..5 {
            first.step(&mut params, &normal(20, 10 + seed), 0.1, 1.0);
        }
        let mut second = Optimizer::new(&config, 20);
        second.set_step_count(first.step_count());
        for ((name, to), (other, from)) in second.buffers_mut().into_iter().zip(first.buffers()) {
            assert_eq!(name, other);
            to.copy_from_slice(from);
        }
        let mut copy = params.clone();
        first.step(&mut params, &normal(20, 99), 0.1, 1.0);
        second.step(&mut copy, &normal(20, 99), 0.1, 1.0);
        assert_eq!(params.as_slice(), copy.as_slice(), "{config:?}");
    }
    let mut adam = Adam::new(3, AdamConfig::default());
    let refused = adam.set_moments(1, vec![0.0; 3], vec![0.0; 2]);
    assert_eq!(refused, Err(NnError::WrongMomentLength { expected: 3, found: 2 }));
    assert_eq!(adam.step, 0);
}

#[test]
fn the_two_forms_of_rmsprop_begin_differently() {
    let torch = RmsPropConfig { alpha: 0.99, eps: 1e-5, ..RmsPropConfig::default() };
    let tf = RmsPropConfig { eps_inside_sqrt: true, initial_square: 1.0, ..torch };
    let path = |config: RmsPropConfig, gradients: &[f32]| {
        let mut params = Params::from_vec(1, 1, vec![0.0]);
        let mut rmsprop = RmsProp::new(1, config);
        let step = |gradient: &f32| {
            rmsprop.step(&mut params, &[*gradient], 7e-4);
            f64::from(params.as_slice()[0])
        };
        gradients.iter().map(step).collect::<Vec<f64>>()
    };
    let close = |found: Vec<f64>, wanted: &[f64]| {
        let near = found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-4 * w.abs());
        assert!(near, "{found:?} {wanted:?}");
    };
    close(path(torch, &[1.0, 0.5]), &[-0.006_999_30, -0.010_142_1]);
    close(path(tf, &[1.0, 0.5]), &[-0.000_699_997, -0.001_051_31]);
    close(path(RmsPropConfig { initial_square: 0.0, ..tf }, &[1.0, 0.5]), &[-0.006_996_50, -0.010_138_3]);
    close(path(torch, &[1e-3]), &[-0.006_363_64]);
    close(path(tf, &[1e-3]), &[-7.035_23e-7]);
}

#[test]
fn laprop_by_hand() {
    let mut params = Params::from_vec(1, 2, vec![1.0, 0.0]);
    let mut laprop = LaProp::new(2, &[2], LaPropConfig::default());
    // Clipped from norm .5 to .3·‖(1, 0)‖, so (.18, .24); brought to scale (1, 1) whatever its size, and at rate 0 nothing moves.
    laprop.step(&mut params, &[0.3, 0.4], 0.0);
    assert_eq!(params.as_slice(), [1.0, 0.0]);
    let state = Optimizer::LaProp(laprop.clone());
    let square = state.buffers().into_iter().find(|(name, _)| *name == "square").expect("there").1.to_vec();
    assert!((square[0] - 1e-3 * 0.18 * 0.18).abs() < 1e-9 && (square[1] - 1e-3 * 0.24 * 0.24).abs() < 1e-9);
    laprop.step(&mut params, &[0.3, 0.4], 0.01);
    for (got, want) in params.as_slice().iter().zip([0.99, -0.01]) {
        assert!((got - want).abs() < 1e-6, "{got} {want}");
    }
}

#[test]
fn laprop_clips_every_tensor_by_itself() {
    let square_of = |values: Vec<f32>, tensors: &[usize], grad: &[f32]| {
        let mut params = Params::from_vec(1, values.len(), values);
        let mut laprop = LaProp::new(grad.len(), tensors, LaPropConfig { beta2: 0.0, ..LaPropConfig::default() });
        laprop.step(&mut params, grad, 0.0);
        let state = Optimizer::LaProp(laprop);
        // With no memory the mean square is that of the clipped gradient.
        state.buffers()[1].1.iter().map(|v| v.sqrt()).collect::<Vec<_>>()
    };
    let close = |got: Vec<f32>, want: &[f32]| {
        got.iter()
            .zip(want)
            .for_each(|(got, want)| assert!((got - want).abs() < 1e-5 * want.max(1e-3), "{got} {want}"));
    };
    // A tensor of zeros counts as one of norm 1e-3.
    close(square_of(vec![0.0, 0.0], &[2], &[3.0, 4.0]), &[0.6 * 3e-4, 0.8 * 3e-4]);
    // Apart, the first is clipped and the second is not; as one tensor both shrink alike.
    close(square_of(vec![1.0, 10.0], &[1, 1], &[3.0, 1.0]), &[0.3, 1.0]);
    let one = (10f32.powi(2) + 1.0).sqrt() * 0.3;
    let factor = (one / 10f32.sqrt()).min(1.0);
    close(square_of(vec![1.0, 10.0], &[2], &[3.0, 1.0]), &[3.0 * factor, factor]);
    // Two members of one tensor each.
    close(square_of(vec![1.0, 10.0], &[1], &[3.0, 1.0]), &[0.3, 1.0]);
}

#[test]
fn laprop_goes_on_from_its_saved_state() {
    let config = OptimizerConfig::LaProp(LaPropConfig::default());
    let (len, tensors) = (70_001, [70_000, 1]);
    let (mut params, grad) = (Params::from_vec(1, len, normal(len, 1)), normal(len, 2));
    let mut first = Optimizer::for_tensors(&config, len, &tensors);
    (0..3).for_each(|_| first.step(&mut params, &grad, 1e-3, 0.5));
    let mut second = Optimizer::for_tensors(&config, len, &tensors);
    second.set_step_count(first.step_count());
    for ((_, to), (_, from)) in second.buffers_mut().into_iter().zip(first.buffers()) {
        to.copy_from_slice(from);
    }
    let mut again = Params::from_vec(1, len, params.as_slice().to_vec());
    first.step(&mut params, &grad, 1e-3, 1.0);
    axiomrl_nn::with_threads(1, || second.step(&mut again, &grad, 1e-3, 1.0));
    assert_eq!(params.as_slice(), again.as_slice());
}
