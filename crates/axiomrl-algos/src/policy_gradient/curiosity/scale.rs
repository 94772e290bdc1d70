//! Brings bonuses to the scale of their own discounted sums, which shrinks while the learner learns.

use crate::state::{StateError, StateIo};
use serde::{Deserialize, Serialize};

/// Steps that the first guess of the variance counts for.
const PRIOR: f64 = 1e-4;

/// Divides bonuses by the running deviation of their discounted sum. That runs on over ends of episodes, as their values do, and the
/// mean is kept: a bonus is never a charge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BonusScale {
    gamma: f64,
    /// The running sum of each environment.
    sums: Vec<f64>,
    count: f64,
    mean: f64,
    /// Sum of squared distances from the mean.
    spread: f64,
}

impl BonusScale {
    /// Before anything was counted the variance is 1.
    pub fn new(num_envs: usize, gamma: f32) -> Self {
        Self { gamma: f64::from(gamma), sums: vec![0.0; num_envs], count: PRIOR, mean: 0.0, spread: PRIOR }
    }

    /// Counts the bonus of a step, the steps of each environment in their order.
    pub fn count(&mut self, env: usize, bonus: f32) {
        let sum = self.gamma * self.sums[env] + f64::from(bonus);
        self.sums[env] = sum;
        self.count += 1.0;
        let distance = sum - self.mean;
        self.mean += distance / self.count;
        self.spread += distance * (sum - self.mean);
    }

    pub fn deviation(&self) -> f64 {
        (self.spread / self.count).sqrt()
    }

    pub fn scaled(&self, bonus: f32) -> f32 {
        (f64::from(bonus) / self.deviation()) as f32
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        let (gamma, environments) = (self.gamma, self.sums.len());
        io.value("bonus_scale", self)?;
        let numbers = [self.count, self.mean, self.spread];
        let sound = self.sums.len() == environments
            && self.sums.iter().chain(&numbers).all(|x| x.is_finite())
            && self.count > 0.0
            && self.spread > 0.0;
        self.gamma = gamma;
        if sound {
            return Ok(());
        }
        let problem = format!("it is not that of {environments} environments whose bonuses are finite");
        Err(StateError::Misfit { name: "bonus_scale".to_owned(), problem })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Snapshot;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-6, "{found} against {wanted}");
    }

    /// Bonuses (1, 3) in one environment, (2, 0) in the other.
    fn counted() -> BonusScale {
        let mut scale = BonusScale::new(2, 0.9);
        for (env, bonus) in [(0, 1.0), (1, 2.0), (0, 3.0), (1, 0.0)] {
            scale.count(env, bonus);
        }
        scale
    }

    #[test]
    fn sums_run_on_in_time_and_bonuses_are_divided_by_their_deviation() {
        let scale = counted();
        // Sums (1, 3.9) and (2, 1.8), of which the variance is 1.131875, and with its first guess 1.131990.
        assert!(scale.sums.iter().zip([3.9, 1.8]).all(|(found, wanted)| (found - wanted).abs() < 1e-6));
        close(scale.deviation().powi(2), 1.131_990);
        for (bonus, wanted) in [(1.0, 0.939_894), (3.0, 2.819_681), (2.0, 1.879_787), (0.0, 0.0)] {
            close(f64::from(scale.scaled(bonus)), wanted);
        }
        // Nothing counted: nothing changed.
        assert_eq!(BonusScale::new(2, 0.9).scaled(3.0), 3.0);
    }

    #[test]
    fn every_bit_survives_and_another_number_of_environments_is_refused() {
        let (mut scale, mut saved) = (counted(), Snapshot::default());
        scale.visit_state(&mut StateIo::save(&mut saved, None)).unwrap();
        let mut back = BonusScale::new(2, 0.9);
        back.visit_state(&mut StateIo::load(&saved, None)).unwrap();
        assert_eq!(back, scale);
        let refused = BonusScale::new(3, 0.9).visit_state(&mut StateIo::load(&saved, None)).unwrap_err().to_string();
        assert!(refused.contains("3 environments"), "{refused}");
    }
}
