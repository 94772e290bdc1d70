//! Critics and a value that see recorded actions alone: IQL and XQL.

use super::critics::{Asked, Critics};
use super::imitator::{Imitator, Judge, differences, mean, targets};
use super::settings::{AdvantageKind, RegressionConfig};
use super::value::{ValueNet, ValueStep};
use super::value_loss::ValueFit;
use crate::agent::{Learned, Setup, UpdateContext};
use crate::config::Problem;
use crate::policy::ActInput;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Batch, Metrics};
use axiomrl_envs::{ObsRef, Rng};

/// Updates between two looks at what the policy's own actions are held to be worth, which learning does not need.
const LOOK: u64 = 25;

/// With more of a batch than this beyond the clip, the value hears of too little.
const MOSTLY: f32 = 0.5;

pub struct InSample {
    pub value: ValueNet,
    pub critics: Critics,
}

impl InSample {
    pub fn new(config: &RegressionConfig, setup: &Setup, rng: &mut Rng) -> Result<Self, Problem> {
        Ok(Self { value: ValueNet::new(config, setup, rng)?, critics: Critics::new(config, setup, rng)? })
    }
}

/// The loss of values where actions are worth `q`.
fn fit(config: &RegressionConfig, q: &[f32], values: &[f32]) -> ValueFit {
    match config.advantage {
        AdvantageKind::Gumbel => ValueFit::gumbel(q, values, config.gumbel_temperature, config.gumbel_clip),
        _ => ValueFit::expectile(q, values, config.expectile),
    }
}

impl Judge for InSample {
    fn update(&mut self, batch: &Batch, imitator: &mut Imitator, context: &mut UpdateContext<'_>) -> Learned {
        let (rate, number) = (imitator.config.rate(context.fraction()), context.number());
        // q = min_i Q'_i(s, a)
        let q = self.critics.lowest(Asked::Target, batch.obs(), &batch.action);
        // V: mean |tau - 1{u < 0}| * u^2, u = q - V(s), or the same with Gumbel's loss
        let step = self.value.step(batch.obs(), rate, context, |values| fit(&imitator.config, &q, values))?;
        report(&step, imitator.config.advantage, context.metrics);
        // policy: -mean w * log pi(a|s), w = min(exp(beta * (q - V(s))), max), with V as it is now
        let values = self.value.values(batch.obs.as_ref());
        let (now, next) = values.split_at(batch.rows);
        imitator.learn(batch, &differences(&q, now), context)?;
        // critics: sum_i mean (Q_i(s, a) - y)^2, y = R + D * V(s')
        let step = self.critics.step(batch, &targets(batch, next), rate, context)?;
        step.report(context.metrics);
        if number % LOOK == 1 {
            let best = imitator.best(ActInput { obs: batch.obs(), masks: batch.masks() });
            let worth = self.critics.lowest(Asked::Online, batch.obs(), &best);
            context.metrics.add("q_policy_mean", mean(&worth));
        }
        // Q' += tau * (Q - Q')
        if number.is_multiple_of(imitator.config.target_update_interval) {
            self.critics.soft_update(imitator.config.tau);
        }
        Ok(())
    }

    fn values(&self, obs: ObsRef<'_>, best: &[f32]) -> Vec<f32> {
        self.critics.lowest(Asked::Online, obs, best)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.value.visit_state(io)?;
        self.critics.visit_state(io)
    }
}

fn report(step: &ValueStep, advantage: AdvantageKind, metrics: &mut Metrics) {
    step.report(metrics);
    if advantage == AdvantageKind::Gumbel {
        metrics.add("gumbel_clipped", step.clipped);
        if step.clipped > MOSTLY {
            metrics.note(
                "most actions are worth more than the value by gumbel_clip temperatures, and do not move it \
                 (gumbel_clipped); raise gumbel_temperature, or scale rewards down",
            );
        }
    }
}
