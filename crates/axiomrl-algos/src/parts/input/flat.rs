//! From observations, as environments give them, to numbers that a network takes.

use crate::export::{Element, Graph, Shown, Value};
use axiomrl_envs::{Kind, ObsRef, ObsSpace, Space};
use std::borrow::Cow;
use std::ops::Range;

/// How rows of observations become rows of network input: numbers as they are, choices one-hot, bytes scaled to [0, 1]. Parts
/// that are numbers or choices come first, in the order of the space, then those that are bytes.
#[derive(Clone, Debug)]
pub struct Flatten {
    pieces: Vec<Piece>,
    /// Columns of the block of bytes that are encoded here; images that convolutions look at are not.
    bytes: Vec<Range<usize>>,
    width: usize,
}

/// A stretch of the block of floats.
#[derive(Clone, Debug)]
enum Piece {
    Numbers(Range<usize>),
    Choice { column: usize, n: usize },
}

impl Flatten {
    pub fn new(space: &Space) -> Self {
        Self::without_images(&ObsSpace::of(space), |_| false)
    }

    /// Leaves out the images for which `seen` holds: somebody else looks at them.
    pub fn without_images(space: &ObsSpace, seen: impl Fn([usize; 3]) -> bool) -> Self {
        let (mut pieces, mut bytes, mut width) = (Vec::new(), Vec::new(), 0);
        for part in &space.parts {
            match &part.kind {
                Kind::F32 => {
                    width += part.at.len();
                    match pieces.last_mut() {
                        Some(Piece::Numbers(before)) if before.end == part.at.start => before.end = part.at.end,
                        _ => pieces.push(Piece::Numbers(part.at.clone())),
                    }
                }
                Kind::OneHot(sizes) => {
                    for (column, &n) in part.at.clone().zip(sizes) {
                        pieces.push(Piece::Choice { column, n });
                        width += n;
                    }
                }
                Kind::U8 if part.image_shape().is_some_and(&seen) => {}
                Kind::U8 => {
                    width += part.at.len();
                    bytes.push(part.at.clone());
                }
            }
        }
        Self { pieces, bytes, width }
    }

    /// Numbers per row that the network sees.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Of each number that the network sees, whether it is one on a scale: choices and pixels are not.
    pub fn on_a_scale(&self) -> Vec<bool> {
        let pieces = self.pieces.iter().flat_map(|piece| match piece {
            Piece::Numbers(columns) => vec![true; columns.len()],
            Piece::Choice { n, .. } => vec![false; *n],
        });
        let mut scaled: Vec<bool> = pieces.collect();
        scaled.resize(self.width, false);
        scaled
    }

    /// Rows of [`Flatten::width`] numbers, copied only where they are not what the environment gave.
    pub fn encode<'a>(&self, obs: ObsRef<'a>) -> Cow<'a, [f32]> {
        if let ([Piece::Numbers(all)], true) = (&self.pieces[..], self.bytes.is_empty())
            && all.len() * obs.rows == obs.floats.len()
        {
            return Cow::Borrowed(obs.floats);
        }
        let mut out = vec![0.0; obs.rows * self.width];
        if self.width > 0 {
            for (row, to) in out.chunks_exact_mut(self.width).enumerate() {
                self.encode_row(obs.row(row), to);
            }
        }
        Cow::Owned(out)
    }

    /// As [`Flatten::encode`], as nodes of a graph; None where there are no numbers.
    pub fn onnx(&self, graph: &mut Graph, shown: Shown) -> Option<Value> {
        let mut parts = Vec::new();
        if let Some(floats) = shown.floats {
            let width = shown.widths.floats;
            for piece in &self.pieces {
                parts.push(match piece {
                    Piece::Numbers(columns) => graph.columns(floats, columns.clone(), width),
                    Piece::Choice { column, n } => {
                        let choice = graph.columns(floats, *column..column + 1, width);
                        let choice = graph.clip(choice, 0.0, (n - 1) as f32);
                        let choice = graph.cast(choice, Element::Int);
                        graph.one_hot(choice, *n)
                    }
                });
            }
        }
        for columns in &self.bytes {
            parts.extend(shown.pixels(graph, columns.clone()));
        }
        (!parts.is_empty()).then(|| graph.concat(&parts))
    }

    /// `out` is all zeros.
    fn encode_row(&self, obs: ObsRef<'_>, out: &mut [f32]) {
        let mut at = 0;
        for piece in &self.pieces {
            match piece {
                Piece::Numbers(columns) => {
                    out[at..at + columns.len()].copy_from_slice(&obs.floats[columns.clone()]);
                    at += columns.len();
                }
                Piece::Choice { column, n } => {
                    out[at + (obs.floats[*column] as usize).min(n - 1)] = 1.0;
                    at += n;
                }
            }
        }
        for columns in &self.bytes {
            for (to, &byte) in out[at..].iter_mut().zip(&obs.bytes[columns.clone()]) {
                *to = f32::from(byte) / 255.0;
            }
            at += columns.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_envs::BoxSpace;

    #[test]
    fn discrete_parts_become_one_hot() {
        let encoder = Flatten::new(&Space::MultiDiscrete { nvec: vec![2, 3] });
        assert_eq!(encoder.width(), 5);
        let rows = encoder.encode(ObsRef::of_floats(2, &[1.0, 0.0, 0.0, 2.0]));
        assert_eq!(&rows[..], [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn plain_numbers_are_not_copied_and_mixed_parts_lie_side_by_side() {
        let vector = || Space::Box(BoxSpace::uniform(2, -1.0, 1.0));
        let numbers = [1.0, 2.0, 3.0, 4.0];
        let encoder = Flatten::new(&Space::Dict { entries: vec![("a".into(), vector()), ("b".into(), vector())] });
        assert!(matches!(encoder.encode(ObsRef::of_floats(1, &numbers)), Cow::Borrowed(_)));
        let entries = vec![
            ("gear".into(), Space::Discrete { n: 2 }),
            ("camera".into(), Space::Box(BoxSpace::image(1, 1, 2))),
            ("speed".into(), vector()),
        ];
        let encoder = Flatten::new(&Space::Dict { entries });
        let row = ObsRef { rows: 1, floats: &[1.0, 7.0, 8.0], bytes: &[0, 255] };
        assert_eq!(&encoder.encode(row)[..], [0.0, 1.0, 7.0, 8.0, 0.0, 1.0]);
        assert_eq!(encoder.on_a_scale(), [false, false, true, true, false, false]);
    }
}
