//! Saving and loading, written once for both directions.

use axiomrl_core::{Metrics, Rng, Snapshot, TensorData, load_rng, save_rng};
use axiomrl_nn::{ConvNet, Mlp, NnError, Optimizer, Params, Recurrent, ResidualNet};
use serde::Serialize;
use serde::de::DeserializeOwned;

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("the checkpoint lacks `{0}`; it belongs to another algorithm or configuration")]
    Missing(String),
    #[error("`{name}` in the checkpoint does not fit: {problem}")]
    Misfit { name: String, problem: String },
}

impl StateError {
    /// Parts of a checkpoint that cannot be of the same moment.
    pub fn other_moment(name: &str) -> Self {
        let problem = "it is of another moment of the run than the rest of the checkpoint".to_owned();
        Self::Misfit { name: name.to_owned(), problem }
    }
}

/// One side of an exchange: the same calls, in the same order, save or load.
pub enum StateIo<'a> {
    Save(&'a mut Snapshot),
    Load(&'a Snapshot),
    /// Only the networks: enough to act, for evaluation and prediction.
    LoadModel(&'a Snapshot),
}

/// A network that hands out its tensors by name and takes them back.
pub trait NamedTensors {
    fn give(&self, prefix: &str, put: &mut dyn FnMut(String, Vec<usize>, Vec<f32>));
    fn take(
        &mut self,
        prefix: &str,
        get: &mut dyn FnMut(&str) -> Option<(Vec<usize>, Vec<f32>)>,
    ) -> Result<(), NnError>;
}

macro_rules! named_tensors {
    ($($network:ty),*) => {$(
        impl NamedTensors for $network {
            fn give(&self, prefix: &str, put: &mut dyn FnMut(String, Vec<usize>, Vec<f32>)) {
                self.export(prefix, put);
            }

            fn take(
                &mut self,
                prefix: &str,
                get: &mut dyn FnMut(&str) -> Option<(Vec<usize>, Vec<f32>)>,
            ) -> Result<(), NnError> {
                self.import(prefix, get)
            }
        }
    )*};
}

named_tensors!(Mlp, ConvNet, ResidualNet, Recurrent);

impl StateIo<'_> {
    /// A network, as named tensors in PyTorch's layout.
    pub fn network(&mut self, name: &str, net: &mut impl NamedTensors) -> Result<(), StateError> {
        match self {
            StateIo::Save(to) => {
                net.give(name, &mut |key, shape, values| {
                    to.model.insert(key, TensorData { shape, values });
                });
                Ok(())
            }
            StateIo::Load(from) | StateIo::LoadModel(from) => net
                .take(name, &mut |key| from.model.get(key).map(|t| (t.shape.clone(), t.values.clone())))
                .map_err(|e| StateError::Misfit { name: name.to_owned(), problem: e.to_string() }),
        }
    }

    /// Parameters that belong to no layer (a log standard deviation, a temperature).
    pub fn params(&mut self, name: &str, params: &mut Params) -> Result<(), StateError> {
        match self {
            StateIo::Save(to) => {
                let shape = vec![params.members(), params.per_member()];
                to.model.insert(name.to_owned(), TensorData { shape, values: params.as_slice().to_vec() });
                Ok(())
            }
            StateIo::Load(from) | StateIo::LoadModel(from) => fill(name, from.model.get(name), params.make_mut()),
        }
    }

    /// The running averages of an optimiser.
    pub fn optimizer(&mut self, name: &str, optimizer: &mut Optimizer) -> Result<(), StateError> {
        let step_key = format!("{name}.step");
        match self {
            StateIo::Save(to) => {
                to.state.insert(step_key, optimizer.step_count().into());
                for (part, values) in optimizer.buffers() {
                    let data = TensorData { shape: vec![values.len()], values: values.to_vec() };
                    to.optimizer.insert(format!("{name}.{part}"), data);
                }
                Ok(())
            }
            StateIo::Load(from) => {
                let step = from.state.get(&step_key).and_then(serde_json::Value::as_u64);
                optimizer.set_step_count(step.ok_or(StateError::Missing(step_key))?);
                for (part, values) in optimizer.buffers_mut() {
                    let key = format!("{name}.{part}");
                    fill(&key, from.optimizer.get(&key), values)?;
                }
                Ok(())
            }
            StateIo::LoadModel(_) => Ok(()),
        }
    }

    /// Any small value: counters, flags, statistics.
    pub fn value<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: &mut T) -> Result<(), StateError> {
        match self {
            StateIo::Save(to) => {
                let json = serde_json::to_value(&*value)
                    .map_err(|e| StateError::Misfit { name: name.to_owned(), problem: e.to_string() })?;
                to.state.insert(name.to_owned(), json);
                Ok(())
            }
            StateIo::Load(from) => {
                let json = from.state.get(name).ok_or_else(|| StateError::Missing(name.to_owned()))?;
                *value = serde_json::from_value(json.clone())
                    .map_err(|e| StateError::Misfit { name: name.to_owned(), problem: e.to_string() })?;
                Ok(())
            }
            StateIo::LoadModel(_) => Ok(()),
        }
    }

    /// Averages in progress.
    pub fn metrics(&mut self, metrics: &mut Metrics, names: &[&'static str]) -> Result<(), StateError> {
        let mut json = metrics.save();
        self.value("metrics", &mut json)?;
        metrics.load(&json, names);
        Ok(())
    }

    pub fn rng(&mut self, name: &str, rng: &mut Rng) -> Result<(), StateError> {
        let mut json = save_rng(rng);
        self.value(name, &mut json)?;
        *rng = load_rng(&json).map_err(|e| StateError::Misfit { name: name.to_owned(), problem: e.to_string() })?;
        Ok(())
    }
}

fn fill(name: &str, from: Option<&TensorData>, to: &mut [f32]) -> Result<(), StateError> {
    let from = from.ok_or_else(|| StateError::Missing(name.to_owned()))?;
    if from.values.len() != to.len() {
        let problem = format!("{} numbers where {} belong", from.values.len(), to.len());
        return Err(StateError::Misfit { name: name.to_owned(), problem });
    }
    to.copy_from_slice(&from.values);
    Ok(())
}
