//! Register-tiled matrix product, one version per x86 instruction set.
//!
//! A tile of the result stays in registers while the shared dimension is walked. The left factor is read where it is, also
//! through tables; the right one where it is while it is small, else from a packed copy of a piece of it.

use super::matmul::Left;

/// Where a kernel finds the left factor: the value of row `r` at place `p` of the shared dimension.
#[derive(Clone, Copy)]
struct Walk<'a> {
    values: &'a [f32],
    /// Distance of rows and of places, unless there are tables.
    row: usize,
    step: usize,
    rows: &'a [u32],
    steps: &'a [u32],
}

impl<'a> Walk<'a> {
    fn of(a: Left<'a>, m: usize, k: usize) -> Self {
        match a {
            Left::Rows(values) => Self { values, row: k, step: 1, rows: &[], steps: &[] },
            Left::Transposed(values) => Self { values, row: 1, step: m, rows: &[], steps: &[] },
            Left::Strided { values, row, step } => Self { values, row, step, rows: &[], steps: &[] },
            Left::Gathered { values, rows, steps } => Self { values, row: 0, step: 0, rows, steps },
        }
    }

    /// The same from place `p` on.
    fn skip(self, p: usize) -> Self {
        match self.steps.is_empty() {
            true => Self { values: &self.values[p * self.step..], ..self },
            false => Self { steps: &self.steps[p..], ..self },
        }
    }
}

/// All rows of a few neighbouring columns of a product.
#[derive(Clone, Copy)]
struct Strip<'a> {
    /// Rows of the result, how far apart they are, and the shared dimension.
    m: usize,
    n: usize,
    k: usize,
    left: Walk<'a>,
    /// The right factor from the first column on, its rows `right_row` apart.
    right: &'a [f32],
    right_row: usize,
    /// Columns of this strip.
    width: usize,
    accumulate: bool,
}

