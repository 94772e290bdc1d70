//! A policy that is paid by its own curiosity, too, and the rounds that both take turns in.

use super::scale::BonusScale;
use super::{Bonus, CuriosityKind, CuriositySettings, Steps};
use crate::agent::{LearnError, Learned, Setup, UpdateContext, finite};
use crate::export::{Answer, Graph, NoGraph, Shown};
use crate::parts::statistics::{ObsScaling, ObsStats};
use crate::policy::{ActContext, ActInput, Actor, Memory};
use crate::policy_gradient::passes::Passes;
use crate::policy_gradient::shared::explained;
use crate::regimes::{ActedRow, IntrinsicStream, Played, RolloutLearner, Unrewarded};
use crate::state::{StateError, StateIo};
use axiomrl_core::{Metrics, RawRows, Rollout};
use axiomrl_envs::{ObsBuf, ObsRef};
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::ops::Range;

#[cfg(test)]
mod tests;

/// Standardised observations are clipped to ±this.
const CLIP: f32 = 5.0;

/// As many environments as the imitator of a random network learns from; of more, a part of the rows.
const ENVIRONMENTS: f32 = 32.0;

/// How far a rollout has come before the policy learns from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    #[default]
    Unpaid,
    Paid,
    Learned,
}

/// A learner with a bonus for what it did not foresee.
pub struct Curious {
    inner: Box<dyn RolloutLearner>,
    bonus: Box<dyn Bonus>,
    settings: CuriositySettings,
    /// The part of the rows that the bonus learns from.
    share: f32,
    /// Of what steps led to, apart from the policy's. None where nothing of an observation has a scale.
    statistics: Option<ObsStats>,
    scale: BonusScale,
    stage: Stage,
    passes: Passes,
    /// Rows of a whole rollout.
    rows: usize,
}

impl Curious {
    pub fn new(
        inner: Box<dyn RolloutLearner>,
        bonus: Box<dyn Bonus>,
        settings: CuriositySettings,
        setup: &Setup,
    ) -> Self {
        let usual = (ENVIRONMENTS / setup.num_envs as f32).min(1.0);
        let share = match settings.kind {
            CuriosityKind::Rnd => settings.predictor_share.unwrap_or(usual),
            _ => 1.0,
        };
        // Choices and images have no scale, and need none.
        let statistics = ObsStats::new(&setup.spaces, ObsScaling::Running).ok().flatten();
        Self {
            inner,
            bonus,
            share,
            statistics: statistics.map(|statistics| statistics.clipped_at(CLIP)),
            scale: BonusScale::new(setup.num_envs, settings.stream.gamma),
            stage: Stage::Unpaid,
            passes: Passes::default(),
            rows: settings.num_steps * setup.num_envs,
            settings,
        }
    }

    /// Rows of a rollout as the networks of the bonus see them.
    fn steps(&self, rollout: &Rollout, rows: &[usize]) -> Result<Steps, LearnError> {
        let Some(RawRows { obs, next_obs }) = &rollout.raw else {
            return Err(LearnError::Other("the rollout has no raw observations to be curious about".into()));
        };
        let width = rollout.spec().action_width;
        let actions = rows.iter().flat_map(|&row| &rollout.action[row * width..(row + 1) * width]).copied().collect();
        Ok(Steps { obs: self.scaled(obs, rows), actions, next_obs: self.scaled(next_obs, rows) })
    }

    fn scaled(&self, from: &ObsBuf, rows: &[usize]) -> ObsBuf {
        let mut picked = ObsBuf::zeros(from.widths(), rows.len());
        for (to, &row) in rows.iter().enumerate() {
            picked.row_mut(to).copy_from(from.row(row));
        }
        if let Some(statistics) = &self.statistics {
            let width = picked.widths().floats;
            statistics.scale(&mut picked.floats, width);
        }
        picked
    }

    /// Pays every step by networks and statistics as they were before the rollout, and only then counts what was seen.
    fn pay(
        &mut self,
        rollout: &mut Rollout,
        played: &[usize],
        context: &mut UpdateContext<'_>,
    ) -> Result<(), LearnError> {
        let mut paid = self.bonus.of(&self.steps(rollout, played)?);
        let mean = paid.iter().map(|&bonus| f64::from(bonus)).sum::<f64>() / paid.len() as f64;
        finite("the bonus of curiosity", mean as f32, context.number())?;
        if self.settings.permute_bonus {
            paid.shuffle(context.rng);
        }
        context.metrics.add("intrinsic_reward_mean", mean as f32);
        context.metrics.add("intrinsic_reward_max", paid.iter().copied().fold(0.0, f32::max));
        if let Some(own) = &mut rollout.intrinsic {
            for (&row, &bonus) in played.iter().zip(&paid) {
                self.scale.count(row % rollout.lanes, bonus);
            }
            for (&row, &bonus) in played.iter().zip(&paid) {
                own.reward[row] = self.scale.scaled(bonus);
            }
            context.metrics.add("intrinsic_return_std", self.scale.deviation() as f32);
            context.metrics.add("intrinsic_reward_scaled", self.scale.scaled(mean as f32));
        } else {
            for (&row, &bonus) in played.iter().zip(&paid) {
                rollout.reward[row] += self.settings.stream.weights[1] * bonus;
            }
        }
        if let (Some(statistics), Some(raw)) = (&mut self.statistics, &rollout.raw) {
            played.iter().for_each(|&row| statistics.count(raw.next_obs.row(row)));
        }
        Ok(())
    }

