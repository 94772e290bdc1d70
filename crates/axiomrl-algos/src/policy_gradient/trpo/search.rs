//! The step along the natural gradient, and how much of it is taken.

use super::natural::Product;

/// The step `x · √(2 δ / x·H x)`: the longest one that the curvature allows. None where there is no direction to go.
pub fn full_step(x: &[f32], product: &Product, max_kl: f32) -> Option<Vec<f32>> {
    let scale = (2.0 * f64::from(max_kl) / product.quadratic).sqrt() as f32;
    let sound = product.quadratic > 0.0 && scale.is_finite() && x.iter().all(|x| x.is_finite());
    sound.then(|| x.iter().map(|x| scale * x).collect())
}

/// What became of the policy at a place that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// The mean divergence of the policy there from the old one.
    pub kl: f64,
    /// What the objective is there beyond the old one.
    pub gain: f64,
}

/// The first fraction of the step, from the whole one down, that stays within the region and gains something.
pub fn line_search(
    steps: usize,
    shrink: f32,
    max_kl: f32,
    mut try_at: impl FnMut(f32) -> Tried,
) -> Option<(f32, Tried)> {
    let fractions = (0..steps).map(|k| shrink.powi(k as i32));
    let mut tried = fractions.map(|fraction| (fraction, try_at(fraction)));
    tried.find(|(_, found)| found.kl < f64::from(max_kl) && found.gain > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_that_is_near_and_better_is_taken() {
        let places = [(0.012, 1.0), (0.0095, -1.0), (0.006, 1.0), (0.001, 2.0)];
        let mut at = 0;
        let mut next = |fraction: f32| {
            assert!((fraction - 0.8f32.powi(at as i32)).abs() < 1e-6);
            let (kl, gain) = places[at];
            at += 1;
            Tried { kl, gain }
        };
        let (fraction, found) = line_search(10, 0.8, 0.01, &mut next).unwrap();
        assert!((fraction - 0.64).abs() < 1e-6 && found == Tried { kl: 0.006, gain: 1.0 });
        assert_eq!(at, 3);
        assert_eq!(line_search(10, 0.8, 0.01, |_| Tried { kl: 0.001, gain: 0.0 }), None, "a gain must be one");
        assert_eq!(line_search(10, 0.8, 0.01, |_| Tried { kl: 0.01f32.into(), gain: 1.0 }), None, "within, not at");
        assert_eq!(line_search(10, 0.8, 0.01, |_| Tried { kl: f64::NAN, gain: 1.0 }), None);
    }

    #[test]
    fn a_step_into_nowhere_is_none() {
        let product = |quadratic| Product { vector: Vec::new(), quadratic };
        assert_eq!(full_step(&[0.0, 0.0], &product(0.0), 0.01), None);
        assert_eq!(full_step(&[1.0], &product(f64::NAN), 0.01), None);
        assert_eq!(full_step(&[1.0], &product(-1.0), 0.01), None);
        assert_eq!(full_step(&[3.0], &product(2.0), 0.01), Some(vec![0.3]));
    }
}
