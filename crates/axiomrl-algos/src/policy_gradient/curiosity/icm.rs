//! The intrinsic curiosity module: features in which actions can be told from what they do, and a model that foresees them.

use super::features::{Features, INIT, Widths};
use super::{Bonus, CuriositySettings, FeatureGradient, Steps};
use crate::agent::{Diverged, Setup, UpdateContext};
use crate::parts::checks::BuildError;
use crate::parts::columns::join_columns;
use crate::parts::descend::{Loss, ParamGroup};
use crate::parts::input::Flatten;
use crate::parts::tracked::Trainable;
use crate::policy_gradient::shared::distribution_for;
use crate::state::{StateError, StateIo};
use axiomrl_envs::{ObsBuf, ObsRef};
use axiomrl_nn::{
    Activation, AdamConfig, Distribution, Mlp, MlpSpec, OptimizerConfig, Params, Tensor, fused_loss, leaf,
};

#[cfg(test)]
mod tests;

/// Hidden units of either model.
const HIDDEN: usize = 256;

/// Largest norm of the gradient of all three.
const MAX_NORM: f32 = 40.0;

pub struct Icm {
    features: Features,
    /// From features before and after to the action between them.
    inverse: Mlp,
    /// From features before and the action to the features after.
    forward: Mlp,
    group: ParamGroup,
    actions: Distribution,
    /// How actions are shown: choices one-hot, numbers as they are executed.
    shown: Flatten,
    forward_coef: f32,
    bonus_scale: f32,
    gradient: FeatureGradient,
}

/// What the losses came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IcmReport {
    inverse: f32,
    /// Of choices, the part that was named rightly.
    accuracy: f32,
    forward: f32,
}

impl Icm {
    pub fn new(settings: &CuriositySettings, setup: &Setup) -> Result<Self, BuildError> {
        let rng = &mut setup.rng("curiosity");
        let widths = Widths { of_vectors: (&[64, 64], 32), of_images: (&[], 288) };
        let features = Features::new(setup.observation_space(), settings.vision, widths, rng)?;
        let (actions, shown) = (distribution_for(setup.action_space())?, Flatten::new(setup.action_space()));
        let (width, hidden) = (features.width(), [HIDDEN]);
        let mut model =
            |inputs, outputs| Mlp::new(MlpSpec::new(inputs, &hidden, outputs, Activation::Relu), 1, &INIT, rng);
        let inverse = model(2 * width, actions.head_width());
        let forward = model(width + shown.width(), width);
        let mut icm = Self {
            features,
            inverse,
            forward,
            group: ParamGroup::new(&OptimizerConfig::Adam(AdamConfig::default()), &[], MAX_NORM),
            actions,
            shown,
            forward_coef: settings.forward_loss_coef,
            bonus_scale: settings.bonus_scale,
            gradient: settings.feature_gradient,
        };
        icm.group = ParamGroup::new(&OptimizerConfig::Adam(AdamConfig::default()), &icm.params(), MAX_NORM);
        Ok(icm)
    }

    /// Actions as the forward model is shown them.
    fn shown(&self, actions: &[f32], rows: usize) -> Vec<f32> {
        let executed = self.executed(actions);
        self.shown.encode(ObsRef::of_floats(rows, &executed)).into_owned()
    }

    /// Actions as the environment gets them: numbers are clipped for it.
    fn executed(&self, actions: &[f32]) -> Vec<f32> {
        match self.actions {
            Distribution::DiagGaussian { .. } => actions.iter().map(|a| a.clamp(-1.0, 1.0)).collect(),
            _ => actions.to_vec(),
        }
    }

    /// (1 - c) * inverse loss + c * mean over rows of 1/2 |foreseen - features|^2, as a node of the graph.
    fn loss(&self, steps: &Steps) -> (Loss, IcmReport) {
        let (rows, width) = (steps.len(), self.features.width());
        // One pass over what was seen before and after.
        let (both, mut tracked) = self.features.forward(beside(&steps.obs, &steps.next_obs).as_ref());
        let (before, after) = (both.clone().slice([0..rows, 0..width]), both.slice([rows..2 * rows, 0..width]));
        let heads = [self.inverse.params.tracked(), self.forward.params.tracked()];
        let pair = Tensor::cat(vec![before.clone(), after.clone()], 1);
        let named = self.inverse.forward(pair, heads[0].clone(), None);
        let (before, after) = match self.gradient {
            FeatureGradient::Inverse => (before.detach(), after.detach()),
            FeatureGradient::Both => (before, after),
        };
        let actions = leaf(&self.shown(&steps.actions, rows), [rows, self.shown.width()]);
        let foreseen = self.forward.forward(Tensor::cat(vec![before, actions], 1), heads[1].clone(), None);
        tracked.extend(heads);
        let (mut value, mut report) = (0.0, IcmReport::default());
        let node = fused_loss([named, foreseen, after.reshape([1, rows, width])], |[named, foreseen, after]| {
            let (inverse, accuracy, mut by_named) = self.inverse_loss(named, &steps.actions);
            by_named.iter_mut().for_each(|slope| *slope *= 1.0 - self.forward_coef);
            let share = 1.0 / rows as f32;
            let errors = || foreseen.iter().zip(after).map(|(foreseen, after)| foreseen - after);
            let forward = 0.5 * share * errors().map(|error| error * error).sum::<f32>();
            let by_foreseen: Vec<f32> = errors().map(|error| self.forward_coef * share * error).collect();
            let by_after = by_foreseen.iter().map(|slope| -slope).collect();
            report = IcmReport { inverse, accuracy, forward };
            value = (1.0 - self.forward_coef) * inverse + self.forward_coef * forward;
            (value, [by_named, by_foreseen, by_after])
        });
        (Loss { node, value, tracked }, report)
    }

