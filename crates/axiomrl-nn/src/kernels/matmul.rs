//! Matrix products: small ones and those of convolutions by tiles of our own, other large ones by `gemm`, serially.
//!
//! The choice depends on the sizes alone, so a product always gives the same bits.

use super::dispatch::simd;
use super::transpose::transpose;
use super::vector::dot_rows;
use crate::buffers::Pooled;

/// The left factor of a product, `m` rows by `k`.
#[derive(Clone, Copy)]
pub enum Left<'a> {
    /// Row-major `[m, k]`.
    Rows(&'a [f32]),
    /// Stored as `[k, m]`, used transposed.
    Transposed(&'a [f32]),
    /// Row `r` has `values[r * row + p * step]` at place `p`: some rows or columns of a larger matrix.
    Strided { values: &'a [f32], row: usize, step: usize },
    /// Row `r` has `values[rows[r] + steps[p]]` at place `p`: the patches of an image, without copying them.
    Gathered { values: &'a [f32], rows: &'a [u32], steps: &'a [u32] },
}

impl Left<'_> {
    /// Whether every one of `m` rows of `k` is there.
    pub fn holds(&self, m: usize, k: usize) -> bool {
        match self {
            Left::Rows(a) | Left::Transposed(a) => a.len() == m * k,
            Left::Strided { values, row, step } => m * k == 0 || (m - 1) * row + (k - 1) * step < values.len(),
            Left::Gathered { values, rows, steps } => {
                rows.len() == m && steps.len() == k && (m * k == 0 || furthest(rows) + furthest(steps) < values.len())
            }
        }
    }
}

simd! {
    /// The largest place in a table.
    fn furthest(table: &[u32]) -> usize {
        table.iter().fold(0, |furthest, at| furthest.max(*at)) as usize
    }
}

/// Results this narrow leave a tile mostly empty: long rows are better served by dot products.
const NARROW: usize = 2;
const LONG: usize = 128;

/// `c = a·b` (or `c += a·b`), with `b` `[k, n]` and `c` `[m, n]` row-major.
pub fn product(c: &mut [f32], m: usize, n: usize, k: usize, a: Left<'_>, b: &[f32], accumulate: bool) {
    // The kernels below trust these lengths.
    assert!(c.len() == m * n && a.holds(m, k) && b.len() == k * n, "matrix sizes disagree");
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        if !accumulate {
            c.fill(0.0);
        }
        return;
    }
    match a {
        Left::Rows(a) if n <= NARROW && k >= LONG => return narrow(c, n, k, a, b, accumulate),
        // A small transposed result would only be flipped into another narrow one.
        Left::Transposed(a) if n <= NARROW && m > NARROW && k >= 8 => {
            return narrow_transposed(c, m, n, k, a, b, accumulate);
        }
        _ => {}
    }
    let by = match a {
        Left::Strided { .. } | Left::Gathered { .. } => Tiles::Packed,
        _ if fits_tiles(m, n, k) => Tiles::Plain,
        _ => return general(c, m, n, k, a, b, accumulate),
    };
    tiled(by, c, m, n, k, a, b, accumulate)
}

/// How the tiles read the right factor: where it is, or from a copy of a piece of it.
#[derive(Clone, Copy)]
enum Tiles {
    Plain,
    Packed,
}

/// `c (+)= a·bᵀ` with `b` stored as `[n, k]`.
pub fn product_transposed(c: &mut [f32], m: usize, n: usize, k: usize, a: &[f32], b: &[f32], accumulate: bool) {
    assert!(c.len() == m * n && a.len() == m * k && b.len() == k * n, "matrix sizes disagree");
    if n * k <= m * (n + k) || accumulate {
        let mut right = Pooled::new(n * k);
        transpose(b, &mut right, n, k);
        return product(c, m, n, k, Left::Rows(a), &right, accumulate);
    }
    // Few rows under a large matrix: (b·aᵀ)ᵀ moves less.
    let (mut left, mut flipped) = (Pooled::new(m * k), Pooled::new(m * n));
    transpose(a, &mut left, m, k);
    product(&mut flipped, n, m, k, Left::Rows(b), &left, false);
    transpose(&flipped, c, n, m);
}

/// Tiles while the right factor stays about the size of the first-level cache, or of the second level under a few rows (the
/// steps of a recurrent network).
fn fits_tiles(m: usize, n: usize, k: usize) -> bool {
    k * n <= 64 * 128 || (m <= 32 && k * n <= 256 * 256) || m <= 8
}

/// One or two result columns.
fn narrow(c: &mut [f32], n: usize, k: usize, a: &[f32], b: &[f32], accumulate: bool) {
    let mut columns = Pooled::new(n * k);
    transpose(b, &mut columns, k, n);
    dot_rows(a, &columns, k, c, accumulate);
}

/// One or two result columns, the left factor stored as `[k, m]`: (aᵀ·b)ᵀ = bᵀ·a has long rows.
fn narrow_transposed(c: &mut [f32], m: usize, n: usize, k: usize, a: &[f32], b: &[f32], accumulate: bool) {
    let mut flipped = Pooled::new(n * m);
    product(&mut flipped, n, m, k, Left::Transposed(b), a, false);
    for (row, c) in c.chunks_exact_mut(n).enumerate() {
        for (column, c) in c.iter_mut().enumerate() {
            let value = flipped[column * m + row];
            *c = if accumulate { *c + value } else { value };
        }
    }
}

#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn tiled(by: Tiles, c: &mut [f32], m: usize, n: usize, k: usize, a: Left<'_>, b: &[f32], accumulate: bool) {
    #[cfg(target_arch = "x86_64")]
    {
        use super::dispatch::{SimdLevel, level};
        use super::tiles::{avx2, avx512};
        // SAFETY: `level` detected the features and `product` checked the lengths.
        unsafe {
            match (level(), by) {
                (SimdLevel::Avx512, Tiles::Plain) => return avx512::product(c, m, n, k, a, b, accumulate),
                (SimdLevel::Avx512, Tiles::Packed) => return avx512::packed(c, m, n, k, a, b, accumulate),
                (SimdLevel::Avx2, Tiles::Plain) => return avx2::product(c, m, n, k, a, b, accumulate),
                (SimdLevel::Avx2, Tiles::Packed) => return avx2::packed(c, m, n, k, a, b, accumulate),
                (SimdLevel::Portable, _) => {}
            }
        }
    }
    general(c, m, n, k, a, b, accumulate)
}

