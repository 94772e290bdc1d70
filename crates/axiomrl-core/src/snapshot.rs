//! What a part of the program hands over to be saved.

use serde_json::Value;
use std::collections::BTreeMap;

/// One named tensor in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorData {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// Everything small enough to be kept in memory twice: the replay store is streamed apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Networks: what a policy needs to act.
    pub model: BTreeMap<String, TensorData>,
    /// What only further training needs.
    pub optimizer: BTreeMap<String, TensorData>,
    /// Counters, generators, statistics.
    pub state: BTreeMap<String, Value>,
}
