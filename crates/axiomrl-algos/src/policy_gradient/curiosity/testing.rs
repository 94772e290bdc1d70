//! For tests of bonuses: settings, steps of noise, and gradients by finite differences.

use super::{CuriosityKind, CuriositySettings, FeatureGradient, Steps};
use crate::agent::Setup;
use crate::parts::input::Vision;
use crate::policy_gradient::testing::noise;
use crate::regimes::IntrinsicStream;
use axiomrl_core::{Schedule, stream};
use axiomrl_envs::{BoxSpace, Space, Spaces};
use axiomrl_nn::Params;
use rand::RngExt;

pub fn settings(kind: CuriosityKind) -> CuriositySettings {
    CuriositySettings {
        kind,
        stream: IntrinsicStream { gamma: 0.9, weights: [2.0, 1.0] },
        two_streams: true,
        learning_rate: Schedule::Constant(1e-3),
        warm_up: 0,
        predictor_share: None,
        bonus_scale: 0.01,
        forward_loss_coef: 0.2,
        feature_gradient: FeatureGradient::Inverse,
        permute_bonus: false,
        vision: Vision::Auto,
        num_steps: 4,
        epochs: 2,
        minibatch_size: 3,
    }
}

pub fn choice() -> Space {
    Space::Discrete { n: 3 }
}

pub fn number() -> Space {
    Space::Box(BoxSpace::uniform(2, -1.0, 1.0))
}

pub fn setup(observation: Space, action: Space) -> Setup {
    Setup { num_envs: 2, seed: 3, ..Setup::new(Spaces::new(observation, action)) }
}

/// Five steps.
pub fn steps(setup: &Setup) -> Steps {
    let (rows, mut rng, widths) = (5, stream(5, "steps"), setup.spaces.obs().widths);
    let action = |rng: &mut axiomrl_envs::Rng| match setup.action_space() {
        Space::Discrete { n } => rng.random_range(0..*n) as f32,
        Space::MultiDiscrete { nvec } => rng.random_range(0..nvec[0]) as f32,
        _ => rng.random_range(-0.9..0.9),
    };
    let actions = (0..rows * setup.action_width()).map(|_| action(&mut rng)).collect();
    Steps { obs: noise(widths, rows, &mut rng), actions, next_obs: noise(widths, rows, &mut rng) }
}

/// Compares a gradient with differences of the loss, at numbers here and there in one tensor of parameters. Where a rectifier bends
/// within a step, the slopes to its left and right differ, and the gradient lies between them.
pub fn agrees<M>(
    what: &str,
    model: &mut M,
    tensor: impl Fn(&mut M) -> &mut Params,
    gradient: &[f32],
    loss: impl Fn(&M) -> f32,
) {
    let (step, count) = (5e-3, gradient.len());
    assert!(gradient.iter().any(|slope| slope.abs() > 1e-4), "{what}: nothing to compare");
    for at in (0..count).step_by(count.div_ceil(40)) {
        let before = tensor(model).as_slice()[at];
        let mut at_distance = |by: f32| {
            tensor(model).make_mut()[at] = before + by;
            f64::from(loss(model))
        };
        let [left, here, right] = [-step, 0.0, step].map(&mut at_distance);
        at_distance(0.0);
        let slopes = [here - left, right - here].map(|rise| rise / f64::from(step));
        let (low, high) = (slopes[0].min(slopes[1]), slopes[0].max(slopes[1]));
        let exact = f64::from(gradient[at]);
        // A loss of single precision is known to a few of its last digits.
        let rounding = 4.0 * f64::from(f32::EPSILON) * here.abs() / f64::from(step);
        let room = 2e-3 + 0.02 * exact.abs() + rounding;
        assert!(exact > low - room && exact < high + room, "{what}[{at}]: {low} to {high} against {exact}");
    }
}
