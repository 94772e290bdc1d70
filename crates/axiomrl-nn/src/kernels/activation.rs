//! Bias, activations and their derivatives, row by row.

use super::dispatch::simd;
use super::math::{exp_m1, sigmoid, tanh};
use serde::{Deserialize, Serialize};

/// Element-wise non-linearity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// x
    Identity,
    /// max(x, 0)
    Relu,
    /// tanh(x)
    Tanh,
    /// x where positive, exp(x) − 1 elsewhere
    Elu,
    /// x·sigmoid(x)
    Silu,
}

/// Comparison written so that NaN passes through: a diverging network must show.
#[inline(always)]
fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

#[inline(always)]
fn elu(x: f32) -> f32 {
    if x > 0.0 { x } else { exp_m1(x) }
}

/// Columns that are walked together down the rows.
const BLOCK: usize = 16;

/// Rows up to this wide are walked by blocks of columns, whose bias and sums stay in registers: a row alone is too short a loop.
const NARROW: usize = 64;

/// Applies `f(value, bias)` over rows as wide as `bias`.
#[inline(always)]
fn map_rows(values: &mut [f32], bias: &[f32], f: impl Fn(f32, f32) -> f32) {
    let width = bias.len();
    if width <= NARROW && width.is_multiple_of(BLOCK) {
        for (block, bias) in bias.as_chunks::<BLOCK>().0.iter().enumerate() {
            for row in values.chunks_exact_mut(width) {
                let Some(row) = row[block * BLOCK..].first_chunk_mut::<BLOCK>() else { break };
                for i in 0..BLOCK {
                    row[i] = f(row[i], bias[i]);
                }
            }
        }
        return;
    }
    for row in values.chunks_exact_mut(width) {
        for (v, b) in row.iter_mut().zip(bias) {
            *v = f(*v, *b);
        }
    }
}

/// `grad ← grad · f(saved)`, and `sums += grad` column by column when there are sums, from the first row to the last.
#[inline(always)]
fn scale_rows(grad: &mut [f32], saved: &[f32], width: usize, sums: &mut [f32], f: impl Fn(f32) -> f32) {
    if sums.is_empty() {
        for (g, s) in grad.iter_mut().zip(saved) {
            *g *= f(*s);
        }
        return;
    }
    let sums = &mut sums[..width];
    if width <= NARROW && width.is_multiple_of(BLOCK) {
        for (block, total) in sums.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let mut sums = *total;
            for (grad, saved) in grad.chunks_exact_mut(width).zip(saved.chunks_exact(width)) {
                let at = block * BLOCK;
                let (Some(grad), Some(saved)) =
                    (grad[at..].first_chunk_mut::<BLOCK>(), saved[at..].first_chunk::<BLOCK>())
                else {
                    break;
                };
                for i in 0..BLOCK {
                    let scaled = grad[i] * f(saved[i]);
                    grad[i] = scaled;
                    sums[i] += scaled;
                }
            }
            *total = sums;
        }
        return;
    }
    for (grad, saved) in grad.chunks_exact_mut(width).zip(saved.chunks_exact(width)) {
        for ((g, s), sum) in grad.iter_mut().zip(saved).zip(sums.iter_mut()) {
            let scaled = *g * f(*s);
            *g = scaled;
            *sum += scaled;
        }
    }
}

simd! {
    /// `values ← activation(values + bias)` over rows as wide as `bias`.
    pub fn bias_activation(values: &mut [f32], bias: &[f32], activation: Activation) {
        match activation {
            Activation::Identity => map_rows(values, bias, |v, b| v + b),
            Activation::Relu => map_rows(values, bias, |v, b| relu(v + b)),
            Activation::Tanh => map_rows(values, bias, |v, b| tanh(v + b)),
            Activation::Elu => map_rows(values, bias, |v, b| elu(v + b)),
            Activation::Silu => map_rows(values, bias, |v, b| (v + b) * sigmoid(v + b)),
        }
    }

    /// `values ← activation(values)`.
    pub fn activate(values: &mut [f32], activation: Activation) {
        match activation {
            Activation::Identity => {}
            Activation::Relu => values.iter_mut().for_each(|v| *v = relu(*v)),
            Activation::Tanh => values.iter_mut().for_each(|v| *v = tanh(*v)),
            Activation::Elu => values.iter_mut().for_each(|v| *v = elu(*v)),
            Activation::Silu => values.iter_mut().for_each(|v| *v *= sigmoid(*v)),
        }
    }

    /// `grad ← grad · activation'`, adding the column sums to `sums` unless that is empty.
    ///
    /// `saved` holds the activation's outputs, except for SiLU, which needs its inputs.
    pub fn activation_backward(grad: &mut [f32], saved: &[f32], width: usize, sums: &mut [f32], activation: Activation) {
        match activation {
            Activation::Identity => add_columns(grad, sums),
            Activation::Relu => scale_rows(grad, saved, width, sums, |y| if y > 0.0 { 1.0 } else { 0.0 }),
            Activation::Tanh => scale_rows(grad, saved, width, sums, |y| (-y).mul_add(y, 1.0)),
            Activation::Elu => scale_rows(grad, saved, width, sums, |y| if y > 0.0 { 1.0 } else { y + 1.0 }),
            Activation::Silu => scale_rows(grad, saved, width, sums, |x| {
                let s = sigmoid(x);
                (x * s).mul_add(1.0 - s, s)
            }),
        }
    }

    /// Adds each row of `grad` to `sums`; nothing when `sums` is empty.
    pub fn column_sums(grad: &[f32], sums: &mut [f32]) {
        add_columns(grad, sums);
    }
}

