//! TD(lambda) returns over all recorded episodes, taken anew every so often: AWR.

use super::imitator::{Imitator, Judge};
use super::lambda_returns::{LambdaReturns, Turn};
use super::recorded::Recorded;
use super::settings::RegressionConfig;
use super::value::ValueNet;
use super::value_loss::ValueFit;
use crate::agent::{Learned, Setup, UpdateContext};
use crate::config::Problem;
use crate::state::{StateError, StateIo};
use axiomrl_core::Batch;
use axiomrl_envs::{ObsRef, Rng};

pub struct ByLambda {
    pub value: ValueNet,
    /// Absent where a policy is only loaded.
    pub returns: Option<LambdaReturns>,
    /// The network gives the value in units of this many: returns of any horizon are then about as large as rewards.
    unit: f32,
}

impl ByLambda {
    pub fn new(config: &RegressionConfig, setup: &Setup, rng: &mut Rng) -> Result<Self, Problem> {
        let value = ValueNet::new(config, setup, rng)?;
        let unit = if config.gamma < 1.0 { 1.0 / (1.0 - config.gamma) } else { 1.0 };
        let returns = Recorded::of(setup)?.map(|recorded| LambdaReturns::new(config, recorded, unit, &value));
        Ok(Self { value, returns, unit })
    }
}

impl Judge for ByLambda {
    fn update(&mut self, batch: &Batch, imitator: &mut Imitator, context: &mut UpdateContext<'_>) -> Learned {
        let rate = imitator.config.rate(context.fraction());
        let returns = self.returns.as_mut().ok_or_else(Recorded::missing)?;
        // G_t = r_t + gamma * ((1 - lambda) * V(s_{t+1}) + lambda * G_{t+1}) of all episodes, whenever V has learned enough
        match returns.advance(&self.value)? {
            // A large dataset takes several updates to go through.
            None => return Ok(()),
            // V: mean ((1 - gamma) * (G - V(s)))^2 / 2
            Some(Turn::Value) => {
                let wanted: Vec<f32> = returns.returns(&batch.index)?.iter().map(|g| g / self.unit).collect();
                let step = self.value.step(batch.obs(), rate, context, |values| ValueFit::squares(&wanted, values))?;
                step.report(context.metrics);
            }
            // policy: -mean w * log pi(a|s), w = min(exp(beta * A), max), A = G - V(s) standardised over all transitions
            Some(Turn::Policy) => imitator.learn(batch, &returns.advantages(&batch.index)?, context)?,
        }
        returns.made();
        Ok(())
    }

    fn values(&self, obs: ObsRef<'_>, _best: &[f32]) -> Vec<f32> {
        self.value.values(obs).iter().map(|value| self.unit * value).collect()
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.value.visit_state(io)?;
        self.returns.as_mut().map_or(Ok(()), |returns| returns.visit_state(io))
    }
}