/// Rows that a product has at the least for panels to pay.
pub const PANEL_ROWS: usize = 4;

/// A right factor `[k, n]` that many products use, such as the weights of a recurrent network.
pub struct Repeated<'a> {
    plain: &'a [f32],
    /// The same in panels, where tiles read it from.
    panels: Option<Pooled>,
    k: usize,
    n: usize,
}

impl<'a> Repeated<'a> {
    /// For `times` products of `m` rows: whether packing pays depends on the sizes alone.
    pub fn new(b: &'a [f32], k: usize, n: usize, times: usize, m: usize) -> Self {
        assert_eq!(b.len(), k * n, "matrix sizes disagree");
        let panel = panel_width().filter(|_| times >= 4 && m >= PANEL_ROWS && k <= 512 && k * n > 0);
        let panels = panel.map(|panel| {
            let mut panels = Pooled::new(n.div_ceil(panel) * k * panel);
            for (first, target) in (0..n).step_by(panel).zip(panels.chunks_exact_mut(k * panel)) {
                // A copy of known length is a few instructions; one of unknown length is a call.
                match (panel, panel.min(n - first)) {
                    (16, 16) => pack::<16>(b, n, first, target),
                    (32, 32) => pack::<32>(b, n, first, target),
                    (_, width) => {
                        for (to, from) in target.chunks_exact_mut(panel).zip(b.chunks_exact(n)) {
                            to[..width].copy_from_slice(&from[first..first + width]);
                        }
                    }
                }
            }
            panels
        });
        Self { plain: b, panels, k, n }
    }

    /// `c = a·b`, or `c += a·b`.
    pub fn product(&self, c: &mut [f32], m: usize, a: Left<'_>, accumulate: bool) {
        let (n, k) = (self.n, self.k);
        let Some(panels) = &self.panels else {
            return product(c, m, n, k, a, self.plain, accumulate);
        };
        product_in_panels(c, n, m, n, k, a, panels, accumulate);
    }
}

/// A whole panel: `WIDTH` columns of `b` from column `first` on.
fn pack<const WIDTH: usize>(b: &[f32], n: usize, first: usize, panel: &mut [f32]) {
    for (to, from) in panel.as_chunks_mut::<WIDTH>().0.iter_mut().zip(b.chunks_exact(n)) {
        if let Some(from) = from[first..].first_chunk() {
            *to = *from;
        }
    }
}

/// `c (+)= a·b` with `b` in panels of [`panel_width`] columns and the rows of `c` `row` values apart.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub fn product_in_panels(
    c: &mut [f32],
    row: usize,
    m: usize,
    n: usize,
    k: usize,
    a: Left<'_>,
    panels: &[f32],
    accumulate: bool,
) {
    let fits = m == 0 || (row >= n && c.len() >= (m - 1) * row + n);
    let panel = panel_width().expect("panels are for tiles");
    assert!(fits && a.holds(m, k) && panels.len() == n.div_ceil(panel) * k * panel, "matrix sizes disagree");
    #[cfg(target_arch = "x86_64")]
    {
        use super::dispatch::{SimdLevel, level};
        use super::tiles::{avx2, avx512};
        // SAFETY: `level` detected the features, and the panels were filled for it; the lengths are checked.
        unsafe {
            match level() {
                SimdLevel::Avx512 => avx512::repeated(c, row, m, n, k, a, panels, accumulate),
                SimdLevel::Avx2 => avx2::repeated(c, row, m, n, k, a, panels, accumulate),
                SimdLevel::Portable => unreachable!("there are no panels"),
            }
        }
    }
}

