//! Scalar transforms and soft maxima.

/// Huber's loss: half the square up to `kappa`, linear beyond.
pub fn huber(x: f32, kappa: f32) -> f32 {
    let size = x.abs();
    if size <= kappa { 0.5 * x * x } else { kappa * (size - 0.5 * kappa) }
}

/// The derivative of [`huber`].
pub fn huber_grad(x: f32, kappa: f32) -> f32 {
    x.clamp(-kappa, kappa)
}

/// `h(x) = sign(x)(√(|x|+1)−1) + εx`: shrinks large returns, and can be inverted.
pub fn value_rescale(x: f32, eps: f32) -> f32 {
    // √(y+1)−1 written as y/(√(y+1)+1), which keeps its digits for small y.
    let size = x.abs();
    (size / ((size + 1.0).sqrt() + 1.0)).copysign(x) + eps * x
}

/// The inverse of [`value_rescale`]; `eps` must be above 0.
pub fn value_unscale(y: f32, eps: f32) -> f32 {
    // In f64: the formula subtracts nearly equal numbers.
    let (size, eps) = (f64::from(y.abs()), f64::from(eps));
    let root = ((1.0 + 4.0 * eps * (size + 1.0 + eps)).sqrt() - 1.0) / (2.0 * eps);
    ((root * root - 1.0) as f32).copysign(y)
}

/// `sign(x)·ln(1+|x|)`
pub fn symlog(x: f32) -> f32 {
    x.abs().ln_1p().copysign(x)
}

/// The inverse of [`symlog`].
pub fn symexp(x: f32) -> f32 {
    x.abs().exp_m1().copysign(x)
}

/// `τ·log Σ exp(q/τ)`, the value of the softmax policy with its entropy bonus. No overflow however small `tau` is.
pub fn soft_value(q: &[f32], tau: f32) -> f32 {
    let max = q.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if !max.is_finite() {
        return max;
    }
    max + tau * q.iter().map(|&q| ((q - max) / tau).exp()).sum::<f32>().ln()
}

/// `log(mean exp(ωq)) / ω`: between the mean (ω → 0) and the maximum (ω → ∞).
pub fn mellowmax(q: &[f32], omega: f32) -> f32 {
    soft_value(q, 1.0 / omega) - (q.len() as f32).ln() / omega
}

/// Munchausen's addition to the reward: `α·clip(τ log π(a|s), floor, 0)`, where π is the softmax of `q/τ`. `floor` is
/// negative.
pub fn munchausen_bonus(q: &[f32], action: usize, tau: f32, alpha: f32, floor: f32) -> f32 {
    alpha * (q[action] - soft_value(q, tau)).clamp(floor, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f32, b: f32) {
        assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "{a} is not {b}");
    }

    #[test]
    fn hand_numbers() {
        assert_eq!([huber(0.5, 1.0), huber(-3.0, 1.0), huber(3.0, 2.0)], [0.125, 2.5, 4.0]);
        assert_eq!([huber_grad(0.5, 1.0), huber_grad(-3.0, 1.0), huber_grad(3.0, 2.0)], [0.5, -1.0, 2.0]);
        close(value_rescale(3.0, 1e-3), 1.003);
        close(value_rescale(-8.0, 0.0), -2.0);
        close(symlog(std::f32::consts::E - 1.0), 1.0);
        close(symexp(-1.0), 1.0 - std::f32::consts::E);
        close(soft_value(&[0.0, 0.0], 2.0), 2.0 * 2.0f32.ln());
        close(mellowmax(&[3.0, 3.0, 3.0], 5.0), 3.0);
        close(mellowmax(&[0.0, 2.0], 1.0), (0.5 * (1.0 + 2.0f32.exp())).ln());
    }

    #[test]
    fn munchausen_bonus_is_the_scaled_log_probability() {
        // π(0) = 1/(1+e): τ log π = −τ ln(1+e) for q = [0, τ].
        let tau = 0.03;
        let expected = -0.9 * tau * (1.0 + std::f32::consts::E).ln();
        close(munchausen_bonus(&[0.0, tau], 0, tau, 0.9, -1.0), expected);
        assert_eq!(munchausen_bonus(&[0.0, 100.0], 0, tau, 0.9, -1.0), -0.9);
        assert_eq!(munchausen_bonus(&[0.0, 100.0], 1, tau, 0.9, -1.0), 0.0);
    }

    #[test]
    fn extreme_values_do_not_overflow() {
        assert_eq!(soft_value(&[1e6, -1e6], 1e-3), 1e6);
        assert_eq!(soft_value(&[f32::NEG_INFINITY, 2.0], 1.0), 2.0);
        assert_eq!(soft_value(&[f32::NEG_INFINITY; 2], 1.0), f32::NEG_INFINITY);
        close(mellowmax(&[1e4, 0.0], 10.0), 1e4 - 2.0f32.ln() / 10.0);
    }

    proptest! {
        #[test]
        fn inverses_invert(x in -1e5f32..1e5) {
            close(value_unscale(value_rescale(x, 1e-3), 1e-3), x);
            prop_assert!((symexp(symlog(x)) - x).abs() <= 2e-5 * (1.0 + x.abs()));
        }

        #[test]
        fn small_values_keep_their_digits(x in -1e-3f32..1e-3) {
            let exact = f64::from(x.abs());
            let exact = ((exact + 1.0).sqrt() - 1.0).copysign(f64::from(x)) + 1e-3 * f64::from(x);
            prop_assert!((f64::from(value_rescale(x, 1e-3)) - exact).abs() <= 1e-6 * exact.abs() + 1e-12);
        }

        #[test]
        fn the_huber_gradient_is_the_slope(x in -5.0f32..5.0, kappa in 0.1f32..3.0) {
            let h = 1e-2;
            let slope = (huber(x + h, kappa) - huber(x - h, kappa)) / (2.0 * h);
            prop_assert!((slope - huber_grad(x, kappa)).abs() < 1e-2);
        }

        #[test]
        fn soft_maxima_lie_where_they_should(q in prop::collection::vec(-10.0f32..10.0, 1..8), tau in 0.01f32..5.0) {
            let max = q.iter().copied().fold(f32::MIN, f32::max);
            let mean = q.iter().sum::<f32>() / q.len() as f32;
            let soft = soft_value(&q, tau);
            prop_assert!(soft >= max - 1e-4 && soft <= max + tau * (q.len() as f32).ln() + 1e-4);
            let mellow = mellowmax(&q, 1.0 / tau);
            prop_assert!(mellow >= mean - 1e-3 && mellow <= max + 1e-3);
        }
    }
}
