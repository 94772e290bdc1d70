//! Register-tiled matrix product for small matrices, one version per x86 instruction set.
//!
//! A tile of the result stays in registers while the shared dimension is walked once, and nothing is packed. With a general
//! `gemm` in its place a 64x64 DQN update took some 15 % longer; which part of `gemm` costs that was not measured.

use super::matmul::Left;

/// The product for one instruction set. The invoking module provides the vector type and its operations.
macro_rules! tiled_product {
    ($features:literal, $rows:literal) => {
        /// `c (+)= a·b`, see [`crate::kernels::matmul::product`].
        ///
        /// # Safety
        /// The CPU must have the features; `a` must hold `m*k`, `b` `k*n` and `c` `m*n` values.
        #[target_feature(enable = $features)]
        pub unsafe fn product(c: &mut [f32], m: usize, n: usize, k: usize, a: Left<'_>, b: &[f32], accumulate: bool) {
            let mut column = 0;
            // A row or two: wide blocks read long runs of `b`. Measured with AVX-512, one row, narrow blocks against wide ones:
            // 4.6 and 3.5 µs under 256x256, 29 and 23 µs under 512x512, 248 and 190 µs under 1024x1024 (189 and 169 µs under
            // 1024x1040, so only the largest suffers from the power of two).
            while m < 4 && n - column >= 8 * LANES {
                // SAFETY: the caller's guarantees; the block ends at or before column `n`.
                unsafe { block::<8, false>(c, m, n, k, a, b, accumulate, column, 8 * LANES) };
                column += 8 * LANES;
            }
            while column < n {
                let width = (n - column).min(2 * LANES);
                // SAFETY: the caller's guarantees; `column + width <= n` and `width` fits the vectors asked for.
                unsafe {
                    if width == 2 * LANES {
                        block::<2, false>(c, m, n, k, a, b, accumulate, column, width);
                    } else if width > LANES {
                        block::<2, true>(c, m, n, k, a, b, accumulate, column, width);
                    } else {
                        block::<1, true>(c, m, n, k, a, b, accumulate, column, width);
                    }
                }
                column += width;
            }
        }

        /// All rows of `width` columns: `V` vectors, the last one cut short when `CUT`.
        ///
        /// # Safety
        /// As `product`; `column + width <= n`, and `width` fits `V` vectors exactly or, when `CUT`, ends in the last one.
        #[target_feature(enable = $features)]
        #[inline]
        unsafe fn block<const V: usize, const CUT: bool>(
            c: &mut [f32],
            m: usize,
            n: usize,
            k: usize,
            a: Left<'_>,
            b: &[f32],
            accumulate: bool,
            column: usize,
            width: usize,
        ) {
            let (a, a_row, a_step) = match a {
                Left::Rows(a) => (a.as_ptr(), k, 1),
                Left::Transposed(a) => (a.as_ptr(), 1, m),
            };
            let mask = first_lanes(width - (V - 1) * LANES);
            let mut row = 0;
            // SAFETY: the caller guarantees the lengths; every tile stays within `m` rows and columns `column..column + width`.
            unsafe {
                let (b, c) = (b.as_ptr().add(column), c.as_mut_ptr().add(column));
                while V <= 2 && row + $rows <= m {
                    tile::<$rows, V, CUT>(c.add(row * n), n, k, a.add(row * a_row), a_row, a_step, b, accumulate, mask);
                    row += $rows;
                }
                while V <= 2 && row + 4 <= m {
                    tile::<4, V, CUT>(c.add(row * n), n, k, a.add(row * a_row), a_row, a_step, b, accumulate, mask);
                    row += 4;
                }
                while V <= 2 && row + 2 <= m {
                    tile::<2, V, CUT>(c.add(row * n), n, k, a.add(row * a_row), a_row, a_step, b, accumulate, mask);
                    row += 2;
                }
                while row < m {
                    tile::<1, V, CUT>(c.add(row * n), n, k, a.add(row * a_row), a_row, a_step, b, accumulate, mask);
                    row += 1;
                }
            }
        }

        /// One tile of `R` rows and `V` vectors.
        ///
        /// # Safety
        /// For every `r < R` and `p < k`: `a` is readable at `r*a_row + p*a_step`; row `p` of `b` and row `r` of `c` (both `n`
        /// apart) hold `V` vectors, the last one only under `mask` when `CUT`.
        #[target_feature(enable = $features)]
        #[inline]
        unsafe fn tile<const R: usize, const V: usize, const CUT: bool>(
            c: *mut f32,
            n: usize,
            k: usize,
            a: *const f32,
            a_row: usize,
            a_step: usize,
            b: *const f32,
            accumulate: bool,
            mask: Mask,
        ) {
            let mut sums = [[zero(); V]; R];
            for p in 0..k {
                let mut right = [zero(); V];
                for v in 0..V {
                    // SAFETY: row `p` of `b`, guaranteed by the caller.
                    right[v] = unsafe {
                        let from = b.add(p * n + v * LANES);
                        if CUT && v == V - 1 { load_cut(from, mask) } else { load(from) }
                    };
                }
                for r in 0..R {
                    // SAFETY: guaranteed by the caller.
                    let left = splat(unsafe { *a.add(r * a_row + p * a_step) });
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
    use super::Left;
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

    tiled_product!("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl", 8);
}

/// AVX2: 16 registers of 8 lanes, tiles of 6x16: twelve sums hide the latency of two units, eight just would not.
pub mod avx2 {
    use super::Left;
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

    tiled_product!("avx2,fma", 6);
}
