//! Noise that is never stored: whoever needs a direction again draws it again.

use axiomrl_core::{random, stream};

/// Directions to look in, each from a generator of its own that follows from its numbers.
#[derive(Clone, Debug)]
pub struct Directions {
    seed: u64,
    /// Only so many of the first parameters are perturbed; the others stay what they are.
    searched: usize,
}

impl Directions {
    pub fn new(seed: u64, searched: usize) -> Self {
        Self { seed, searched }
    }

    /// Calls `each` with the place and the normal number of every perturbed parameter of direction `number`.
    pub fn visit(&self, iteration: u64, number: usize, mut each: impl FnMut(usize, f32)) {
        let mut rng = stream(self.seed, &format!("direction/{iteration}/{number}"));
        (0..self.searched).for_each(|at| each(at, random::normal(&mut rng)));
    }

    /// Adds `weight` times a direction to sums in double precision.
    pub fn add_to(&self, sums: &mut [f64], iteration: u64, number: usize, weight: f64) {
        self.visit(iteration, number, |at, noise| sums[at] += weight * f64::from(noise));
    }

    /// Writes `mean + scale · direction`; both candidates of a pair are the same direction with opposite signs.
    pub fn perturb(&self, mean: &[f32], iteration: u64, candidate: usize, scale: f32, out: &mut [f32]) {
        let signed = if candidate.is_multiple_of(2) { scale } else { -scale };
        out.copy_from_slice(mean);
        self.visit(iteration, candidate / 2, |at, noise| out[at] += signed * noise);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(directions: &Directions, iteration: u64, number: usize) -> Vec<f64> {
        let mut out = vec![0.0; 6];
        directions.add_to(&mut out, iteration, number, 1.0);
        out
    }

    #[test]
    fn a_direction_follows_from_its_numbers_alone() {
        let directions = Directions::new(3, 5);
        let first = direction(&directions, 0, 0);
        assert_eq!(first, direction(&directions, 0, 0));
        assert_eq!(first[5], 0.0, "what is not searched is not perturbed");
        assert!(first[..5].iter().all(|x| *x != 0.0));
        for (iteration, number) in [(0, 1), (1, 0), (1, 1), (10, 1), (1, 11)] {
            assert_ne!(first, direction(&directions, iteration, number), "{iteration} {number}");
        }
        // Names of streams keep numbers apart: 1/11 is not 11/1.
        assert_ne!(direction(&directions, 1, 11), direction(&directions, 11, 1));
        assert_ne!(first, direction(&Directions::new(4, 5), 0, 0));
    }

    #[test]
    fn a_pair_is_mirrored_at_the_mean() {
        let (directions, mean) = (Directions::new(3, 4), [1.0, 2.0, 3.0, 4.0]);
        let (mut plus, mut minus) = ([0.0; 4], [0.0; 4]);
        directions.perturb(&mean, 7, 4, 0.5, &mut plus);
        directions.perturb(&mean, 7, 5, 0.5, &mut minus);
        let noise = direction(&directions, 7, 2);
        for at in 0..4 {
            assert!((f64::from(plus[at] - mean[at]) - 0.5 * noise[at]).abs() < 1e-6);
            assert!((plus[at] + minus[at] - 2.0 * mean[at]).abs() < 1e-6);
        }
    }
}
