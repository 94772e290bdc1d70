//! Random shifts of images.

use axiomrl_envs::{ObsBuf, ObsRef, Rng};
use axiomrl_nn::join;
use rand::RngExt;

/// Moves each image by up to `pad` pixels in both directions, the same for all channels, and so for all frames of a stack.
/// What comes in from outside repeats the image's edge. Vectors are left as they are.
pub fn random_shift(obs: ObsRef<'_>, image: Option<[usize; 3]>, pad: usize, rng: &mut Rng) -> ObsBuf {
    match (obs, image) {
        (ObsRef::U8(pixels), Some(image)) => ObsBuf::U8(shift_all(pixels, image, pad, rng)),
        (ObsRef::F32(pixels), Some(image)) => ObsBuf::F32(shift_all(pixels, image, pad, rng)),
        (ObsRef::U8(bytes), None) => ObsBuf::U8(bytes.to_vec()),
        (ObsRef::F32(numbers), None) => ObsBuf::F32(numbers.to_vec()),
    }
}

/// From this many values on, two threads share the images.
const SPLIT_LEN: usize = 1 << 17;

fn shift_all<T: Copy + Default + Send + Sync>(from: &[T], image: [usize; 3], pad: usize, rng: &mut Rng) -> Vec<T> {
    let len = image.iter().product::<usize>();
    // Drawn one after the other, so that the number of threads changes nothing.
    let shifts: Vec<[usize; 2]> =
        (0..from.len() / len).map(|_| [rng.random_range(0..=2 * pad), rng.random_range(0..=2 * pad)]).collect();
    let mut to = vec![T::default(); from.len()];
    let shift_some = |from: &[T], to: &mut [T], shifts: &[[usize; 2]]| {
        for ((from, to), shift) in from.chunks_exact(len).zip(to.chunks_exact_mut(len)).zip(shifts) {
            shift_one(from, to, image, *shift, pad);
        }
    };
    if from.len() < SPLIT_LEN {
        shift_some(from, &mut to, &shifts);
        return to;
    }
    let half = shifts.len() / 2;
    let (from_first, from_second) = from.split_at(half * len);
    let (to_first, to_second) = to.split_at_mut(half * len);
    let (shifts_first, shifts_second) = shifts.split_at(half);
    join(|| shift_some(from_first, to_first, shifts_first), || shift_some(from_second, to_second, shifts_second));
    to
}

/// The image cut out at `shift` of one that was padded with its edges.
fn shift_one<T: Copy>(from: &[T], to: &mut [T], [height, width, channels]: [usize; 3], shift: [usize; 2], pad: usize) {
    let row_len = width * channels;
    for (y, row) in to.chunks_exact_mut(row_len).enumerate() {
        let source_y = (y + shift[0]).clamp(pad, pad + height - 1) - pad;
        let source = &from[source_y * row_len..(source_y + 1) * row_len];
        for (x, pixel) in row.chunks_exact_mut(channels).enumerate() {
            let source_x = (x + shift[1]).clamp(pad, pad + width - 1) - pad;
            pixel.copy_from_slice(&source[source_x * channels..(source_x + 1) * channels]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::stream;

    #[test]
    fn by_hand() {
        // 2x3 pixels of one channel.
        let image = [1, 2, 3, 4, 5, 6u8];
        let shifted = |shift| {
            let mut out = [0; 6];
            shift_one(&image, &mut out, [2, 3, 1], shift, 1);
            out
        };
        assert_eq!(shifted([1, 1]), image, "the middle is no shift");
        assert_eq!(shifted([0, 1]), [1, 2, 3, 1, 2, 3]);
        assert_eq!(shifted([1, 2]), [2, 3, 3, 5, 6, 6]);
        assert_eq!(shifted([2, 0]), [4, 4, 5, 4, 4, 5]);
    }

    #[test]
    fn a_stack_moves_together_and_images_apart() {
        // Two channels hold the same picture: they must still do so.
        let picture: Vec<u8> = (0..64).flat_map(|i| [i, i]).collect();
        let batch = picture.repeat(50);
        let out = random_shift(ObsRef::U8(&batch), Some([8, 8, 2]), 2, &mut stream(1, "shift"));
        let ObsBuf::U8(out) = out else { panic!("bytes stay bytes") };
        assert!(out.chunks_exact(2).all(|pixel| pixel[0] == pixel[1]));
        let different: std::collections::BTreeSet<&[u8]> = out.chunks_exact(128).collect();
        assert!(different.len() > 10, "{} of 25 shifts", different.len());
    }

    #[test]
    fn no_padding_is_no_shift() {
        let batch: Vec<u8> = (0..75).collect();
        let out = random_shift(ObsRef::U8(&batch), Some([5, 5, 3]), 0, &mut stream(1, "shift"));
        assert_eq!(out, ObsBuf::U8(batch));
    }
}
