//! When a run ends before its last step.

use super::record::Record;
use axiomrl_algos::RunConfig;
use serde::Serialize;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// All steps are done.
    Finished,
    /// An evaluation reached the target.
    TargetReached,
    /// Too many evaluations in a row without improvement.
    NoImprovement,
    EnoughUpdates,
    OutOfTime,
    /// Asked to stop, by Ctrl-C or a signal.
    Interrupted,
}

/// After an evaluation with this mean reward.
pub fn decide(config: &RunConfig, record: &Record, mean_reward: f64) -> Option<StopReason> {
    let rule = config.early_stopping.as_ref()?;
    if record.env_steps < rule.min_steps {
        return None;
    }
    if rule.target_reward.is_some_and(|target| mean_reward >= target) {
        return Some(StopReason::TargetReached);
    }
    if rule.patience.is_some_and(|patience| record.evaluations_without_improvement >= patience) {
        return Some(StopReason::NoImprovement);
    }
    None
}
