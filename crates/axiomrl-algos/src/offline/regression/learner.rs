//! The learner: a policy that imitates, and who judges what it imitates.

use super::by_lambda::ByLambda;
use super::by_policy::ByPolicy;
use super::by_returns::ByReturns;
use super::imitator::{Imitator, Judge};
use super::in_sample::InSample;
use super::settings::{AdvantageKind, RegressionConfig};
use crate::agent::{LearnError, Setup, UpdateContext};
use crate::config::Problem;
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::policy::{ActContext, ActInput, Actor, Mode};
use crate::regimes::ReplayLearner;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;

pub struct RegressionLearner {
    imitator: Imitator,
    /// None where every action counts alike.
    judge: Option<Box<dyn Judge>>,
}

impl RegressionLearner {
    pub fn new(config: RegressionConfig, setup: &Setup) -> Result<Self, Problem> {
        let mut rng = setup.rng("init");
        let imitator = Imitator::new(config, setup, &mut rng)?;
        let (config, rng) = (&imitator.config, &mut rng);
        let judge: Option<Box<dyn Judge>> = match config.advantage {
            AdvantageKind::None => None,
            AdvantageKind::Returns => Some(Box::new(ByReturns::new(config, setup, rng)?)),
            AdvantageKind::LambdaReturns => Some(Box::new(ByLambda::new(config, setup, rng)?)),
            AdvantageKind::PolicyMean | AdvantageKind::PolicyMax => Some(Box::new(ByPolicy::new(config, setup, rng)?)),
            AdvantageKind::Expectile | AdvantageKind::Gumbel => Some(Box::new(InSample::new(config, setup, rng)?)),
        };
        Ok(Self { imitator, judge })
    }
}

impl Actor for RegressionLearner {
    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        let ActContext { mode, rng, .. } = context;
        match mode {
            Mode::Best => self.imitator.policy.best(input, actions),
            Mode::Sample => self.imitator.policy.sample(input, rng, actions),
        }
        Ok(())
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        self.imitator.policy.onnx(graph, shown)
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.imitator.policy.visit_policy(io)
    }
}

impl ReplayLearner for RegressionLearner {
    fn update(&mut self, batch: &Batch, context: &mut UpdateContext<'_>) -> Result<(), LearnError> {
        match &mut self.judge {
            // -mean log pi(a|s), or mean (pi(s) - a)^2
            None => Ok(self.imitator.imitate(batch, context)?),
            Some(judge) => judge.update(batch, &mut self.imitator, context),
        }
    }

    fn values(&mut self, input: ActInput<'_>, values: &mut [f32]) -> bool {
        let Some(judge) = &self.judge else { return false };
        let best = self.imitator.best(input);
        values.copy_from_slice(&judge.values(input.obs, &best));
        true
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.imitator.visit_state(io)?;
        self.judge.as_mut().map_or(Ok(()), |judge| judge.visit_state(io))
    }
}

#[cfg(test)]
pub(super) mod tests;
