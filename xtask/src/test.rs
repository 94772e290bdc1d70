//! `cargo xtask test` and `cargo xtask lint`.

use crate::shell::{cargo, run_cargo};
use anyhow::Result;
use std::process::Stdio;
use std::time::{Duration, Instant};

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
const NEXTEST: &[&str] = &["nextest", "run", "--workspace"];
/// What nextest would run; doc tests are run apart, either way.
const PLAIN_TESTS: &[&str] = &["test", "--workspace", "--lib", "--bins", "--tests", "--examples"];
const DOC_TESTS: &[&str] = &["test", "--doc", "--workspace"];

pub fn test() -> Result<()> {
    // A fresh machine has only Rust, and that must be enough.
    let tests = if has_nextest() { NEXTEST } else { PLAIN_TESTS };
    run_all(&[FORMAT, CLIPPY, DOC_TESTS, tests])
}

pub fn lint() -> Result<()> {
    run_all(&[FORMAT, CLIPPY])
}

fn has_nextest() -> bool {
    let mut probe = cargo(&["nextest", "--version"]);
    probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs the commands one after the other, up to the first that fails, and sums up what they took.
fn run_all(commands: &[&[&str]]) -> Result<()> {
    let mut took: Vec<(String, &str, Duration)> = Vec::new();
    let mut outcome = Ok(());
    for args in commands {
        let begun = Instant::now();
        outcome = run_cargo(args);
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        took.push((args.join(" "), word, begun.elapsed()));
        if outcome.is_err() {
            break;
        }
    }
    eprintln!();
    for (name, word, time) in &took {
        eprintln!("{:>8.1} s  {word:<6}  cargo {name}", time.as_secs_f64());
    }
    outcome
}
