//! A 3x3 convolution over an image enlarged twofold (nearest neighbour), without enlarging the image.
//!
//! The 2x2 pixels of the result around a corner of the small image's pixels all see the same four small pixels: nine weights
//! over the large image are sums over four. So one product of 2x2 patches `[(height + 1)·(width + 1), 4·channels]` with a
//! folded weight `[4·channels, 4·outputs]` gives 2x2 tiles of the result. That is 16 multiplications per small pixel, input
//! and output channel instead of 36, apart from the border, and a ninth of the patches.

use super::dispatch::simd;

/// Calls `f(place in the 3x3 kernel, place in the 2x2 patch, place in the 2x2 tile)` for every term.
#[inline(always)]
fn for_each_term(mut f: impl FnMut(usize, usize, usize)) {
    for tile in 0..4 {
        for kernel in 0..9 {
            // Row `t` of a tile lies over small rows (k + t)/2 of its patch, k being the kernel's row; columns alike.
            let (row, column) = ((kernel / 3 + tile / 2) / 2, (kernel % 3 + tile % 2) / 2);
            f(kernel, 2 * row + column, tile);
        }
    }
}

/// `[3, 3, channels, outputs]` to the weight of tiles, `[4·channels, 4·outputs]`.
pub fn fold_weight(weight: &[f32], channels: usize, outputs: usize, folded: &mut [f32]) {
    folded.fill(0.0);
    for_each_term(|kernel, patch, tile| {
        for channel in 0..channels {
            let from = &weight[(kernel * channels + channel) * outputs..][..outputs];
            let to = &mut folded[((patch * channels + channel) * 4 + tile) * outputs..][..outputs];
            to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
        }
    });
}

/// The transpose of [`fold_weight`]: adds the gradient of the folded weight to that of the weight.
pub fn unfold_weight(folded: &[f32], channels: usize, outputs: usize, weight: &mut [f32]) {
    for_each_term(|kernel, patch, tile| {
        for channel in 0..channels {
            let to = &mut weight[(kernel * channels + channel) * outputs..][..outputs];
            let from = &folded[((patch * channels + channel) * 4 + tile) * outputs..][..outputs];
            to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
        }
    });
}

/// Where a pixel of the large image lies in its tile: tile (a, b) starts at pixel (2a − 1, 2b − 1).
#[inline(always)]
fn in_tiles(y: usize, x: usize, width: usize, outputs: usize) -> usize {
    let (row, column) = (y.div_ceil(2), x.div_ceil(2));
    let inside = (y + 1) % 2 * 2 + (x + 1) % 2;
    ((row * (width + 1) + column) * 4 + inside) * outputs
}

simd! {
    /// Tiles `[(height + 1)·(width + 1), 4·outputs]` to the image `[2·height, 2·width, outputs]`.
    pub fn tiles_to_image(tiles: &[f32], width: usize, outputs: usize, image: &mut [f32]) {
        for (y, row) in image.chunks_exact_mut(2 * width * outputs).enumerate() {
            for (x, pixel) in row.chunks_exact_mut(outputs).enumerate() {
                let at = in_tiles(y, x, width, outputs);
                pixel.copy_from_slice(&tiles[at..at + outputs]);
            }
        }
    }

    /// The transpose of [`tiles_to_image`]: what tiles hold outside of the image is zero.
    pub fn image_to_tiles(image: &[f32], width: usize, outputs: usize, tiles: &mut [f32]) {
        tiles.fill(0.0);
        for (y, row) in image.chunks_exact(2 * width * outputs).enumerate() {
            for (x, pixel) in row.chunks_exact(outputs).enumerate() {
                let at = in_tiles(y, x, width, outputs);
                tiles[at..at + outputs].copy_from_slice(pixel);
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

    fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum()
    }

    #[test]
    fn every_kernel_weight_is_used_once_per_pixel_of_a_tile() {
        let mut folded = vec![9.0; 16];
        fold_weight(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0], 1, 1, &mut folded);
        // Rows are the patch's pixels, columns the tile's. The first pixel of a tile has two rows and columns above and left.
        assert_eq!(folded[0], 1.0 + 2.0 + 8.0 + 16.0);
        assert_eq!(folded[3], 1.0);
        assert_eq!(folded[12], 256.0);
        for tile in 0..4 {
            assert_eq!((0..4).map(|patch| folded[patch * 4 + tile]).sum::<f32>(), 511.0);
        }
    }

    #[test]
    fn the_transposes_are_transposes() {
        let (channels, outputs, height, width) = (3, 2, 4, 5);
        let (weight, grad) = (wave(9 * channels * outputs, 0.7), wave(16 * channels * outputs, 0.3));
        let (mut folded, mut unfolded) = (vec![0.0; grad.len()], vec![0.0; weight.len()]);
        fold_weight(&weight, channels, outputs, &mut folded);
        unfold_weight(&grad, channels, outputs, &mut unfolded);
        assert!((dot(&folded, &grad) - dot(&weight, &unfolded)).abs() < 1e-4);

        let tiles = wave((height + 1) * (width + 1) * 4 * outputs, 0.9);
        let image = wave(4 * height * width * outputs, 0.2);
        let (mut drawn, mut cut) = (vec![9.0; image.len()], vec![9.0; tiles.len()]);
        tiles_to_image(&tiles, width, outputs, &mut drawn);
        image_to_tiles(&image, width, outputs, &mut cut);
        assert!((dot(&drawn, &image) - dot(&tiles, &cut)).abs() < 1e-4);
    }
}
