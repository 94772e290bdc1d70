//! From a path to a policy that can act.

use crate::catalogue;
use crate::failure::{DIVERGED, Failure};
use crate::options::PolicySource;
use axiomrl_algos::Snapshot;
use axiomrl_run::checkpoint::{self, CheckpointError};
use axiomrl_run::policy::TrainedPolicy;
use std::path::{Path, PathBuf};

/// Loads the policy a user means, and says which checkpoint that was.
pub fn open(source: &PolicySource) -> Result<(TrainedPolicy, PathBuf), Failure> {
    let folder = locate(source)?;
    let saved = checkpoint::load_policy(&folder)?;
    check_weights(&folder, &saved.snapshot)?;
    Ok((TrainedPolicy::restore(catalogue(), saved)?, folder))
}

/// Refuses weights that are no numbers: whatever such a policy does, it has not been learned.
fn check_weights(folder: &Path, snapshot: &Snapshot) -> Result<(), Failure> {
    let bad = |values: &[f32]| values.iter().copied().find(|value| !value.is_finite());
    let mut found = snapshot.policy.tensors.iter().filter_map(|(name, tensor)| Some((name, bad(&tensor.values)?)));
    let Some((name, value)) = found.next() else { return Ok(()) };
    let others = match found.count() {
        0 => String::new(),
        count => format!(", and so do {count} other tensors"),
    };
    Err(Failure::new(
        DIVERGED,
        format!(
            "the policy in {} cannot act: its weights `{name}` hold {value}{others}; use another checkpoint, \
             or train again with a lower learning rate",
            folder.display()
        ),
    ))
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
