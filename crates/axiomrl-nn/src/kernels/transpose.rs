//! Matrix transposition. `gemm` packs a transposed right-hand side slowly, so it is transposed beforehand.

#[cfg(target_arch = "x86_64")]
use super::dispatch::{SimdLevel, level};

/// `target[c, r] = source[r, c]`, both row-major.
pub fn transpose(source: &[f32], target: &mut [f32], rows: usize, columns: usize) {
    assert_eq!(source.len(), rows * columns);
    assert_eq!(target.len(), rows * columns);
    if rows == 1 || columns == 1 {
        target.copy_from_slice(source);
        return;
    }
    let (done_rows, done_columns) = transpose_most(source, target, rows, columns);
    for r in 0..rows {
        let first = if r < done_rows { done_columns } else { 0 };
        for c in first..columns {
            target[c * rows + r] = source[r * columns + c];
        }
    }
}

/// Transposes what the machine can do in 8x8 blocks; returns how many rows and columns that was.
fn transpose_most(source: &[f32], target: &mut [f32], rows: usize, columns: usize) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if level() >= SimdLevel::Avx2 {
        // SAFETY: AVX2 was detected; `transpose` checked the lengths.
        unsafe { transpose_blocks(source, target, rows, columns) };
        return (rows / 8 * 8, columns / 8 * 8);
    }
    let _ = (source, target, rows, columns);
    (0, 0)
}

/// The part of the matrix that divides into 8x8 blocks.
///
/// # Safety
/// Both slices must hold `rows * columns` values.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn transpose_blocks(source: &[f32], target: &mut [f32], rows: usize, columns: usize) {
    use std::arch::x86_64::*;
    for c in (0..columns / 8 * 8).step_by(8) {
        for r in (0..rows / 8 * 8).step_by(8) {
            // SAFETY: r + 8 <= rows and c + 8 <= columns, so each load of 8 stays inside `source` and each store inside
            // `target` (the caller vouches for the lengths).
            unsafe {
                let load = |k: usize| _mm256_loadu_ps(source.as_ptr().add((r + k) * columns + c));
                // Interleave pairs of rows, then pairs of pairs, then the 128-bit halves.
                let pair = |k: usize| {
                    let (a, b) = (load(k), load(k + 1));
                    (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b))
                };
                let quad = |k: usize| {
                    let ((low0, high0), (low1, high1)) = (pair(k), pair(k + 2));
                    [
                        _mm256_shuffle_ps(low0, low1, 0x44),
                        _mm256_shuffle_ps(low0, low1, 0xee),
                        _mm256_shuffle_ps(high0, high1, 0x44),
                        _mm256_shuffle_ps(high0, high1, 0xee),
                    ]
                };
                let (top, bottom) = (quad(0), quad(4));
                for k in 0..4 {
                    let first = target.as_mut_ptr().add((c + k) * rows + r);
                    _mm256_storeu_ps(first, _mm256_permute2f128_ps(top[k], bottom[k], 0x20));
                    _mm256_storeu_ps(first.add(4 * rows), _mm256_permute2f128_ps(top[k], bottom[k], 0x31));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_transposed() {
        for (rows, columns) in [(1, 5), (5, 1), (8, 8), (7, 9), (64, 64), (17, 40), (33, 8)] {
            let source: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
            let mut target = vec![-1.0; rows * columns];
            transpose(&source, &mut target, rows, columns);
            for r in 0..rows {
                for c in 0..columns {
                    assert_eq!(target[c * rows + r], source[r * columns + c], "{rows}x{columns}");
                }
            }
        }
    }
}