    /// One step of the bonus on a shuffled minibatch. Says whether it was the last one on this rollout.
    fn learn(
        &mut self,
        rollout: &Rollout,
        played: &[usize],
        context: &mut UpdateContext<'_>,
    ) -> Result<bool, LearnError> {
        let rate = self.settings.learning_rate.at(context.fraction()) as f32;
        let all = || played.iter().map(|&row| row as u32).collect();
        let chosen = self.passes.next(self.settings.minibatch_size, context.rng, all);
        let mut rows: Vec<usize> = self.passes.order()[chosen].iter().map(|&row| row as usize).collect();
        if self.share < 1.0 {
            rows.retain(|_| context.rng.random::<f32>() < self.share);
        }
        if !rows.is_empty() {
            let steps = self.steps(rollout, &rows)?;
            self.bonus.learn(&steps, rate, context)?;
        }
        Ok(self.passes.stepped(0.0, self.settings.epochs, None))
    }

    fn log_values(&self, rollout: &Rollout, metrics: &mut Metrics) {
        if let Some(own) = &rollout.intrinsic {
            let rows = rollout.filled * rollout.lanes;
            metrics.add("intrinsic_explained_variance", explained(&own.returns[..rows], &own.value[..rows]));
        }
    }
}

impl Actor for Curious {
    fn memory_width(&self) -> usize {
        self.inner.memory_width()
    }

    fn fixed_statistics(&self) -> Option<ObsStats> {
        self.inner.fixed_statistics()
    }

    fn act(&mut self, input: ActInput<'_>, context: ActContext<'_>, actions: &mut [f32]) -> Result<(), LearnError> {
        self.inner.act(input, context, actions)
    }

    fn feedback(&mut self, memory: &mut Memory, envs: Range<usize>, actions: &[f32], rewards: &[f32]) {
        self.inner.feedback(memory, envs, actions, rewards);
    }

    fn onnx(&self, graph: &mut Graph, shown: Shown) -> Result<Answer, NoGraph> {
        self.inner.onnx(graph, shown)
    }

    fn visit_policy(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.inner.visit_policy(io)
    }
}

impl RolloutLearner for Curious {
    fn play(&mut self, input: ActInput<'_>, context: ActContext<'_>, row: ActedRow<'_>) -> Result<(), LearnError> {
        self.inner.play(input, context, row)
    }

    fn values(&mut self, input: ActInput<'_>, memory: &[f32], values: &mut [f32]) -> Result<(), LearnError> {
        self.inner.values(input, memory, values)
    }

    fn gives_rewards(&self) -> bool {
        true
    }

    fn intrinsic(&self) -> Option<IntrinsicStream> {
        self.settings.two_streams.then_some(self.settings.stream)
    }

    fn warm_up(&self) -> u64 {
        self.settings.warm_up
    }

    fn watch(&mut self, obs: ObsRef<'_>) {
        if let Some(statistics) = &mut self.statistics {
            statistics.count(obs);
        }
    }

    fn compute_rewards(&mut self, unrewarded: Unrewarded<'_>, context: &mut UpdateContext<'_>) -> Learned<bool> {
        let rollout = unrewarded.rollout;
        let played: Vec<usize> = (0..rollout.filled * rollout.lanes).filter(|&row| rollout.valid[row]).collect();
        if self.stage == Stage::Learned || played.is_empty() {
            self.stage = Stage::Unpaid;
            return Ok(true);
        }
        if self.stage == Stage::Unpaid {
            self.pay(rollout, &played, context)?;
            self.stage = Stage::Paid;
        }
        if self.learn(rollout, &played, context)? {
            self.stage = Stage::Learned;
        }
        Ok(false)
    }

    fn update(&mut self, played: Played<'_>, context: &mut UpdateContext<'_>) -> Result<bool, LearnError> {
        let done = self.inner.update(played, context)?;
        if done {
            self.log_values(played.rollout, context.metrics);
        }
        Ok(done)
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.inner.visit_state(io)?;
        io.scope("curiosity", |io| {
            self.bonus.visit_state(io)?;
            if let Some(statistics) = &mut self.statistics {
                statistics.visit_state(io)?;
            }
            self.scale.visit_state(io)?;
            io.value("stage", &mut self.stage)?;
            self.passes.visit_state(self.rows, io)
        })
    }
}
