//! The one place where actions leave [−1, 1].

use crate::Space;

/// From [−1, 1] to the box of an environment's actions.
pub struct ActionMap {
    axes: Vec<Axis>,
    mapped: Vec<f32>,
}

/// In double precision, so that −1 and 1 land exactly on the bounds.
struct Axis {
    centre: f64,
    half: f64,
}

impl ActionMap {
    /// `None` for actions that are choices; an error for a box without finite bounds.
    pub fn of(space: &Space) -> Result<Option<Self>, String> {
        let b = match space {
            Space::Box(b) => b,
            Space::Dict { .. } => return Err("Dict actions are not supported".into()),
            _ => return Ok(None),
        };
        if !b.is_bounded() {
            return Err("a Box action needs finite bounds to be mapped to".into());
        }
        let axis = |(&low, &high): (&f32, &f32)| {
            let (low, high) = (f64::from(low), f64::from(high));
            Axis { centre: 0.5 * (low + high), half: 0.5 * (high - low) }
        };
        Ok(Some(Self { axes: b.low.iter().zip(&b.high).map(axis).collect(), mapped: vec![0.0; b.dim()] }))
    }

    /// The action in the environment's own units; what lies outside of [−1, 1] is clipped.
    pub fn apply(&mut self, action: &[f32]) -> &[f32] {
        for ((mapped, a), axis) in self.mapped.iter_mut().zip(action).zip(&self.axes) {
            *mapped = (axis.centre + axis.half * f64::from(a.clamp(-1.0, 1.0))) as f32;
        }
        &self.mapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BoxSpace;

    #[test]
    fn the_ends_and_the_middle_are_exact_and_what_lies_outside_is_clipped() {
        let space = Space::Box(BoxSpace::vector(&[-2.0, 0.1], &[2.0, 0.7]));
        let mut map = ActionMap::of(&space).unwrap().unwrap();
        assert_eq!(map.apply(&[-1.0, -1.0]), [-2.0, 0.1]);
        assert_eq!(map.apply(&[1.0, 1.0]), [2.0, 0.7]);
        assert_eq!(map.apply(&[0.25, 0.0]), [0.5, 0.4]);
        assert_eq!(map.apply(&[-7.0, 3.0]), [-2.0, 0.7]);
    }

    #[test]
    fn boxes_without_bounds_are_refused() {
        let space = Space::Box(BoxSpace::uniform(1, 0.0, f32::INFINITY));
        assert!(ActionMap::of(&space).is_err());
    }
}
