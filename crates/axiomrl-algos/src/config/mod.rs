//! The run file: one YAML document, read once.
//!
//! [`Document`] is the text and its overrides as one tree in which everything knows where it was written (`tree`, `yaml`).
//! `algo` in it says which algorithm's settings the rest is read as (`typed`), over the preset of that name (`document`);
//! so every mistake is reported with its place and its key, and every default is the same wherever it is asked for.
//! Nothing is ignored.

mod choices;
mod dataset;
mod defaults;
mod document;
mod error;
mod groups;
mod moved;
mod problem;
mod renamed;
#[cfg(test)]
mod tests;
mod tree;
mod typed;
mod yaml;

pub use choices::choices;
pub use dataset::{DatasetConfig, DatasetKind, DatasetShare};
pub(crate) use defaults::defaults;
pub use document::Document;
pub(crate) use document::{overlay, plain};
pub use error::ConfigError;
pub(crate) use groups::settings;
pub use problem::{Idle, Problem, fixed_temperature, goals, offline, online, priorities, without_steps};
pub(crate) use tree::{Node, Place};

use crate::parts::statistics::ObsScaling;
use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Every key of a run file. The algorithm's own settings are plain JSON here; the table of algorithms knows their types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
#[garde(allow_unvalidated)]
pub struct RunConfig {
    /// Name of the algorithm; `axiomrl algos` lists them.
    pub algo: String,
    /// Name of the environment; `axiomrl envs` lists the built-in ones.
    pub env_id: String,
    /// Everything random follows from it.
    #[serde(default)]
    pub seed: u64,
    /// Environment steps to train for, met exactly.
    #[garde(range(min = 1, max = 1_000_000_000_000_000_u64))]
    pub total_timesteps: u64,
    /// Environments stepped together.
    #[serde(default = "one")]
    #[garde(range(min = 1, max = 4096))]
    pub num_envs: usize,
    /// Where run folders are made.
    #[serde(default = "runs")]
    pub output_dir: String,
    /// Environment steps between evaluations: a tenth of the run if absent, only at the end if 0.
    #[serde(default)]
    #[garde(inner(range(max = 1_000_000_000_000_000_u64)))]
    pub eval_interval: Option<u64>,
    /// Episodes of each evaluation.
    #[serde(default = "twenty")]
    #[garde(range(min = 1, max = 100_000))]
    pub eval_episodes: usize,
    /// Environment steps between checkpoints: a tenth of the run if absent, only at the end if 0.
    #[serde(default)]
    #[garde(inner(range(max = 1_000_000_000_000_000_u64)))]
    pub checkpoint_interval: Option<u64>,
    /// How many of the newest numbered checkpoints are kept, besides `last` and `best`.
    #[serde(default = "three")]
    #[garde(range(max = 1_000_000))]
    pub keep_checkpoints: usize,
    /// Environment steps between rows of the logs.
    #[serde(default = "thousand")]
    #[garde(range(min = 1, max = 1_000_000_000_000_000_u64))]
    pub log_interval: u64,
    /// Stops the run before its end.
    #[serde(default)]
    #[garde(dive)]
    pub early_stopping: Option<EarlyStopping>,
    /// Gradient updates after which the run ends.
    #[serde(default)]
    #[garde(inner(range(min = 1, max = 1_000_000_000_000_000_u64)))]
    pub max_updates: Option<u64>,
    /// Seconds after which the run ends (it can be resumed).
    #[serde(default)]
    #[garde(inner(range(min = 0.0, max = 1e9)))]
    pub max_seconds: Option<f64>,
    /// Standardises observations with running statistics.
    #[serde(default)]
    pub normalize_observation: bool,
    /// Divides rewards by the running standard deviation of the discounted return.
    #[serde(default)]
    pub normalize_reward: bool,
    /// Steps for which every action is held; rewards add up, and the whole counts as one step.
    #[serde(default = "one")]
    #[garde(range(min = 1, max = 64))]
    pub action_repeat: usize,
    /// Observations shown together, newest last.
    #[serde(default = "one")]
    #[garde(range(min = 1, max = 64))]
    pub frame_stack: usize,
    /// Where tensors live. `auto` and `cpu` mean the CPU, the only device so far.
    #[serde(default)]
    pub device: Device,
    /// Free words, copied into `metadata.json`.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Settings of the algorithm; `axiomrl explain <algo>` describes them.
    #[serde(default)]
    #[schemars(with = "Value")]
    pub algo_kwargs: Settings,
    /// Recorded transitions, for algorithms that learn from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(dive)]
    pub dataset: Option<DatasetConfig>,
    /// Options of the environment.
    #[serde(default)]
    pub env_kwargs: Map<String, Value>,
}

