//! The few draws that everything else is made of.
//!
//! The uniform ones are spelt out here, not taken from a library: a saved run must draw the same numbers after an
//! upgrade.

pub use axiomrl_envs::rng::{Rng, load_rng, save_rng, stream};
use rand::Rng as _;

/// A whole number below `n`. The bias is below `n / 2^64`, which no experiment can see.
pub fn below(rng: &mut Rng, n: usize) -> usize {
    below_with_rest(rng, n).0
}

/// As [`below`], with the randomness that is left: as good as a fresh 64-bit draw while `n` is far below 2^32.
pub(crate) fn below_with_rest(rng: &mut Rng, n: usize) -> (usize, u64) {
    let product = u128::from(rng.next_u64()) * n as u128;
    ((product >> 64) as usize, product as u64)
}

/// A number in `[0, 1)` with 53 random bits.
pub fn uniform(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A draw from the standard normal distribution.
pub fn normal(rng: &mut Rng) -> f32 {
    rand_distr::Distribution::sample(&rand_distr::StandardNormal, rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_below_n_is_equally_likely() {
        let mut rng = stream(3, "test");
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[below(&mut rng, 7)] += 1);
        // Six standard deviations (of about 93) either way.
        assert!(counts.iter().all(|&c| (9_440..=10_560).contains(&c)), "{counts:?}");
    }

    #[test]
    fn uniform_and_normal_have_their_moments() {
        let mut rng = stream(4, "test");
        let n = 100_000;
        let drawn: Vec<f64> = (0..n).map(|_| uniform(&mut rng)).collect();
        assert!(drawn.iter().all(|u| (0.0..1.0).contains(u)));
        assert!((drawn.iter().sum::<f64>() / f64::from(n) - 0.5).abs() < 0.006);
        let drawn: Vec<f64> = (0..n).map(|_| f64::from(normal(&mut rng))).collect();
        assert!((drawn.iter().sum::<f64>() / f64::from(n)).abs() < 0.02);
        assert!((drawn.iter().map(|x| x * x).sum::<f64>() / f64::from(n) - 1.0).abs() < 0.03);
    }
}
