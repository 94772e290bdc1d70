//! From advantages to how much each action counts.

use super::settings::{AdvantageScale, RegressionConfig, WeightKind};
use crate::state::{StateError, StateIo};

/// Keeps advantages that are all zero from dividing by it.
const EPSILON: f32 = 1e-8;

pub struct Weighing {
    kind: WeightKind,
    beta: f32,
    max_weight: f32,
    moving_average: bool,
    rate: f32,
    /// The moving average of squared advantages; 0 before the first batch.
    mean_square: f32,
}

impl Weighing {
    pub fn new(config: &RegressionConfig) -> Self {
        Self {
            kind: config.weight,
            beta: config.beta,
            max_weight: config.max_weight,
            moving_average: config.advantage_scale == AdvantageScale::MovingAverage,
            rate: config.advantage_rate,
            mean_square: 0.0,
        }
    }

    /// What each of a batch's actions counts. Advantages are constants here: nothing learns through them.
    pub fn weights(&mut self, advantages: &[f32]) -> Vec<f32> {
        if !self.moving_average {
            return self.weigh(advantages, self.beta);
        }
        // c^2 <- c^2 + rho * (mean A^2 - c^2), then A / c
        let square = advantages.iter().map(|a| a * a).sum::<f32>() / advantages.len() as f32;
        let begun = self.mean_square > 0.0;
        self.mean_square = if begun { self.mean_square + self.rate * (square - self.mean_square) } else { square };
        self.weigh(advantages, self.beta / (EPSILON + self.mean_square.sqrt()))
    }

    fn weigh(&self, advantages: &[f32], beta: f32) -> Vec<f32> {
        match self.kind {
            WeightKind::One => vec![1.0; advantages.len()],
            WeightKind::Exp => {
                let most = self.max_weight;
                // Not `min`, which would make a number of what is none.
                let capped = |weight: f32| if weight > most { most } else { weight };
                advantages.iter().map(|a| capped((beta * a).exp())).collect()
            }
            WeightKind::Indicator => advantages.iter().map(|&a| if a > 0.0 { 1.0 } else { 0.0 }).collect(),
            WeightKind::Softmax => {
                let largest = advantages.iter().fold(f32::NEG_INFINITY, |most, a| most.max(beta * a));
                let mut weights: Vec<f32> = advantages.iter().map(|a| (beta * a - largest).exp()).collect();
                let scale = weights.len() as f32 / weights.iter().sum::<f32>();
                weights.iter_mut().for_each(|weight| *weight *= scale);
                weights
            }
        }
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if !self.moving_average {
            return Ok(());
        }
        let mut saved = [self.mean_square];
        io.floats("advantage_mean_square", &mut saved)?;
        [self.mean_square] = saved;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::presets;
    use super::*;

    fn close(found: &[f32], wanted: &[f32]) {
        let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-5 * b.abs().max(1.0);
        assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(near), "{found:?} is not {wanted:?}");
    }

    fn of(weight: WeightKind, beta: f32, max_weight: f32) -> Weighing {
        Weighing::new(&RegressionConfig { weight, beta, max_weight, ..presets::iql() })
    }

    #[test]
    fn advantages_count_by_their_exponential_up_to_a_limit() {
        let mut weighing = of(WeightKind::Exp, 3.0, 100.0);
        let found = weighing.weights(&[2.0, 0.0, -1.0, 1.0, 200.0]);
        close(&found, &[100.0, 1.0, (-3.0f32).exp(), 3.0f32.exp(), 100.0]);
        assert!(weighing.weights(&[f32::NAN])[0].is_nan(), "what is no number is not taken for the limit");
    }

    #[test]
    fn the_softmax_of_a_batch_has_a_mean_of_one_and_never_overflows() {
        let mut weighing = of(WeightKind::Softmax, 1.0, 0.1);
        close(&weighing.weights(&[0.0, 3.0f32.ln()]), &[0.5, 1.5]);
        close(&weighing.weights(&[1000.0, 1000.0 + 3.0f32.ln()]), &[0.5, 1.5]);
        close(&of(WeightKind::Softmax, 2.0, 1.0).weights(&[0.0, 3.0f32.ln()]), &[0.2, 1.8]);
    }

    #[test]
    fn a_binary_weight_asks_for_the_sign_and_an_even_one_for_nothing() {
        assert_eq!(of(WeightKind::Indicator, 9.0, 1.0).weights(&[0.1, 0.0, -2.0]), [1.0, 0.0, 0.0]);
        assert_eq!(of(WeightKind::One, 9.0, 20.0).weights(&[5.0, -5.0]), [1.0, 1.0]);
    }

    #[test]
    fn a_moving_average_begins_with_the_first_batch_and_moves_before_it_is_used() {
        let config = RegressionConfig { advantage_rate: 0.25, ..presets::marwil() };
        let mut weighing = Weighing::new(&config);
        // c^2 = 100 of the first batch itself.
        close(&weighing.weights(&[10.0, -10.0]), &[1f32.exp(), (-1f32).exp()]);
        assert_eq!(weighing.mean_square, 100.0);
        // mean A^2 = 20: c^2 = 100 + (20 - 100) / 4 = 80.
        close(&weighing.weights(&[2.0, 6.0]), &[(2.0 / 80f32.sqrt()).exp(), (6.0 / 80f32.sqrt()).exp()]);
        assert_eq!(weighing.mean_square, 80.0);
        // As RLlib has it: a start of 100 that stays.
        let mut still = Weighing { mean_square: 100.0, rate: 0.0, ..Weighing::new(&config) };
        close(&still.weights(&[10.0, 5.0]), &[1f32.exp(), 0.5f32.exp()]);
    }
}
