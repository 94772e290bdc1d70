//! Sampling of a squashed Gaussian in Burn's own operations.

use super::LogStdBounds;
use crate::burn::tensor::{Tensor, activation};
use crate::tensors::leaf_on;
use std::f32::consts::{LN_2, TAU};

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
