//! Passes over each rollout, and over all of them when a phase is complete.

use super::PpgConfig;
use super::phase::{AuxBatch, AuxReport, Phase, half_squared_error};
use crate::agent::{LearnError, Learned, Setup, UpdateContext};
use crate::parts::checks::BuildError;
use crate::parts::descend::ParamGroup;
use crate::parts::statistics::{ObsScaling, ObsStats};
use crate::parts::torso::Sequences;
use crate::policy_gradient::learner::{PolicyLearner, PolicyShape, PolicyUpdate, PolicyValue};
use crate::policy_gradient::minibatch::{Minibatch, PlayedSequences};
use crate::policy_gradient::passes::Passes;
use crate::policy_gradient::ppo_loss::{PpoReport, PpoTerms};
use crate::policy_gradient::shared::{explained, explained_variance, standardise};
use crate::regimes::Played;
use crate::state::{StateError, StateIo};
use axiomrl_core::{Rollout, stream};
use axiomrl_nn::{AdamConfig, OptimizerConfig};
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The learner of PPG.
pub type PpgLearner = PolicyLearner<PpgUpdate>;

/// Rows whose old outputs are computed in one piece.
const SLICE: usize = 4096;

/// What an update works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// The value alone, where it makes other passes than the policy.
    Value,
    /// The policy, and with as many passes the value beside it.
    #[default]
    Policy,
    /// The outputs of the policy before the auxiliary phase.
    Old,
    /// The auxiliary phase.
    Aux,
}

/// Two optimisers for each of the two phases.
pub struct PpgUpdate {
    config: PpgConfig,
    policy_group: ParamGroup,
    value_group: ParamGroup,
    aux_policy_group: ParamGroup,
    aux_value_group: ParamGroup,
    stage: Stage,
    minibatch: Minibatch,
    passes: Passes,
    aux_batch: AuxBatch,
    phase: Phase,
    /// Standardised advantages of the rollout, row by row; empty until they are needed.
    advantages: Vec<f32>,
    /// What advantages are shuffled by, where they are.
    shuffled_by: u64,
    /// Steps of a rollout.
    steps: usize,
    /// Whether observations are standardised before the policy sees them.
    scaled: bool,
}

impl PpgLearner {
    pub fn new(config: PpgConfig, setup: &Setup) -> Result<Self, BuildError> {
        let shape = PolicyShape::new(config.vision, &config.hidden_sizes, config.activation, config.log_std_init);
        let mut policy = PolicyValue::new(&PolicyShape { aux_head: true, ..shape }, setup)?;
        let (adam, steps) = (OptimizerConfig::Adam(AdamConfig::default()), config.num_steps * setup.num_envs);
        let (net, log_std, limit) = (&mut policy.net, &mut policy.log_std, config.max_grad_norm);
        let head_width = policy.distribution.head_width();
        let rule = PpgUpdate {
            policy_group: ParamGroup::new(&adam, &net.policy_params(log_std), limit),
            value_group: ParamGroup::new(&adam, &net.value_params(), limit),
            aux_policy_group: ParamGroup::new(&adam, &net.policy_and_aux_params(log_std), limit),
            aux_value_group: ParamGroup::new(&adam, &net.value_params(), limit),
            stage: config.first_stage(),
            minibatch: Minibatch::default(),
            passes: Passes::default(),
            aux_batch: AuxBatch::default(),
            phase: Phase::new(setup.spaces.obs().widths, setup.mask_width(), head_width, steps * config.aux_frequency),
            advantages: Vec::new(),
            shuffled_by: 0,
            steps,
            scaled: setup.scaling != ObsScaling::Raw,
            config,
        };
        Ok(Self { policy, rule })
    }
}

impl PpgConfig {
    /// With as many passes both learn from the same minibatches; otherwise the value goes first.
    fn together(&self) -> bool {
        self.value_epochs == self.update_epochs
    }

    fn first_stage(&self) -> Stage {
        if self.together() { Stage::Policy } else { Stage::Value }
    }
}

