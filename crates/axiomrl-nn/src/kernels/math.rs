//! Elementary functions written so that loops over them vectorise: no branches, no table look-ups.
//!
//! Inputs are clamped where `f32` would overflow. NaN stays NaN, so a diverging network shows.

use std::f32::consts::{LN_2, LOG2_E};

/// Adding and subtracting 1.5·2²³ rounds to the nearest integer; the low bits of the sum are that integer.
const ROUND: f32 = 12_582_912.0;

/// ln 2 in two parts: multiples of the first (up to 2⁸) are exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// `x = n·ln 2 + r`: returns `2ⁿ` and `exp(r) − 1`.
#[inline(always)]
fn split_exp(x: f32) -> (f32, f32) {
    let shifted = x.mul_add(LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    let exponent = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let power = f32::from_bits((exponent.wrapping_add(127) as u32) << 23);
    // Taylor series: |r| <= ln2/2, so the first term left out is below 6e-9.
    let p = r.mul_add(1.0 / 5040.0, 1.0 / 720.0);
    let p = r.mul_add(p, 1.0 / 120.0);
    let p = r.mul_add(p, 1.0 / 24.0);
    let p = r.mul_add(p, 1.0 / 6.0);
    let p = r.mul_add(p, 0.5);
    (power, (r * r).mul_add(p, r))
}

/// eˣ, relative error below 2e-7; saturates at the ends of the normal range.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let (power, p) = split_exp(x.clamp(-87.0, 88.0));
    power.mul_add(p, power)
}

/// eˣ − 1 without cancellation near 0.
#[inline(always)]
pub fn exp_m1(x: f32) -> f32 {
    let (power, p) = split_exp(x.clamp(-87.0, 88.0));
    power.mul_add(p, power - 1.0)
}

/// Hyperbolic tangent, relative error below 5e-7.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    // Beyond ±9.02 the result rounds to ±1.
    let e = exp_m1(2.0 * x.clamp(-10.0, 10.0));
    e / (e + 2.0)
}

/// Logistic function.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// ln(1 + eˣ) without overflow.
#[inline(always)]
pub fn softplus(x: f32) -> f32 {
    let e = exp(-x.abs());
    // ln(1+e) = 2 atanh(s) with s = e/(2+e) <= 1/3: the odd series converges fast.
    let s = e / (2.0 + e);
    let s2 = s * s;
    let p = s2.mul_add(1.0 / 15.0, 1.0 / 13.0);
    let p = s2.mul_add(p, 1.0 / 11.0);
    let p = s2.mul_add(p, 1.0 / 9.0);
    let p = s2.mul_add(p, 1.0 / 7.0);
    let p = s2.mul_add(p, 1.0 / 5.0);
    let p = s2.mul_add(p, 1.0 / 3.0);
    let p = s2.mul_add(p, 1.0);
    (2.0 * s).mul_add(p, x.max(0.0))
}

/// Natural logarithm of a positive number that is not subnormal, relative error below 3e-7.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    // x = 2ᵉ·m with m from √½ to √2.
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits().wrapping_sub(ROOT_HALF);
    let e = ((bits as i32) >> 23) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(ROOT_HALF));
    // ln m = 2 atanh(s) with s = (m − 1)/(m + 1), |s| <= 0.172.
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let s2 = s * s;
    let p = s2.mul_add(1.0 / 9.0, 1.0 / 7.0);
    let p = s2.mul_add(p, 1.0 / 5.0);
    let p = s2.mul_add(p, 1.0 / 3.0);
    // 2s = f − s·f: written so, the largest part is exact.
    let ln_m = f - s * (f - 2.0 * s2 * p);
    let sum = e.mul_add(LN_2_HIGH, e.mul_add(LN_2_LOW, ln_m));
    // NaN and infinity stay visible.
    0.0f32.mul_add(x, sum)
}

/// ln(1 − tanh²u), exact where the direct formula saturates.
#[inline(always)]
pub fn ln_one_minus_tanh_squared(u: f32) -> f32 {
    2.0 * (LN_2 - u - softplus(-2.0 * u))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest absolute and relative error over a dense grid.
    fn worst(f: fn(f32) -> f32, exact: fn(f64) -> f64, range: f32) -> (f64, f64) {
        let (mut absolute, mut relative) = (0.0f64, 0.0f64);
        let steps = 400_000;
        for i in 0..=steps {
            let mut x = range * (2.0 * i as f32 / steps as f32 - 1.0);
            // Half of the points hug zero, where relative errors hide.
            if i % 2 == 0 {
                x = x * x * x / (range * range) * 1e-3;
            }
            let (got, want) = (f64::from(f(x)), exact(f64::from(x)));
            absolute = absolute.max((got - want).abs());
            if want != 0.0 {
                relative = relative.max((got - want).abs() / want.abs());
            }
        }
        (absolute, relative)
    }

    #[test]
    fn errors_stay_below_one_millionth() {
        assert!(worst(tanh, f64::tanh, 12.0).1 < 5e-7);
        assert!(worst(exp, f64::exp, 80.0).1 < 5e-7);
        assert!(worst(exp_m1, f64::exp_m1, 20.0).1 < 5e-7);
        assert!(worst(sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 30.0).1 < 5e-7);
        assert!(worst(softplus, |x| x.max(0.0) + (-x.abs()).exp().ln_1p(), 30.0).1 < 5e-7);
        let mut worst_ln = 0.0f64;
        for i in 1..400_000 {
            let x = (-80.0 + i as f64 * 4e-4).exp() as f32;
            let (got, want) = (f64::from(ln(x)), f64::from(x).ln());
            worst_ln = worst_ln.max((got - want).abs() / want.abs().max(1e-2));
        }
        assert!(worst_ln < 5e-7, "{worst_ln:e}");
        assert!(ln(f32::NAN).is_nan() && !ln(f32::INFINITY).is_finite() && ln(1.0) == 0.0);
        assert!(worst(ln_one_minus_tanh_squared, |u| -2.0 * u.cosh().ln(), 12.0).0 < 1e-5);
    }

    #[test]
    fn extremes_saturate_and_nan_shows() {
        assert_eq!((tanh(50.0), tanh(-50.0), tanh(0.0)), (1.0, -1.0, 0.0));
        assert!(exp(1e6).is_finite() && exp(-1e6) >= 0.0);
        assert_eq!((sigmoid(100.0), softplus(100.0)), (1.0, 100.0));
        assert!(tanh(f32::NAN).is_nan() && exp(f32::NAN).is_nan() && softplus(f32::NAN).is_nan());
    }
}
