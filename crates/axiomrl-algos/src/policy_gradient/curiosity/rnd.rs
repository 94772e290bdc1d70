//! Random network distillation: what the predictor has not learned to imitate was seldom seen.

use super::features::{Features, Widths};
use super::{Bonus, CuriositySettings, Steps};
use crate::agent::{Diverged, Setup, UpdateContext};
use crate::config::Problem;
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::tracked::Trainable;
use crate::state::{StateError, StateIo};
use axiomrl_nn::{AdamConfig, OptimizerConfig, fused_loss};

#[cfg(test)]
mod tests;

pub struct Rnd {
    /// As it was drawn, for ever.
    target: Features,
    predictor: Features,
    group: ParamGroup,
}

impl Rnd {
    pub fn new(settings: &CuriositySettings, setup: &Setup) -> Result<Self, Problem> {
        let rng = &mut setup.rng("curiosity");
        let mut features = |widths| Features::new(setup.observation_space(), settings.vision, widths, rng);
        let target = features(Widths { of_vectors: (&[64, 64], 32), of_images: (&[], 512) })?;
        let mut predictor = features(Widths { of_vectors: (&[64; 4], 32), of_images: (&[512; 2], 512) })?;
        let adam = OptimizerConfig::Adam(AdamConfig { eps: 1e-5, ..AdamConfig::default() });
        let group = ParamGroup::new(&adam, &predictor.params(), f32::INFINITY);
        Ok(Self { target, predictor, group })
    }

    /// The predictor's loss as a node of the graph, given the target's features.
    fn loss(&self, steps: &Steps, wanted: &[f32]) -> Loss {
        let (guess, tracked) = self.predictor.forward(steps.next_obs.as_ref());
        let mut value = 0.0;
        let node = fused_loss([guess], |[guess]| {
            let (loss, slope) = mean_square(guess, wanted);
            value = loss;
            (loss, [slope])
        });
        Loss { node, value, tracked }
    }
}

/// Mean over the columns of their variance over the rows: near 0, the features tell nothing apart.
fn variance(features: &[f32], width: usize) -> f32 {
    let rows = (features.len() / width) as f32;
    let of_column = |column: usize| {
        let values = || features.iter().skip(column).step_by(width);
        let mean = values().sum::<f32>() / rows;
        values().map(|value| (value - mean).powi(2)).sum::<f32>() / rows
    };
    (0..width).map(of_column).sum::<f32>() / width as f32
}

/// Mean of (guess - wanted)^2 over all numbers, with its gradient by the guess.
pub(super) fn mean_square(guess: &[f32], wanted: &[f32]) -> (f32, Vec<f32>) {
    let share = 1.0 / guess.len() as f32;
    let errors = || guess.iter().zip(wanted).map(|(guess, wanted)| guess - wanted);
    (errors().map(|error| share * error * error).sum(), errors().map(|error| 2.0 * share * error).collect())
}

impl Bonus for Rnd {
    /// mean over the features of (predictor - target)^2, of what each step led to
    fn of(&self, steps: &Steps) -> Vec<f32> {
        let next = steps.next_obs.as_ref();
        let (guess, wanted) = (self.predictor.infer(next), self.target.infer(next));
        let width = self.target.width();
        guess.chunks_exact(width).zip(wanted.chunks_exact(width)).map(|(g, w)| mean_square(g, w).0).collect()
    }

    fn learn(&mut self, steps: &Steps, rate: f32, context: &mut UpdateContext<'_>) -> Result<(), Diverged> {
        let wanted = self.target.infer(steps.next_obs.as_ref());
        let loss = self.loss(steps, &wanted);
        context.metrics.add("predictor_loss", loss.value);
        context.metrics.add("feature_variance", variance(&wanted, self.target.width()));
        self.group.descend("the predictor", loss, &mut self.predictor.params(), rate, context.number())?;
        Ok(())
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.target.visit_state("target", io)?;
        self.predictor.visit_state("predictor", io)?;
        self.group.visit_state("adam", io)
    }
}
