//! From observations, as environments give them, to numbers that a network takes.

use axiomrl_envs::{DType, ObsRef, Space};
use std::borrow::Cow;

/// How rows of observations become rows of network input: discrete parts one-hot, bytes scaled to [0, 1].
#[derive(Clone, Debug)]
pub struct Encoder {
    /// Sizes of the one-hot parts; empty for Box observations.
    categories: Vec<usize>,
    bytes: bool,
    obs_width: usize,
    width: usize,
}

impl Encoder {
    pub fn new(space: &Space) -> Self {
        let categories = match space {
            Space::Discrete { n } => vec![*n],
            Space::MultiDiscrete { nvec } => nvec.clone(),
            _ => Vec::new(),
        };
        let obs_width = space.width();
        let width = if categories.is_empty() { obs_width } else { categories.iter().sum() };
        Self { categories, bytes: space.dtype() == DType::U8, obs_width, width }
    }

    /// Numbers per row that the network sees.
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn encode<'a>(&self, obs: ObsRef<'a>) -> Cow<'a, [f32]> {
        match obs {
            ObsRef::F32(v) if self.categories.is_empty() => Cow::Borrowed(v),
            ObsRef::F32(v) => {
                let mut out = vec![0.0; v.len() / self.obs_width * self.width];
                for (from, to) in v.chunks_exact(self.obs_width).zip(out.chunks_exact_mut(self.width)) {
                    let mut at = 0;
                    for (value, n) in from.iter().zip(&self.categories) {
                        to[at + (*value as usize).min(n - 1)] = 1.0;
                        at += n;
                    }
                }
                Cow::Owned(out)
            }
            ObsRef::U8(v) => {
                debug_assert!(self.bytes);
                Cow::Owned(v.iter().map(|&b| f32::from(b) / 255.0).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discrete_parts_become_one_hot() {
        let encoder = Encoder::new(&Space::MultiDiscrete { nvec: vec![2, 3] });
        assert_eq!(encoder.width(), 5);
        let rows = encoder.encode(ObsRef::F32(&[1.0, 0.0, 0.0, 2.0]));
        assert_eq!(&rows[..], [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    }
}
