//! Parts of observations, column by column or side by side.

use axiomrl_envs::{ObsBuf, ObsSpace};
use std::ops::Range;

/// Rows of one part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Floats(Vec<f32>),
    Bytes(Vec<u8>),
}

/// Writes rows of a part to its place in wider rows.
pub(crate) fn scatter<T: Copy>(from: &[T], to: &mut [T], at: Range<usize>, width: usize) {
    if at.len() == width {
        return to.copy_from_slice(from);
    }
    for (from, to) in from.chunks_exact(at.len().max(1)).zip(to.chunks_exact_mut(width)) {
        to[at.clone()].copy_from_slice(from);
    }
}

/// The rows of a part.
pub(crate) fn gather<T: Copy>(from: &[T], at: Range<usize>, width: usize) -> Vec<T> {
    if at.len() == width {
        return from.to_vec();
    }
    from.chunks_exact(width).flat_map(|row| row[at.clone()].iter().copied()).collect()
}

/// Rows of all parts, each of which has as many.
pub(crate) fn assemble(space: &ObsSpace, rows: usize, parts: Vec<Values>) -> ObsBuf {
    let mut obs = ObsBuf::zeros(space.widths, 0);
    // One part is all there is in most data: it need not be copied.
    if let [Values::Floats(_)] | [Values::Bytes(_)] = parts.as_slice() {
        for values in parts {
            match values {
                Values::Floats(floats) => obs.floats = floats,
                Values::Bytes(bytes) => obs.bytes = bytes,
            }
        }
        return obs;
    }
    obs.reshape(space.widths, rows);
    for (part, values) in space.parts.iter().zip(parts) {
        match values {
            Values::Floats(floats) => scatter(&floats, &mut obs.floats, part.at.clone(), space.widths.floats),
            Values::Bytes(bytes) => scatter(&bytes, &mut obs.bytes, part.at.clone(), space.widths.bytes),
        }
    }
    obs
}