/// The product for one instruction set. The invoking module provides the vector type and its operations. `$rows` is the height
/// of a tile, `$fewer` are the lesser heights.
macro_rules! tiled_product {
    ($features:literal, $rows:literal, [$($fewer:literal)*]) => {
        /// Columns of the right factor that are packed together.
        pub const PANEL: usize = 2 * LANES;
        /// Rows of the right factor that are packed together: with `PANEL` columns they leave half of a first-level cache free.
        const DEPTH: usize = 256;

        /// `c (+)= a·b`, see [`crate::kernels::matmul::product`].
        ///
        /// # Safety
        /// The CPU must have the features; `a` must hold `m` rows of `k`, `b` `k*n` and `c` `m*n` values.
        #[target_feature(enable = $features)]
        pub unsafe fn product(c: &mut [f32], m: usize, n: usize, k: usize, a: Left<'_>, b: &[f32], accumulate: bool) {
            let left = Walk::of(a, m, k);
            let strip = |column: usize, width: usize| {
                Strip { m, n, k, left, right: &b[column..], right_row: n, width, accumulate }
            };
            let mut column = 0;
            // A row or two: wide blocks read long runs of `b`. Measured with AVX-512, one row, narrow blocks against wide ones:
            // 4.6 and 3.5 µs under 256x256, 29 and 23 µs under 512x512, 248 and 190 µs under 1024x1024 (189 and 169 µs under
            // 1024x1040, so only the largest suffers from the power of two).
            while m < 4 && left.steps.is_empty() && n - column >= 8 * LANES {
                // SAFETY: the caller's guarantees; the block ends at or before column `n`.
                unsafe { block::<8, false, false>(&mut c[column..], strip(column, 8 * LANES)) };
                column += 8 * LANES;
            }
            while column < n {
                let width = (n - column).min(PANEL);
                // SAFETY: the caller's guarantees; `column + width <= n`.
                unsafe { narrow_block(&mut c[column..], strip(column, width)) };
                column += width;
            }
        }

        /// As [`product`], for larger matrices: the right factor is copied, piece by piece, to where it stays in the cache.
        ///
        /// # Safety
        /// As [`product`].
        #[target_feature(enable = $features)]
        pub unsafe fn packed(c: &mut [f32], m: usize, n: usize, k: usize, a: Left<'_>, b: &[f32], accumulate: bool) {
            let walk = Walk::of(a, m, k);
            // A single panel is packed as it is.
            let narrow = n <= PANEL;
            let mut panel = Pooled::new(if narrow { 0 } else { DEPTH * PANEL });
            for first in (0..k).step_by(DEPTH) {
                let (depth, left) = (DEPTH.min(k - first), walk.skip(first));
                let accumulate = accumulate || first > 0;
                if narrow {
                    let right = &b[first * n..];
                    let strip = Strip { m, n, k: depth, left, right, right_row: n, width: n, accumulate };
                    // SAFETY: the caller's guarantees; the strip is all of the columns.
                    unsafe { narrow_block(c, strip) };
                    continue;
                }
                for column in (0..n).step_by(PANEL) {
                    let width = PANEL.min(n - column);
                    let rows = b[first * n..].chunks(n).take(depth);
                    for (to, from) in panel.as_chunks_mut::<PANEL>().0.iter_mut().zip(rows) {
                        // Most panels are whole: a copy of known length is two moves, any other one a call.
                        match from[column..].first_chunk::<PANEL>() {
                            Some(from) => *to = *from,
                            None => to[..width].copy_from_slice(&from[column..]),
                        }
                    }
                    let strip = Strip { m, n, k: depth, left, right: &panel, right_row: PANEL, width, accumulate };
                    // SAFETY: the caller's guarantees; `column + width <= n`, and the panel holds `depth` rows.
                    unsafe { narrow_block(&mut c[column..], strip) };
                }
            }
        }

        /// As [`packed`], with all of the right factor packed before: panel after panel of `k` rows of `PANEL` columns.
        ///
        /// The rows of `c` are `row` values apart.
        ///
        /// # Safety
        /// As [`product`], with `panels` in place of `b` and `n` values of `c` in each of `m` rows.
        #[target_feature(enable = $features)]
        pub unsafe fn repeated(
            c: &mut [f32],
            row: usize,
            m: usize,
            n: usize,
            k: usize,
            a: Left<'_>,
            panels: &[f32],
            accumulate: bool,
        ) {
            let left = Walk::of(a, m, k);
            for (column, right) in (0..n).step_by(PANEL).zip(panels.chunks_exact(k * PANEL)) {
                let width = PANEL.min(n - column);
                let strip = Strip { m, n: row, k, left, right, right_row: PANEL, width, accumulate };
                // SAFETY: the caller's guarantees; `column + width <= n`.
                unsafe { narrow_block(&mut c[column..], strip) };
            }
        }

        /// A strip of at most `PANEL` columns.
        ///
        /// # Safety
        /// As `block`, with as many vectors as the width needs.
        #[target_feature(enable = $features)]
        #[inline]
        unsafe fn narrow_block(c: &mut [f32], strip: Strip<'_>) {
            let gathered = !strip.left.steps.is_empty();
            // SAFETY: the caller's guarantees; the width fits the vectors asked for.
            unsafe {
                match (strip.width == PANEL, strip.width > LANES, gathered) {
                    (true, _, false) => block::<2, false, false>(c, strip),
                    (true, _, true) => block::<2, false, true>(c, strip),
                    (_, true, false) => block::<2, true, false>(c, strip),
                    (_, true, true) => block::<2, true, true>(c, strip),
                    (_, _, false) => block::<1, true, false>(c, strip),
                    (_, _, true) => block::<1, true, true>(c, strip),
                }
            }
        }

        /// A strip of `V` vectors, the last one cut short when `CUT`. `c` starts at the first column; the left factor has tables
        /// when `GATHER`.
        ///
        /// # Safety
        /// As `product`; the slices hold `strip.width` columns in each of `k` and `m` rows, and the width fits `V` vectors
        /// exactly or, when `CUT`, ends in the last one.
        #[target_feature(enable = $features)]
        #[inline]
        unsafe fn block<const V: usize, const CUT: bool, const GATHER: bool>(c: &mut [f32], strip: Strip<'_>) {
            let mask = first_lanes(strip.width - (V - 1) * LANES);
            // Tiles of wide blocks are one row high, there are no more registers.
            let mut tiles = if V <= 2 { strip.m.div_ceil($rows) } else { strip.m };
            let mut row = 0;
            while tiles > 0 {
                // Rows are dealt out evenly: a tile of few rows has to wait for its own sums. Measured with AVX2 on 9x64x64: 95
                // GFLOP/s as 5 + 4 rows, 67 as 6 + 2 + 1.
                let rows = (strip.m - row).div_ceil(tiles);
                // SAFETY: the caller guarantees the lengths; every tile stays within `m` rows and the columns of the strip.
                unsafe {
                    let c = c.as_mut_ptr().add(row * strip.n);
                    match rows {
                        $(height if V <= 2 && height == $fewer => tile::<$fewer, V, CUT, GATHER>(c, strip, row, mask),)*
                        $rows if V <= 2 => tile::<$rows, V, CUT, GATHER>(c, strip, row, mask),
                        _ => tile::<1, V, CUT, GATHER>(c, strip, row, mask),
                    }
                }
                row += rows;
                tiles -= 1;
            }
        }

        /// One tile of `R` rows, from `row` on, and `V` vectors.
        ///
        /// # Safety
        /// The left factor has `R` rows of `k` from `row` on; row `p < k` of the right factor and row `r < R` of `c` (`n` apart)
        /// hold `V` vectors, the last one only under `mask` when `CUT`.
        #[target_feature(enable = $features)]
        #[inline]
        unsafe fn tile<const R: usize, const V: usize, const CUT: bool, const GATHER: bool>(
            c: *mut f32,
            strip: Strip<'_>,
            row: usize,
            mask: Mask,
        ) {
            let Strip { n, k, left: walk, right_row, accumulate, .. } = strip;
            let b = strip.right.as_ptr();
            let mut left = [walk.values.as_ptr(); R];
            for r in 0..R {
                // SAFETY: the caller guarantees the row.
                left[r] = unsafe {
                    let start = if GATHER { *walk.rows.get_unchecked(row + r) as usize } else { (row + r) * walk.row };
                    left[r].add(start)
                };
            }
            let mut sums = [[zero(); V]; R];
            for p in 0..k {
                let mut right = [zero(); V];
                for v in 0..V {
                    // SAFETY: row `p` of `b`, guaranteed by the caller.
                    right[v] = unsafe {
                        let from = b.add(p * right_row + v * LANES);
                        if CUT && v == V - 1 { load_cut(from, mask) } else { load(from) }
                    };
                }
                // SAFETY: guaranteed by the caller.
                let step = if GATHER { unsafe { *walk.steps.get_unchecked(p) as usize } } else { p * walk.step };
                for r in 0..R {
                    // SAFETY: guaranteed by the caller.
                    let left = splat(unsafe { *left[r].add(step) });
                    for v in 0..V {
                        sums[r][v] = multiply_add(left, right[v], sums[r][v]);
                    }
                }
            }
            for r in 0..R {
                for v in 0..V {
                    // SAFETY: row `r` of `c`, guaranteed by the caller.
                    unsafe {
                        let at = c.add(r * n + v * LANES);
                        let cut = CUT && v == V - 1;
                        let mut value = sums[r][v];
                        if accumulate {
                            value = add(if cut { load_cut(at, mask) } else { load(at) }, value);
                        }
                        if cut { store_cut(at, mask, value) } else { store(at, value) }
                    }
                }
            }
        }
    };
}

