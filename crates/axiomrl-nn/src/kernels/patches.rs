//! Where the patches of an image lie, and how rows of patches add up to an image: a convolution is a matrix product with them.
//!
//! An image is `[height, width, channels]`; a patch holds the pixels under the kernel at one output position,
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

    /// How many of `images` images are multiplied at once: enough rows for an efficient product, few enough for the cache.
    pub fn group(&self, images: usize) -> usize {
        const ROWS: usize = 512;
        (ROWS / self.patches()).clamp(1, images.max(1))
    }

    /// Values of one patch.
    pub fn patch_len(&self) -> usize {
        self.kernel * self.kernel * self.channels
    }

    pub fn image_len(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// Values of an image with its border of zeros.
    pub fn bordered_len(&self) -> usize {
        (self.height + 2 * self.padding) * self.bordered_row()
    }

    fn bordered_row(&self) -> usize {
        (self.width + 2 * self.padding) * self.channels
    }

    /// Where each patch of `images` bordered images starts.
    pub fn starts(&self, images: usize) -> Vec<u32> {
        let columns = self.out_width();
        let start = |image: usize, patch: usize| {
            let (top, left) = (patch / columns * self.stride, patch % columns * self.stride);
            (image * self.bordered_len() + top * self.bordered_row() + left * self.channels) as u32
        };
        (0..images).flat_map(|image| (0..self.patches()).map(move |patch| start(image, patch))).collect()
    }

    /// Where each value of a patch lies in a bordered image, counted from the patch's start.
    pub fn places(&self) -> Vec<u32> {
        let run = self.kernel * self.channels;
        (0..self.patch_len()).map(|at| (at / run * self.bordered_row() + at % run) as u32).collect()
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

/// Puts an image into its border of zeros; `copy` moves pixels.
#[inline(always)]
fn border_with<T>(window: Window, image: &[T], bordered: &mut [f32], copy: impl Fn(&mut [f32], &[T])) {
    let (row, edge) = (window.width * window.channels, window.padding * window.channels);
    let inside = window.padding * window.bordered_row();
    let end = inside + window.height * window.bordered_row();
    bordered[..inside].fill(0.0);
    bordered[end..].fill(0.0);
    for (to, from) in bordered[inside..end].chunks_exact_mut(row + 2 * edge).zip(image.chunks_exact(row)) {
        to[..edge].fill(0.0);
        to[edge + row..].fill(0.0);
        copy(&mut to[edge..edge + row], from);
    }
}

simd! {
    /// An image with its border.
    pub fn border(window: Window, image: &[f32], bordered: &mut [f32]) {
        border_with(window, image, bordered, |to, from| to.copy_from_slice(from));
    }

    /// An image of bytes, scaled to 0..1, with its border.
    pub fn border_bytes(window: Window, image: &[u8], bordered: &mut [f32]) {
        border_with(window, image, bordered, |to, from| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = f32::from(*from) * (1.0 / 255.0);
            }
        });
    }

    /// Adds rows of patches up into an image (without a border): the transpose of taking the patches out.
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

    /// All patches of one image, copied out by their places.
    fn unfold(window: Window, image: &[f32]) -> Vec<f32> {
        let mut bordered = vec![9.0; window.bordered_len()];
        border(window, image, &mut bordered);
        let mut rows = Vec::new();
        for start in window.starts(1) {
            rows.extend(window.places().iter().map(|place| bordered[(start + place) as usize]));
        }
        rows
    }

    #[test]
    fn patches_hold_the_pixels_under_the_kernel() {
        // A 3x3 image of one channel, kernel 3, stride 2, padding 1: four corners.
        let window = Window { height: 3, width: 3, channels: 1, kernel: 3, stride: 2, padding: 1 };
        let image: Vec<f32> = (1..10).map(|v| v as f32).collect();
        let rows = unfold(window, &image);
        assert_eq!(rows[..9], [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 4.0, 5.0]);
        assert_eq!(rows[27..], [5.0, 6.0, 0.0, 8.0, 9.0, 0.0, 0.0, 0.0, 0.0]);
        let starts = window.starts(2);
        assert_eq!(starts, [0, 2, 10, 12, 25, 27, 35, 37], "bordered images of 5x5");
    }

    #[test]
    fn bytes_are_scaled() {
        let window = Window { height: 2, width: 2, channels: 1, kernel: 1, stride: 1, padding: 1 };
        let mut bordered = vec![9.0; 16];
        border_bytes(window, &[255, 0, 51, 102], &mut bordered);
        let inside = [bordered[5], bordered[6], bordered[9], bordered[10]];
        assert!(inside.iter().zip([1.0, 0.0, 0.2, 0.4]).all(|(a, b)| (a - b).abs() < 1e-6), "{bordered:?}");
        assert_eq!(bordered.iter().filter(|v| **v == 0.0).count(), 13);
    }

    #[test]
    fn folding_is_the_transpose_of_unfolding() {
        for (padding, stride) in [(0, 1), (1, 1), (2, 2), (1, 3)] {
            let window = Window { height: 5, width: 7, channels: 2, kernel: 3, stride, padding };
            let wave = |len: usize, step: f32| (0..len).map(|i| (i as f32 * step).sin()).collect::<Vec<_>>();
            let (image, rows) = (wave(window.image_len(), 0.7), wave(window.patches() * window.patch_len(), 0.3));
            let mut folded = vec![9.0; image.len()];
            fold(window, &rows, &mut folded);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            let unfolded = unfold(window, &image);
            assert!((dot(&unfolded, &rows) - dot(&image, &folded)).abs() < 1e-4, "{padding} {stride}");
        }
    }
}
