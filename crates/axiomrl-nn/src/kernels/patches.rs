//! Images to rows of patches and back, so that a convolution becomes a matrix product.
//!
//! An image is `[height, width, channels]`; a row of patches holds the pixels under the kernel at one output position,
//! `[kernel, kernel, channels]`. What lies outside of the image is zero.

use super::dispatch::simd;

/// The geometry of one convolution over one image.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
}

impl Window {
    /// Output positions along a side of `size` pixels.
    fn positions(&self, size: usize) -> usize {
        (size + 2 * self.padding - self.kernel) / self.stride + 1
    }

    pub fn out_height(&self) -> usize {
        self.positions(self.height)
    }

    pub fn out_width(&self) -> usize {
        self.positions(self.width)
    }

    /// Output positions of an image.
    pub fn patches(&self) -> usize {
        self.out_height() * self.out_width()
    }

    /// Values of one patch.
    pub fn patch_len(&self) -> usize {
        self.kernel * self.kernel * self.channels
    }

    pub fn image_len(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// The part of a kernel row that lies inside the image when its first pixel is at (`y`, `x`), both counted in the padded
    /// image: where it starts in the kernel row, and where in the image; `None` when all of it is outside.
    #[inline(always)]
    fn inside(&self, y: usize, x: usize) -> Option<(usize, usize, usize)> {
        if y < self.padding || y >= self.height + self.padding {
            return None;
        }
        let first = x.max(self.padding);
        let last = (x + self.kernel).min(self.width + self.padding);
        if first >= last {
            return None;
        }
        let c = self.channels;
        let start = ((y - self.padding) * self.width + first - self.padding) * c;
        Some(((first - x) * c, start, (last - first) * c))
    }
}

/// Fills `[patches, patch]` from one image; `copy` moves pixels.
#[inline(always)]
fn unfold_with<T>(window: Window, image: &[T], rows: &mut [f32], copy: impl Fn(&mut [f32], &[T])) {
    let run = window.kernel * window.channels;
    let columns = window.out_width();
    for (position, row) in rows.chunks_exact_mut(window.patch_len()).enumerate() {
        let (top, left) = (position / columns * window.stride, position % columns * window.stride);
        for (ky, target) in row.chunks_exact_mut(run).enumerate() {
            let Some((offset, start, len)) = window.inside(top + ky, left) else {
                target.fill(0.0);
                continue;
            };
            if len < run {
                target.fill(0.0);
            }
            copy(&mut target[offset..offset + len], &image[start..start + len]);
        }
    }
}

simd! {
    /// One image of floats to `[patches, patch]`.
    pub fn unfold(window: Window, image: &[f32], rows: &mut [f32]) {
        unfold_with(window, image, rows, |to, from| to.copy_from_slice(from));
    }

    /// One image of bytes to `[patches, patch]`, scaled to 0..1.
    pub fn unfold_bytes(window: Window, image: &[u8], rows: &mut [f32]) {
        unfold_with(window, image, rows, |to, from| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = f32::from(*from) * (1.0 / 255.0);
            }
        });
    }

    /// Adds `[patches, patch]` up into an image: the transpose of [`unfold`].
    pub fn fold(window: Window, rows: &[f32], image: &mut [f32]) {
        image.fill(0.0);
        let run = window.kernel * window.channels;
        let columns = window.out_width();
        for (position, row) in rows.chunks_exact(window.patch_len()).enumerate() {
            let (top, left) = (position / columns * window.stride, position % columns * window.stride);
            for (ky, from) in row.chunks_exact(run).enumerate() {
                let Some((offset, start, len)) = window.inside(top + ky, left) else { continue };
                for (to, from) in image[start..start + len].iter_mut().zip(&from[offset..offset + len]) {
                    *to += *from;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_hold_the_pixels_under_the_kernel() {
        // A 3x3 image of one channel, kernel 3, stride 2, padding 1: four corners.
        let window = Window { height: 3, width: 3, channels: 1, kernel: 3, stride: 2, padding: 1 };
        let image: Vec<f32> = (1..10).map(|v| v as f32).collect();
        let mut rows = vec![-1.0; window.patches() * window.patch_len()];
        unfold(window, &image, &mut rows);
        assert_eq!(rows[..9], [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 4.0, 5.0]);
        assert_eq!(rows[27..], [5.0, 6.0, 0.0, 8.0, 9.0, 0.0, 0.0, 0.0, 0.0]);
        let bytes: Vec<u8> = (1..10).collect();
        let mut scaled = vec![-1.0; rows.len()];
        unfold_bytes(window, &bytes, &mut scaled);
        assert!(scaled.iter().zip(&rows).all(|(s, r)| (s * 255.0 - r).abs() < 1e-5));
    }

    #[test]
    fn folding_is_the_transpose_of_unfolding() {
        for (padding, stride) in [(0, 1), (1, 1), (2, 2), (1, 3)] {
            let window = Window { height: 5, width: 7, channels: 2, kernel: 3, stride, padding };
            let wave = |len: usize, step: f32| (0..len).map(|i| (i as f32 * step).sin()).collect::<Vec<_>>();
            let (image, rows) = (wave(window.image_len(), 0.7), wave(window.patches() * window.patch_len(), 0.3));
            let (mut unfolded, mut folded) = (vec![9.0; rows.len()], vec![9.0; image.len()]);
            unfold(window, &image, &mut unfolded);
            fold(window, &rows, &mut folded);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            assert!((dot(&unfolded, &rows) - dot(&image, &folded)).abs() < 1e-4, "{padding} {stride}");
        }
    }
}
