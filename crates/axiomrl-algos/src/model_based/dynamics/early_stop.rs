//! When a fit has gone on long enough, by the error on rows that it does not learn from.

use crate::state::{StateError, StateIo};

/// A member has made progress when its error has fallen by more than this part of its best.
const PROGRESS: f32 = 0.01;

/// How often held-out rows are looked at, and when a fit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// A look after every epoch; ends when there was no progress in *more* than so many.
    Epochs(u64),
    /// A look after every `interval` gradient steps; ends when there was none in `patience` of them.
    Steps { interval: u64, patience: u64 },
}

/// What the looks have shown so far.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlyStop {
    /// The error at which each member last made progress.
    best: Vec<f32>,
    /// Looks since any member did.
    quiet: u64,
}

impl EarlyStop {
    /// Before the first look, which always counts as progress.
    pub fn new(members: usize) -> Self {
        Self { best: vec![1e10; members], quiet: 0 }
    }

    /// Measured against errors from before the fit.
    pub fn from_scores(scores: &[f32]) -> Self {
        Self { best: scores.iter().map(|&score| if score.is_finite() { score } else { 1e10 }).collect(), quiet: 0 }
    }

    /// Which members made progress. An error that is no number is none.
    pub fn look(&mut self, scores: &[f32]) -> Vec<bool> {
        let progress: Vec<bool> =
            self.best.iter().zip(scores).map(|(best, score)| (best - score) / best > PROGRESS).collect();
        for ((best, score), _) in self.best.iter_mut().zip(scores).zip(&progress).filter(|(_, progress)| **progress) {
            *best = *score;
        }
        self.quiet = if progress.contains(&true) { 0 } else { self.quiet + 1 };
        progress
    }

    pub fn is_over(&self, patience: Patience) -> bool {
        match patience {
            Patience::Epochs(epochs) => self.quiet > epochs,
            Patience::Steps { interval, patience } => self.quiet * interval >= patience,
        }
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        io.floats("model_fit.best", &mut self.best)?;
        io.value("model_fit.quiet", &mut self.quiet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_gains_do_not_move_the_mark_and_the_sixth_quiet_epoch_ends_a_fit() {
        let errors = [1.0, 0.995, 0.991, 0.9899, 0.985];
        let (mut stop, mut recorded, mut epoch) = (EarlyStop::new(1), Vec::new(), 0);
        loop {
            if stop.look(&[errors[epoch.min(4)]])[0] {
                recorded.push(epoch);
            }
            if stop.is_over(Patience::Epochs(5)) {
                break;
            }
            epoch += 1;
        }
        assert_eq!((recorded, epoch, stop.best), (vec![0, 3], 9, vec![0.9899]));
    }

    #[test]
    fn patience_in_gradient_steps_ends_with_the_look_that_reaches_it() {
        let patience = Patience::Steps { interval: 100, patience: 400 };
        let mut stop = EarlyStop::from_scores(&[1.0, f32::NAN]);
        assert_eq!(stop.look(&[1.0, 5.0]), [false, true], "against a number that is none everything is progress");
        for look in 0..4 {
            assert!(!stop.is_over(patience), "{look}");
            assert_eq!(stop.look(&[f32::NAN, f32::NAN]), [false; 2]);
        }
        assert!(stop.is_over(patience));
    }
}
