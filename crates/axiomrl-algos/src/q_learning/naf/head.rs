//! The arithmetic of NAF's output row: value, best action and the curvature of the advantage.
//!
//! A row holds `[V, m_1..m_d, l_11, l_21, l_22, l_31, ...]`. The best action is `mu = tanh(m)`; the numbers `l` fill a
//! lower triangle `L` row by row, with a positive diagonal. The advantage of `a` is `-1/2 |L^T (a - mu)|^2`: the
//! precision matrix `P = L L^T` is never formed.

use axiomrl_nn::math;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What keeps the diagonal of `L` positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Diagonal {
    /// `exp(l)`, with `l` cut to [-5, 5].
    Exp,
    /// `ln(1 + exp(l)) + 0.001`: grows more slowly.
    Softplus,
}

impl Diagonal {
    /// The entry and its derivative.
    fn apply(self, raw: f32) -> (f32, f32) {
        match self {
            Self::Exp => {
                let entry = math::exp(raw.clamp(-5.0, 5.0));
                (entry, if raw.abs() <= 5.0 { entry } else { 0.0 })
            }
            Self::Softplus => (math::softplus(raw) + 1e-3, math::sigmoid(raw)),
        }
    }
}

/// Reads and differentiates output rows for `d` actions.
#[derive(Clone, Copy, Debug)]
pub struct NafHead {
    pub d: usize,
    pub diagonal: Diagonal,
}

/// Where entry (`row`, `column`) of the triangle lies.
fn entry(row: usize, column: usize) -> usize {
    row * (row + 1) / 2 + column
}

impl NafHead {
    /// Numbers per output row.
    pub fn outputs(&self) -> usize {
        1 + self.d + self.d * (self.d + 1) / 2
    }

    pub fn best_action(&self, out: &[f32], action: &mut [f32]) {
        for (action, raw) in action.iter_mut().zip(&out[1..=self.d]) {
            *action = math::tanh(*raw);
        }
    }

    /// Entry (`row`, `column`) of `L`, for `column <= row`.
    fn l(&self, out: &[f32], row: usize, column: usize) -> f32 {
        let raw = out[1 + self.d + entry(row, column)];
        if row == column { self.diagonal.apply(raw).0 } else { raw }
    }

    /// `Q(s, a) = V - 1/2 |L^T (a - mu)|^2`; writes its derivative by the output row.
    pub fn q_value(&self, out: &[f32], action: &[f32], gradient: &mut [f32]) -> f32 {
        let d = self.d;
        let (before_triangle, triangle) = gradient.split_at_mut(1 + d);
        let away = |i: usize| action[i] - math::tanh(out[1 + i]);
        before_triangle.fill(0.0);
        before_triangle[0] = 1.0;
        let mut q = out[0];
        for column in 0..d {
            let y: f32 = (column..d).map(|row| self.l(out, row, column) * away(row)).sum();
            q -= 0.5 * y * y;
            for row in column..d {
                before_triangle[1 + row] += y * self.l(out, row, column);
                triangle[entry(row, column)] = -y * away(row);
            }
        }
        for i in 0..d {
            let mean = math::tanh(out[1 + i]);
            before_triangle[1 + i] *= 1.0 - mean * mean;
            triangle[entry(i, i)] *= self.diagonal.apply(out[1 + d + entry(i, i)]).1;
        }
        q
    }

