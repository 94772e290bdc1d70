//! A distribution over a few choices, for exact expectations.

use axiomrl_core::random::uniform;
use axiomrl_envs::Rng;

/// A policy over a few choices, in one row.
pub struct Choices {
    pub probability: Vec<f32>,
    pub log: Vec<f32>,
}

impl Choices {
    pub fn new(logits: &[f32], mask: &[bool]) -> Self {
        let allowed = |i: usize| mask.is_empty() || mask[i];
        let logit = |i: usize| if allowed(i) { logits[i] } else { f32::NEG_INFINITY };
        let largest = (0..logits.len()).map(logit).fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = (0..logits.len()).map(|i| (logit(i) - largest).exp()).sum();
        let log: Vec<f32> = (0..logits.len())
            // A forbidden choice has no part in any sum: its logarithm only has to be a number.
            .map(|i| if allowed(i) { logits[i] - largest - sum.ln() } else { 0.0 })
            .collect();
        let probability = (0..logits.len()).map(|i| if allowed(i) { log[i].exp() } else { 0.0 }).collect();
        Self { probability, log }
    }

    pub fn expect(&self, of: impl Fn(usize) -> f32) -> f32 {
        self.probability.iter().enumerate().map(|(i, p)| p * of(i)).sum()
    }

    /// A choice in proportion to its probability; `fallback` if rounding leaves the draw beyond the last.
    pub fn draw(&self, fallback: usize, rng: &mut Rng) -> usize {
        let mut rest = uniform(rng) as f32;
        for (choice, p) in self.probability.iter().enumerate() {
            rest -= p;
            if rest < 0.0 {
                return choice;
            }
        }
        fallback
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_choices_have_no_part() {
        let choices = Choices::new(&[1.0, 9.0, 1.0], &[true, false, true]);
        assert_eq!(choices.probability, [0.5, 0.0, 0.5]);
        assert!((choices.expect(|a| [2.0, 1000.0, 4.0][a]) - 3.0).abs() < 1e-6);
        assert!((choices.expect(|a| -choices.log[a]) - 2f32.ln()).abs() < 1e-6);
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let choices = Choices::new(&[0.0, 3f32.ln()], &[]);
        let mut rng = axiomrl_core::stream(1, "test");
        let ones = (0..4000).filter(|_| choices.draw(0, &mut rng) == 1).count();
        assert!((2880..3120).contains(&ones), "{ones}");
    }
}
