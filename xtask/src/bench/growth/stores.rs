//! Peak memory of large replay stores: the example `store_memory` of `axiomrl-core`, one process for each store.

use crate::binary::build_executable;
use crate::shell::succeeded;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::process::{Command, Stdio};

#[derive(Debug, Serialize, Deserialize)]
pub struct Store {
    pub store: String,
    pub peak_mib: u64,
}

pub fn measure() -> Result<Vec<Store>> {
    let program = build_executable(&["--package", "axiomrl-core", "--example", "store_memory"], "store_memory")?;
    let mut stores = Vec::new();
    for case in ["vectors", "frames"] {
        let output = Command::new(&program).arg(case).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("cannot start {}", program.display()))?;
        succeeded("the example `store_memory`", output.status)?;
        stores
            .push(serde_json::from_slice(&output.stdout).context("`store_memory` printed something that is not JSON")?);
    }
    Ok(stores)
}
