//! What observations and actions look like.

use serde::{Deserialize, Deserializer, Serialize};

/// How one number of an observation is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    F32,
    U8,
}

/// A box of numbers, flattened in row-major order; images are `[height, width, channels]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoxSpace {
    pub shape: Vec<usize>,
    #[serde(deserialize_with = "lower_bounds")]
    pub low: Vec<f32>,
    #[serde(deserialize_with = "upper_bounds")]
    pub high: Vec<f32>,
    pub dtype: DType,
    /// Frames that are shown together along the last axis, oldest first; 1 where nothing is stacked.
    #[serde(default = "single_frame")]
    pub frames: usize,
}

fn single_frame() -> usize {
    1
}

/// JSON has no infinity: where there is no number there is no bound.
fn lower_bounds<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f32>, D::Error> {
    let bounds = Vec::<Option<f32>>::deserialize(from)?;
    Ok(bounds.into_iter().map(|bound| bound.unwrap_or(f32::NEG_INFINITY)).collect())
}

fn upper_bounds<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f32>, D::Error> {
    let bounds = Vec::<Option<f32>>::deserialize(from)?;
    Ok(bounds.into_iter().map(|bound| bound.unwrap_or(f32::INFINITY)).collect())
}

impl BoxSpace {
    /// A vector with a bound of its own for each element.
    pub fn vector(low: &[f32], high: &[f32]) -> Self {
        assert_eq!(low.len(), high.len(), "a box needs as many lower as upper bounds");
        Self { shape: vec![low.len()], low: low.to_vec(), high: high.to_vec(), dtype: DType::F32, frames: 1 }
    }

    /// A vector whose elements all lie in `[low, high]`.
    pub fn uniform(dim: usize, low: f32, high: f32) -> Self {
        Self::vector(&vec![low; dim], &vec![high; dim])
    }

    /// A byte image, 0 to 255.
    pub fn image(height: usize, width: usize, channels: usize) -> Self {
        let n = height * width * channels;
        Self {
            shape: vec![height, width, channels],
            low: vec![0.0; n],
            high: vec![255.0; n],
            dtype: DType::U8,
            frames: 1,
        }
    }

    pub fn dim(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether every bound is finite: only such a box can be an action space.
    pub fn is_bounded(&self) -> bool {
        self.low.iter().chain(&self.high).all(|b| b.is_finite())
    }
}

/// The kinds of spaces, with Gymnasium's meaning.
///
/// Whatever the kind, a value is a row of numbers: a `Discrete` action is one whole number, a `MultiDiscrete` one a
/// whole number per choice, a `MultiBinary` one a 0 or 1 per bit, a `Box` one its elements. One layout for all kinds
/// keeps stores, policies and files free of special cases; `f32` holds whole numbers up to 2^24 exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Space {
    Box(BoxSpace),
    Discrete {
        n: usize,
    },
    MultiDiscrete {
        nvec: Vec<usize>,
    },
    MultiBinary {
        n: usize,
    },
    /// Entries in a fixed order, laid out one after the other.
    Dict {
        entries: Vec<(String, Space)>,
    },
}

impl Space {
    /// How many numbers a value takes.
    pub fn width(&self) -> usize {
        match self {
            Space::Box(b) => b.dim(),
            Space::Discrete { .. } => 1,
            Space::MultiDiscrete { nvec } => nvec.len(),
            Space::MultiBinary { n } => *n,
            Space::Dict { entries } => entries.iter().map(|(_, s)| s.width()).sum(),
        }
    }

    /// How many entries an action mask has: one for each choice of each discrete part (0 for a Box).
    pub fn mask_width(&self) -> usize {
        match self {
            Space::Box(_) | Space::Dict { .. } => 0,
            Space::Discrete { n } => *n,
            Space::MultiDiscrete { nvec } => nvec.iter().sum(),
            Space::MultiBinary { n } => 2 * n,
        }
    }

    pub fn dtype(&self) -> DType {
        match self {
            Space::Box(b) => b.dtype,
            _ => DType::F32,
        }
    }

    /// `[height, width, channels]` when the space is an image.
    pub fn image_shape(&self) -> Option<[usize; 3]> {
        match self {
            Space::Box(b) => b.shape.as_slice().try_into().ok(),
            _ => None,
        }
    }

    /// The kind as users write it.
    pub fn kind(&self) -> &'static str {
        match self {
            Space::Box(_) => "Box",
            Space::Discrete { .. } => "Discrete",
            Space::MultiDiscrete { .. } => "MultiDiscrete",
            Space::MultiBinary { .. } => "MultiBinary",
            Space::Dict { .. } => "Dict",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_without_bounds_survive_a_file() {
        let high = [2.0, f32::INFINITY];
        let entries = vec![
            ("a".to_owned(), Space::Box(BoxSpace::vector(&high.map(|h| -h), &high))),
            ("b".to_owned(), Space::Discrete { n: 3 }),
        ];
        let space = Space::Dict { entries };
        let text = serde_json::to_string(&space).unwrap();
        assert_eq!(serde_json::from_str::<Space>(&text).unwrap(), space);
    }
}
