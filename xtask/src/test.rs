//! `cargo xtask test` and `cargo xtask lint`.

use crate::python;
use crate::shell::{cargo, run_cargo};
use anyhow::Result;
use std::process::Stdio;
use std::time::{Duration, Instant};

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
/// One run tells everything that fails, not the first alone.
const NEXTEST: &[&str] = &["nextest", "run", "--workspace", "--no-fail-fast"];
/// What nextest would run; doc tests are run apart, either way.
const PLAIN_TESTS: &[&str] = &["test", "--no-fail-fast", "--workspace", "--lib", "--bins", "--tests", "--examples"];
const DOC_TESTS: &[&str] = &["test", "--doc", "--workspace"];

/// A part of the tests: cargo's words, or something of ours.
enum Part {
    Cargo(&'static [&'static str]),
    Own(&'static str, fn() -> Result<()>),
}

pub fn test() -> Result<()> {
    // A fresh machine has only Rust and Python, and that must be enough.
    let tests = if has_nextest() { NEXTEST } else { PLAIN_TESTS };
    run_all(&[
        Part::Cargo(FORMAT),
        Part::Own("a Python with what the tests need", python::prepare),
        Part::Cargo(CLIPPY),
        Part::Cargo(DOC_TESTS),
        Part::Cargo(tests),
        Part::Own("the wheel", python::install_wheel),
        Part::Own("pytest", python::pytest),
    ])
}

pub fn lint() -> Result<()> {
    run_all(&[Part::Cargo(FORMAT), Part::Cargo(CLIPPY)])
}

fn has_nextest() -> bool {
    let mut probe = cargo(&["nextest", "--version"]);
    probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs the parts one after the other, up to the first that fails, and sums up what they took.
fn run_all(parts: &[Part]) -> Result<()> {
    let mut took: Vec<(String, &str, Duration)> = Vec::new();
    let mut outcome = Ok(());
    for part in parts {
        let begun = Instant::now();
        let name;
        (name, outcome) = match part {
            Part::Cargo(args) => (format!("cargo {}", args.join(" ")), run_cargo(args)),
            Part::Own(name, run) => ((*name).to_owned(), run()),
        };
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        took.push((name, word, begun.elapsed()));
        if outcome.is_err() {
            break;
        }
    }
    eprintln!();
    for (name, word, time) in &took {
        eprintln!("{:>8.1} s  {word:<6}  {name}", time.as_secs_f64());
    }
    outcome
}