#[inline(always)]
fn add_columns(grad: &[f32], sums: &mut [f32]) {
    if sums.is_empty() {
        return;
    }
    for row in grad.chunks_exact(sums.len()) {
        for (sum, g) in sums.iter_mut().zip(row) {
            *sum += *g;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Activation; 5] =
        [Activation::Identity, Activation::Relu, Activation::Tanh, Activation::Elu, Activation::Silu];

    #[test]
    fn derivatives_match_differences() {
        for activation in ALL {
            for &x in &[-3.1f32, -0.7, -0.01, 0.02, 0.9, 4.2] {
                let value = |x: f32| {
                    let mut v = [x - 0.25];
                    bias_activation(&mut v, &[0.25], activation);
                    v[0]
                };
                let numeric = (value(x + 1e-3) - value(x - 1e-3)) / 2e-3;
                let saved = if activation == Activation::Silu { x } else { value(x) };
                let (mut grad, mut sums) = ([2.0f32], [10.0f32]);
                activation_backward(&mut grad, &[saved], 1, &mut sums, activation);
                assert!((grad[0] - 2.0 * numeric).abs() < 2e-3, "{activation:?} at {x}: {} {numeric}", grad[0]);
                assert!((sums[0] - 10.0 - grad[0]).abs() < 1e-6);
            }
        }
    }

    /// Rows of a few blocks of columns take another way than wider ones and those of odd widths.
    #[test]
    fn every_width_gives_the_same_bits_as_columns_one_by_one() {
        for activation in ALL {
            for width in [1usize, 15, 16, 32, 48, 64, 80, 100] {
                let rows = 7;
                let wave = |len: usize, step: f32| (0..len).map(|i| (i as f32 * step).sin()).collect::<Vec<_>>();
                let (values, saved) = (wave(rows * width, 0.7), wave(rows * width, 0.3));
                let (bias, start) = (wave(width, 1.1), wave(width, 1.7));
                let (mut forward, mut backward, mut sums) = (values.clone(), values.clone(), start.clone());
                bias_activation(&mut forward, &bias, activation);
                activation_backward(&mut backward, &saved, width, &mut sums, activation);
                for column in 0..width {
                    let of = |all: &[f32]| all.iter().skip(column).step_by(width).copied().collect::<Vec<f32>>();
                    let (mut alone, mut grad, mut sum) = (of(&values), of(&values), [start[column]]);
                    bias_activation(&mut alone, &bias[column..=column], activation);
                    activation_backward(&mut grad, &of(&saved), 1, &mut sum, activation);
                    assert_eq!(of(&forward), alone, "{activation:?}, {width} columns");
                    assert_eq!(of(&backward), grad, "{activation:?}, {width} columns");
                    assert_eq!(sums[column], sum[0], "{activation:?}, {width} columns");
                }
            }
        }
    }

    #[test]
    fn activate_agrees_with_a_zero_bias_and_nan_shows() {
        for activation in ALL {
            let mut a: Vec<f32> = (-20..20).map(|i| i as f32 * 0.3).collect();
            let mut b = a.clone();
            activate(&mut a, activation);
            bias_activation(&mut b, &[0.0; 40], activation);
            assert_eq!(a, b);
            let mut n = [f32::NAN];
            activate(&mut n, activation);
            assert!(n[0].is_nan(), "{activation:?}");
        }
    }
}
