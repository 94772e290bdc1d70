//! Gradient norms for clipping.

use crate::kernels::vector::sum_of_squares;

/// Euclidean norm over all gradients together, summed in a fixed order in `f64`. Non-finite gradients show in it.
pub fn global_norm(grads: &[&[f32]]) -> f32 {
    grads.iter().map(|grad| sum_of_squares(grad)).sum::<f64>().sqrt() as f32
}

/// The factor that brings a gradient of norm `norm` down to `max_norm`: 1 when it is already shorter.
pub fn clip_scale(norm: f32, max_norm: f32) -> f32 {
    if norm > max_norm { max_norm / (norm + 1e-6) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norm_and_clipping() {
        assert_eq!(global_norm(&[&[3.0], &[0.0, 4.0]]), 5.0);
        assert!(global_norm(&[&[f32::NAN]]).is_nan());
        assert_eq!(clip_scale(0.4, 0.5), 1.0);
        assert!((clip_scale(5.0, 0.5) - 0.1).abs() < 1e-6);
    }
}
