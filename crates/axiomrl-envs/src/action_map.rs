//! The one place where actions leave [−1, 1], and the one where they come back.

use crate::{EnvError, Space};

/// Between [−1, 1] and the box of an environment's actions. Actions that are choices pass unchanged.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionMap {
    axes: Vec<Axis>,
}

/// In double precision, so that −1 and 1 land exactly on the bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    centre: f64,
    half: f64,
}

impl ActionMap {
    /// An error for a box without finite bounds.
    pub fn of(space: &Space) -> Result<Self, EnvError> {
        let bad = |problem: &str| EnvError::BadOption { env: "its action space".into(), problem: problem.into() };
        let b = match space {
            Space::Box(b) => b,
            Space::Dict { .. } => {
                return Err(bad("Dict actions are not supported; give it a Box or one kind of choices"));
            }
            _ => return Ok(Self { axes: Vec::new() }),
        };
        if !b.is_bounded() {
            return Err(bad("a Box action needs finite bounds to be mapped to; set `low` and `high`"));
        }
        let axis = |(&low, &high): (&f32, &f32)| {
            let (low, high) = (f64::from(low), f64::from(high));
            Axis { centre: 0.5 * (low + high), half: 0.5 * (high - low) }
        };
        Ok(Self { axes: b.low.iter().zip(&b.high).map(axis).collect() })
    }

    /// Of each number of a Box action, what 0 stands for and how far ±1 is from it; nothing for choices.
    pub fn centres_and_halves(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.axes.iter().map(|axis| (axis.centre, axis.half))
    }

    /// Rows of actions in the environment's own units; what lies outside of [−1, 1] is clipped.
    pub fn to_env(&self, unit: &[f32], out: &mut [f32]) {
        if self.axes.is_empty() {
            return out.copy_from_slice(unit);
        }
        for (unit, out) in unit.chunks_exact(self.axes.len()).zip(out.chunks_exact_mut(self.axes.len())) {
            for ((out, a), axis) in out.iter_mut().zip(unit).zip(&self.axes) {
                *out = (axis.centre + axis.half * f64::from(a.clamp(-1.0, 1.0))) as f32;
            }
        }
    }

    /// The way back, for actions that were recorded in the environment's units. Says how many numbers lay out of bounds and
    /// were clipped. An axis without extent has one action, 0.
    pub fn to_unit(&self, env: &[f32], out: &mut [f32]) -> usize {
        if self.axes.is_empty() {
            out.copy_from_slice(env);
            return 0;
        }
        let mut outside = 0;
        for (env, out) in env.chunks_exact(self.axes.len()).zip(out.chunks_exact_mut(self.axes.len())) {
            for ((out, &a), axis) in out.iter_mut().zip(env).zip(&self.axes) {
                let unit = if axis.half > 0.0 { (f64::from(a) - axis.centre) / axis.half } else { 0.0 };
                // Bounds are rounded to f32: what differs from them by rounding alone lies within.
                outside += usize::from(unit.abs() > 1.0 + 1e-6);
                *out = unit.clamp(-1.0, 1.0) as f32;
            }
        }
        outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BoxSpace;

    fn map() -> ActionMap {
        ActionMap::of(&Space::Box(BoxSpace::vector(&[-2.0, 0.1], &[2.0, 0.7]))).unwrap()
    }

    fn to_env(unit: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; unit.len()];
        map().to_env(unit, &mut out);
        out
    }

    #[test]
    fn the_ends_and_the_middle_are_exact_and_what_lies_outside_is_clipped() {
        assert_eq!(to_env(&[-1.0, -1.0]), [-2.0, 0.1]);
        assert_eq!(to_env(&[1.0, 1.0, 0.25, 0.0]), [2.0, 0.7, 0.5, 0.4]);
        assert_eq!(to_env(&[-7.0, 3.0]), [-2.0, 0.7]);
    }

    #[test]
    fn the_way_back_is_the_inverse_and_counts_what_lay_outside() {
        let mut unit = [0.0; 4];
        assert_eq!(map().to_unit(&[-2.0, 0.7, 1.0, 0.4], &mut unit), 0);
        assert_eq!(unit[..3], [-1.0, 1.0, 0.5]);
        assert!(unit[3].abs() < 1e-6);
        assert_eq!(map().to_unit(&[3.0, 0.1, 0.0, 0.8], &mut unit), 2);
        assert_eq!((unit[0], unit[3]), (1.0, 1.0));
        let choices = ActionMap::of(&Space::Discrete { n: 5 }).unwrap();
        assert_eq!(choices.to_unit(&[4.0], &mut unit[..1]), 0);
        assert_eq!(unit[0], 4.0);
    }

    #[test]
    fn boxes_without_bounds_are_refused() {
        let space = Space::Box(BoxSpace::uniform(1, 0.0, f32::INFINITY));
        assert!(ActionMap::of(&space).unwrap_err().to_string().contains("finite bounds"));
    }
}
