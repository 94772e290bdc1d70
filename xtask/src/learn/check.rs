//! `cargo xtask learn --check`: what the committed record shows, and what it does not.

use super::matrix::{MATRIX, Row};
use super::record::Records;
use super::{report, seeds};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// Of the rows with test seeds, so many in a hundred must be met.
const ENOUGH: usize = 95;

pub fn check(root: &Path) -> Result<()> {
    let records = Records::read(&root.join("benchmarks/learn.json"))?;
    let mut names: Vec<String> = fs::read_dir(root.join("configs"))
        .context("cannot read configs")?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    let rows: Vec<&Row> = MATRIX.iter().filter(|row| row.control.is_none()).collect();
    let tested = |row: &&&Row| records.of(row).iter().any(|run| seeds::is_test(run.seed));
    let with_tests: Vec<&Row> = rows.iter().filter(tested).copied().collect();
    let missed: Vec<&str> =
        with_tests.iter().filter(|row| !report::is_met(&records.shown(row))).map(|row| row.config).collect();
    let lacking: Vec<&str> =
        names.iter().filter(|name| !with_tests.iter().any(|row| row.matches(name))).map(String::as_str).collect();
    let met = with_tests.len() - missed.len();
    println!("{met} of {} rows with test seeds are met, of {} rows in all", with_tests.len(), rows.len());
    if !missed.is_empty() {
        println!("not met: {}", missed.join(", "));
    }
    if !lacking.is_empty() {
        println!("without test seeds: {}", lacking.join(", "));
    }
    if !lacking.is_empty() || 100 * met < ENOUGH * with_tests.len() {
        bail!("every name needs a row with test seeds, and {ENOUGH} % of these rows must be met");
    }
    Ok(())
}
