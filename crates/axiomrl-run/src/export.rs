//! Policies for other programs: a file in the ONNX format that acts like the policy, from raw observations to the action.

use crate::files::write_atomic;
use axiomrl_algos::export::Named;
use axiomrl_algos::{NoGraph, Policy, RunConfig};
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no such file.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("a policy of `{algo}` cannot be written as ONNX: {reason}; `axiomrl predict` acts by any policy")]
    NoGraph { algo: String, reason: NoGraph },
    #[error("cannot write {}: {error}", .path.display())]
    Write { path: PathBuf, error: io::Error },
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Exported {
    pub inputs: Vec<Named>,
    pub outputs: Vec<Named>,
    /// Size of the file.
    pub bytes: usize,
}

/// Writes a policy to `path`. The settings it was trained with are named in the file.
pub fn export(policy: &dyn Policy, config: &RunConfig, path: &Path) -> Result<Exported, ExportError> {
    let refused = |reason| ExportError::NoGraph { algo: config.algo.clone(), reason };
    let graph = policy.onnx().map_err(refused)?;
    let (inputs, outputs) = (graph.inputs().to_vec(), graph.outputs().to_vec());
    let model = graph.model("policy", &[("algo", &config.algo), ("env_id", &config.env_id)]);
    write_atomic(path, &model).map_err(|error| ExportError::Write { path: path.to_path_buf(), error })?;
    Ok(Exported { inputs, outputs, bytes: model.len() })
}
