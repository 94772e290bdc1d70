//! The gates of Dreamer's recurrent cells: reset, candidate and update, in blocks of which each has its own three.
//!
//! `r = σ(p_r)`, `c = tanh(r·p_c)`, `u = σ(p_u − 1)`, `h = u·c + (1 − u)·h_in`: the reset gate acts on the candidate's whole sum, and
//! the update starts out slow.

use super::dispatch::simd;
use super::math::{sigmoid, tanh};

/// Cuts a block's row into its three gates.
#[inline(always)]
fn three(row: &[f32], width: usize) -> (&[f32], &[f32], &[f32]) {
    (&row[..width], &row[width..2 * width], &row[2 * width..3 * width])
}

simd! {
    /// One step of rows of `deter` values in blocks of `width`. `sums` holds for each block its reset, candidate and update sums;
    /// `gates` receives r, c and u in the same places, `h` the new state.
    pub fn update_gates(sums: &[f32], h_in: &[f32], gates: &mut [f32], h: &mut [f32], width: usize) {
        let blocks = sums.chunks_exact(3 * width).zip(gates.chunks_exact_mut(3 * width));
        let states = h_in.chunks_exact(width).zip(h.chunks_exact_mut(width));
        for ((sums, gates), (h_in, h)) in blocks.zip(states) {
            let (sum_r, sum_c, sum_u) = three(sums, width);
            let (r, rest) = gates.split_at_mut(width);
            let (c, u) = rest.split_at_mut(width);
            // Many short loops over few slices: see `gates`.
            for k in 0..width {
                r[k] = sigmoid(sum_r[k]);
            }
            for k in 0..width {
                c[k] = tanh(r[k] * sum_c[k]);
            }
            for k in 0..width {
                u[k] = sigmoid(sum_u[k] - 1.0);
            }
            for k in 0..width {
                h[k] = u[k].mul_add(c[k] - h_in[k], h_in[k]);
            }
        }
    }

    /// Backward through one step: `d_sums` receives the gradient of the sums; `dh` turns from the gradient of `h` into the part of
    /// that of `h_in` which does not pass the sums.
    pub fn update_gates_backward(
        d_sums: &mut [f32],
        sums: &[f32],
        gates: &[f32],
        h_in: &[f32],
        dh: &mut [f32],
        width: usize,
    ) {
        let blocks = d_sums.chunks_exact_mut(3 * width).zip(sums.chunks_exact(3 * width));
        let blocks = blocks.zip(gates.chunks_exact(3 * width));
        let states = h_in.chunks_exact(width).zip(dh.chunks_exact_mut(width));
        for (((d_sums, sums), gates), (h_in, dh)) in blocks.zip(states) {
            let sum_c = &sums[width..2 * width];
            let (r, c, u) = three(gates, width);
            let (d_r, rest) = d_sums.split_at_mut(width);
            let (d_c, d_u) = rest.split_at_mut(width);
            for k in 0..width {
                let along = dh[k] * u[k] * (-c[k]).mul_add(c[k], 1.0);
                d_r[k] = along * sum_c[k] * r[k] * (1.0 - r[k]);
                d_c[k] = along * r[k];
                d_u[k] = dh[k] * (c[k] - h_in[k]) * u[k] * (1.0 - u[k]);
                dh[k] *= 1.0 - u[k];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_its_own_three_gates() {
        // Two blocks of two: reset is 0, 1, 6, 7 of the flat sums, the candidate 2, 3, 8, 9, the update 4, 5, 10, 11.
        let sums: Vec<f32> = (0..12).map(|i| i as f32 * 0.1).collect();
        let (mut gates, mut h) = ([0.0; 12], [0.0; 4]);
        update_gates(&sums, &[0.5; 4], &mut gates, &mut h, 2);
        for (k, (reset, candidate, update)) in [(0, 2, 4), (1, 3, 5), (6, 8, 10), (7, 9, 11)].into_iter().enumerate() {
            let r = sigmoid(sums[reset]);
            let c = tanh(r * sums[candidate]);
            let u = sigmoid(sums[update] - 1.0);
            assert!((h[k] - (u * c + (1.0 - u) * 0.5)).abs() < 1e-6, "{k}: {}", h[k]);
        }
    }

    #[test]
    fn the_hand_numbers_of_a_normed_cell() {
        let (mut gates, mut h) = ([0.0; 3], [0.0]);
        update_gates(&[-1.223_83, 1.223_83, 0.0], &[0.5], &mut gates, &mut h, 1);
        for (got, want) in gates.iter().chain(&h).zip([0.227_26, 0.271_17, 0.268_94, 0.438_46]) {
            assert!((got - want).abs() < 1e-5, "{got} {want}");
        }
    }

    #[test]
    fn the_backward_pass_matches_differences() {
        let (sums, h_in, dy) = ([0.3f32, -0.7, 1.2, 0.4, -0.1, 0.9], [0.4f32, -0.8], [0.6f32, -1.1]);
        let value = |sums: &[f32], h_in: &[f32]| {
            let (mut gates, mut h) = ([0.0; 6], [0.0; 2]);
            update_gates(sums, h_in, &mut gates, &mut h, 2);
            h.iter().zip(&dy).map(|(h, d)| f64::from(h * d)).sum::<f64>()
        };
        let (mut gates, mut h) = ([0.0; 6], [0.0; 2]);
        update_gates(&sums, &h_in, &mut gates, &mut h, 2);
        let (mut d_sums, mut dh) = ([0.0; 6], dy);
        update_gates_backward(&mut d_sums, &sums, &gates, &h_in, &mut dh, 2);
        for i in 0..6 {
            let moved = |by: f32| {
                let mut sums = sums;
                sums[i] += by;
                value(&sums, &h_in)
            };
            let numeric = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            assert!((numeric - f64::from(d_sums[i])).abs() < 2e-4, "{i}: {numeric} {}", d_sums[i]);
        }
        for i in 0..2 {
            let moved = |by: f32| {
                let mut h_in = h_in;
                h_in[i] += by;
                value(&sums, &h_in)
            };
            let numeric = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            assert!((numeric - f64::from(dh[i])).abs() < 2e-4);
        }
    }
}
