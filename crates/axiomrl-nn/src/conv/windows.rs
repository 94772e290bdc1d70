//! The patches of a few images as a factor of a product, without copying them out: a patch's value is found by adding the
//! place of the patch in the image and the place of the value in the patch.

use crate::buffers::Pooled;
use crate::images::Pixels;
use crate::kernels::matmul::Left;
use crate::kernels::patches::{Window, border, border_bytes};

/// Tables of places, and room for images that cannot be used as they are: bytes, and those that need a border of zeros.
pub struct Windows {
    window: Window,
    /// Where the patches of all images start.
    starts: Vec<u32>,
    /// Where the values of a patch lie, counted from its start.
    places: Vec<u32>,
    room: Pooled,
}

impl Windows {
    /// For up to `images` images at once, of the kind of `x`.
    pub fn new(window: Window, images: usize, x: Pixels<'_>) -> Self {
        let as_they_are = window.padding == 0 && matches!(x, Pixels::Floats(_));
        let mut room = Pooled::new(if as_they_are { 0 } else { images * window.bordered_len() });
        if window.padding > 0 {
            // Once for all groups of images: only what is inside of the border changes from one to the next.
            room.fill(0.0);
        }
        Self { window, starts: window.starts(images), places: window.places(), room }
    }

    /// The patches of `count` images from `first` on.
    pub fn of<'a>(&'a mut self, x: Pixels<'a>, first: usize, count: usize) -> Patches<'a> {
        let Self { window, starts, places, room } = self;
        let len = window.image_len();
        let values = match x.images(first, count, len) {
            Pixels::Floats(x) if room.is_empty() => x,
            x => {
                for (index, room) in room.chunks_exact_mut(window.bordered_len()).take(count).enumerate() {
                    match x {
                        Pixels::Floats(x) => border(*window, &x[index * len..(index + 1) * len], room),
                        Pixels::Bytes(x) => border_bytes(*window, &x[index * len..(index + 1) * len], room),
                    }
                }
                &room[..count * window.bordered_len()]
            }
        };
        Patches { values, starts: &starts[..count * window.patches()], places }
    }
}

/// The matrix `[patches, values of a patch]`.
#[derive(Clone, Copy)]
pub struct Patches<'a> {
    values: &'a [f32],
    starts: &'a [u32],
    places: &'a [u32],
}

impl<'a> Patches<'a> {
    pub fn rows(self) -> Left<'a> {
        Left::Gathered { values: self.values, rows: self.starts, steps: self.places }
    }

    /// As they are, value by value, to be copied out.
    pub fn values(self) -> impl Iterator<Item = impl Iterator<Item = f32> + 'a> + 'a {
        let Self { values, starts, places } = self;
        starts.iter().map(move |start| places.iter().map(move |place| values[(start + place) as usize]))
    }

    pub fn transposed(self) -> Left<'a> {
        Left::Gathered { values: self.values, rows: self.places, steps: self.starts }
    }
}
