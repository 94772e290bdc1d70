//! Observations: named parts, each with its own shape and type, in two blocks of memory.
//!
//! All parts that are numbers lie one after the other in the block of floats, all that are bytes in the block of bytes. So
//! a row of observations is two copies at most, however many parts it has, and an environment with one part is one.

use crate::{DType, Space};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What the numbers of a part are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Numbers on a scale.
    F32,
    /// Bytes, 0 to 255: pixels.
    U8,
    /// Choices, each a whole number below the size given; shown to networks as one column for each choice.
    OneHot(Vec<usize>),
}

/// How a part is made of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameSpec {
    /// Frames shown together, oldest first; 1 when observations are not stacked.
    pub count: usize,
    /// Numbers of a frame that stay together: one pixel's channels, or a whole vector.
    pub chunk: usize,
}

impl FrameSpec {
    /// Observations that are not stacked.
    pub const SINGLE: Self = Self { count: 1, chunk: 1 };

    /// Rows before a row whose frames it may need.
    pub fn history(self) -> usize {
        self.count - 1
    }
}

/// One named piece of an observation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Empty where the whole observation is one part.
    pub name: String,
    pub shape: Vec<usize>,
    pub kind: Kind,
    /// Its columns in the block of its kind.
    pub at: Range<usize>,
    pub frames: FrameSpec,
}

impl Part {
    /// `[height, width, channels]` of an image.
    pub fn image_shape(&self) -> Option<[usize; 3]> {
        if self.kind == Kind::U8 { self.shape.as_slice().try_into().ok() } else { None }
    }
}

/// Numbers of one row in each block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObsWidths {
    pub floats: usize,
    pub bytes: usize,
}

/// Where the parts of an observation lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObsSpace {
    pub parts: Vec<Part>,
    pub widths: ObsWidths,
}

impl ObsSpace {
    /// The parts of a space in the order of its entries. Parts of nested Dicts are named `outer/inner`.
    pub fn of(space: &Space) -> Self {
        let mut parts = Self::default();
        parts.add("", space);
        parts
    }

    fn add(&mut self, name: &str, space: &Space) {
        let (shape, kind, frames) = match space {
            Space::Dict { entries } => {
                for (inner, space) in entries {
                    let name = if name.is_empty() { inner.clone() } else { format!("{name}/{inner}") };
                    self.add(&name, space);
                }
                return;
            }
            Space::Box(b) => {
                let kind = if b.dtype == DType::U8 { Kind::U8 } else { Kind::F32 };
                // A plain vector of bytes has no axis of its own to be stacked along but its only one.
                let chunk = b.shape.last().map_or(1, |last| last / b.frames);
                (b.shape.clone(), kind, FrameSpec { count: b.frames, chunk: chunk.max(1) })
            }
            Space::Discrete { n } => (vec![1], Kind::OneHot(vec![*n]), FrameSpec::SINGLE),
            Space::MultiDiscrete { nvec } => (vec![nvec.len()], Kind::OneHot(nvec.clone()), FrameSpec::SINGLE),
            Space::MultiBinary { n } => (vec![*n], Kind::F32, FrameSpec::SINGLE),
        };
        let block = if kind == Kind::U8 { &mut self.widths.bytes } else { &mut self.widths.floats };
        let at = *block..*block + space.width();
        *block = at.end;
        self.parts.push(Part { name: name.to_owned(), shape, kind, at, frames });
    }

    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// How the block of bytes is made of frames: stores keep each frame once. Only where the block is a single part, which
    /// is where memory goes.
    pub fn byte_frames(&self) -> FrameSpec {
        let mut bytes = self.parts.iter().filter(|part| part.kind == Kind::U8);
        match (bytes.next(), bytes.next()) {
            (Some(part), None) => part.frames,
            _ => FrameSpec::SINGLE,
        }
    }
}

/// Rows of observations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObsBuf {
    widths: ObsWidths,
    pub floats: Vec<f32>,
    pub bytes: Vec<u8>,
}

/// Borrowed rows of observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObsRef<'a> {
    pub rows: usize,
    pub floats: &'a [f32],
    pub bytes: &'a [u8],
}

/// Rows to be written.
#[derive(Debug)]
pub struct ObsMut<'a> {
    pub floats: &'a mut [f32],
    pub bytes: &'a mut [u8],
}

impl ObsBuf {
    pub fn zeros(widths: ObsWidths, rows: usize) -> Self {
        Self { widths, floats: vec![0.0; rows * widths.floats], bytes: vec![0; rows * widths.bytes] }
    }

    pub fn widths(&self) -> ObsWidths {
        self.widths
    }

    pub fn rows(&self) -> usize {
        match self.widths {
            ObsWidths { floats: 0, bytes: 0 } => 0,
            ObsWidths { floats: 0, bytes } => self.bytes.len() / bytes,
            ObsWidths { floats, .. } => self.floats.len() / floats,
        }
    }

    /// Room for `rows` rows of these widths; what they hold afterwards is unspecified. Memory is kept.
    pub fn reshape(&mut self, widths: ObsWidths, rows: usize) {
        self.widths = widths;
        self.floats.resize(rows * widths.floats, 0.0);
        self.bytes.resize(rows * widths.bytes, 0);
    }

