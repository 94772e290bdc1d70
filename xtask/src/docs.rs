//! `cargo xtask docs`: the documents, and parts of them, that follow from the code.

pub mod shown;
pub mod sourcebook;
pub mod table;

use crate::binary::Binary;
use crate::shell::root;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use serde_json::Value;
use std::fs;

/// Writes the table of algorithms into README.md, and docs/algorithms.md
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
        for Document { path, now, fresh } in documents(&binary)? {
            if now != fresh {
                bail!("{path} is stale: run `cargo xtask docs`");
            }
            println!("{path} is up to date");
        }
        Ok(())
    }
}

/// A file as it is and as it should be.
struct Document {
    path: &'static str,
    now: String,
    fresh: String,
}

/// Brings the documents up to date.
pub fn update(binary: &Binary) -> Result<()> {
    for Document { path, now, fresh } in documents(binary)? {
        if now != fresh {
            fs::write(root().join(path), fresh).with_context(|| format!("cannot write {path}"))?;
            println!("{path} changed");
        }
    }
    Ok(())
}

fn documents(binary: &Binary) -> Result<[Document; 2]> {
    let algorithms = binary.json(&["algos", "--json"])?;
    let runs = root().join("benchmarks/learn.json");
    let runs = match fs::read(&runs) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("{} is not JSON", runs.display()))?,
        Err(_) => Value::Array(Vec::new()),
    };
    let read = |path: &str| fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"));
    let now = read("README.md")?;
    let fresh = table::insert(&now, &algorithms, &runs).map_err(|problem| anyhow!(problem))?;
    let readme = Document { path: "README.md", now, fresh };
    let fresh =
        sourcebook::page(&read("docs/sourcebook.csv")?, &algorithms, &runs).map_err(|problem| anyhow!(problem))?;
    // The page may not exist yet.
    let now = read("docs/algorithms.md").unwrap_or_default();
    Ok([readme, Document { path: "docs/algorithms.md", now, fresh }])
}
