//! The weight of the distance to what was recorded: it grows while the distance is above its bound.

use crate::agent::{Diverged, finite};
use crate::parts::descend::ParamGroup;
use crate::state::{StateError, StateIo};
use axiomrl_nn::{AdamConfig, OptimizerConfig, Params};

/// Bounds of the weight's logarithm.
const LOG: (f32, f32) = (-5.0, 10.0);

pub struct Dual {
    /// Logarithm of the weight, so that it stays positive.
    log: Params,
    group: ParamGroup,
    threshold: f32,
}

impl Dual {
    /// A weight of 1 for now.
    pub fn new(threshold: f32) -> Self {
        let mut log = Params::from_vec(1, 1, vec![0.0]);
        let group = ParamGroup::new(&OptimizerConfig::Adam(AdamConfig::default()), &[&mut log], f32::INFINITY);
        Self { log, group, threshold }
    }

    pub fn weight(&self) -> f32 {
        self.log.as_slice()[0].exp()
    }

    /// One step on -weight * (distance - threshold).
    pub fn update(&mut self, distance: f32, rate: f32, number: u64) -> Result<(), Diverged> {
        let slope = -self.weight() * (distance - self.threshold);
        let norm = self.group.step(&mut [&mut self.log], &[&[slope]], rate);
        finite("the gradient of the weight of the distance", norm, number)?;
        let log = &mut self.log.make_mut()[0];
        *log = log.clamp(LOG.0, LOG.1);
        Ok(())
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.params("log_mmd_weight", &mut self.log)?;
        self.group.visit_state("mmd_weight", io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_grows_while_the_distance_is_above_its_bound() {
        let moved = |distance: f32| {
            let mut dual = Dual::new(0.05);
            dual.update(distance, 1e-3, 1).unwrap();
            dual.weight()
        };
        assert_eq!(Dual::new(0.05).weight(), 1.0);
        // Adam's first step is as long as its rate, whatever the slope.
        assert!((moved(0.1).ln() - 1e-3).abs() < 1e-6, "{}", moved(0.1));
        assert!((moved(0.01).ln() + 1e-3).abs() < 1e-6, "{}", moved(0.01));
    }

    #[test]
    fn the_weight_stays_within_its_bounds() {
        let pushed = |distance: f32| {
            let mut dual = Dual::new(0.05);
            (0..40).for_each(|_| dual.update(distance, 1.0, 1).unwrap());
            dual.log.as_slice()[0]
        };
        assert_eq!((pushed(1.0), pushed(0.0)), (10.0, -5.0));
        let error = Dual::new(0.05).update(f32::NAN, 1.0, 7).unwrap_err();
        assert_eq!(error.update, 7);
    }
}
