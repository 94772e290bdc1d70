//! Root-mean-square normalisation of rows (no mean is taken off, nothing is added), and its backward pass.

use super::dispatch::simd;
use super::vector::reduce;

/// Added to the mean square, as DreamerV3 has it.
pub const EPSILON: f32 = 1e-4;

simd! {
    /// `values ← scale · values/√(mean square + ε)`, row by row.
    ///
    /// `normal` receives the normalised rows and `inverse` one number per row, for the backward pass; both may be empty.
    pub fn rms_norm(values: &mut [f32], scale: &[f32], normal: &mut [f32], inverse: &mut [f32]) {
        let width = scale.len();
        for (r, row) in values.chunks_exact_mut(width).enumerate() {
            let square = reduce(row, row, |sum, v, _| v.mul_add(v, sum)) / width as f32;
            let factor = 1.0 / (square + EPSILON).sqrt();
            if normal.is_empty() {
                for (v, scale) in row.iter_mut().zip(scale) {
                    *v = *v * factor * *scale;
                }
                continue;
            }
            inverse[r] = factor;
            let normal = &mut normal[r * width..(r + 1) * width];
            for ((v, n), scale) in row.iter_mut().zip(normal).zip(scale) {
                *n = *v * factor;
                *v = *n * *scale;
            }
        }
    }

    /// `out ← scale · normal`: the outputs from the normalised rows.
    pub fn scale_rows(normal: &[f32], scale: &[f32], out: &mut [f32]) {
        let width = scale.len();
        for (normal, out) in normal.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            for ((n, scale), out) in normal.iter().zip(scale).zip(out) {
                *out = *n * *scale;
            }
        }
    }

    /// Turns the gradient of the outputs into that of the inputs, adding to the gradient of the scale (unless empty).
    pub fn rms_norm_backward(grad: &mut [f32], scale: &[f32], normal: &[f32], inverse: &[f32], grad_scale: &mut [f32]) {
        let width = scale.len();
        let rows = grad.chunks_exact_mut(width).zip(normal.chunks_exact(width));
        for ((grad, normal), inverse) in rows.zip(inverse) {
            if !grad_scale.is_empty() {
                for ((g, n), gs) in grad.iter().zip(normal).zip(&mut grad_scale[..width]) {
                    *gs = g.mul_add(*n, *gs);
                }
            }
            for (g, scale) in grad.iter_mut().zip(scale) {
                *g *= *scale;
            }
            let along = reduce(grad, normal, |sum, g, n| g.mul_add(n, sum)) / width as f32;
            for (g, n) in grad.iter_mut().zip(normal) {
                *g = *inverse * (*g - *n * along);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_mean_square_one() {
        let mut values = [3.0, -4.0, 0.03, -0.04];
        let (mut normal, mut inverse) = ([0.0; 4], [0.0; 2]);
        rms_norm(&mut values, &[1.0, 2.0], &mut normal, &mut inverse);
        let root = (12.5f32 + 1e-4).sqrt();
        assert!((normal[0] - 3.0 / root).abs() < 1e-6 && (values[1] + 8.0 / root).abs() < 1e-6);
        // ε counts where the numbers are small: √(1.25e-3 + 1e-4).
        assert!((values[2] - 0.03 / 0.036_742_3).abs() < 1e-4, "{}", values[2]);
        let mut again = [3.0, -4.0, 0.03, -0.04];
        rms_norm(&mut again, &[1.0, 2.0], &mut [], &mut []);
        assert_eq!(again, values, "the same bits when nothing is kept");
    }

    #[test]
    fn the_backward_pass_matches_differences() {
        let (x, scale, dy) = ([0.3f32, -0.8, 0.05, 1.1, 0.2], [1.0, 0.5, -2.0, 1.5, 0.7], [0.4, -0.3, 0.9, 0.2, -1.0]);
        let value = |x: &[f32], scale: &[f32]| {
            let mut y = x.to_vec();
            rms_norm(&mut y, scale, &mut [], &mut []);
            y.iter().zip(&dy).map(|(y, d)| f64::from(y * d)).sum::<f64>()
        };
        let (mut y, mut normal, mut inverse) = (x, [0.0; 5], [0.0]);
        rms_norm(&mut y, &scale, &mut normal, &mut inverse);
        let (mut grad, mut grad_scale) = (dy, [10.0; 5]);
        rms_norm_backward(&mut grad, &scale, &normal, &inverse, &mut grad_scale);
        for i in 0..5 {
            let moved = |values: &[f32; 5], by: f32| {
                let mut values = *values;
                values[i] += by;
                values
            };
            let by_x = (value(&moved(&x, 1e-3), &scale) - value(&moved(&x, -1e-3), &scale)) / 2e-3;
            let by_scale = (value(&x, &moved(&scale, 1e-3)) - value(&x, &moved(&scale, -1e-3))) / 2e-3;
            assert!((by_x - f64::from(grad[i])).abs() < 1e-3, "{by_x} {}", grad[i]);
            assert!((by_scale - f64::from(grad_scale[i] - 10.0)).abs() < 1e-3);
        }
    }
}