    pub fn as_ref(&self) -> ObsRef<'_> {
        ObsRef { rows: self.rows(), floats: &self.floats, bytes: &self.bytes }
    }

    pub fn range(&self, rows: Range<usize>) -> ObsRef<'_> {
        let ObsWidths { floats, bytes } = self.widths;
        ObsRef {
            rows: rows.len(),
            floats: &self.floats[rows.start * floats..rows.end * floats],
            bytes: &self.bytes[rows.start * bytes..rows.end * bytes],
        }
    }

    pub fn row(&self, row: usize) -> ObsRef<'_> {
        self.range(row..row + 1)
    }

    /// All rows, to be written.
    pub fn as_mut(&mut self) -> ObsMut<'_> {
        ObsMut { floats: &mut self.floats, bytes: &mut self.bytes }
    }

    pub fn range_mut(&mut self, rows: Range<usize>) -> ObsMut<'_> {
        let ObsWidths { floats, bytes } = self.widths;
        ObsMut {
            floats: &mut self.floats[rows.start * floats..rows.end * floats],
            bytes: &mut self.bytes[rows.start * bytes..rows.end * bytes],
        }
    }

    pub fn row_mut(&mut self, row: usize) -> ObsMut<'_> {
        self.range_mut(row..row + 1)
    }
}

impl<'a> ObsRef<'a> {
    /// Rows that are numbers only.
    pub fn of_floats(rows: usize, floats: &'a [f32]) -> Self {
        Self { rows, floats, bytes: &[] }
    }

    /// Rows that are bytes only.
    pub fn of_bytes(rows: usize, bytes: &'a [u8]) -> Self {
        Self { rows, floats: &[], bytes }
    }

    pub fn widths(self) -> ObsWidths {
        let rows = self.rows.max(1);
        ObsWidths { floats: self.floats.len() / rows, bytes: self.bytes.len() / rows }
    }

    pub fn range(self, rows: Range<usize>) -> ObsRef<'a> {
        let ObsWidths { floats, bytes } = self.widths();
        ObsRef {
            rows: rows.len(),
            floats: &self.floats[rows.start * floats..rows.end * floats],
            bytes: &self.bytes[rows.start * bytes..rows.end * bytes],
        }
    }

    pub fn row(self, row: usize) -> ObsRef<'a> {
        self.range(row..row + 1)
    }
}

impl<'a> ObsMut<'a> {
    /// For observations that are numbers only.
    pub fn of_floats(floats: &'a mut [f32]) -> Self {
        Self { floats, bytes: &mut [] }
    }

    /// For observations that are bytes only.
    pub fn of_bytes(bytes: &'a mut [u8]) -> Self {
        Self { floats: &mut [], bytes }
    }

    /// Writes the block of numbers.
    pub fn write(&mut self, floats: &[f32]) {
        self.floats.copy_from_slice(floats);
    }

    pub fn copy_from(&mut self, source: ObsRef<'_>) {
        self.floats.copy_from_slice(source.floats);
        self.bytes.copy_from_slice(source.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BoxSpace;

    fn dict() -> Space {
        let entries = vec![
            ("speed".into(), Space::Box(BoxSpace::uniform(2, -1.0, 1.0))),
            ("camera".into(), Space::Box(BoxSpace::image(2, 3, 1))),
            ("gear".into(), Space::Discrete { n: 4 }),
        ];
        Space::Dict { entries }
    }

    #[test]
    fn parts_keep_their_order_within_the_block_of_their_type() {
        let space = ObsSpace::of(&dict());
        assert_eq!(space.widths, ObsWidths { floats: 3, bytes: 6 });
        let places: Vec<_> = space.parts.iter().map(|p| (p.name.as_str(), p.at.clone())).collect();
        assert_eq!(places, [("speed", 0..2), ("camera", 0..6), ("gear", 2..3)]);
        assert_eq!(space.part("gear").unwrap().kind, Kind::OneHot(vec![4]));
        assert_eq!(space.part("camera").unwrap().image_shape(), Some([2, 3, 1]));
        let nested = Space::Dict { entries: vec![("car".into(), dict())] };
        assert_eq!(ObsSpace::of(&nested).parts[1].name, "car/camera");
    }

    #[test]
    fn rows_are_cut_out_of_both_blocks() {
        let mut buffer = ObsBuf::zeros(ObsWidths { floats: 1, bytes: 2 }, 3);
        buffer.row_mut(1).copy_from(ObsRef { rows: 1, floats: &[5.0], bytes: &[6, 7] });
        assert_eq!(buffer.rows(), 3);
        let middle = buffer.as_ref().range(1..3);
        assert_eq!((middle.rows, middle.floats, middle.bytes), (2, &[5.0, 0.0][..], &[6, 7, 0, 0][..]));
        assert_eq!(middle.row(0), buffer.row(1));
        buffer.reshape(ObsWidths { floats: 0, bytes: 4 }, 2);
        assert_eq!((buffer.rows(), buffer.floats.len(), buffer.bytes.len()), (2, 0, 8));
    }

    #[test]
    fn stacked_images_say_how_they_are_made_of_frames() {
        let stacked = BoxSpace { frames: 3, ..BoxSpace::image(4, 4, 6) };
        let space = ObsSpace::of(&Space::Box(stacked));
        assert_eq!(space.byte_frames(), FrameSpec { count: 3, chunk: 2 });
        assert_eq!(ObsSpace::of(&dict()).byte_frames(), FrameSpec { count: 1, chunk: 1 });
    }
}
