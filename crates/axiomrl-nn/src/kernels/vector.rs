//! Single passes over flat vectors.

use super::dispatch::simd;

/// Independent partial sums in a reduction: wide enough for every instruction set, fixed so that all give the same bits.
pub const LANES: usize = 16;

/// Adds the lanes in a fixed tree.
///
/// Not inlined: seen together with the loop that fills the lanes, the tree made the compiler split wide vectors into pairs.
/// Whole updates take the same time either way.
#[inline(never)]
fn sum_lanes(lanes: &[f32; LANES]) -> f32 {
    let mut lanes = *lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Σ f(a, b) over both slices.
#[inline(always)]
pub fn reduce(a: &[f32], b: &[f32], f: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (chunks_a, chunks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let (tail_a, tail_b) = (chunks_a.remainder(), chunks_b.remainder());
    for (a, b) in chunks_a.zip(chunks_b) {
        for i in 0..LANES {
            lanes[i] = f(lanes[i], a[i], b[i]);
        }
    }
    for (lane, (a, b)) in lanes.iter_mut().zip(tail_a.iter().zip(tail_b)) {
        *lane = f(*lane, *a, *b);
    }
    sum_lanes(&lanes)
}

/// The largest value, negative infinity without any; a NaN is passed over.
#[inline(always)]
pub fn largest(values: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    // Several at a time, so that none has to wait for the one before; the largest is the same in any order.
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = values.chunks_exact(LANES);
    let tail = chunks.remainder();
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = larger(lanes[i], chunk[i]);
        }
    }
    tail.iter().chain(&lanes).fold(f32::NEG_INFINITY, |m, x| larger(m, *x))
}

simd! {
    /// `target += values`.
    pub fn add_assign(target: &mut [f32], values: &[f32]) {
        for (t, v) in target.iter_mut().zip(values) {
            *t += *v;
        }
    }

    /// `values *= factor`.
    pub fn scale(values: &mut [f32], factor: f32) {
        for v in values {
            *v *= factor;
        }
    }

    /// `target += tau · (online − target)`.
    pub fn polyak(target: &mut [f32], online: &[f32], tau: f32) {
        for (t, o) in target.iter_mut().zip(online) {
            *t = tau.mul_add(*o - *t, *t);
        }
    }

    /// Σ values², accumulated in `f64` over fixed lanes. Non-finite values show in the result.
    pub fn sum_of_squares(values: &[f32]) -> f64 {
        let mut lanes = [0.0f64; LANES];
        let chunks = values.chunks_exact(LANES);
        let tail = chunks.remainder();
        for chunk in chunks {
            for i in 0..LANES {
                let v = f64::from(chunk[i]);
                lanes[i] = v.mul_add(v, lanes[i]);
            }
        }
        for (lane, v) in lanes.iter_mut().zip(tail) {
            *lane += f64::from(*v) * f64::from(*v);
        }
        lanes.iter().sum()
    }

    /// `out[row, j] = rows[row] · columns[j]` for a few columns: dot products, when a matrix tile would be mostly empty.
    pub fn dot_rows(rows: &[f32], columns: &[f32], width: usize, out: &mut [f32], accumulate: bool) {
        let count = columns.len() / width;
        for (row, out) in rows.chunks_exact(width).zip(out.chunks_exact_mut(count)) {
            for (column, out) in columns.chunks_exact(width).zip(out) {
                let dot = reduce(row, column, |sum, a, b| a.mul_add(b, sum));
                *out = if accumulate { *out + dot } else { dot };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_match_plain_sums_at_odd_lengths() {
        for len in [1usize, 15, 16, 17, 33, 100] {
            let a: Vec<f32> = (0..len).map(|i| (i as f32 * 0.7).sin()).collect();
            let b: Vec<f32> = (0..len).map(|i| (i as f32 * 0.3).cos()).collect();
            let want: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let mut out = [0.0];
            dot_rows(&a, &b, len, &mut out, false);
            assert!((f64::from(out[0]) - want).abs() < 1e-5);
            let squares: f64 = a.iter().map(|a| f64::from(*a).powi(2)).sum();
            assert!((sum_of_squares(&a) - squares).abs() < 1e-9);
        }
        assert!(sum_of_squares(&[1.0, f32::NAN]).is_nan());
        assert_eq!(sum_of_squares(&[f32::INFINITY, 1.0]), f64::INFINITY);
    }

    #[test]
    fn polyak_moves_a_fraction() {
        let mut target = [1.0, 2.0];
        polyak(&mut target, &[3.0, 2.0], 0.25);
        assert_eq!(target, [1.5, 2.0]);
    }
}