/// An algorithm's settings once they have been checked: plain JSON, every default filled in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(pub Value);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    #[default]
    Auto,
    Cpu,
}

/// When to stop early. Looked at after each evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
#[garde(allow_unvalidated)]
pub struct EarlyStopping {
    /// Stop when the mean evaluation reward reaches this.
    pub target_reward: Option<f64>,
    /// Stop after this many evaluations in a row without improvement.
    #[garde(inner(range(min = 1, max = 1_000_000)))]
    pub patience: Option<u64>,
    /// What counts as an improvement.
    #[garde(range(min = 0.0))]
    pub min_delta: f64,
    /// Do not stop before this many environment steps.
    #[garde(range(max = 1_000_000_000_000_000_u64))]
    pub min_steps: u64,
}

fn one() -> usize {
    1
}

fn three() -> usize {
    3
}

fn twenty() -> usize {
    20
}

fn thousand() -> u64 {
    1000
}

fn runs() -> String {
    "runs".to_owned()
}

impl RunConfig {
    /// Where the scale of observations comes from.
    pub fn scaling(&self) -> ObsScaling {
        let fitted = self.dataset.as_ref().map_or(ObsScaling::Raw, DatasetConfig::scaling);
        if self.normalize_observation { ObsScaling::Running } else { fitted }
    }

    /// Environment steps between evaluations; 0 means only at the end.
    pub fn eval_every(&self) -> u64 {
        self.eval_interval.unwrap_or_else(|| self.tenth())
    }

    /// Environment steps between checkpoints; 0 means only at the end.
    pub fn checkpoint_every(&self) -> u64 {
        self.checkpoint_interval.unwrap_or_else(|| self.tenth())
    }

    fn tenth(&self) -> u64 {
        self.total_timesteps.div_ceil(10)
    }
}

/// Weights between the hidden layers of one list: half a gigabyte of them, before an optimiser adds its own numbers.
const MOST_WEIGHTS: usize = 1 << 27;

/// For garde: a list of layer widths that makes a network.
pub fn layer_widths(widths: &[usize], (): &()) -> garde::Result {
    if widths.len() > 16 {
        return Err(garde::Error::new("at most 16 layers"));
    }
    if let Some(w) = widths.iter().find(|&&w| w == 0 || w > 16_384) {
        return Err(garde::Error::new(format!("a layer of {w} units: each needs 1 to 16384")));
    }
    let weights: usize = widths.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if weights > MOST_WEIGHTS {
        return Err(garde::Error::new(format!("{weights} weights between these layers: at most {MOST_WEIGHTS}")));
    }
    Ok(())
}

/// For garde: the decay of four kinds of layers.
#[expect(clippy::ptr_arg, reason = "garde hands over the field itself")]
pub fn four_decays(decays: &Vec<f32>, (): &()) -> garde::Result {
    if decays.len() != 4 {
        return Err(garde::Error::new(format!(
            "{} numbers where 4 belong: first, second, other hidden, output",
            decays.len()
        )));
    }
    match decays.iter().find(|decay| !(0.0..=1.0).contains(*decay)) {
        Some(decay) => Err(garde::Error::new(format!("{decay} is outside of 0 to 1"))),
        None => Ok(()),
    }
}

/// For garde: a number of updates in a burst that lets something be learned.
pub fn some_updates(steps: &i64, (): &()) -> garde::Result {
    match steps {
        0 => Err(garde::Error::new("0 updates learn nothing; give their number, or -1 for one per step")),
        _ => Ok(()),
    }
}
