//! What adversarial imitation has in common: a discriminator tells a policy's steps from an expert's, and the policy is paid for
//! what it cannot tell.
//!
//! A round: the policy plays a rollout; the discriminator takes its steps on it; all of the rollout is paid by the discriminator
//! as it then is; advantages follow; the policy learns. Two discriminators are never mixed in one rollout, and the policy that
//! played is the one that the discriminator was shown.

mod expert_set;
mod inputs;
mod learner;
mod logistic;
#[cfg(test)]
pub(crate) mod testing;

pub use expert_set::{ExpertSet, Selection};
pub use inputs::Inputs;
pub use learner::{AdversarialLearner, AdversarialSettings};
pub use logistic::{Verdict, logistic_loss, softplus};

use crate::agent::{LearnError, Learned, Setup, UpdateContext};
use crate::config::{Idle, Problem};
use crate::parts::checks::BuildError;
use crate::policy::ActInput;
use crate::policy_gradient::learner::{PolicyLearner, PolicyUpdate};
use crate::policy_gradient::{Ppo, PpoConfig, PpoLearner, Trpo, TrpoConfig, TrpoLearner};
use crate::regimes::RolloutLearner;
use crate::registry::Algorithm;
use crate::state::{StateError, StateIo};
use axiomrl_core::Metrics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What learns from the rewards of a discriminator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GeneratorKind {
    /// Proximal policy optimisation.
    #[default]
    Ppo,
    /// Trust region policy optimisation, as in the first publications.
    Trpo,
}

impl GeneratorKind {
    pub fn check_setup(self, ppo: &PpoConfig, trpo: &TrpoConfig, setup: &Setup) -> Result<(), Problem> {
        match self {
            Self::Ppo => Ppo::check_setup(ppo, setup),
            Self::Trpo => Trpo::check_setup(trpo, setup),
        }
    }

    pub fn build(self, ppo: PpoConfig, trpo: TrpoConfig, setup: &Setup) -> Result<Box<dyn Generator>, BuildError> {
        Ok(match self {
            Self::Ppo => Box::new(PpoLearner::new(ppo, setup)?),
            Self::Trpo => Box::new(TrpoLearner::new(trpo, setup)?),
        })
    }

    /// Settings that only the other generator has.
    pub fn idle(self) -> [Idle; 2] {
        [
            Idle {
                now: self == Self::Ppo,
                keys: &[
                    "max_kl",
                    "cg_iterations",
                    "cg_damping",
                    "curvature_share",
                    "line_search_steps",
                    "line_search_shrink",
                ],
                switch: Some("generator"),
                why: "the policy learns by PPO; set `generator: trpo`",
            },
            Idle {
                now: self == Self::Trpo,
                keys: &[
                    "clip_coef",
                    "value_clip_coef",
                    "vf_coef",
                    "max_grad_norm",
                    "normalize_advantage",
                    "target_kl",
                    "shared",
                ],
                switch: Some("generator"),
                why: "the policy learns by TRPO; set `generator: ppo`",
            },
        ]
    }
}

/// What the inputs of a discriminator, and the observations of the policy, are standardised by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputStatistics {
    /// The expert's mean and deviation, for discriminator and policy, as they are at the start.
    #[default]
    Expert,
    /// Those of all that the discriminator was shown so far; the policy goes by the run's `normalize_observation`.
    Running,
}

/// A policy that learns from the rewards it is given and can tell how likely it is to act like somebody else.
pub trait Generator: RolloutLearner {
    /// The logarithm of how likely it is to choose each action. Observations are standardised as the policy takes them.
    fn log_probs(&mut self, input: ActInput<'_>, actions: &[f32], log_probs: &mut [f32]) -> Result<(), LearnError>;
}

impl<U: PolicyUpdate> Generator for PolicyLearner<U> {
    fn log_probs(&mut self, input: ActInput<'_>, actions: &[f32], log_probs: &mut [f32]) -> Result<(), LearnError> {
        self.policy.log_probs(input, actions, log_probs);
        Ok(())
    }
}

/// Steps as a discriminator is shown them: standardised, one row each.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub count: usize,
    /// Observation and action side by side.
    pub x: Vec<f32>,
    /// What each step led to; empty unless [`Discriminator::sees_outcomes`].
    pub next: Vec<f32>,
    /// 0 where the world ended with the step, 1 elsewhere; empty unless [`Discriminator::sees_outcomes`].
    pub goes_on: Vec<f32>,
    /// How likely the policy was to choose the action; empty unless [`Discriminator::sees_outcomes`].
    pub log_prob: Vec<f32>,
}

/// Tells an expert's steps from a policy's, and pays for them.
pub trait Discriminator: Send {
    /// Whether it is shown what steps led to and how likely they were.
    fn sees_outcomes(&self) -> bool {
        false
    }

    /// One step of its optimiser on as many rows of the expert as of the policy.
    fn step(&mut self, expert: &Rows, policy: &Rows, rate: f32, context: &mut UpdateContext<'_>) -> Learned<Verdict>;

    /// What the policy is paid for each row.
    fn rewards(&self, rows: &Rows) -> Vec<f32>;

    /// What it thinks of observations and actions alone: the reward that can be taken elsewhere.
    fn reward_function(&self, x: &[f32], rows: usize) -> Vec<f32>;

    /// Logs what else there is to say of a whole rollout.
    fn report(&self, _rows: &Rows, _metrics: &mut Metrics) {}

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError>;
}

/// What no adversarial imitation can do with an environment or the keys of its run file.
pub fn check_setup(setup: &Setup) -> Result<(), Problem> {
    Problem::when(setup.spaces.obs().widths.bytes > 0, &[], || {
        "the discriminator looks at numbers and choices, and these observations have images; use an environment without them, or \
         imitate them with `bc`"
            .to_owned()
    })?;
    Problem::when(setup.normalize_reward, &["scale_reward"], || {
        "`normalize_reward` scales the environment's rewards, which are not learned from; set `scale_reward: true` instead"
            .to_owned()
    })
}
