//! Layer normalisation of rows, and its backward pass.

use super::dispatch::simd;
use super::vector::reduce;

/// Added to the variance, PyTorch's default.
pub const EPSILON: f32 = 1e-5;

simd! {
    /// `values ← scale · (values − mean)/std + shift`, row by row.
    ///
    /// `normal` receives the normalised rows and `inverse_std` one number per row, for the backward pass; both may be empty.
    pub fn layer_norm(
        values: &mut [f32],
        scale: &[f32],
        shift: &[f32],
        epsilon: f32,
        normal: &mut [f32],
        inverse_std: &mut [f32],
    ) {
        let width = scale.len();
        let shift = &shift[..width];
        for (r, row) in values.chunks_exact_mut(width).enumerate() {
            let mean = reduce(row, row, |sum, v, _| sum + v) / width as f32;
            for v in row.iter_mut() {
                *v -= mean;
            }
            let variance = reduce(row, row, |sum, v, _| v.mul_add(v, sum)) / width as f32;
            let inverse = 1.0 / (variance + epsilon).sqrt();
            for v in row.iter_mut() {
                *v *= inverse;
            }
            if !normal.is_empty() {
                normal[r * width..(r + 1) * width].copy_from_slice(row);
                inverse_std[r] = inverse;
            }
            for ((v, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
                *v = v.mul_add(*scale, *shift);
            }
        }
    }

    /// `out ← scale · normal + shift`: LayerNorm's outputs from its normalised rows.
    pub fn scale_shift(normal: &[f32], scale: &[f32], shift: &[f32], out: &mut [f32]) {
        let width = scale.len();
        for (normal, out) in normal.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            for (((n, scale), shift), out) in normal.iter().zip(scale).zip(shift).zip(out) {
                *out = n.mul_add(*scale, *shift);
            }
        }
    }

    /// Turns the gradient of the outputs into that of the inputs, adding to the gradients of scale and shift (unless empty).
    pub fn layer_norm_backward(
        grad: &mut [f32],
        scale: &[f32],
        normal: &[f32],
        inverse_std: &[f32],
        grad_scale: &mut [f32],
        grad_shift: &mut [f32],
    ) {
        let width = scale.len();
        let rows = grad.chunks_exact_mut(width).zip(normal.chunks_exact(width));
        for ((grad, normal), inverse) in rows.zip(inverse_std) {
            if !grad_scale.is_empty() {
                let (grad_scale, grad_shift) = (&mut grad_scale[..width], &mut grad_shift[..width]);
                for (((g, n), gs), gb) in grad.iter().zip(normal).zip(grad_scale).zip(grad_shift) {
                    *gs = g.mul_add(*n, *gs);
                    *gb += *g;
                }
            }
            for (g, scale) in grad.iter_mut().zip(scale) {
                *g *= *scale;
            }
            let mean = reduce(grad, normal, |sum, g, _| sum + g) / width as f32;
            let along = reduce(grad, normal, |sum, g, n| g.mul_add(n, sum)) / width as f32;
            for (g, n) in grad.iter_mut().zip(normal) {
                *g = *inverse * (*g - mean - *n * along);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_mean_zero_and_variance_one() {
        for width in [1usize, 5, 16, 33] {
            let mut values: Vec<f32> = (0..3 * width).map(|i| (i as f32 * 1.7).sin() * 3.0 + 5.0).collect();
            let (ones, zeros) = (vec![1.0; width], vec![0.0; width]);
            layer_norm(&mut values, &ones, &zeros, EPSILON, &mut [], &mut []);
            for row in values.chunks_exact(width) {
                let mean = row.iter().sum::<f32>() / width as f32;
                let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / width as f32;
                assert!(mean.abs() < 1e-5);
                assert!(width == 1 || (variance - 1.0).abs() < 1e-3, "{variance}");
            }
        }
    }
}