    /// How badly actions are named: cross-entropy of choices, mean squared error of numbers. With the part that is named rightly
    /// and the gradient.
    fn inverse_loss(&self, named: &[f32], actions: &[f32]) -> (f32, f32, Vec<f32>) {
        let (width, action_width) = (self.actions.head_width(), self.actions.action_width());
        if let Distribution::DiagGaussian { .. } = self.actions {
            return tanh_square(named, &self.executed(actions));
        }
        let share = action_width as f32 / actions.len() as f32;
        let (mut loss, mut right, mut gradient) = (0.0, 0.0, vec![0.0; named.len()]);
        let (mut kept, mut best) = (vec![0.0; self.actions.kept_width()], vec![0.0; action_width]);
        let rows = named.chunks_exact(width).zip(gradient.chunks_exact_mut(width));
        for ((head, slope), action) in rows.zip(actions.chunks_exact(action_width)) {
            let (log_prob, _) = self.actions.log_prob_entropy(head, &[], &[], action, &mut kept);
            self.actions.d_log_prob_entropy(&[], action, &kept, -share, 0.0, slope, &mut []);
            self.actions.mode(head, &[], &[], &mut best);
            loss -= share * log_prob;
            right += if best == action { share } else { 0.0 };
        }
        (loss, right, gradient)
    }
}

/// Mean of (tanh head - action)^2, and its gradient by the head; numbers are never named exactly.
fn tanh_square(head: &[f32], actions: &[f32]) -> (f32, f32, Vec<f32>) {
    let guess: Vec<f32> = head.iter().map(|x| x.tanh()).collect();
    let (loss, by_guess) = super::rnd::mean_square(&guess, actions);
    let gradient = by_guess.iter().zip(&guess).map(|(slope, guess)| slope * (1.0 - guess * guess)).collect();
    (loss, 0.0, gradient)
}

/// scale * 1/2 |foreseen - features|^2
fn surprise(foreseen: &[f32], after: &[f32], scale: f32) -> f32 {
    scale * 0.5 * foreseen.iter().zip(after).map(|(foreseen, after)| (foreseen - after).powi(2)).sum::<f32>()
}

/// The rows of one table after those of another.
fn beside(first: &ObsBuf, second: &ObsBuf) -> ObsBuf {
    let mut both = ObsBuf::zeros(first.widths(), first.rows() + second.rows());
    both.range_mut(0..first.rows()).copy_from(first.as_ref());
    both.range_mut(first.rows()..first.rows() + second.rows()).copy_from(second.as_ref());
    both
}

impl Trainable for Icm {
    /// In the order of the loss.
    fn params(&mut self) -> Vec<&mut Params> {
        self.features.params().into_iter().chain([&mut self.inverse.params, &mut self.forward.params]).collect()
    }
}

impl Bonus for Icm {
    fn of(&self, steps: &Steps) -> Vec<f32> {
        let (rows, width) = (steps.len(), self.features.width());
        let before = self.features.infer(steps.obs.as_ref());
        let (mut joint, mut foreseen) = (Vec::new(), Vec::new());
        join_columns(&before, &self.shown(&steps.actions, rows), rows, &mut joint);
        self.forward.infer(&joint, rows, &mut foreseen);
        let after = self.features.infer(steps.next_obs.as_ref());
        let rows = foreseen.chunks_exact(width).zip(after.chunks_exact(width));
        rows.map(|(foreseen, after)| surprise(foreseen, after, self.bonus_scale)).collect()
    }

    fn learn(&mut self, steps: &Steps, rate: f32, context: &mut UpdateContext<'_>) -> Result<(), Diverged> {
        let (loss, report) = self.loss(steps);
        context.metrics.add("inverse_loss", report.inverse);
        if !matches!(self.actions, Distribution::DiagGaussian { .. }) {
            context.metrics.add("inverse_accuracy", report.accuracy);
        }
        context.metrics.add("forward_loss", report.forward);
        let Self { features, inverse, forward, group, .. } = self;
        let mut params = features.params();
        params.extend([&mut inverse.params, &mut forward.params]);
        group.descend("the model of curiosity", loss, &mut params, rate, context.number())?;
        Ok(())
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.features.visit_state("features", io)?;
        io.network("inverse", &mut self.inverse)?;
        io.network("forward", &mut self.forward)?;
        self.group.visit_state("adam", io)
    }
}
