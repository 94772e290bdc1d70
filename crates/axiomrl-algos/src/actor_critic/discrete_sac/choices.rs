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

    /// sum_a pi(a) * (q(a) - alpha * log pi(a)): what a state is worth where entropy is worth `alpha`.
    pub fn soft_value(&self, q: impl Fn(usize) -> f32, alpha: f32) -> f32 {
        self.expect(|a| q(a) - alpha * self.log[a])
    }

    /// sum_a pi(a) * (alpha * log pi(a) - q(a)); writes `share` of its derivative by the logits.
    pub fn actor_loss(&self, q: impl Fn(usize) -> f32, alpha: f32, share: f32, gradient: &mut [f32]) -> f32 {
        let cost = |a: usize| alpha * self.log[a] - q(a);
        let expected = self.expect(cost);
        // Through pi and through its logarithm: the latter's part is the same for all and sums to nothing.
        for (a, gradient) in gradient.iter_mut().enumerate() {
            *gradient = share * self.probability[a] * (cost(a) - expected);
        }
        expected
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
    fn target_and_actor_loss_by_hand() {
        // pi = (1/4, 3/4) over the allowed two; q = (2, 4), alpha = 1/2.
        let policy = Choices::new(&[0.0, 7.0, 3f32.ln()], &[true, false, true]);
        // What the forbidden one is thought to be worth has no part in it.
        let (q, alpha) = (|a: usize| [2.0, 1000.0, 4.0][a], 0.5);
        let (low, high) = (0.25f32.ln(), 0.75f32.ln());
        let value = 0.25 * (2.0 - 0.5 * low) + 0.75 * (4.0 - 0.5 * high);
        assert!((policy.soft_value(q, alpha) - value).abs() < 1e-6);
        let mut gradient = [9.0; 3];
        let loss = policy.actor_loss(q, alpha, 0.1, &mut gradient);
        assert!((loss + value).abs() < 1e-6, "the loss is the value with its sign turned");
        // d/dz_a = pi(a) * (cost(a) - loss), a tenth of it.
        let costs = [0.5 * low - 2.0, 0.5 * high - 4.0];
        assert!((gradient[0] - 0.1 * 0.25 * (costs[0] + value)).abs() < 1e-6);
        assert_eq!(gradient[1], 0.0);
        assert!((gradient[2] - 0.1 * 0.75 * (costs[1] + value)).abs() < 1e-6);
        // And by differences.
        let at = |z: f32| Choices::new(&[z, 7.0, 3f32.ln()], &[true, false, true]).soft_value(q, alpha);
        assert!((gradient[0] + 0.1 * (at(1e-2) - at(-1e-2)) / 2e-2).abs() < 1e-4);
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let choices = Choices::new(&[0.0, 3f32.ln()], &[]);
        let mut rng = axiomrl_core::stream(1, "test");
        let ones = (0..4000).filter(|_| choices.draw(0, &mut rng) == 1).count();
        assert!((2880..3120).contains(&ones), "{ones}");
    }
}
