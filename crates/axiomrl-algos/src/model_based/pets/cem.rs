//! The cross-entropy method: draws plans, keeps the best, and narrows in on them.

use axiomrl_core::Rng;
use axiomrl_core::random::normal;

/// Variance of every number at the start of a decision, (high − low)²/16.
const VARIANCE: f32 = 0.25;
/// Plans whose numbers all vary by less are as good as decided.
const DECIDED: f32 = 1e-3;

/// Plans are rows of numbers in [−1, 1].
#[derive(Clone, Copy, Debug)]
pub struct Cem {
    pub population: usize,
    pub elites: usize,
    pub iterations: usize,
    /// How much of the old mean and variance stays in each iteration.
    pub smoothing: f32,
}

impl Cem {
    /// Improves one plan for each decision, in place. `means` has `decisions` rows; `cost` prices the candidates of all of them,
    /// `[decisions, population, numbers]`.
    pub fn improve<E>(
        &self,
        means: &mut [f32],
        decisions: usize,
        rng: &mut Rng,
        mut cost: impl FnMut(&[f32], &mut Rng) -> Result<Vec<f32>, E>,
    ) -> Result<(), E> {
        let numbers = means.len() / decisions.max(1);
        let mut variance = vec![VARIANCE; means.len()];
        for _ in 0..self.iterations {
            if variance.iter().all(|variance| *variance <= DECIDED) {
                break;
            }
            let mut candidates = Vec::with_capacity(means.len() * self.population);
            for (mean, variance) in means.chunks_exact(numbers).zip(variance.chunks_exact(numbers)) {
                let std: Vec<f32> =
                    mean.iter().zip(variance).map(|(&mean, &variance)| within_box(mean, variance)).collect();
                for _ in 0..self.population {
                    candidates.extend(mean.iter().zip(&std).map(|(mean, std)| mean + std * truncated(rng)));
                }
            }
            let costs = cost(&candidates, rng)?;
            let each = means.chunks_exact_mut(numbers).zip(variance.chunks_exact_mut(numbers));
            let drawn = candidates.chunks_exact(numbers * self.population).zip(costs.chunks_exact(self.population));
            for ((mean, variance), (candidates, costs)) in each.zip(drawn) {
                if variance.iter().any(|variance| *variance > DECIDED) {
                    self.narrow(mean, variance, candidates, costs);
                }
            }
        }
        Ok(())
    }

    /// Moves mean and variance towards those of the cheapest candidates.
    fn narrow(&self, mean: &mut [f32], variance: &mut [f32], candidates: &[f32], costs: &[f32]) {
        let numbers = mean.len();
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        order.truncate(self.elites);
        let (count, old) = (order.len() as f32, self.smoothing);
        for i in 0..numbers {
            let elite = |row: &usize| candidates[row * numbers + i];
            let new = order.iter().map(elite).sum::<f32>() / count;
            // Of these rows, not of a population they stand for.
            let spread = order.iter().map(|row| (elite(row) - new).powi(2)).sum::<f32>() / count;
            mean[i] = old * mean[i] + (1.0 - old) * new;
            variance[i] = old * variance[i] + (1.0 - old) * spread;
        }
    }
}

/// The deviation of draws, at most half of the way to the nearer bound: two deviations stay inside.
fn within_box(mean: f32, variance: f32) -> f32 {
    let (below, above) = ((mean + 1.0) / 2.0, (1.0 - mean) / 2.0);
    variance.min(below * below).min(above * above).sqrt()
}

/// A standard normal number within ±2.
fn truncated(rng: &mut Rng) -> f32 {
    loop {
        let x = normal(rng);
        if x.abs() <= 2.0 {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_core::stream;
    use std::convert::Infallible;

    const CEM: Cem = Cem { population: 200, elites: 20, iterations: 5, smoothing: 0.1 };

    #[test]
    fn draws_never_leave_the_box() {
        assert!((within_box(0.8, 0.25) - 0.1).abs() < 1e-6);
        let mut means = vec![0.8];
        let once = Cem { iterations: 1, ..CEM };
        let seen = |candidates: &[f32], _: &mut Rng| -> Result<Vec<f32>, Infallible> {
            assert!(candidates.iter().all(|x| (0.6 - 1e-6..=1.0 + 1e-6).contains(x)));
            Ok(vec![0.0; candidates.len()])
        };
        once.improve(&mut means, 1, &mut stream(1, "cem"), seen).unwrap();
    }

    #[test]
    fn mean_and_variance_move_to_those_of_the_cheapest() {
        let (mut mean, mut variance) = ([0.0], [0.25]);
        let cem = Cem { population: 4, elites: 2, ..CEM };
        cem.narrow(&mut mean, &mut variance, &[0.9, 0.2, 0.4, -0.7], &[5.0, 1.0, 2.0, f32::NAN]);
        assert!((mean[0] - 0.27).abs() < 1e-6 && (variance[0] - 0.034).abs() < 1e-6, "{mean:?} {variance:?}");
    }

    #[test]
    fn each_decision_finds_its_own_plan_and_begins_as_wide_as_the_one_before() {
        let mut means = vec![0.0; 4];
        let aims = [[0.5, -0.3], [-0.9, 0.1]];
        let mut widest = 0.0f32;
        for decision in 0..2 {
            let mut first = true;
            let cost = |candidates: &[f32], _: &mut Rng| -> Result<Vec<f32>, Infallible> {
                if std::mem::take(&mut first) && decision == 1 {
                    let one = candidates[..400].chunks(2).map(|row| (row[0] - means_then(0)).abs());
                    widest = one.fold(0.0, f32::max);
                }
                let price = |(i, row): (usize, &[f32])| {
                    row.iter().zip(aims[i / 200]).map(|(x, aim)| (x - aim).powi(2)).sum::<f32>()
                };
                Ok(candidates.chunks(2).enumerate().map(price).collect())
            };
            CEM.improve(&mut means, 2, &mut stream(2, "cem"), cost).unwrap();
        }
        for (mean, aim) in means.iter().zip(aims.concat()) {
            assert!((mean - aim).abs() < 0.05, "{means:?}");
        }
        assert!(widest > 0.3, "{widest}");
    }

    /// About where the first plan stands after a decision.
    fn means_then(_: usize) -> f32 {
        0.5
    }
}