impl PpgUpdate {
    /// Standardises the advantages of the rollout as a whole; the same numbers however often it is done.
    fn prepare(&mut self, rollout: &Rollout, context: &mut UpdateContext<'_>) {
        if self.config.shuffle_advantages && self.passes.order().is_empty() && self.stage == self.config.first_stage() {
            self.shuffled_by = context.rng.random();
            self.advantages.clear();
        }
        if !self.advantages.is_empty() {
            return;
        }
        let rows: Vec<usize> = (0..rollout.filled * rollout.lanes).filter(|&row| rollout.valid[row]).collect();
        let mut values: Vec<f32> = rows.iter().map(|&row| rollout.advantage[row]).collect();
        if values.len() > 1 {
            standardise(&mut values);
        }
        if self.config.shuffle_advantages {
            values.shuffle(&mut stream(self.shuffled_by, "advantages"));
        }
        self.advantages = vec![0.0; rollout.filled * rollout.lanes];
        rows.into_iter().zip(values).for_each(|(row, value)| self.advantages[row] = value);
    }

    /// One step of the policy, of the value, or of both, on a minibatch of the rollout. Says whether it was the stage's last.
    fn learn(
        &mut self,
        policy: &mut PolicyValue,
        played: Played<'_>,
        context: &mut UpdateContext<'_>,
    ) -> Result<bool, LearnError> {
        let (config, fraction) = (&self.config, context.fraction());
        let at = (config.learning_rate.at(fraction) as f32, context.number());
        let (sequences, clip) = (PlayedSequences::new(played, 0), config.clip_coef.at(fraction) as f32);
        let chosen = self.passes.next(config.minibatch_size, context.rng, || sequences.numbers());
        let batch = &mut self.minibatch;
        batch.gather(&sequences, &self.passes.order()[chosen], false);
        batch.advantage = batch.column(&self.advantages);

        if self.stage == Stage::Policy {
            // -mean min(r A, clip(r, 1 - c, 1 + c) A) - c_e * mean entropy
            let entropy_weight = config.ent_coef.at(fraction) as f32;
            let terms = PpoTerms { clip, value_clip: None, value_weight: 0.0, entropy_weight };
            let (family, mut report) = (&policy.distribution, PpoReport::default());
            let (deviations, no_values) = (policy.log_std.as_slice().to_vec(), vec![0.0; batch.len()]);
            let (group, log_std, seen) = (&mut self.policy_group, &mut policy.log_std, (batch.sequences(), &[][..]));
            let norm = policy.net.descend_policy(group, log_std, seen, at, |head| {
                let (found, gradient) = batch.loss(family, head, &no_values, &deviations, terms);
                report = found;
                (found.loss, gradient.head, gradient.log_std)
            })?;
            context.metrics.add("policy_gradient_loss", report.policy_loss);
            context.metrics.add("entropy", report.entropy);
            context.metrics.add("approx_kl", report.approx_kl);
            context.metrics.add("clip_fraction", report.clip_fraction);
            context.metrics.add("grad_norm", norm);
        }
        if self.stage == Stage::Value || config.together() {
            // mean 1/2 (V - G)^2
            let (seen, mut value_loss) = ((batch.sequences(), &[][..]), 0.0);
            policy.net.descend_value(&mut self.value_group, seen, at, |values| {
                let (loss, gradient) = half_squared_error(values, &batch.returns);
                value_loss = loss;
                (loss, gradient)
            })?;
            context.metrics.add("value_loss", value_loss);
        }
        let epochs = if self.stage == Stage::Value { config.value_epochs } else { config.update_epochs };
        Ok(self.passes.stepped(0.0, epochs, None))
    }

    /// The outputs of the policy on a slice of what was kept. Says whether it was the last one.
    fn remember(&mut self, policy: &mut PolicyValue, statistics: Option<&ObsStats>) -> bool {
        let from = self.phase.old_heads.len() / policy.distribution.head_width();
        let to = self.phase.len().min(from + SLICE);
        let rows: Vec<u32> = (from as u32..to as u32).collect();
        self.phase.gather(&rows, statistics, &mut self.aux_batch);
        policy.net.infer(Sequences::single(self.aux_batch.obs.as_ref(), &[]), &mut [], &mut policy.head, None);
        self.phase.old_heads.extend_from_slice(&policy.head);
        self.phase.old_log_std = policy.log_std.as_slice().to_vec();
        to == self.phase.len()
    }