    /// Solves `L^T x = z` in place: noise with the precision of the advantage, small where Q is sharp.
    pub fn shape_noise(&self, out: &[f32], z: &mut [f32]) {
        for column in (0..self.d).rev() {
            let known: f32 = (column + 1..self.d).map(|row| self.l(out, row, column) * z[row]).sum();
            z[column] = (z[column] - known) / self.l(out, column, column);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::random::{normal, uniform};

    /// Many random heads of 1 to 4 actions with both diagonals.
    fn each_head(mut check: impl FnMut(NafHead, &[f32], &mut axiomrl_core::Rng)) {
        let mut rng = axiomrl_core::stream(1, "test");
        for round in 0..400 {
            let diagonal = if round % 2 == 0 { Diagonal::Exp } else { Diagonal::Softplus };
            let head = NafHead { d: 1 + round % 4, diagonal };
            let out: Vec<f32> = (0..head.outputs()).map(|_| 1.5 * normal(&mut rng)).collect();
            check(head, &out, &mut rng);
        }
    }

    #[test]
    fn two_actions_by_hand() {
        // L = [[2, 0], [3, 1/2]], so P = L L^T = [[4, 6], [6, 9.25]]; mu = 0; V = 10.
        let head = NafHead { d: 2, diagonal: Diagonal::Exp };
        let out = [10.0, 0.0, 0.0, 2f32.ln(), 3.0, 0.5f32.ln()];
        let mut gradient = [9.0; 6];
        // u - mu = (1, -1): -1/2 (4 - 12 + 9.25) = -0.625.
        let q = head.q_value(&out, &[1.0, -1.0], &mut gradient);
        assert!((q - 9.375).abs() < 1e-5, "{q}");
        // dQ/dmu = P (u - mu) = (4 - 6, 6 - 9.25), and tanh has slope 1 at 0. With y = L^T (u - mu) = (-1, -1/2), the slope of an
        // entry is -y_column * (u - mu)_row, and that of the diagonal is times the entry.
        let wanted = [1.0, -2.0, -3.25, 1.0 * 2.0, -1.0, -0.5 * 0.5];
        assert!(gradient.iter().zip(wanted).all(|(g, w)| (g - w).abs() < 1e-4), "{gradient:?}");
    }

    #[test]
    fn q_is_largest_at_the_mean_and_equals_the_value_there() {
        each_head(|head, out, rng| {
            let (mut best, mut gradient) = (vec![0.0; head.d], vec![0.0; head.outputs()]);
            head.best_action(out, &mut best);
            assert!(best.iter().all(|a| a.abs() <= 1.0));
            assert_eq!(head.q_value(out, &best, &mut gradient), out[0]);
            // With a value of 0, rounding cannot hide the smallest fall.
            let mut level = out.to_vec();
            level[0] = 0.0;
            for _ in 0..10 {
                let other: Vec<f32> = (0..head.d).map(|_| 2.0 * uniform(rng) as f32 - 1.0).collect();
                assert!(head.q_value(&level, &other, &mut gradient) < 0.0);
            }
        });
    }

    #[test]
    fn the_precision_is_positive_definite_and_gives_the_same_q() {
        each_head(|head, out, rng| {
            let d = head.d;
            let l = |i: usize, j: usize| if j <= i { f64::from(head.l(out, i, j)) } else { 0.0 };
            let p = |i: usize, j: usize| (0..d).map(|k| l(i, k) * l(j, k)).sum::<f64>();
            let (mut best, x) = (vec![0.0; d], (0..d).map(|_| normal(rng)).collect::<Vec<_>>());
            let mut form = 0.0;
            for i in 0..d {
                for j in 0..d {
                    form += f64::from(x[i]) * p(i, j) * f64::from(x[j]);
                }
            }
            assert!(form > 0.0);
            head.best_action(out, &mut best);
            let action: Vec<f32> = best.iter().zip(&x).map(|(b, x)| b + x).collect();
            let q = f64::from(head.q_value(out, &action, &mut vec![0.0; head.outputs()]));
            let expected = f64::from(out[0]) - 0.5 * form;
            assert!((q - expected).abs() < 1e-3 * (1.0 + form), "{q} {expected}");
        });
    }

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        each_head(|head, out, rng| {
            let action: Vec<f32> = (0..head.d).map(|_| 2.0 * uniform(rng) as f32 - 1.0).collect();
            let mut gradient = vec![0.0; head.outputs()];
            head.q_value(out, &action, &mut gradient);
            for i in 0..out.len() {
                let shifted = |by: f32| {
                    let mut moved = out.to_vec();
                    moved[i] += by;
                    f64::from(head.q_value(&moved, &action, &mut vec![0.0; head.outputs()]))
                };
                let numeric = (shifted(2e-3) - shifted(-2e-3)) / 4e-3;
                let scale = 1.0 + numeric.abs() + f64::from(out[0].abs());
                let curvature = f64::from(gradient.iter().fold(0.0f32, |m, g| m.max(g.abs())));
                assert!((numeric - f64::from(gradient[i])).abs() < 2e-2 * (scale + curvature), "{i}: {numeric}");
            }
        });
    }

    #[test]
    fn shaped_noise_undoes_the_precision() {
        each_head(|head, out, rng| {
            let z: Vec<f32> = (0..head.d).map(|_| normal(rng)).collect();
            let mut x = z.clone();
            head.shape_noise(out, &mut x);
            for column in 0..head.d {
                let back: f32 = (column..head.d).map(|row| head.l(out, row, column) * x[row]).sum();
                let size: f32 = (column..head.d).map(|row| (head.l(out, row, column) * x[row]).abs()).sum();
                assert!((back - z[column]).abs() < 1e-4 * (1.0 + size), "{back} {}", z[column]);
            }
        });
    }
}
