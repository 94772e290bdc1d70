//! Random shifts of images.

use axiomrl_envs::{ObsBuf, ObsRef, ObsSpace, Part, Rng, Space};
use axiomrl_nn::join;
use rand::RngExt;
use std::ops::Range;

/// From this many bytes on, two threads share the rows.
const SPLIT_LEN: usize = 1 << 17;

/// Moves each image by up to `pad` pixels in both directions, the same for all channels, and so for all frames of a stack.
/// What comes in from outside repeats the image's edge. Parts of the observation that are no images are left as they are.
pub struct RandomShift {
    images: Vec<Image>,
    pad: usize,
}

/// Observations as they are, or a shifted view of them.
pub enum Viewed<'a> {
    AsIs(ObsRef<'a>),
    Shifted(ObsBuf),
}

impl Viewed<'_> {
    pub fn as_ref(&self) -> ObsRef<'_> {
        match self {
            Self::AsIs(obs) => *obs,
            Self::Shifted(obs) => obs.as_ref(),
        }
    }

    /// With the rows of `more` after its own.
    pub fn followed_by(self, more: &Self) -> Self {
        let (first, second) = (self.as_ref(), more.as_ref());
        let mut both = ObsBuf::zeros(first.widths(), 0);
        both.floats = [first.floats, second.floats].concat();
        both.bytes = [first.bytes, second.bytes].concat();
        Self::Shifted(both)
    }
}

/// A part of the observation that is shifted.
struct Image {
    /// Its columns in the block of bytes.
    at: Range<usize>,
    shape: [usize; 3],
}

impl RandomShift {
    pub fn new(space: &Space, pad: usize) -> Self {
        let image = |part: &Part| Some(Image { at: part.at.clone(), shape: part.image_shape()? });
        Self { images: ObsSpace::of(space).parts.iter().filter_map(image).collect(), pad }
    }

    /// A shifted view, unless there is nothing to shift.
    pub fn view<'a>(&self, obs: ObsRef<'a>, rng: &mut Rng) -> Viewed<'a> {
        if self.pad == 0 || self.images.is_empty() { Viewed::AsIs(obs) } else { Viewed::Shifted(self.apply(obs, rng)) }
    }

    /// A view of its own of each image of each row.
    pub fn apply(&self, obs: ObsRef<'_>, rng: &mut Rng) -> ObsBuf {
        let mut shifted = ObsBuf::zeros(obs.widths(), obs.rows);
        shifted.as_mut().copy_from(obs);
        if self.images.is_empty() {
            return shifted;
        }
        let (each, width, most) = (self.images.len(), obs.widths().bytes, 2 * self.pad);
        // Drawn one after the other, so that the number of threads changes nothing.
        let shifts: Vec<[usize; 2]> =
            (0..obs.rows * each).map(|_| [rng.random_range(0..=most), rng.random_range(0..=most)]).collect();
        let shift_rows = |from: &[u8], to: &mut [u8], shifts: &[[usize; 2]]| {
            let rows = from.chunks_exact(width).zip(to.chunks_exact_mut(width)).zip(shifts.chunks_exact(each));
            for ((from, to), shifts) in rows {
                for (Image { at, shape }, shift) in self.images.iter().zip(shifts) {
                    shift_one(&from[at.clone()], &mut to[at.clone()], *shape, *shift, self.pad);
                }
            }
        };
        if obs.bytes.len() < SPLIT_LEN {
            shift_rows(obs.bytes, &mut shifted.bytes, &shifts);
            return shifted;
        }
        let half = obs.rows / 2;
        let (from_first, from_second) = obs.bytes.split_at(half * width);
        let (to_first, to_second) = shifted.bytes.split_at_mut(half * width);
        let (shifts_first, shifts_second) = shifts.split_at(half * each);
        join(|| shift_rows(from_first, to_first, shifts_first), || shift_rows(from_second, to_second, shifts_second));
        shifted
    }
}

