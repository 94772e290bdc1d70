//! Several draws of a squashed Gaussian for every observation, before and after the tanh.

use crate::export::{Graph, Value};

/// Bounds of the logarithm of the policy's spread.
const LOG_STD: (f32, f32) = (-5.0, 2.0);

/// Draws of every row, beside one another.
pub struct Draws {
    /// mean + std * noise
    pub raw: Vec<f32>,
    /// tanh of it
    pub action: Vec<f32>,
}

/// As [`draw`] with the same noise `[each, d]` for every row, as nodes of a graph: actions `[rows, each, d]`.
pub fn draw_onnx(graph: &mut Graph, outputs: Value, noise: &[f32], d: usize, each: usize) -> Value {
    let mut half = |part| {
        let half = graph.columns(outputs, part, 2 * d);
        graph.reshape(half, &[-1, 1, d as i64])
    };
    let (mean, log_std) = (half(0..d), half(d..2 * d));
    let log_std = graph.clip(log_std, LOG_STD.0, LOG_STD.1);
    let (std, noise) = (graph.exp(log_std), graph.floats(&[1, each, d], noise));
    let away = graph.mul(std, noise);
    let raw = graph.add(mean, away);
    graph.tanh(raw)
}

/// Draws from rows of outputs, `d` means and then as many log-spreads: one for each `d` numbers of `noise`, `each` for every row.
pub fn draw(outputs: &[f32], noise: &[f32], d: usize, each: usize) -> Draws {
    let mut raw = Vec::with_capacity(noise.len());
    for (out, noise) in outputs.chunks_exact(2 * d).zip(noise.chunks_exact(each * d)) {
        let std: Vec<f32> = out[d..].iter().map(|raw| raw.clamp(LOG_STD.0, LOG_STD.1).exp()).collect();
        for noise in noise.chunks_exact(d) {
            raw.extend((0..d).map(|i| out[i] + std[i] * noise[i]));
        }
    }
    Draws { action: raw.iter().map(|u| u.tanh()).collect(), raw }
}

/// The derivative by the outputs, given that by the draws before their tanh.
pub fn by_outputs(outputs: &[f32], noise: &[f32], by_raw: &[f32], d: usize, each: usize) -> Vec<f32> {
    let mut by = vec![0.0; outputs.len()];
    let rows = by.chunks_exact_mut(2 * d).zip(outputs.chunks_exact(2 * d));
    for ((by, out), of_row) in rows.zip(noise.chunks_exact(each * d).zip(by_raw.chunks_exact(each * d))) {
        for (at, (noise, by_raw)) in of_row.0.iter().zip(of_row.1).enumerate() {
            let (i, log_std) = (at % d, out[d + at % d]);
            by[i] += by_raw;
            if (LOG_STD.0..=LOG_STD.1).contains(&log_std) {
                by[d + i] += by_raw * log_std.exp() * noise;
            }
        }
    }
    by
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of an action of two numbers, and two draws each.
    const OUT: [f32; 8] = [0.1, -0.2, -1.0, 0.3, 0.7, 0.4, -0.5, -0.8];
    const NOISE: [f32; 8] = [0.5, -0.4, 0.2, 0.1, -0.3, 0.5, 0.4, -0.2];

    #[test]
    fn draws_by_hand() {
        let drawn = draw(&OUT, &NOISE, 2, 2);
        let wanted = 0.1 + (-1f32).exp() * 0.2;
        assert!((drawn.raw[2] - wanted).abs() < 1e-6 && (drawn.action[2] - wanted.tanh()).abs() < 1e-6);
        let wanted = 0.4 + (-0.8f32).exp() * -0.2;
        assert!((drawn.raw[7] - wanted).abs() < 1e-6);
        // The spread is cut at its bounds.
        let wide = draw(&[0.0, 9.0, 0.0, -9.0], &[0.1, 0.1], 1, 1);
        assert!((wide.raw[0] - 0.1 * 2f32.exp()).abs() < 1e-5 && (wide.raw[1] - 0.1 * (-5f32).exp()).abs() < 1e-6);
    }

    #[test]
    fn slopes_agree_with_finite_differences_and_vanish_at_the_bounds() {
        let by_raw = [0.3, -0.1, 0.8, 0.5, -0.7, 0.2, 0.4, 0.9];
        let at = |out: &[f32]| -> f32 { draw(out, &NOISE, 2, 2).raw.iter().zip(by_raw).map(|(u, by)| u * by).sum() };
        let exact = by_outputs(&OUT, &NOISE, &by_raw, 2, 2);
        for i in 0..OUT.len() {
            let moved = |by: f32| {
                let mut out = OUT;
                out[i] += by;
                at(&out)
            };
            let numeric = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            assert!((numeric - exact[i]).abs() < 1e-3, "{i}: {numeric} {}", exact[i]);
        }
        let mut out = OUT;
        out[2] = 2.5;
        let by = by_outputs(&out, &NOISE, &by_raw, 2, 2);
        assert_eq!((by[2], by[3]), (0.0, exact[3]));
    }
}
