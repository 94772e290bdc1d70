//! The block `dataset` of a run file: recorded transitions, and what becomes of their numbers.

use crate::parts::statistics::ObsScaling;
use axiomrl_core::RewardScale;
use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Added to the deviation of a fitted column, so that one that hardly varies is not blown up.
const FLOOR: f64 = 1e-3;

/// Where recorded transitions come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatasetKind {
    /// Uniformly random actions in the run's own environment.
    #[default]
    Random,
    /// The environment's scripted expert.
    Scripted,
    /// A NumPy archive, with the keys of the Python original or of D4RL, or D4RL's HDF5.
    Npz,
    /// A Minari dataset that is on this machine.
    Minari,
    /// The replay store of a run, as its last checkpoint keeps it.
    Run,
}

/// Recorded transitions to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct DatasetConfig {
    /// Where they come from: `random`, `scripted`, `npz`, `minari` or `run`.
    pub dataset_kind: DatasetKind,
    /// File or folder of `npz`, `minari` and `run`.
    pub dataset_path: Option<String>,
    /// Name of a Minari dataset below `MINARI_DATASETS_PATH` or `~/.minari/datasets`.
    pub dataset_id: Option<String>,
    /// Transitions of `random`, `scripted` and `dataset_mix`; of others the most that are read, in whole episodes.
    #[garde(inner(range(min = 1, max = 100_000_000)))]
    pub dataset_size: Option<usize>,
    /// What is random about them follows from it; absent: from the seed of the run.
    pub dataset_seed: Option<u64>,
    /// Several sources instead of one, each with its share of `dataset_size`.
    #[garde(dive, length(max = 64))]
    pub dataset_mix: Vec<DatasetShare>,
    /// Factor on rewards when they are learned from: recorded ones, and the run's own beside them.
    #[garde(range(min = -1e6, max = 1e6))]
    pub reward_scale: f32,
    /// Added to rewards after that.
    #[garde(range(min = -1e6, max = 1e6))]
    pub reward_shift: f32,
    /// Lowest reward after that.
    pub reward_clip_min: Option<f32>,
    /// Highest reward after that.
    pub reward_clip_max: Option<f32>,
    /// Standardises observations by mean and deviation of the recorded ones, which then stay as they are.
    pub normalize_observation: bool,
}

/// One source of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct DatasetShare {
    /// Its share, relative to the others'.
    #[garde(range(min = 1e-6, max = 1e6))]
    pub weight: f32,
    /// As in `dataset`.
    #[serde(alias = "kind")]
    pub dataset_kind: DatasetKind,
    /// As in `dataset`.
    pub dataset_path: Option<String>,
    /// As in `dataset`.
    pub dataset_id: Option<String>,
}

impl Default for DatasetConfig {
    fn default() -> Self {
        Self {
            dataset_kind: DatasetKind::Random,
            dataset_path: None,
            dataset_id: None,
            dataset_size: None,
            dataset_seed: None,
            dataset_mix: Vec::new(),
            reward_scale: 1.0,
            reward_shift: 0.0,
            reward_clip_min: None,
            reward_clip_max: None,
            normalize_observation: false,
        }
    }
}

impl Default for DatasetShare {
    fn default() -> Self {
        Self { weight: 1.0, dataset_kind: DatasetKind::Random, dataset_path: None, dataset_id: None }
    }
}

impl DatasetConfig {
    /// What becomes of rewards when they are drawn.
    pub fn reward(&self) -> RewardScale {
        let clip = match (self.reward_clip_min, self.reward_clip_max) {
            (None, None) => None,
            (low, high) => Some((low.unwrap_or(f32::NEG_INFINITY), high.unwrap_or(f32::INFINITY))),
        };
        RewardScale { scale: self.reward_scale, shift: self.reward_shift, clip }
    }

    /// Where the scale of observations comes from, if from here.
    pub fn scaling(&self) -> ObsScaling {
        if self.normalize_observation { ObsScaling::Fitted(FLOOR) } else { ObsScaling::Raw }
    }
}