/// Columns of a panel; `None` without tiles.
pub fn panel_width() -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        use super::dispatch::{SimdLevel, level};
        use super::tiles::{avx2, avx512};
        match level() {
            SimdLevel::Avx512 => return Some(avx512::PANEL),
            SimdLevel::Avx2 => return Some(avx2::PANEL),
            SimdLevel::Portable => {}
        }
    }
    None
}

/// Any size, by the `gemm` crate.
fn general(c: &mut [f32], m: usize, n: usize, k: usize, a: Left<'_>, b: &[f32], accumulate: bool) {
    let (a, a_column, a_row) = match a {
        Left::Rows(a) => (a, 1, k as isize),
        Left::Transposed(a) => (a, m as isize, 1),
        Left::Strided { values, row, step } => (values, step as isize, row as isize),
        Left::Gathered { values, rows, steps } => {
            let mut copied = Pooled::new(m * k);
            for (copied, row) in copied.chunks_exact_mut(k).zip(rows) {
                copied.iter_mut().zip(steps).for_each(|(c, step)| *c = values[(row + step) as usize]);
            }
            return general(c, m, n, k, Left::Rows(&copied), b, accumulate);
        }
    };
    // SAFETY: `product` checked that the slices hold m*n, m*k and k*n values where the strides address them; `c` is
    // borrowed mutably, so it overlaps neither factor.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n as isize,
            accumulate,
            a.as_ptr(),
            a_column,
            a_row,
            b.as_ptr(),
            1,
            n as isize,
            1.0f32,
            1.0f32,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(len: usize, step: f32) -> Vec<f32> {
        (0..len).map(|i| (i as f32 * step).sin()).collect()
    }

    #[test]
    fn products_match_a_plain_triple_loop() {
        let sizes = [1usize, 2, 3, 7, 8, 16, 17, 31, 33, 64, 130];
        for &m in &sizes {
            for &n in &sizes {
                for k in [1usize, 5, 64, 150, 300] {
                    check(m, n, k);
                }
            }
        }
    }

    fn check(m: usize, n: usize, k: usize) {
        let (a, b, start) = (wave(m * k, 0.37), wave(k * n, 0.23), wave(m * n, 0.11));
        let mut a_stored_transposed = vec![0.0; m * k];
        transpose(&a, &mut a_stored_transposed, m, k);
        let mut b_stored_transposed = vec![0.0; n * k];
        transpose(&b, &mut b_stored_transposed, k, n);
        let rows: Vec<u32> = (0..m as u32).map(|r| r * k as u32).collect();
        let steps: Vec<u32> = (0..k as u32).collect();
        let gathered = Left::Gathered { values: &a, rows: &rows, steps: &steps };
        // The middle of a matrix that has a column more on each side.
        let mut framed = vec![f32::NAN; m * (k + 2)];
        for (framed, a) in framed.chunks_exact_mut(k + 2).zip(a.chunks_exact(k)) {
            framed[1..=k].copy_from_slice(a);
        }
        let strided = Left::Strided { values: &framed[1..], row: k + 2, step: 1 };
        for accumulate in [false, true] {
            let want: Vec<f64> = (0..m * n)
                .map(|i| {
                    let (r, c) = (i / n, i % n);
                    let dot: f64 = (0..k).map(|p| f64::from(a[r * k + p]) * f64::from(b[p * n + c])).sum();
                    dot + if accumulate { f64::from(start[i]) } else { 0.0 }
                })
                .collect();
            for version in 0..12 {
                let mut c = start.clone();
                match version {
                    0 => product(&mut c, m, n, k, Left::Rows(&a), &b, accumulate),
                    1 => product(&mut c, m, n, k, Left::Transposed(&a_stored_transposed), &b, accumulate),
                    2 => product_transposed(&mut c, m, n, k, &a, &b_stored_transposed, accumulate),
                    3 => tiled(Tiles::Plain, &mut c, m, n, k, Left::Rows(&a), &b, accumulate),
                    4 => tiled(Tiles::Packed, &mut c, m, n, k, Left::Transposed(&a_stored_transposed), &b, accumulate),
                    5 => product(&mut c, m, n, k, gathered, &b, accumulate),
                    6 => tiled(Tiles::Packed, &mut c, m, n, k, gathered, &b, accumulate),
                    7 => general(&mut c, m, n, k, gathered, &b, accumulate),
                    8 => product(&mut c, m, n, k, strided, &b, accumulate),
                    9 => general(&mut c, m, n, k, strided, &b, accumulate),
                    10 => Repeated::new(&b, k, n, 16, m).product(&mut c, m, Left::Rows(&a), accumulate),
                    _ => general(&mut c, m, n, k, Left::Transposed(&a_stored_transposed), &b, accumulate),
                }
                for (got, want) in c.iter().zip(&want) {
                    assert!((f64::from(*got) - want).abs() < 2e-5, "{m}x{n}x{k} version {version}: {got} {want}");
                }
            }
        }
    }
}