/// AVX-512: 32 registers of 16 lanes, tiles of 8x32.
pub mod avx512 {
    use super::{Left, Strip, Walk};
    use crate::buffers::Pooled;
    use std::arch::x86_64::{
        __m512, __mmask16, _mm512_add_ps as add, _mm512_fmadd_ps as multiply_add, _mm512_loadu_ps as load,
        _mm512_mask_storeu_ps as store_cut, _mm512_maskz_loadu_ps, _mm512_set1_ps as splat, _mm512_setzero_ps as zero,
        _mm512_storeu_ps as store,
    };

    type Mask = __mmask16;
    const LANES: usize = 16;

    /// Selects the first `count` lanes.
    fn first_lanes(count: usize) -> Mask {
        (0xffff_u32 >> (LANES - count)) as Mask
    }

    /// # Safety
    /// The lanes under `mask` must be readable.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn load_cut(from: *const f32, mask: Mask) -> __m512 {
        // SAFETY: guaranteed by the caller.
        unsafe { _mm512_maskz_loadu_ps(mask, from) }
    }

    tiled_product!("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl", 8, [1 2 3 4 5 6 7]);
}

/// AVX2: 16 registers of 8 lanes, tiles of 6x16.
pub mod avx2 {
    use super::{Left, Strip, Walk};
    use crate::buffers::Pooled;
    use std::arch::x86_64::{
        __m256i, _mm256_add_ps as add, _mm256_fmadd_ps as multiply_add, _mm256_loadu_ps as load, _mm256_loadu_si256,
        _mm256_maskload_ps as load_cut, _mm256_maskstore_ps as store_cut, _mm256_set1_ps as splat,
        _mm256_setzero_ps as zero, _mm256_storeu_ps as store,
    };

    type Mask = __m256i;
    const LANES: usize = 8;
    /// A window of 8 into this table has its first lanes set.
    const WINDOW: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

    /// Selects the first `count` lanes.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn first_lanes(count: usize) -> Mask {
        let window = &WINDOW[LANES - count..2 * LANES - count];
        // SAFETY: the window holds 8 integers.
        unsafe { _mm256_loadu_si256(window.as_ptr().cast()) }
    }

    tiled_product!("avx2,fma", 6, [1 2 3 4 5]);
}
