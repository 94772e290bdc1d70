//! Losses and sampling.

use crate::distributions::LogStdBounds;
use crate::tensors::{leaf_on, values};
use burn::tensor::{Tensor, activation};
use std::f32::consts::{LN_2, TAU};

/// As [`fused_loss`](crate::fused_loss): `f` runs on the host, on copies of the inputs.
pub fn loss<const N: usize, const D: usize>(
    inputs: [Tensor<D>; N],
    f: impl FnOnce([&[f32]; N]) -> (f32, [Vec<f32>; N]),
) -> Tensor<1> {
    let read: [_; N] = std::array::from_fn(|i| values(&inputs[i]));
    let (value, gradients) = f(std::array::from_fn(|i| &*read[i]));
    // Linear in the inputs with the right slope, then shifted to the right value: s − s is zero whatever s is.
    let mut slope: Option<Tensor<1>> = None;
    let mut device = None;
    for (input, gradient) in inputs.into_iter().zip(&gradients) {
        let at = input.device();
        let term = (input.clone() * leaf_on(gradient, input.dims(), &at)).sum();
        slope = Some(match slope {
            Some(sum) => sum + term,
            None => term,
        });
        device = Some(at);
    }
    let (Some(slope), Some(device)) = (slope, device) else { panic!("a loss needs at least one input") };
    slope.clone() - slope.detach() + leaf_on(&[value], [1], &device)
}

/// As [`tanh_gaussian`](crate::tanh_gaussian()).
pub fn tanh_gaussian(head: Tensor<2>, eps: &[f32], bounds: LogStdBounds) -> Tensor<2> {
    let [rows, width] = head.dims();
    let d = width / 2;
    let eps = leaf_on(eps, [rows, d], &head.device());
    let mean = head.clone().slice([0..rows, 0..d]);
    let raw = head.slice([0..rows, d..2 * d]);
    let log_std = match bounds {
        LogStdBounds::Clamp(low, high) => raw.clamp(low, high),
        LogStdBounds::Tanh(low, high) => (raw.tanh() + 1.0) * (0.5 * (high - low)) + low,
    };
    let u = mean + log_std.clone().exp() * eps.clone();
    // −ln(1 − tanh²u), in a form that stays exact for large u.
    let correction = (u.clone() + activation::softplus(u.clone() * -2.0, 1.0) - LN_2) * 2.0;
    let log_prob = eps.clone() * eps * -0.5 - log_std - 0.5 * TAU.ln() + correction;
    Tensor::cat(vec![u.tanh(), log_prob.sum_dim(1)], 1)
}
