//! Choosing among actions.

use axiomrl_envs::{Rng, Space};
use rand::RngExt;

/// Uniformly random actions that respect the masks; Box actions in [-1, 1].
pub fn random_actions(space: &Space, masks: &[bool], rng: &mut Rng, actions: &mut [f32]) {
    let mask_width = space.mask_width();
    for (row, action) in actions.chunks_exact_mut(space.width()).enumerate() {
        let mask = if masks.is_empty() { &[][..] } else { &masks[row * mask_width..(row + 1) * mask_width] };
        match space {
            Space::Box(_) | Space::Dict { .. } => action.iter_mut().for_each(|a| *a = rng.random_range(-1.0..=1.0)),
            Space::Discrete { n } => action[0] = random_choice(*n, mask, rng) as f32,
            Space::MultiDiscrete { nvec } => {
                let mut at = 0;
                for (a, &n) in action.iter_mut().zip(nvec) {
                    *a = random_choice(n, mask.get(at..at + n).unwrap_or(&[]), rng) as f32;
                    at += n;
                }
            }
            Space::MultiBinary { .. } => {
                for (bit, a) in action.iter_mut().enumerate() {
                    *a = random_choice(2, mask.get(2 * bit..2 * bit + 2).unwrap_or(&[]), rng) as f32;
                }
            }
        }
    }
}

/// One of `n` choices, among the allowed ones if there is a mask.
pub fn random_choice(n: usize, mask: &[bool], rng: &mut Rng) -> usize {
    let allowed = mask.iter().filter(|&&m| m).count();
    if allowed == 0 {
        return rng.random_range(0..n);
    }
    let pick = rng.random_range(0..allowed);
    mask.iter().enumerate().filter(|(_, m)| **m).nth(pick).map_or(0, |(i, _)| i)
}

/// The allowed choice with the largest value; the first of equals.
pub fn argmax(values: &[f32], mask: &[bool]) -> usize {
    let mut best = usize::MAX;
    for (i, v) in values.iter().enumerate() {
        let allowed = mask.is_empty() || mask[i];
        if allowed && (best == usize::MAX || *v > values[best]) {
            best = i;
        }
    }
    if best == usize::MAX { 0 } else { best }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argmax_respects_masks_and_takes_the_first_of_equals() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0], &[]), 1);
        assert_eq!(argmax(&[1.0, 3.0, 2.0], &[true, false, true]), 2);
        assert_eq!(argmax(&[-5.0, -7.0], &[false, true]), 1);
    }

    #[test]
    fn random_choice_never_takes_a_masked_one() {
        let mut rng = axiomrl_core::stream(1, "test");
        let mut seen = [0; 4];
        for _ in 0..400 {
            seen[random_choice(4, &[true, false, false, true], &mut rng)] += 1;
        }
        assert!(seen[0] > 150 && seen[3] > 150);
        assert_eq!(seen[1] + seen[2], 0);
    }
}
