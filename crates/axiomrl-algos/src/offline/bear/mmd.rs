//! How far two sets of samples are apart: the maximum mean discrepancy under a kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How alike two samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// exp(-|x - y|_1 / (2 sigma)).
    Laplacian,
    /// exp(-|x - y|_2^2 / (2 sigma)).
    Gaussian,
}

/// Under the root, so that its slope stays finite where the sets agree.
const FLOOR: f64 = 1e-6;

/// The distance under a kernel of a width.
#[derive(Clone, Copy, Debug)]
pub struct Mmd {
    pub kernel: Kernel,
    pub sigma: f32,
}

impl Mmd {
    /// sqrt(mean k(x, x) + mean k(y, y) - 2 mean k(x, y) + 1e-6) of two sets of samples of `d` numbers, each sample paired with
    /// itself as well. Adds `share` of the derivative by `x` to `gradient`.
    pub fn distance(&self, x: &[f32], y: &[f32], d: usize, share: f32, gradient: &mut [f32]) -> f32 {
        let (n, m) = ((x.len() / d) as f64, (y.len() / d) as f64);
        // The slope of the squared distance, to be divided by the distance once that is known.
        let mut slope = vec![0.0; x.len()];
        let mut squared = self.mean_alike(y, y, d);
        for (x_j, slope) in x.chunks_exact(d).zip(slope.chunks_exact_mut(d)) {
            for other in x.chunks_exact(d) {
                // Each pair is met twice, from both ends: as x_j here stands for both, its slope counts twice.
                squared += self.alike(x_j, other, 2.0 / (n * n), slope) / (n * n);
            }
            for y_k in y.chunks_exact(d) {
                squared -= 2.0 / (n * m) * self.alike(x_j, y_k, -2.0 / (n * m), slope);
            }
        }
        // Nothing is negative here but by rounding.
        let distance = (squared.max(0.0) + FLOOR).sqrt();
        for (gradient, slope) in gradient.iter_mut().zip(&slope) {
            *gradient += (f64::from(share) * slope / (2.0 * distance)) as f32;
        }
        distance as f32
    }

    fn mean_alike(&self, a: &[f32], b: &[f32], d: usize) -> f64 {
        let pairs = a.chunks_exact(d).flat_map(|a| b.chunks_exact(d).map(move |b| (a, b)));
        let count = (a.len() / d * (b.len() / d)) as f64;
        pairs.map(|(a, b)| self.kernel_at(a, b)).sum::<f64>() / count
    }

    fn kernel_at(&self, x: &[f32], y: &[f32]) -> f64 {
        let apart = x.iter().zip(y).map(|(x, y)| f64::from(x - y));
        let far: f64 = match self.kernel {
            Kernel::Laplacian => apart.map(f64::abs).sum(),
            Kernel::Gaussian => apart.map(|by| by * by).sum(),
        };
        (-far / (2.0 * f64::from(self.sigma))).exp()
    }

    /// k(x, y); adds `weight` of its derivative by x.
    fn alike(&self, x: &[f32], y: &[f32], weight: f64, by_x: &mut [f64]) -> f64 {
        let (k, sigma) = (self.kernel_at(x, y), f64::from(self.sigma));
        for ((x, y), by_x) in x.iter().zip(y).zip(by_x) {
            let apart = f64::from(x - y);
            let slope = match self.kernel {
                // 0 at 0, where `signum` would have a side.
                Kernel::Laplacian if apart == 0.0 => 0.0,
                Kernel::Laplacian => 0.5 * apart.signum(),
                Kernel::Gaussian => apart,
            };
            *by_x -= weight * k * slope / sigma;
        }
        k
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(kernel: Kernel, sigma: f32, x: &[f32], y: &[f32], d: usize) -> f32 {
        Mmd { kernel, sigma }.distance(x, y, d, 0.0, &mut vec![0.0; x.len()])
    }

    fn close(found: f32, wanted: f32) {
        assert!((found - wanted).abs() < 1e-6, "{found} is not {wanted}");
    }

    #[test]
    fn distances_by_hand() {
        let of = |x: &[f32], y: &[f32]| distance(Kernel::Laplacian, 1.0, x, y, 1);
        close(of(&[0.0, 2.0], &[1.0, 1.0]), 0.686_207);
        close(of(&[0.0], &[1.0]), 0.887_096);
        close(of(&[0.3, -0.4], &[-0.4, 0.3]), 1e-3);
        // Two numbers: their distances add up. Sigma counts once, not squared.
        let two = (2.0 - 2.0 * (-3f32 / 8.0).exp() + 1e-6).sqrt();
        close(distance(Kernel::Laplacian, 4.0, &[0.0, 0.0], &[1.0, -2.0], 2), two);
        let two = (2.0 - 2.0 * (-5f32 / 8.0).exp() + 1e-6).sqrt();
        close(distance(Kernel::Gaussian, 4.0, &[0.0, 0.0], &[1.0, -2.0], 2), two);
    }

    #[test]
    fn sets_need_not_be_of_one_size() {
        // k(x, x) = 1, k(y, y) = (1 + e^-1) / 2, k(x, y) = (1 + e^-1) / 2 under a width of 1.
        let e = (-1f32).exp();
        let wanted = (1.0 + (1.0 + e) / 2.0 - (1.0 + e) + 1e-6).sqrt();
        close(distance(Kernel::Laplacian, 1.0, &[0.0], &[0.0, 2.0], 1), wanted);
    }

    #[test]
    fn slopes_agree_with_finite_differences_and_are_added() {
        let x = [0.1f32, -0.7, 0.9, 0.4, -0.3, 0.2];
        let y = [0.5f32, 0.3, -0.6, 0.8];
        for (kernel, sigma) in [(Kernel::Laplacian, 0.7), (Kernel::Gaussian, 0.5), (Kernel::Laplacian, 20.0)] {
            let mmd = Mmd { kernel, sigma };
            let mut exact = [1.0; 6];
            mmd.distance(&x, &y, 2, 0.5, &mut exact);
            for i in 0..x.len() {
                let at = |by: f32| {
                    let mut moved = x;
                    moved[i] += by;
                    mmd.distance(&moved, &y, 2, 0.0, &mut [0.0; 6])
                };
                let numeric = 1.0 + 0.5 * (at(5e-3) - at(-5e-3)) / 1e-2;
                assert!((numeric - exact[i]).abs() < 1e-3, "{kernel:?} {i}: {numeric} {}", exact[i]);
            }
            assert!(exact.iter().any(|g| (g - 1.0).abs() > 5e-3), "{exact:?}");
        }
    }
}
