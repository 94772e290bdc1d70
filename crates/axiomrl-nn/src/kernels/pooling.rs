//! Max-pooling 3x3 with stride 2 and one pixel of padding, which never wins; it halves an image, rounding up.

use super::dispatch::simd;

const KERNEL: usize = 3;

/// The geometry of one pooled image `[height, width, channels]`.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
}

impl Pool {
    pub fn out_height(&self) -> usize {
        self.height.div_ceil(2)
    }

    pub fn out_width(&self) -> usize {
        self.width.div_ceil(2)
    }

    pub fn in_len(&self) -> usize {
        self.height * self.width * self.channels
    }

    pub fn out_len(&self) -> usize {
        self.out_height() * self.out_width() * self.channels
    }

    /// Calls `f(output position, place in the kernel, first value of the input pixel)` for every pixel under every kernel.
    #[inline(always)]
    fn for_each(&self, mut f: impl FnMut(usize, u8, usize)) {
        for position in 0..self.out_height() * self.out_width() {
            let (top, left) = (2 * (position / self.out_width()), 2 * (position % self.out_width()));
            for place in 0..KERNEL * KERNEL {
                // Both counted from one, so that the padding is zero.
                let (y, x) = (top + place / KERNEL, left + place % KERNEL);
                if y >= 1 && y <= self.height && x >= 1 && x <= self.width {
                    f(position, place as u8, ((y - 1) * self.width + x - 1) * self.channels);
                }
            }
        }
    }
}

simd! {
    /// Pools one image; `choices` keeps the place in the kernel each output came from. The first of equals wins, and NaN wins
    /// over all: a diverging network must show.
    pub fn max_pool(pool: Pool, image: &[f32], out: &mut [f32], choices: &mut [u8]) {
        let channels = pool.channels;
        out.fill(f32::NEG_INFINITY);
        choices.fill(u8::MAX);
        pool.for_each(|position, place, start| {
            let from = &image[start..start + channels];
            let best = &mut out[position * channels..(position + 1) * channels];
            let choices = &mut choices[position * channels..(position + 1) * channels];
            for ((from, best), choice) in from.iter().zip(best).zip(choices) {
                let better = *from > *best || from.is_nan() || *choice == u8::MAX;
                *best = if better { *from } else { *best };
                *choice = if better { place } else { *choice };
            }
        });
    }

    /// The gradient of the image from that of its pooled outputs.
    pub fn max_pool_backward(pool: Pool, choices: &[u8], grad: &[f32], grad_image: &mut [f32]) {
        let channels = pool.channels;
        grad_image.fill(0.0);
        pool.for_each(|position, place, start| {
            let to = &mut grad_image[start..start + channels];
            let grad = &grad[position * channels..(position + 1) * channels];
            let choices = &choices[position * channels..(position + 1) * channels];
            for ((to, grad), choice) in to.iter_mut().zip(grad).zip(choices) {
                *to += if *choice == place { *grad } else { 0.0 };
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_pixel_wins_and_gets_the_gradient() {
        let pool = Pool { height: 3, width: 4, channels: 1 };
        let image = [1.0, 5.0, 2.0, 0.0, 3.0, 5.0, 9.0, 8.0, -1.0, -2.0, -3.0, f32::NAN];
        let (mut out, mut choices) = ([0.0; 4], [0; 4]);
        max_pool(pool, &image, &mut out, &mut choices);
        // Rows 0..2 and 1..3 under columns 0..2 and 1..4; the tie of the two fives goes to the first.
        assert_eq!(out[..3], [5.0, 9.0, 5.0]);
        assert!(out[3].is_nan());
        assert_eq!(choices[0], 5);
        let mut grad = [7.0; 12];
        max_pool_backward(pool, &choices, &[1.0, 2.0, 3.0, 4.0], &mut grad);
        assert_eq!(grad, [0.0, 1.0, 0.0, 0.0, 0.0, 3.0, 2.0, 0.0, 0.0, 0.0, 0.0, 4.0]);
    }

    #[test]
    fn images_below_zero_do_not_see_the_padding() {
        let pool = Pool { height: 1, width: 1, channels: 2 };
        let (mut out, mut choices) = ([0.0; 2], [0; 2]);
        max_pool(pool, &[-3.0, f32::NEG_INFINITY], &mut out, &mut choices);
        assert_eq!((out, choices), ([-3.0, f32::NEG_INFINITY], [4, 4]));
    }
}
