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
        let (rows, columns) = (self.out_height(), self.out_width());
        let mut starts = Vec::with_capacity(images * rows * columns);
        for image in 0..images {
            for row in 0..rows {
                let first = image * self.bordered_len() + row * self.stride * self.bordered_row();
                starts.extend((0..columns).map(|column| (first + column * self.stride * self.channels) as u32));
            }
        }
        starts
    }

    /// Where each value of a patch lies in a bordered image, counted from the patch's start.
    pub fn places(&self) -> Vec<u32> {
        let run = (self.kernel * self.channels) as u32;
        let mut places = Vec::with_capacity(self.patch_len());
        for row in 0..self.kernel {
            let first = (row * self.bordered_row()) as u32;
            places.extend(first..first + run);
        }
        places
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

/// Puts an image inside of its border, which is left as it is; `copy` moves pixels.
#[inline(always)]
fn border_with<T>(window: Window, image: &[T], bordered: &mut [f32], copy: impl Fn(&mut [f32], &[T])) {
    let (row, edge) = (window.width * window.channels, window.padding * window.channels);
    if edge == 0 {
        return copy(bordered, image);
    }
    let inside = window.padding * window.bordered_row();
    let end = inside + window.height * window.bordered_row();
    for (to, from) in bordered[inside..end].chunks_exact_mut(row + 2 * edge).zip(image.chunks_exact(row)) {
        copy(&mut to[edge..edge + row], from);
    }
}

simd! {
    /// An image inside of its border, which is left as it is.
    pub fn border(window: Window, image: &[f32], bordered: &mut [f32]) {
        border_with(window, image, bordered, |to, from| to.copy_from_slice(from));
    }

    /// An image of bytes, scaled to 0..1, inside of its border, which is left as it is.
    pub fn border_bytes(window: Window, image: &[u8], bordered: &mut [f32]) {
        border_with(window, image, bordered, |to, from| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = f32::from(*from) * (1.0 / 255.0);
            }
        });
    }

    /// Adds rows of patches up into an image (without a border): the transpose of taking the patches out.
    pub fn fold(window: Window, rows: &[f32], image: &mut [f32]) {
        add_patches(window, 0, rows, image);
    }

    /// As [`fold`] for some patches of several images, from patch `first` on: those of an image may come in several calls, as
    /// long as they come in order. What `images` held before the first patch of an image is forgotten.
    pub fn fold_next(window: Window, first: usize, rows: &[f32], images: &mut [f32]) {
        add_patches(window, first, rows, images);
    }
}

#[inline(always)]
fn add_patches(window: Window, first: usize, rows: &[f32], images: &mut [f32]) {
    let (height, width) = (window.out_height(), window.out_width());
    let (len, run, image_row) = (window.image_len(), window.kernel * window.channels, window.width * window.channels);
    let whole = |at: usize, size: usize| at >= window.padding && at + window.kernel <= size + window.padding;
    let (mut image, position) = (first / (height * width), first % (height * width));
    let (mut y, mut x) = (position / width, position % width);
    for row in rows.chunks_exact(window.patch_len()) {
        let target = &mut images[image * len..(image + 1) * len];
        if (y, x) == (0, 0) {
            target.fill(0.0);
        }
        let (top, left) = (y * window.stride, x * window.stride);
        if whole(top, window.height) && whole(left, window.width) {
            let start = (top - window.padding) * image_row + (left - window.padding) * window.channels;
            for (ky, from) in row.chunks_exact(run).enumerate() {
                add(&mut target[start + ky * image_row..][..run], from);
            }
        } else {
            for (ky, from) in row.chunks_exact(run).enumerate() {
                let Some((offset, start, len)) = window.inside(top + ky, left) else { continue };
                add(&mut target[start..start + len], &from[offset..offset + len]);
            }
        }
        x += 1;
        if x == width {
            (x, y) = (0, y + 1);
        }
        if y == height {
            (y, image) = (0, image + 1);
        }
    }
}

#[inline(always)]
fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All patches of one image, copied out by their places.
    fn unfold(window: Window, image: &[f32]) -> Vec<f32> {
        let mut bordered = vec![0.0; window.bordered_len()];
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
        let mut bordered = vec![0.0; 16];
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
            // Two images of the same patches, a few patches at a time.
            let (patches, patch) = (window.patches(), window.patch_len());
            let (twice, mut parts) = (rows.repeat(2), vec![9.0; 2 * image.len()]);
            for first in (0..2 * patches).step_by(4) {
                let last = (first + 4).min(2 * patches);
                fold_next(window, first, &twice[first * patch..last * patch], &mut parts);
            }
            assert_eq!(parts, folded.repeat(2), "{padding} {stride}");
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            let unfolded = unfold(window, &image);
            assert!((dot(&unfolded, &rows) - dot(&image, &folded)).abs() < 1e-4, "{padding} {stride}");
        }
    }
}
