//! Smaller pictures.

use crate::Frame;

impl Frame {
    /// `times` times smaller; each pixel is the mean of those it stands for.
    pub fn downscaled(self, times: usize) -> Self {
        if times <= 1 {
            return self;
        }
        let (width, height) = ((self.width / times).max(1), (self.height / times).max(1));
        let (across, down) = (times.min(self.width), times.min(self.height));
        let count = (across * down).max(1) as u32;
        let mut rgb = Vec::with_capacity(width * height * 3);
        let mut sums = vec![0u32; width * 3];
        for rows in self.rgb.chunks(self.width * 3 * down).take(height) {
            sums.fill(0);
            for row in rows.chunks_exact(self.width * 3) {
                for (sum, pixels) in sums.chunks_exact_mut(3).zip(row.chunks_exact(across * 3)) {
                    for pixel in pixels.chunks_exact(3) {
                        sum.iter_mut().zip(pixel).for_each(|(sum, &value)| *sum += u32::from(value));
                    }
                }
            }
            rgb.extend(sums.iter().map(|sum| (sum / count) as u8));
        }
        Self { width, height, rgb }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(width: usize, height: usize, colour: impl Fn(usize) -> [u8; 3]) -> Frame {
        Frame { width, height, rgb: (0..width * height).flat_map(colour).collect() }
    }

    #[test]
    fn smaller_pictures_are_means() {
        let small = frame(4, 2, |i| [[0, 10, 20, 30][i % 4], 5, 0]).downscaled(2);
        assert_eq!(small, Frame { width: 2, height: 1, rgb: vec![5, 5, 0, 25, 5, 0] });
    }

    #[test]
    fn what_does_not_fill_a_pixel_is_left_out_and_too_small_pictures_become_one() {
        let small = frame(5, 3, |i| [i as u8; 3]).downscaled(2);
        // Of 0 1 | 2 3 over 5 6 | 7 8.
        assert_eq!(small, Frame { width: 2, height: 1, rgb: vec![3, 3, 3, 5, 5, 5] });
        assert_eq!(frame(3, 1, |i| [10 * i as u8; 3]).downscaled(4), Frame { width: 1, height: 1, rgb: vec![10; 3] });
    }
}
