//! Saving and loading, written once for both directions.

use axiomrl_core::{Metrics, PagedStore, Rng, load_rng, save_rng};
use axiomrl_envs::RunningStats;
use axiomrl_nn::{NamedTensors, Optimizer, Params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("the checkpoint lacks `{0}`; it belongs to another algorithm or configuration")]
    Missing(String),
    #[error("`{name}` in the checkpoint does not fit: {problem}")]
    Misfit { name: String, problem: String },
    /// A store could not be written or read.
    #[error("the store `{name}`: {source}")]
    Store { name: String, source: io::Error },
}

fn misfit(name: &str, problem: impl ToString) -> StateError {
    StateError::Misfit { name: name.to_owned(), problem: problem.to_string() }
}

/// One named tensor in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorData {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// One part of what is saved: tensors, and small values beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    pub tensors: BTreeMap<String, TensorData>,
    pub values: BTreeMap<String, Value>,
}

/// Everything small enough to be kept in memory twice: stores are written apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// What a policy needs to act.
    pub policy: Section,
    /// What only further training needs.
    pub training: Section,
}

/// A store that is small enough to be written whole each time.
pub trait Streamed {
    fn write(&mut self, to: &mut dyn Write) -> io::Result<()>;
    fn read(&mut self, from: &mut dyn Read) -> io::Result<()>;
}

/// Where stores go to, or come from.
pub trait StoreIo {
    fn paged(&mut self, name: &str, store: &mut dyn PagedStore) -> io::Result<()>;
    fn streamed(&mut self, name: &str, store: &mut dyn Streamed) -> io::Result<()>;
}

impl StateError {
    /// Parts of a checkpoint that cannot be of the same moment.
    pub fn other_moment(name: &str) -> Self {
        let problem = "it is of another moment of the run than the rest of the checkpoint".to_owned();
        Self::Misfit { name: name.to_owned(), problem }
    }
}

/// One side of an exchange: the same calls, in the same order, save or load.
pub struct StateIo<'a> {
    way: Way<'a>,
    stores: Option<&'a mut dyn StoreIo>,
    /// Whether what is visited belongs to the policy.
    in_policy: bool,
    /// Names are prefixed with it.
    scope: String,
}

