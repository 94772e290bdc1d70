//! Microseconds per gradient update: the example `updates` of `axiomrl-nn`.

use crate::shell::{cargo, succeeded};
use anyhow::{Context, Result};
use serde::Serialize;
use std::process::Stdio;

#[derive(Debug, PartialEq, Serialize)]
pub struct Update {
    pub work: String,
    pub microseconds: f64,
}

pub fn measure() -> Result<Vec<Update>> {
    let args = ["run", "--release", "--package", "axiomrl-nn", "--example", "updates"];
    let name = format!("cargo {}", args.join(" "));
    println!("\n$ {name}");
    let output = cargo(&args).stderr(Stdio::inherit()).output().with_context(|| format!("cannot start `{name}`"))?;
    succeeded(&name, output.status)?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    Ok(text.lines().filter_map(parse).collect())
}

/// `DQN update, batch 64, 4-64-64-2      35.20 us`; other lines say nothing about an update.
fn parse(line: &str) -> Option<Update> {
    let (work, number) = line.trim_end().strip_suffix(" us")?.rsplit_once(' ')?;
    Some(Update { work: work.trim().to_owned(), microseconds: number.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_and_other_lines_passed_over() {
        let found = parse("DQN update, batch 64           35.20 us");
        assert_eq!(found, Some(Update { work: "DQN update, batch 64".into(), microseconds: 35.2 }));
        assert_eq!(parse("two threads"), None);
        assert_eq!(parse("as fast as possible us"), None);
    }
}
