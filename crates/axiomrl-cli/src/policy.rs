//! From a path to a policy that can act.

use crate::failure::{BAD_CHECKPOINT, Failure};
use crate::options::PolicySource;
use axiomrl_run::checkpoint::{self, CheckpointError};
use axiomrl_run::session::{TrainedPolicy, validated_config};
use std::path::PathBuf;

/// Loads the policy a user means, and says which checkpoint that was.
pub fn open(source: &PolicySource) -> Result<(TrainedPolicy, PathBuf), Failure> {
    let folder = locate(source)?;
    let saved = checkpoint::load(&folder)?;
    let config = validated_config(&saved.config).map_err(|error| {
        let folder = folder.display();
        Failure::new(BAD_CHECKPOINT, format!("checkpoint {folder} does not fit this version of AxiomRL: {error}"))
    })?;
    Ok((TrainedPolicy::from_snapshot(config, &saved.snapshot)?, folder))
}

fn locate(source: &PolicySource) -> Result<PathBuf, Failure> {
    let checkpoints = source.path().join("checkpoints");
    match source.checkpoint() {
        Some(name) if checkpoints.is_dir() => Ok(checkpoint::find(&checkpoints.join(name))?),
        Some(_) => Err(Failure::bad_input(format!(
            "--checkpoint chooses among the checkpoints of a run folder, and {} is not one",
            source.path().display()
        ))),
        None => match checkpoint::find(&checkpoints.join("best")) {
            // Not every run has been evaluated.
            Err(CheckpointError::NotFound { .. }) => Ok(checkpoint::find(source.path())?),
            found => Ok(found?),
        },
    }
}