/// The image cut out at `shift` of one that was padded with its edges.
fn shift_one(from: &[u8], to: &mut [u8], [height, width, channels]: [usize; 3], shift: [usize; 2], pad: usize) {
    let row_len = width * channels;
    // The pixels between these come from inside of the image and are moved as they lie.
    let first = pad.saturating_sub(shift[1]).min(width);
    let last = (pad + width).saturating_sub(shift[1]).min(width);
    for (y, row) in to.chunks_exact_mut(row_len).enumerate() {
        let source_y = (y + shift[0]).clamp(pad, pad + height - 1) - pad;
        let source = &from[source_y * row_len..(source_y + 1) * row_len];
        let (left, rest) = row.split_at_mut(first * channels);
        let (middle, right) = rest.split_at_mut((last - first) * channels);
        left.chunks_exact_mut(channels).for_each(|pixel| pixel.copy_from_slice(&source[..channels]));
        if !middle.is_empty() {
            let start = (first + shift[1] - pad) * channels;
            middle.copy_from_slice(&source[start..start + middle.len()]);
        }
        right.chunks_exact_mut(channels).for_each(|pixel| pixel.copy_from_slice(&source[row_len - channels..]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::stream;
    use axiomrl_envs::BoxSpace;

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

    fn of(shape: [usize; 3], pad: usize) -> RandomShift {
        let [height, width, channels] = shape;
        RandomShift::new(&Space::Box(BoxSpace::image(height, width, channels)), pad)
    }

    #[test]
    fn a_stack_moves_together_and_images_apart() {
        // Two channels hold the same picture: they must still do so.
        let picture: Vec<u8> = (0..64).flat_map(|i| [i, i]).collect();
        let batch = picture.repeat(50);
        let out = of([8, 8, 2], 2).apply(ObsRef::of_bytes(50, &batch), &mut stream(1, "shift")).bytes;
        assert!(out.chunks_exact(2).all(|pixel| pixel[0] == pixel[1]));
        let different: std::collections::BTreeSet<&[u8]> = out.chunks_exact(128).collect();
        assert!(different.len() > 10, "{} of 25 shifts", different.len());
    }

    #[test]
    fn no_padding_is_no_shift() {
        let batch: Vec<u8> = (0..75).collect();
        let out = of([5, 5, 3], 0).apply(ObsRef::of_bytes(1, &batch), &mut stream(1, "shift"));
        assert_eq!(out.bytes, batch);
    }

    #[test]
    fn every_image_moves_and_all_else_stays() {
        let entries = vec![
            ("front".into(), Space::Box(BoxSpace::image(4, 4, 1))),
            ("codes".into(), Space::Box(BoxSpace { shape: vec![5], ..BoxSpace::image(1, 1, 5) })),
            ("speed".into(), Space::Box(BoxSpace::uniform(2, -1.0, 1.0))),
            ("rear".into(), Space::Box(BoxSpace::image(4, 4, 1))),
        ];
        let shift = RandomShift::new(&Space::Dict { entries }, 2);
        // Both cameras show the same picture.
        let picture: Vec<u8> = (0..16).collect();
        let row = [&picture[..], &[7, 8, 9, 10, 11], &picture].concat();
        let (bytes, floats): (Vec<u8>, Vec<f32>) = (row.repeat(30), (0..60).map(|i| i as f32).collect());
        let obs = ObsRef { rows: 30, floats: &floats, bytes: &bytes };
        let out = shift.apply(obs, &mut stream(1, "shift"));
        assert_eq!((&out.floats, out.rows()), (&floats, 30));
        let rows = || out.bytes.chunks_exact(37);
        assert!(rows().all(|row| row[16..21] == [7, 8, 9, 10, 11]));
        assert!(rows().any(|row| row[..16] != picture) && rows().any(|row| row[21..] != picture));
        assert!(rows().any(|row| row[..16] != row[21..]), "each camera has a shift of its own");
    }

    #[test]
    fn numbers_are_no_images_and_draw_nothing() {
        let space = BoxSpace { shape: vec![2, 2, 1], ..BoxSpace::uniform(4, 0.0, 1.0) };
        let mut rng = stream(1, "shift");
        let untouched = rng.clone();
        let out = RandomShift::new(&Space::Box(space), 1).apply(ObsRef::of_floats(1, &[1.0, 2.0, 3.0, 4.0]), &mut rng);
        assert_eq!(out.floats, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(rng, untouched);
    }
}
