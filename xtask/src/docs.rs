//! `cargo xtask docs`: the parts of the README that follow from the code.

pub mod table;

use crate::binary::Binary;
use crate::shell::root;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use serde_json::Value;
use std::fs;

/// Writes the table of algorithms into README.md
#[derive(Args)]
pub struct Docs {
    /// Changes nothing, and fails if something would change
    #[arg(long)]
    check: bool,
}

impl Docs {
    pub fn run(self) -> Result<()> {
        let binary = Binary::build()?;
        if !self.check {
            return update(&binary);
        }
        let (now, fresh) = readme(&binary)?;
        if now != fresh {
            bail!("README.md is stale: run `cargo xtask docs`");
        }
        println!("README.md is up to date");
        Ok(())
    }
}

/// Brings README.md up to date.
pub fn update(binary: &Binary) -> Result<()> {
    let (now, fresh) = readme(binary)?;
    if now != fresh {
        fs::write(root().join("README.md"), fresh).context("cannot write README.md")?;
        println!("README.md: the table of algorithms changed");
    }
    Ok(())
}

/// The README as it is and as it should be.
fn readme(binary: &Binary) -> Result<(String, String)> {
    let algorithms = binary.json(&["algos", "--json"])?;
    let runs = root().join("benchmarks/learn.json");
    let runs = match fs::read(&runs) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("{} is not JSON", runs.display()))?,
        Err(_) => Value::Array(Vec::new()),
    };
    let now = fs::read_to_string(root().join("README.md")).context("cannot read README.md")?;
    let fresh = table::insert(&now, &algorithms, &runs).map_err(|problem| anyhow!(problem))?;
    Ok((now, fresh))
}
