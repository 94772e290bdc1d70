//! Rewards that a learner pays itself for what it did not foresee, so that it explores where the environment pays nothing.
//!
//! A round: the policy plays a rollout; every step is paid a bonus by the networks as they were before it; advantages follow, of both
//! kinds of reward; the networks of the bonus take their steps on the rollout, and then the policy does. Nothing is paid where a policy
//! is only evaluated: what belongs to the bonus stands still there.

mod features;
mod icm;
mod learner;
mod rnd;
mod scale;
#[cfg(test)]
pub(crate) mod testing;

use crate::agent::{Diverged, Setup, UpdateContext};
use crate::config::Idle;
use crate::parts::checks::BuildError;
use crate::parts::input::Vision;
use crate::regimes::{IntrinsicStream, RolloutLearner};
use crate::state::{StateError, StateIo};
use axiomrl_core::Schedule;
use axiomrl_envs::ObsBuf;
use icm::Icm;
use learner::Curious;
use rnd::Rnd;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a learner pays itself for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CuriosityKind {
    /// Nothing: the environment's rewards are all there is.
    #[default]
    None,
    /// What it has seldom seen: the error of a network that learns to imitate a random one.
    Rnd,
    /// What it could not foresee: the error of a model of what its actions do.
    Icm,
}

/// Which loss may move the features of the model of what actions do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FeatureGradient {
    /// That of naming the action alone: features cannot shrink to be foreseen.
    #[default]
    Inverse,
    /// Both, as in the publication.
    Both,
}

/// All that curiosity asks of its settings.
#[derive(Clone, Debug)]
pub struct CuriositySettings {
    pub kind: CuriosityKind,
    pub stream: IntrinsicStream,
    /// Whether bonuses are scaled and have values of their own; otherwise they are added to the environment's rewards.
    pub two_streams: bool,
    pub learning_rate: Schedule,
    pub warm_up: u64,
    /// The part of the rows that a random network's imitator learns from.
    pub predictor_share: Option<f32>,
    pub bonus_scale: f32,
    pub forward_loss_coef: f32,
    pub feature_gradient: FeatureGradient,
    pub permute_bonus: bool,
    pub vision: Vision,
    /// Steps of a rollout.
    pub num_steps: usize,
    /// Passes over each rollout, and rows of each step.
    pub epochs: usize,
    pub minibatch_size: usize,
}

/// Curiosity's settings out of those of an algorithm that declares the group: passes and rows of a step are the algorithm's.
macro_rules! curiosity_settings {
    ($config:expr, $epochs:expr, $minibatch_size:expr) => {
        $crate::policy_gradient::curiosity::CuriositySettings {
            kind: $config.curiosity,
            stream: $crate::regimes::IntrinsicStream {
                gamma: $config.intrinsic_gamma,
                weights: [$config.extrinsic_coef, $config.intrinsic_coef],
            },
            two_streams: $config.two_streams,
            learning_rate: $config.curiosity_learning_rate.clone(),
            warm_up: $config.warm_up_steps,
            predictor_share: $config.predictor_share,
            bonus_scale: $config.bonus_scale,
            forward_loss_coef: $config.forward_loss_coef,
            feature_gradient: $config.feature_gradient,
            permute_bonus: $config.permute_bonus,
            vision: $config.vision,
            num_steps: $config.num_steps,
            epochs: $epochs,
            minibatch_size: $minibatch_size,
        }
    };
}
pub(crate) use curiosity_settings;

/// Values of each observation that a policy needs with these settings.
pub fn streams(kind: CuriosityKind, two_streams: bool) -> usize {
    if kind != CuriosityKind::None && two_streams { 2 } else { 1 }
}

/// Settings without an effect beside the others.
pub fn idle(kind: CuriosityKind, two_streams: bool) -> Vec<Idle> {
    let curious = kind != CuriosityKind::None;
    let of = |now, keys, switch, why| Idle { now, keys, switch: Some(switch), why };
    vec![
        of(
            !curious,
            &[
                "two_streams",
                "intrinsic_coef",
                "extrinsic_coef",
                "intrinsic_gamma",
                "curiosity_learning_rate",
                "warm_up_steps",
                "permute_bonus",
            ],
            "curiosity",
            "the learner pays itself nothing; set `curiosity: rnd` or `curiosity: icm`",
        ),
        of(
            curious && !two_streams,
            &["extrinsic_coef", "intrinsic_gamma"],
            "two_streams",
            "both kinds of reward are one; set `two_streams: true`",
        ),
        of(
            kind != CuriosityKind::Rnd,
            &["predictor_share"],
            "curiosity",
            "nothing imitates a random network; set `curiosity: rnd`",
        ),
        of(
            kind != CuriosityKind::Icm,
            &["bonus_scale", "forward_loss_coef", "feature_gradient"],
            "curiosity",
            "there is no model of what actions do; set `curiosity: icm`",
        ),
    ]
}

impl CuriositySettings {
    /// A learner that is paid by the environment and, where it is curious, by itself.
    pub fn around(
        self,
        inner: impl RolloutLearner + 'static,
        setup: &Setup,
    ) -> Result<Box<dyn RolloutLearner>, BuildError> {
        let bonus: Box<dyn Bonus> = match self.kind {
            CuriosityKind::None => return Ok(Box::new(inner)),
            CuriosityKind::Rnd => Box::new(Rnd::new(&self, setup)?),
            CuriosityKind::Icm => Box::new(Icm::new(&self, setup)?),
        };
        Ok(Box::new(Curious::new(Box::new(inner), bonus, self, setup)))
    }
}

/// Steps, with observations standardised by curiosity's own statistics.
pub struct Steps {
    pub obs: ObsBuf,
    pub actions: Vec<f32>,
    /// What each led to: the last observation of an episode where it ended.
    pub next_obs: ObsBuf,
}

impl Steps {
    pub fn len(&self) -> usize {
        self.next_obs.rows()
    }
}

/// What says how much there was to learn from a step, and learns it.
pub trait Bonus: Send {
    fn of(&self, steps: &Steps) -> Vec<f32>;

    /// One step of its optimiser.
    fn learn(&mut self, steps: &Steps, rate: f32, context: &mut UpdateContext<'_>) -> Result<(), Diverged>;

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}
