//! A right factor packed once for many products, whose results may be some columns of a larger matrix.
//!
//! Every number of a result is one sum in the order of the shared dimension, however many rows a product has: a row alone, in a
//! batch or in a longer sequence gives the same bits.

use super::matmul::{Left, panel_width, product, product_in_panels};
use crate::buffers::Pooled;

/// A right factor `[k, n]`.
pub struct Packed {
    /// In panels for tiles, row-major where there are none.
    values: Pooled,
    panel: Option<usize>,
    k: usize,
    n: usize,
}

impl Packed {
    /// The matrix whose row `p` starts at `b[p · row]`.
    pub fn new(b: &[f32], row: usize, k: usize, n: usize) -> Self {
        Self::fill(k, n, |p, column, to| to.copy_from_slice(&b[p * row + column..][..to.len()]))
    }

    /// The transpose of the matrix `[n, k]` whose row `j` starts at `b[j · row]`.
    pub fn transposed(b: &[f32], row: usize, k: usize, n: usize) -> Self {
        Self::fill(k, n, |p, column, to| {
            for (j, to) in to.iter_mut().enumerate() {
                *to = b[(column + j) * row + p];
            }
        })
    }

    /// `put(row, column, values)` fills some columns of a row.
    fn fill(k: usize, n: usize, put: impl Fn(usize, usize, &mut [f32])) -> Self {
        let panel = panel_width();
        let width = panel.unwrap_or(n.max(1));
        let mut values = Pooled::new(n.div_ceil(width) * k * width);
        for (panel, target) in values.chunks_exact_mut((k * width).max(1)).enumerate() {
            let (first, width) = (panel * width, width.min(n - panel * width));
            for (p, to) in target.chunks_exact_mut(target.len() / k).enumerate() {
                put(p, first, &mut to[..width]);
            }
        }
        Self { values, panel, k, n }
    }

    /// Columns of a result.
    pub fn columns(&self) -> usize {
        self.n
    }

    /// `c = a·b` or `c += a·b`, `[m, n]`.
    pub fn product(&self, c: &mut [f32], m: usize, a: Left<'_>, accumulate: bool) {
        self.product_into(c, self.n, m, a, accumulate);
    }

    /// As [`product`](Self::product), with the rows of the result `row` values apart from the beginning of `c` on.
    pub fn product_into(&self, c: &mut [f32], row: usize, m: usize, a: Left<'_>, accumulate: bool) {
        let (k, n) = (self.k, self.n);
        if m == 0 || n == 0 || (k == 0 && accumulate) {
            return;
        }
        assert!(row >= n && c.len() >= (m - 1) * row + n && a.holds(m, k), "matrix sizes disagree");
        if self.panel.is_some() && k > 0 {
            return product_in_panels(c, row, m, n, k, a, &self.values, accumulate);
        }
        let mut together = Pooled::new(m * n);
        product(&mut together, m, n, k, a, &self.values, false);
        for (c, values) in c.chunks_mut(row).zip(together.chunks_exact(n)) {
            for (c, value) in c.iter_mut().zip(values) {
                *c = if accumulate { *c + value } else { *value };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(len: usize, step: f32) -> Vec<f32> {
        (0..len).map(|i| (i as f32 * step).sin()).collect()
    }

    #[test]
    fn products_of_parts_of_matrices_match_plain_sums() {
        for (m, k, n) in [(1, 1, 1), (3, 5, 7), (8, 16, 32), (9, 33, 65), (20, 64, 40)] {
            let (row, c_row, a_row) = (n + 3, n + 5, k + 2);
            let (b, a) = (wave(k.max(n) * (row + k), 0.7), wave(m * a_row, 0.3));
            for (transposed, accumulate) in [(false, false), (false, true), (true, true)] {
                let packed = if transposed { Packed::transposed(&b, k + 1, k, n) } else { Packed::new(&b, row, k, n) };
                let mut c = vec![0.5; m * c_row];
                let left = Left::Strided { values: &a, row: a_row, step: 1 };
                packed.product_into(&mut c, c_row, m, left, accumulate);
                for r in 0..m {
                    for j in 0..c_row {
                        let of_b = |p: usize| if transposed { b[j * (k + 1) + p] } else { b[p * row + j] };
                        let sum = || (0..k).map(|p| f64::from(a[r * a_row + p] * of_b(p))).sum::<f64>();
                        let want = match j < n {
                            true => sum() + if accumulate { 0.5 } else { 0.0 },
                            false => 0.5,
                        };
                        assert!((f64::from(c[r * c_row + j]) - want).abs() < 1e-5, "{m}x{k}x{n} at {r},{j}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_alone_and_among_others() {
        let (m, k, n) = (37, 70, 90);
        let (a, b) = (wave(m * k, 0.7), wave(k * n, 0.3));
        let packed = Packed::new(&b, n, k, n);
        let mut all = vec![0.0; m * n];
        packed.product(&mut all, m, Left::Rows(&a), false);
        for r in 0..m {
            let mut alone = vec![0.0; n];
            packed.product(&mut alone, 1, Left::Rows(&a[r * k..(r + 1) * k]), false);
            assert_eq!(alone, all[r * n..(r + 1) * n], "row {r}");
        }
    }
}