enum Way<'a> {
    Save(&'a mut Snapshot),
    Load(&'a Snapshot),
}

impl<'a> StateIo<'a> {
    /// Saves into `to`; without `stores`, stores are left out.
    pub fn save(to: &'a mut Snapshot, stores: Option<&'a mut dyn StoreIo>) -> Self {
        Self { way: Way::Save(to), stores, in_policy: false, scope: String::new() }
    }

    /// Loads from `from`; without `stores`, stores are left as they are.
    pub fn load(from: &'a Snapshot, stores: Option<&'a mut dyn StoreIo>) -> Self {
        Self { way: Way::Load(from), stores, in_policy: false, scope: String::new() }
    }

    pub fn loading(&self) -> bool {
        matches!(self.way, Way::Load(_))
    }

    /// What is visited inside belongs to the policy.
    pub fn policy<T>(&mut self, visit: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.in_policy, true);
        let result = visit(self);
        self.in_policy = before;
        result
    }

    /// Names inside are prefixed with `name.`, so that a learner can hold another one.
    pub fn scope<T>(&mut self, name: &str, visit: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.scope.len();
        self.scope.push_str(name);
        self.scope.push('.');
        let result = visit(self);
        self.scope.truncate(before);
        result
    }

    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.scope)
    }

    /// The section at hand, to be written to or read from.
    fn side(&mut self) -> Side<'_> {
        match &mut self.way {
            Way::Save(to) => Side::Save(if self.in_policy { &mut to.policy } else { &mut to.training }),
            Way::Load(from) => Side::Load(if self.in_policy { &from.policy } else { &from.training }),
        }
    }

    /// A network, as named tensors in PyTorch's layout.
    pub fn network(&mut self, name: &str, net: &mut impl NamedTensors) -> Result<(), StateError> {
        let name = self.named(name);
        match self.side() {
            Side::Save(to) => {
                net.export(&name, &mut |key, shape, values| {
                    to.tensors.insert(key, TensorData { shape, values });
                });
                Ok(())
            }
            Side::Load(from) => net
                .import(&name, &mut |key| from.tensors.get(key).map(|t| (t.shape.clone(), t.values.clone())))
                .map_err(|e| misfit(&name, e)),
        }
    }

    /// Parameters that belong to no layer (a log standard deviation, a temperature).
    pub fn params(&mut self, name: &str, params: &mut Params) -> Result<(), StateError> {
        let shape = vec![params.members(), params.per_member()];
        match self.loading() {
            true => self.tensor(name, &shape, params.make_mut()),
            false => self.put(name, shape, params.as_slice().to_vec()),
        }
    }

    /// Numbers of a fixed count, bit by bit.
    pub fn floats(&mut self, name: &str, values: &mut [f32]) -> Result<(), StateError> {
        self.tensor(name, &[values.len()], values)
    }

    fn tensor(&mut self, name: &str, shape: &[usize], values: &mut [f32]) -> Result<(), StateError> {
        let name = self.named(name);
        match self.side() {
            Side::Save(to) => {
                to.tensors.insert(name, TensorData { shape: shape.to_vec(), values: values.to_vec() });
                Ok(())
            }
            Side::Load(from) => fill(&name, from.tensors.get(&name), values),
        }
    }

    fn put(&mut self, name: &str, shape: Vec<usize>, values: Vec<f32>) -> Result<(), StateError> {
        let name = self.named(name);
        if let Side::Save(to) = self.side() {
            to.tensors.insert(name, TensorData { shape, values });
        }
        Ok(())
    }

    /// The running averages of an optimiser.
    pub fn optimizer(&mut self, name: &str, optimizer: &mut Optimizer) -> Result<(), StateError> {
        let mut steps = optimizer.step_count();
        self.value(&format!("{name}.step"), &mut steps)?;
        optimizer.set_step_count(steps);
        for (part, values) in optimizer.buffers_mut() {
            self.tensor(&format!("{name}.{part}"), &[values.len()], values)?;
        }
        Ok(())
    }

    /// Any small value: counters, flags, statistics.
    pub fn value<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: &mut T) -> Result<(), StateError> {
        let name = self.named(name);
        match self.side() {
            Side::Save(to) => {
                let json = serde_json::to_value(&*value).map_err(|e| misfit(&name, e))?;
                to.values.insert(name, json);
                Ok(())
            }
            Side::Load(from) => {
                let json = from.values.get(&name).ok_or_else(|| StateError::Missing(name.clone()))?;
                *value = serde_json::from_value(json.clone()).map_err(|e| misfit(&name, e))?;
                Ok(())
            }
        }
    }

    /// Flags of a fixed count.
    pub fn flags(&mut self, name: &str, flags: &mut Vec<bool>) -> Result<(), StateError> {
        let needed = flags.len();
        self.value(name, flags)?;
        if flags.len() == needed {
            Ok(())
        } else {
            Err(misfit(name, format!("{} flags where {needed} belong", flags.len())))
        }
    }

    /// Running statistics of a fixed width.
    pub fn statistics(&mut self, name: &str, stats: &mut RunningStats) -> Result<(), StateError> {
        let needed = stats.width();
        self.value(name, stats)?;
        stats.check(needed).map_err(|problem| misfit(name, problem))
    }

    /// Averages in progress.
    pub fn metrics(&mut self, metrics: &mut Metrics) -> Result<(), StateError> {
        let mut json = metrics.save();
        self.value("metrics", &mut json)?;
        metrics.load(&json);
        Ok(())
    }

    pub fn rng(&mut self, name: &str, rng: &mut Rng) -> Result<(), StateError> {
        let mut json = save_rng(rng);
        self.value(name, &mut json)?;
        *rng = load_rng(&json).map_err(|e| misfit(name, e))?;
        Ok(())
    }

    /// A large store, written page by page.
    pub fn store(&mut self, name: &str, store: &mut dyn PagedStore) -> Result<(), StateError> {
        let name = self.named(name);
        let Some(stores) = &mut self.stores else { return Ok(()) };
        stores.paged(&name, store).map_err(|source| StateError::Store { name, source })
    }

    /// A store that is written whole.
    pub fn streamed(&mut self, name: &str, store: &mut dyn Streamed) -> Result<(), StateError> {
        let name = self.named(name);
        let Some(stores) = &mut self.stores else { return Ok(()) };
        stores.streamed(&name, store).map_err(|source| StateError::Store { name, source })
    }
}

enum Side<'a> {
    Save(&'a mut Section),
    Load(&'a Section),
}

fn fill(name: &str, from: Option<&TensorData>, to: &mut [f32]) -> Result<(), StateError> {
    let from = from.ok_or_else(|| StateError::Missing(name.to_owned()))?;
    if from.values.len() != to.len() {
        return Err(misfit(name, format!("{} numbers where {} belong", from.values.len(), to.len())));
    }
    to.copy_from_slice(&from.values);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_survives_and_another_size_is_refused() {
        let mut numbers = [0.1, -0.0, f32::NAN];
        let mut saved = Snapshot::default();
        StateIo::save(&mut saved, None).floats("numbers", &mut numbers).unwrap();
        let mut back = [0.0; 3];
        StateIo::load(&saved, None).floats("numbers", &mut back).unwrap();
        assert_eq!(back.map(f32::to_bits), numbers.map(f32::to_bits));
        let refused = StateIo::load(&saved, None).floats("numbers", &mut [0.0; 6]).unwrap_err().to_string();
        assert!(refused.contains("3 numbers where 6 belong"), "{refused}");
    }

    #[test]
    fn scopes_and_the_policy_keep_names_apart() {
        let mut saved = Snapshot::default();
        let mut io = StateIo::save(&mut saved, None);
        io.value("count", &mut 1).unwrap();
        io.scope("inner", |io| io.value("count", &mut 2)).unwrap();
        io.policy(|io| io.value("count", &mut 3)).unwrap();
        assert_eq!(saved.training.values["inner.count"], 2);
        assert_eq!((&saved.training.values["count"], &saved.policy.values["count"]), (&1.into(), &3.into()));
        let mut found = 0;
        StateIo::load(&saved, None).scope("inner", |io| io.value("count", &mut found)).unwrap();
        assert_eq!(found, 2);
        assert!(StateIo::load(&saved, None).value("missing", &mut found).is_err());
    }
}
