//! What every policy that learns from its own rollouts does alike.

use super::pg_loss::PgReport;
use super::ppo_loss::PpoReport;
use crate::config::{Idle, Problem};
use crate::parts::checks::BuildError;
use crate::parts::torso::MemoryKind;
use axiomrl_core::{Metrics, Rollout};
use axiomrl_envs::{Rng, Space};
use axiomrl_nn::Distribution;
use rand::seq::SliceRandom;

/// What a policy that is sampled from draws its actions from.
pub fn distribution_for(actions: &Space) -> Result<Distribution, BuildError> {
    match actions {
        Space::Discrete { n } => Ok(Distribution::Categorical { n: *n }),
        Space::MultiDiscrete { nvec } => Ok(Distribution::MultiCategorical { nvec: nvec.clone() }),
        Space::MultiBinary { n } => Ok(Distribution::Bernoulli { n: *n }),
        Space::Box(space) => Ok(Distribution::DiagGaussian { d: space.dim() }),
        Space::Dict { .. } => Err(Problem::new(&[], "actions cannot be a Dict").into()),
    }
}

/// Settings of a memory, where there is none.
pub fn idle_memory(memory: MemoryKind) -> Idle {
    Idle {
        now: memory == MemoryKind::None,
        keys: &["recurrent_hidden_size", "head_sizes", "sequence_length"],
        switch: Some("memory"),
        why: "nothing is remembered; set `memory: lstm` or `memory: gru`",
    }
}

/// To mean 0 and (sample) standard deviation 1.
pub fn standardise(values: &mut [f32]) {
    let n = values.len() as f64;
    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let (mean, scale) = (mean as f32, 1.0 / (variance.sqrt() as f32 + 1e-8));
    values.iter_mut().for_each(|v| *v = (*v - mean) * scale);
}

/// Takes the signal out of advantages, for a control: each goes to another step, and their mean, which would still tell good
/// rollouts from bad ones, to 0.
pub fn without_signal(advantages: &mut [f32], rng: &mut Rng) {
    let mean = advantages.iter().map(|&a| f64::from(a)).sum::<f64>() / advantages.len().max(1) as f64;
    advantages.iter_mut().for_each(|a| *a -= mean as f32);
    advantages.shuffle(rng);
}

/// How much of the variance of the returns the values foresaw: 1 is all, below 0 is worse than none.
pub fn explained_variance(rollout: &Rollout, n: usize) -> f32 {
    explained(&rollout.returns[..n], &rollout.value[..n])
}

/// The same for any returns and values.
pub fn explained(returns: &[f32], values: &[f32]) -> f32 {
    let n = returns.len();
    let variance = |values: &mut dyn Iterator<Item = f32>| {
        let (mut sum, mut squares) = (0.0f64, 0.0f64);
        for v in values {
            sum += f64::from(v);
            squares += f64::from(v) * f64::from(v);
        }
        squares / n as f64 - (sum / n as f64).powi(2)
    };
    let total = variance(&mut returns.iter().copied());
    let left = variance(&mut returns.iter().zip(values).map(|(g, v)| g - v));
    if total > 0.0 { (1.0 - left / total) as f32 } else { 0.0 }
}

pub fn log_step(metrics: &mut Metrics, report: &PpoReport, norm: f32) {
    metrics.add("loss", report.loss);
    metrics.add("policy_gradient_loss", report.policy_loss);
    metrics.add("value_loss", report.value_loss);
    if report.intrinsic_value_loss > 0.0 {
        metrics.add("intrinsic_value_loss", report.intrinsic_value_loss);
    }
    metrics.add("entropy", report.entropy);
    metrics.add("approx_kl", report.approx_kl);
    metrics.add("clip_fraction", report.clip_fraction);
    metrics.add("grad_norm", norm);
}

/// What a step along the plain policy gradient logs.
pub fn log_gradient(metrics: &mut Metrics, report: &PgReport, norm: f32) {
    metrics.add("policy_gradient_loss", report.policy_loss);
    metrics.add("entropy", report.entropy);
    metrics.add("grad_norm", norm);
}