    /// One step of each network on a minibatch of the phase. Says whether it was the phase's last.
    fn distil(
        &mut self,
        policy: &mut PolicyValue,
        statistics: Option<&ObsStats>,
        context: &mut UpdateContext<'_>,
    ) -> Result<bool, LearnError> {
        let config = &self.config;
        let at = (config.learning_rate.at(context.fraction()) as f32, context.number());
        let rows = self.phase.len() as u32;
        let chosen = self.passes.next(config.aux_minibatch_size, context.rng, || (0..rows).collect());
        self.phase.gather(&self.passes.order()[chosen], statistics, &mut self.aux_batch);
        let (batch, family) = (&self.aux_batch, &policy.distribution);
        let seen = Sequences::single(batch.obs.as_ref(), &[]);

        // mean 1/2 (V_aux - G)^2 + beta * mean KL(old ‖ policy)
        let (now, old) = (policy.log_std.as_slice().to_vec(), &self.phase.old_log_std[..]);
        let (mut report, mut foreseen) = (AuxReport::default(), 0.0);
        let (group, log_std) = (&mut self.aux_policy_group, &mut policy.log_std);
        policy.net.descend_aux(group, log_std, seen, at, |head, values| {
            let (found, gradient) = batch.loss(family, head, values, (old, &now), config.beta_clone);
            (report, foreseen) = (found, explained(&batch.returns, values));
            (found.value_loss + config.beta_clone * found.kl, [gradient.head, gradient.value], gradient.log_std)
        })?;
        // mean 1/2 (V - G)^2
        let (group, mut value_loss) = (&mut self.aux_value_group, 0.0);
        policy.net.descend_value(group, (seen, &[]), at, |values| {
            let (loss, gradient) = half_squared_error(values, &batch.returns);
            value_loss = loss;
            (loss, gradient)
        })?;
        context.metrics.add("aux_value_loss", report.value_loss);
        context.metrics.add("aux_phase_value_loss", value_loss);
        if self.passes.epoch() == config.aux_epochs {
            context.metrics.add("aux_kl", report.kl);
            context.metrics.add("aux_explained_variance", foreseen);
        }
        Ok(self.passes.stepped(0.0, config.aux_epochs, None))
    }

    /// What follows the passes over a rollout: the auxiliary phase, or the next rollout. Says whether it is the latter.
    fn close_rollout(&mut self, rollout: &Rollout) -> bool {
        self.advantages.clear();
        self.stage = self.config.first_stage();
        if self.config.aux_epochs == 0 {
            return true;
        }
        self.phase.keep(rollout);
        if self.phase.rollouts < self.config.aux_frequency {
            return true;
        }
        self.stage = Stage::Old;
        false
    }
}

impl PolicyUpdate for PpgUpdate {
    fn step(&mut self, policy: &mut PolicyValue, played: Played<'_>, context: &mut UpdateContext<'_>) -> Learned<bool> {
        match self.stage {
            Stage::Value | Stage::Policy => {
                if PlayedSequences::new(played, 0).numbers().is_empty() {
                    return Ok(true);
                }
                self.prepare(played.rollout, context);
                if !self.learn(policy, played, context)? {
                    return Ok(false);
                }
                if self.stage == Stage::Value {
                    self.stage = Stage::Policy;
                    return Ok(false);
                }
                let steps = played.rollout.filled * played.rollout.lanes;
                let rate = self.config.learning_rate.at(context.fraction());
                context.metrics.set("learning_rate", rate);
                context.metrics.add("explained_variance", explained_variance(played.rollout, steps));
                policy.log_deviation(context.metrics);
                Ok(self.close_rollout(played.rollout))
            }
            Stage::Old => {
                if self.remember(policy, played.statistics) {
                    self.stage = Stage::Aux;
                }
                Ok(false)
            }
            Stage::Aux => {
                let done = self.distil(policy, played.statistics, context)?;
                if done {
                    self.phase.clear();
                    self.stage = self.config.first_stage();
                }
                Ok(done)
            }
        }
    }

    fn keeps_raw(&self) -> bool {
        self.scaled
    }

    fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        self.policy_group.visit_state("policy", io)?;
        self.value_group.visit_state("value", io)?;
        self.aux_policy_group.visit_state("aux.policy", io)?;
        self.aux_value_group.visit_state("aux.value", io)?;
        io.value("stage", &mut self.stage)?;
        io.value("shuffled_by", &mut self.shuffled_by)?;
        self.passes.visit_state(self.steps * self.config.aux_frequency, io)?;
        io.streamed("phase", &mut self.phase)
    }
}
